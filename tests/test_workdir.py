"""Run directories: whose they are, and what may change in them."""

import errno
import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.configs.connect_four_efficiency import get_config
from jaxzero import files, workdir
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
    assert files.read_json(tmp_path / workdir.CONFIG)["train.iterations"] == 9


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
    stored = files.read_json(tmp_path / workdir.CONFIG)
    del stored["train.momentum"]
    files.write_json(tmp_path / workdir.CONFIG, stored)
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


def test_a_file_system_without_locks_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    for directory in (tmp_path, tmp_path, tmp_path / "parts" / "a"):
        workdir.claim(directory, small.small_config(), "a study")
    [said] = capsys.readouterr().err.splitlines()
    assert said.startswith(f"warning: --workdir={tmp_path} is on a file system without locks: two")


def test_a_directory_that_another_command_took_meanwhile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lock(directory: Path) -> None:  # the other one had it, and is gone
        files.write_json(directory / workdir.CONFIG, theirs)

    theirs = files.plain(workdir.flatten(small.small_config({"seed": 3}))) | {"study": "a study"}
    monkeypatch.setattr(workdir, "_lock", lock)
    with pytest.raises(ConfigError, match=r"holds another run \(seed: 3 -> 0\)"):
        workdir.claim(tmp_path, small.small_config(), "a study")
    assert files.read_json(tmp_path / workdir.CONFIG) == theirs


def test_a_cut_file_is_one_line(tmp_path: Path) -> None:
    workdir.claim(tmp_path, small.small_config(), "a study")
    (tmp_path / workdir.CONFIG).write_text("{")
    with pytest.raises(ConfigError, match=r"config.json is damaged"):
        workdir.claim(tmp_path, small.small_config(), "a study")


def test_a_file_in_the_way_of_a_directory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="can't be written"):
        workdir.claim(tmp_path / "file" / "run", small.small_config(), "a study")


def test_the_config_of_another_program_is_left_alone(tmp_path: Path) -> None:
    for content in ('{"architectures": ["a"]}', "[]", "3"):
        (tmp_path / workdir.CONFIG).write_text(content)
        with pytest.raises(ConfigError, match=r"has a config\.json that no study wrote: choose"):
            workdir.claim(tmp_path, default_config(), "loss_ablation")
        assert (tmp_path / workdir.CONFIG).read_text() == content


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
