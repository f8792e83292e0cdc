"""Files: whole or not at all, and one line of what is wrong."""

import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxzero import files
from jaxzero.settings.config import ConfigError


def test_a_full_disk_is_one_line_and_leaves_whole_rows(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    files.append_rows(path, [{"iteration": 1}])
    lines = [
        "import resource, signal",
        "from pathlib import Path",
        "from jaxzero import files",
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))",  # as a disk with 100 bytes left
        f"files.append_rows(Path({str(path)!r}), [{{'iteration': 2, 'name': 'x' * 200}}])",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert "ConfigError: --workdir: " in last
    assert "make room or choose another directory" in last
    assert files.read_rows(path) == [{"iteration": 1}]
    files.drop_rows_after(path, 1)
    files.append_rows(path, [{"iteration": 2}])
    assert [row["iteration"] for row in files.read_rows(path)] == [1, 2]


def test_a_row_after_one_that_was_cut_short_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for before, kept in {"": [], '{"iter': [], '{"iteration": 1}\n{"iter': [1]}.items():
        path.write_text(before)
        files.append_rows(path, [{"iteration": 2}])
        assert [row["iteration"] for row in files.read_rows(path)] == [*kept, 2]


@pytest.mark.parametrize("damage", [b'{"iter', b"\0" * 9, b"\xff", b"5", b"{}", b"[" * 100_000])
def test_a_damaged_row_is_one_line(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"iteration": 1}\n' + damage + b'\n{"iteration": 3}\n')
    with pytest.raises(ConfigError, match=r"metrics.jsonl is damaged \((line 2: |a line has no)"):
        files.drop_rows_after(path, 1)
    assert path.read_bytes().startswith(b'{"iteration": 1}\n' + damage)  # nothing is thrown away


@pytest.mark.parametrize("write", [files.write_json, files.write_arrays])
def test_two_processes_may_write_the_same_file(
    write: Callable[[Path, Any], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, process, synced = os.replace, os.getpid(), list[int]()

    def after_the_other(part: Path, path: Path) -> None:
        assert len(synced) == 1  # the content is on disk before it has the name
        with monkeypatch.context() as other:
            other.setattr(os, "getpid", lambda: process + 1)
            other.setattr(os, "replace", replace)
            write(path, {"x": [2]})
        replace(part, path)

    monkeypatch.setattr(os, "replace", after_the_other)
    monkeypatch.setattr(os, "fsync", synced.append)
    write(tmp_path / "file.npz", {"x": [1]})
    assert [path.name for path in tmp_path.iterdir()] == ["file.npz"]


def test_what_a_killed_process_left_is_removed_once_it_is_old(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as writer:
        left, other, longer = (
            tmp_path / f".{name}.{writer.pid}.part"
            for name in ("a[1].json", "a1.json", "a[1].json.b")
        )
        for part in (left, other, longer):
            part.write_text('{"iter')
            os.utime(part, (0, 0))
        files.write_json(tmp_path / "a[1].json", {})
        assert left.exists()  # its process is alive: the clock has jumped
        writer.kill()
    files.write_json(tmp_path / "a[1].json", {})
    assert not left.exists()
    assert other.exists()  # of another file
    assert longer.exists()
    left.write_text('{"iter')
    files.write_json(tmp_path / "a[1].json", {})
    assert left.exists()  # a process of another machine may be writing it


def test_files_of_another_shape_are_damaged(tmp_path: Path) -> None:
    for read, content, missing in (
        (files.read_json, "[{}]", "object"),
        (files.read_json, "null", "object"),
        (files.read_list, "{}", "list"),
    ):
        (tmp_path / "file.json").write_text(content)
        with pytest.raises(ConfigError, match=rf"file\.json is damaged \(it holds no {missing}\)"):
            read(tmp_path / "file.json")


def test_what_is_nested_too_deeply_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(ConfigError, match=r"file\.json is damaged \(.*\): put back a copy") as told:
        files.read_list(tmp_path / "file.json")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("shape", [(10**9,), (10**30,), (0, 10**30), (3, 10**9)])
def test_arrays_that_a_file_can_not_hold_are_not_made(
    shape: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, header = tmp_path / "a.npz", io.BytesIO()
    described = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, described)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", header.getvalue() + bytes(80))
    if 0 not in shape:
        monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("allocated"))
    with pytest.raises(ConfigError, match=r"a\.npz is damaged \(.*\): make it again"):
        files.read_arrays(path, ["x"], "make it again")


def test_one_array_is_no_archive(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(ConfigError, match=r"a\.npy is damaged \(.*\): make it again"):
        files.read_arrays(tmp_path / "a.npy", [], "make it again")


def test_arrays_of_zeros_are_read(tmp_path: Path) -> None:
    """Nothing can be packed more densely."""
    files.write_arrays(tmp_path / "a.npz", {"x": np.zeros(10**7, np.int8), "y": np.zeros((0, 3))})
    found = files.read_arrays(tmp_path / "a.npz", ["x", "y"], "")
    assert {name: array.shape for name, array in found.items()} == {"x": (10**7,), "y": (0, 3)}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"right": None}, r"it has no right"),
        ({"plies": np.zeros(4, np.int32)}, r"plies has the shape \(4,\), \(5\) is expected"),
        ({"right": np.ones((5, 8), bool)}, r"right has the shape \(5, 8\), \(5, 7\) is expected"),
        ({"right": np.ones(5, bool)}, r"right has the shape \(5,\), \(positions, 7\) is"),
        ({"plies": np.zeros(5)}, r"plies holds float64"),
        ({"value": np.full(5, np.nan)}, r"value is not finite"),
    ],
)
def test_arrays_of_other_forms_are_damaged(
    changes: dict[str, np.ndarray | None], reason: str
) -> None:
    forms: dict[str, files.Form] = {
        "right": ("b", ("positions", 7)),
        "value": ("f", ("positions",)),
        "plies": ("iu", ("positions",)),
    }
    arrays = {"right": np.ones((5, 7), bool), "value": np.zeros(5), "plies": np.arange(5)}
    files.check_arrays(Path("a.npz"), arrays, forms, "make it again")
    changed = {name: array for name, array in (arrays | changes).items() if array is not None}
    with pytest.raises(ConfigError, match=rf"a\.npz is damaged \({reason}.*\): make it again"):
        files.check_arrays(Path("a.npz"), changed, forms, "make it again")
