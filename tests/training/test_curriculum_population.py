"""Everything of 004 in populations that go together, and on several devices."""

import numpy as np
import pytest

from jaxzero.runs.population import Layout
from tests import small
from tests.training.test_curriculum import EVERYTHING


def first_metrics(layout: Layout, mode: str, seeds: list[int]) -> dict[str, np.ndarray]:
    changes = {**EVERYTHING, "selfplay.temperature_plies": 6}
    spec = small.small_spec(changes, data_devices=layout.data_devices)
    program = small.compiled_program(spec, layout, mode)
    hypers = [small.small_hyper(changes)] * len(seeds)
    return small.run_population(program, spec.game, hypers, seeds, 1)[0][1]


def self_play_of(metrics: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What does not depend on training's rounding: the games of the first iteration."""
    names = ("curriculum/", "selfplay/plies", "count/games", "count/window_games")
    return {name: value for name, value in metrics.items() if name.startswith(names)}


@pytest.mark.slow
def test_members_that_go_together_play_the_same_games() -> None:
    one_by_one = first_metrics(Layout(1, 1), "map", [0, 1])
    together = first_metrics(Layout(1, 1), "vmap", [0, 1])
    small.assert_close(self_play_of(together), self_play_of(one_by_one), 1e-5)
    for metrics in (one_by_one, together):
        played = sum(metrics[f"arena/{x}"] for x in ("wins", "draws", "losses"))
        assert ((played >= 2) & (played <= 8)).all()


@pytest.mark.slow
def test_devices_that_share_a_run_play_the_same_games() -> None:
    alone = first_metrics(Layout(1, 1), "map", [0])
    shared = first_metrics(Layout(1, 2), "map", [0])
    small.assert_close(self_play_of(shared), self_play_of(alone), 1e-5)
