"""Shares of a study: the flag, which groups a merge copies and which devices it names."""

import sys
from pathlib import Path

import pytest
from ml_collections import ConfigDict

from experiments import merge
from experiments.configs.hyperparameter_sweep import get_config
from experiments.hyperparameters import group_training
from experiments.shell import cli
from jaxzero import files, workdir
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError


def made_up_share(directory: Path, run: str) -> Path:
    """A share with one group of one run, which has ended."""
    group = directory / group_training.GROUPS / f"group_{run}"
    group.mkdir(parents=True)
    files.write_json(group / workdir.MEMBERS, [{"name": run}])
    files.write_json(group / group_training.DONE, {"failed": {}})
    return group


def test_a_merge_may_come_too_early(tmp_path: Path) -> None:
    """A group that had not ended is copied when it has; one that was broken is replaced then."""
    shares, whole = [tmp_path / "one", tmp_path / "two"], tmp_path / "whole"
    made_up_share(shares[0], "E=4_seed0")
    late = made_up_share(shares[1], "E=8_seed0")
    done = (late / group_training.DONE).read_bytes()
    (late / group_training.DONE).unlink()
    whole.mkdir()

    def merged() -> tuple[list[str], list[str]]:
        for share in shares:
            merge._copy_groups(share, whole)
        found = group_training.places(whole), group_training.failed_in(whole)
        return sorted(found[0]), sorted(found[1])

    assert merged() == (["E=4_seed0"], [])
    files.write_json(late / group_training.BROKEN, {"reason": "memory"})
    assert merged() == (["E=4_seed0"], ["E=8_seed0"])
    (late / group_training.BROKEN).unlink()
    (late / group_training.DONE).write_bytes(done)
    assert merged() == (["E=4_seed0", "E=8_seed0"], [])
    assert merged() == (["E=4_seed0", "E=8_seed0"], [])


def test_a_merge_names_the_devices_of_all_shares(tmp_path: Path) -> None:
    shares = [tmp_path / str(i) for i in range(3)]
    for share, device in zip(shares, ("one", "two", "one"), strict=True):
        share.mkdir()
        files.write_json(share / workdir.ENVIRONMENT, {"device": device, "commit": share.name})
    assert merge._environment(shares) == {"device": "one; two", "commit": "0"}
    (shares[0] / workdir.ENVIRONMENT).unlink()
    assert merge._environment(shares) == {"device": "two; one", "commit": "1"}
    assert merge._environment(shares[:1]) == {}


def test_rows_of_a_run_that_lies_in_two_groups_are_taken_once(tmp_path: Path) -> None:
    """As when a whole study was stopped, and went on in shares."""
    both, alone = (tmp_path / group_training.GROUPS / name for name in ("A", "A.1of2"))
    for group, names in ((both, ("a", "b")), (alone, ("a",))):
        group.mkdir(parents=True)
        files.write_json(group / workdir.MEMBERS, [{"name": name} for name in names])
        files.write_json(group / group_training.DONE, {"failed": {}})
        rows = [{"iteration": i, "run": name} for i in (1, 2) for name in names]
        files.append_rows(group / workdir.METRICS, rows)
    found = [(row["run"], row["iteration"]) for row in group_training.rows_of(tmp_path)]
    assert found == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_shares_of_several_hosts_and_devices_are_merged_on_one(tmp_path: Path) -> None:
    settings = {"execution.distributed": True, "execution.devices": 64, "execution.shard": "1/2"}
    config = config_lib.changed(get_config("quick"), settings)
    share = tmp_path / "share"
    share.mkdir()
    stored = files.plain(config_lib.flatten(config)) | {"study": "hyperparameter_sweep"}
    files.write_json(share / workdir.CONFIG, stored)
    with pytest.raises(ConfigError, match="lacks"):
        merge.merge([share], tmp_path / "whole")


def test_a_share_is_a_flag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[ConfigDict, Path]] = []

    def study(config: ConfigDict, directory: Path, command: str) -> None:
        seen.append((config, directory))

    words = ["study", "--shard=2/3", f"--workdir={tmp_path}/part-{{shard}}"]
    monkeypatch.setattr(sys, "argv", words)
    cli.run(study, "hyperparameter_sweep")
    [(config, directory)] = seen
    assert config.execution.shard == "2/3"
    assert directory == tmp_path / "part-2of3"
    with pytest.raises(SystemExit) as stopped:
        cli.run(study, "loss_ablation")
    assert stopped.value.code == 2
    assert "--shard=2/3: this study has no shares" in capsys.readouterr().err
