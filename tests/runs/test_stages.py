"""Populations whose network grows: resumed at any iteration, opened and exported."""

import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import export
from jaxzero import files, runs, workdir
from jaxzero.networks import widening
from jaxzero.runs import population, stages
from jaxzero.runs.runner import Trained
from jaxzero.training import learner
from tests import small
from tests.runs.trained import rows_of, train
from tests.small import assert_close, assert_equal
from tests.training.test_growth import GROWING

SETTINGS = GROWING | {
    "network.grow_at": (2,),
    "train.iterations": 5,
    "execution.checkpoint_every": 1,
    "execution.keep_checkpoints": 9,
    "execution.snapshot_every": 1,
}
CACHED = {"search.key": "position", "selfplay.share": "cache"}


def widths(directory: Path) -> list[int]:
    """By iteration, of the first run."""
    rows = [row for row in rows_of(directory) if row["run"] == "sum_seed0" and row["iteration"]]
    return [int(row["network/channels"]) for row in rows]


def kept_widths(directory: Path) -> list[int]:
    """Of the kept networks, as they were trained."""
    run = runs.open_run(directory)
    return [
        widening.channels_of(runs.networks(run, at, alike=False).params) for at in run.iterations
    ]


@pytest.mark.parametrize(("theirs", "better"), [((2.9, 2.0), True), ((2.1, 3.0), False)])
@pytest.mark.parametrize("failed", [(), ((np.nan, 90.0),), ((90.0, np.nan),)])
def test_networks_beside_take_over_by_the_mean_of_runs_that_have_not_failed(
    theirs: tuple[float, ...], better: bool, failed: tuple[tuple[float, float], ...]
) -> None:
    both = np.array([*zip((2.0, 3.0), theirs, strict=True), *failed])
    measured = {"growth/loss": both[:, 0], "growth/loss_beside": both[:, 1]}
    assert stages._is_better(measured) == better


@pytest.mark.parametrize(("by", "first"), [("net2net", 3), ("random", 4), ("parallel", 5)])
def test_who_plays_is_as_wide_as_it_was_or_as_it_just_became(
    tmp_path: Path, by: str, first: int
) -> None:
    """Of a network that grows after iteration 2: the first iteration that the wide one plays."""
    after = (4, 4, 4, 6, 6)  # of a network beside that takes over after iteration 4
    rows = [{"iteration": i, "network/channels": width} for i, width in enumerate(after, 1)]
    files.append_rows(tmp_path / workdir.METRICS, rows)
    config = small.small_config(SETTINGS | {"network.grow_by": by})
    playing = [runs.channels_playing(tmp_path, config, i) for i in range(1, 6)]
    assert playing == [4] * (first - 1) + [6] * (6 - first)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"network.grow_by": "random", "execution.population": "vmap"}, [4, 4, 6, 6, 6]),
        ({"network.grow_by": "net2net", "train.average": 0.9}, [4, 4, 6, 6, 6]),
        ({"network.grow_by": "net2net", "arena.gate": "threshold"}, [4, 4, 6, 6, 6]),
        ({"network.grow_by": "parallel"} | CACHED, [4, 4, 4, 6, 6]),
    ],
)
def test_growing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], expected: list[int]
) -> None:
    better = [False, True]  # the network beside takes over after iteration 4
    monkeypatch.setattr(stages, "_is_better", lambda measured: better.pop(0))
    whole = train(tmp_path / "whole", SETTINGS | changes)
    assert widths(tmp_path / "whole") == expected
    assert kept_widths(tmp_path / "whole") == [4, *expected]
    compared = [row for row in rows_of(tmp_path / "whole") if "growth/loss" in row]
    beside = (3, 3, 4, 4) if changes["network.grow_by"] == "parallel" else ()
    assert tuple(row["iteration"] for row in compared) == beside
    for row in compared:  # the same minibatches, other networks
        assert row["growth/loss"] == row["loss/minimised"] != row["growth/loss_beside"] > 0
    for stop in (2, 3):  # right before and right after it grows
        own = tmp_path / str(stop)
        shutil.copytree(tmp_path / "whole", own)
        for later in range(stop + 1, 6):
            shutil.rmtree(own / "checkpoints" / str(later))
        better[:] = [False, True][stop - 2 :]
        resumed = train(own, SETTINGS | changes)
        assert_equal(resumed.states, whole.states)
        assert rows_of(own) == rows_of(tmp_path / "whole")
    check_networks(tmp_path / "whole", whole)
    archive = tmp_path / "archive.zip"
    export.write(tmp_path / "whole", archive, 16)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path / "out")
    opened = runs.open_run(tmp_path / "out" / "whole")
    acting = runs.without_optimiser(whole.states.learner)
    assert_close(runs.networks(opened).params, acting.params, 0.01)


def check_networks(directory: Path, whole: Trained) -> None:
    """Those of all iterations are as wide as the last, and answer as they did."""
    run = runs.open_run(directory)
    assert run.spec == whole.spec
    boards = np.random.default_rng(1).normal(size=(4, *run.spec.game.observation_shape))
    for at in run.iterations:
        two = (
            runs.member_network(run, 0, at),
            population.member(runs.networks(run, at, alike=False), 0),
        )
        assert_close(*(learner.infer(run.spec, x, boards) for x in two), 1e-5)
        assert widening.channels_of(two[0].params) == 6
