"""Files: whole or not at all, and one line of what is wrong."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize("damage", [b'{"iter', b"\0" * 9, b"\xff"])
def test_a_damaged_row_is_one_line(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"iteration": 1}\n' + damage + b'\n{"iteration": 3}\n')
    with pytest.raises(ConfigError, match=r"metrics.jsonl is damaged \(line 2: "):
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
