"""The study killed at five moments, and begun again each time by the same command."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.experiments.processes import check_killed

TINY = (
    "train.iterations=6",
    "execution.checkpoint_every=2",
    "execution.snapshot_every=3",
    "network.channels=4",
    "network.hidden=(16, 8)",
    "search.num_simulations=8",
    "selfplay.episodes=8",
    "arena.games=4",
    "study.seeds=1",
    "study.tournament_games=4",
)


@pytest.mark.slow
def test_killed_at_five_moments(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    checkpoints = killed / "checkpoints"

    def lines_at_least(number: int) -> Callable[[], bool]:
        metrics = killed / "metrics.jsonl"
        return lambda: metrics.exists() and metrics.read_text().count("\n") >= number

    moments: dict[str, Callable[[], bool]] = {
        "the directory is made": lambda: (killed / "config.json").exists(),
        "before the first checkpoint": lines_at_least(4),
        "while a checkpoint is written": lambda: any(checkpoints.glob("4*")),
        "in the last iteration": lines_at_least(4 * 6),
        "while the tournaments are played": lambda: (checkpoints / "6/sha256.json").exists(),
    }
    check_killed("loss_ablation", whole, killed, TINY, moments)
    assert {p.name for p in (killed / "figures").iterdir()} == {
        p.name for p in (whole / "figures").iterdir()
    }
