"""Run directories: whose they are, and disks that take no more."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.configs.connect_four_efficiency import get_config
from jaxzero import workdir
from jaxzero.settings.config import ConfigError, default_config
from tests import small


def test_another_config_is_refused_with_the_keys_that_differ(tmp_path: Path) -> None:
    workdir.claim(tmp_path, small.small_config(), "a study")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*")}
    other = small.small_config({"train.epochs": 7, "seed": 3})
    with pytest.raises(ConfigError) as caught:
        workdir.claim(tmp_path, other, "a study")
    assert "seed: 0 -> 3; train.epochs: 2 -> 7" in str(caught.value)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*")} == before
    with pytest.raises(ConfigError, match="of a study, not another"):
        workdir.claim(tmp_path, small.small_config(), "another")


def test_iterations_logging_and_devices_may_differ(tmp_path: Path) -> None:
    workdir.claim(tmp_path, small.small_config(), "a study")
    changes = {"train.iterations": 9, "execution.devices": 3, "tracking.wandb": "offline"}
    workdir.claim(tmp_path, small.small_config(changes), "a study")
    assert workdir.read_json(tmp_path / workdir.CONFIG)["train.iterations"] == 9


def test_arms_may_be_added_but_not_left_out(tmp_path: Path) -> None:
    one, two = (
        small.changed(get_config("quick"), {"study.arms": arms})
        for arms in (("baseline",), ("cyclic", "baseline"))
    )
    workdir.claim(tmp_path, one, "a study")
    workdir.claim(tmp_path, two, "a study")
    with pytest.raises(ConfigError, match=r"\(study\.arms: \['cyclic', 'baseline'\] -> "):
        workdir.claim(tmp_path, one, "a study")
    workdir.claim(tmp_path / "fixed", one, "a study")
    with pytest.raises(ConfigError, match=r"study\.arms"):
        workdir.claim(tmp_path / "fixed", two, "a study", fixed=("study.arms",))


def test_a_key_younger_than_the_directory_had_its_default(tmp_path: Path) -> None:
    workdir.claim(tmp_path, small.small_config(), "a study")
    stored = workdir.read_json(tmp_path / workdir.CONFIG)
    del stored["train.momentum"]
    workdir.write_json(tmp_path / workdir.CONFIG, stored)
    with pytest.raises(ConfigError, match=r"\(train.momentum: 0.9 -> 0.5\)"):
        workdir.claim(tmp_path, small.small_config({"train.momentum": 0.5}), "a study")
    workdir.claim(tmp_path, small.small_config(), "a study")


def test_another_process_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    workdir.claim(tmp_path, small.small_config(), "a study")
    lines = [
        "from pathlib import Path",
        "from jaxzero import workdir",
        f"workdir._lock(Path({str(tmp_path)!r}))",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "is in use by another process" in done.stderr


def test_a_directory_that_another_command_took_meanwhile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lock(directory: Path) -> None:  # the other one had it, and is gone
        workdir.write_json(directory / workdir.CONFIG, theirs)

    theirs = workdir.plain(workdir.flatten(small.small_config({"seed": 3}))) | {"study": "a study"}
    monkeypatch.setattr(workdir, "_lock", lock)
    with pytest.raises(ConfigError, match=r"holds another run \(seed: 3 -> 0\)"):
        workdir.claim(tmp_path, small.small_config(), "a study")
    assert workdir.read_json(tmp_path / workdir.CONFIG) == theirs


def test_a_cut_file_is_one_line(tmp_path: Path) -> None:
    workdir.claim(tmp_path, small.small_config(), "a study")
    (tmp_path / workdir.CONFIG).write_text("{")
    with pytest.raises(ConfigError, match=r"config.json is damaged"):
        workdir.claim(tmp_path, small.small_config(), "a study")


def test_a_file_in_the_way_of_a_directory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="can't be written"):
        workdir.claim(tmp_path / "file" / "run", small.small_config(), "a study")


def test_a_full_disk_is_one_line_and_leaves_whole_rows(tmp_path: Path) -> None:
    path = tmp_path / workdir.METRICS
    workdir.append_rows(path, [{"iteration": 1}])
    lines = [
        "import resource, signal",
        "from pathlib import Path",
        "from jaxzero import workdir",
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))",  # as a disk with 100 bytes left
        f"workdir.append_rows(Path({str(path)!r}), [{{'iteration': 2, 'name': 'x' * 200}}])",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert "ConfigError: --workdir: " in last
    assert "make room or choose another directory" in last
    assert workdir.read_rows(path) == [{"iteration": 1}]
    workdir.drop_rows_after(path, 1)
    workdir.append_rows(path, [{"iteration": 2}])
    assert [row["iteration"] for row in workdir.read_rows(path)] == [1, 2]


def test_a_row_after_one_that_was_cut_short_is_whole(tmp_path: Path) -> None:
    path = tmp_path / workdir.METRICS
    for before, kept in {"": [], '{"iter': [], '{"iteration": 1}\n{"iter': [1]}.items():
        path.write_text(before)
        workdir.append_rows(path, [{"iteration": 2}])
        assert [row["iteration"] for row in workdir.read_rows(path)] == [*kept, 2]


@pytest.mark.parametrize("damage", [b'{"iter', b"\0" * 9, b"\xff"])
def test_a_damaged_row_is_one_line(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / workdir.METRICS
    path.write_bytes(b'{"iteration": 1}\n' + damage + b'\n{"iteration": 3}\n')
    with pytest.raises(ConfigError, match=r"metrics.jsonl is damaged \(line 2: "):
        workdir.drop_rows_after(path, 1)
    assert path.read_bytes().startswith(b'{"iteration": 1}\n' + damage)  # nothing is thrown away


@pytest.mark.parametrize("write", [workdir.write_json, workdir.write_arrays])
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


def test_the_config_of_another_program_is_left_alone(tmp_path: Path) -> None:
    for content in ('{"architectures": ["a"]}', "[]", "3"):
        (tmp_path / workdir.CONFIG).write_text(content)
        with pytest.raises(ConfigError, match=r"has a config\.json that no study wrote: choose"):
            workdir.claim(tmp_path, default_config(), "loss_ablation")
        assert (tmp_path / workdir.CONFIG).read_text() == content


def test_files_of_another_shape_are_damaged(tmp_path: Path) -> None:
    for read, content, missing in (
        (workdir.read_json, "[{}]", "object"),
        (workdir.read_json, "null", "object"),
        (workdir.read_list, "{}", "list"),
    ):
        (tmp_path / "file.json").write_text(content)
        with pytest.raises(ConfigError, match=rf"file\.json is damaged \(it holds no {missing}\)"):
            read(tmp_path / "file.json")


def test_the_commit_of_another_repository_is_none_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an environment that lies in a project under version control."""
    inside = tmp_path / ".venv" / "jaxzero"
    inside.mkdir(parents=True)
    (tmp_path / ".gitignore").write_text(".venv\n")
    (inside / "workdir.py").touch()
    user = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init",), ("add", "."), (*user, "commit", "-m", "theirs")):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)
    monkeypatch.setattr(workdir, "__file__", str(inside / "workdir.py"))
    assert workdir._commit() == "unknown"
