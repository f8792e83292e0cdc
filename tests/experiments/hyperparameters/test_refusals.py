"""Sweeps and correlations that can't be done are refused before anything is written."""

from pathlib import Path
from typing import Any

import pytest
from ml_collections import ConfigDict

from experiments import hyperparameter_correlation, hyperparameter_sweep
from experiments.configs.hyperparameter_sweep import PRESETS, get_config
from experiments.hyperparameters import sweep_report
from experiments.pages.study import Study
from jaxzero.settings.config import ConfigError, changed
from tests.experiments.hyperparameters.test_studies import correlation, sweep


@pytest.mark.parametrize("preset", PRESETS)
def test_a_sweep_as_published_has_d_and_says_that_it_changes_nothing(preset: str) -> None:
    config = changed(get_config(preset), {"semantics": "published"})
    hyperparameter_sweep.validate(config)
    assert config.study.dropout_rate
    for inactive, said in ((True, 1), (False, 0)):
        results = {
            "switches": {"dropout_inactive": inactive},
            "sweep": {"parameters": [{"letter": "I"}, {"letter": "d"}]},
        }
        assert len(sweep_report._idle(Study("study", results, {}))) == said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study.episodes": (8,)}, "config.study.episodes=(8,): name values other than"),
        ({"study.episodes": (4, 4)}, "config.study.episodes=(4, 4): name values"),
        ({"study.episodes": (0,)}, "config.study.episodes=0: "),
        ({"study.arena_games": (5,)}, "config.study.arena_games=5: both colours"),
        (
            {"arena.gate": "none", "study.arena_games": (2,)},
            "config.study.arena_games=(2,): changes nothing here, config.arena.games acts with "
            "config.arena.gate: set that, or this to ()",
        ),
        (
            {"network.name": "resnet", "study.dropout_rate": (0.1,)},
            "config.study.dropout_rate=(0.1,): changes nothing here, config.train.dropout_rate",
        ),
        (
            {"arena.gate": "wilson", "study.threshold": (0.5, 0.7)},
            "config.study.threshold=(0.5, 0.7): changes nothing here, config.arena.threshold",
        ),
        (
            {"search.algorithm": "gumbel", "study.c_puct": (0.5,)},
            "config.study.c_puct=(0.5,): changes nothing here, config.search.c_puct",
        ),
        (
            {"replay.window_positions": 1000, "study.window": (2,)},
            "config.study.window=(2,): changes nothing here, config.replay.window",
        ),
        ({"execution.shard": "3/2"}, "--shard='3/2'"),
        ({"study.batch_size": (10**6,)}, "config.train.batch_size=1000000"),
    ],
)
def test_impossible_sweeps_leave_nothing_behind(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    check_refused(hyperparameter_sweep.run, sweep(changes), message, tmp_path / "never")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study.epochs": ()}, "config.study.epochs=()"),
        ({"study.epochs": (2, 2)}, "config.study.epochs=(2, 2)"),
        ({"search.algorithm": "gumbel"}, "config.search.algorithm='gumbel'"),
    ],
)
def test_impossible_correlations_leave_nothing_behind(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    check_refused(hyperparameter_correlation.run, correlation(changes), message, tmp_path / "never")


def check_refused(run: Any, config: ConfigDict, message: str, directory: Path) -> None:
    """In one line, before anything is written."""
    with pytest.raises(ConfigError) as caught:
        run(config, directory)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not directory.exists()
