"""Features of a small network as targets: which positions, which channels, and in the study."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments import connect_four_supervised as study
from experiments.configs import connect_four_supervised as configs
from experiments.connect_four import solved_positions
from experiments.connect_four.solved_games import NO_MOVE
from jaxzero import files, networks, workdir
from jaxzero.networks import NetworkOutput
from jaxzero.settings.features import Features, Learned
from jaxzero.training import features, learner
from tests import small
from tests.experiments.connect_four.test_supervised import data, tiny

__all__ = ["data"]  # the fixture


def test_the_teacher_is_the_authors() -> None:
    teacher = study.NetworkVariant(3, 1, "corrected", study.TEACHER)
    spec, _ = study.settings(configs.get_config("paper"), teacher)
    shape = jax.eval_shape(lambda: learner.init(spec, jax.random.key(0)).params)
    assert networks.count_parameters({"params": shape}) == 62_928


def test_the_teacher_learns_from_its_own_positions_alone(tmp_path: Path) -> None:
    """A set that other runs share may hold more."""

    class Asked(Exception):
        pass

    class Positions:
        def part(self, chosen: slice) -> None:
            raise Asked(chosen)

    config = small.changed(configs.get_config("quick"), {"study.positions": 40})
    config = small.changed(config, {"study.teacher_positions": 20})
    pupils = study.NetworkVariant(3, 1, "corrected", study.TEACHER)
    with pytest.raises(Asked) as asked:
        study._teacher(config, pupils, Positions(), None, trained=True)  # type: ignore[arg-type]
    assert asked.value.args == (slice(40, 60),)


def test_later_positions_are_those_of_the_game(data: Path) -> None:
    held = solved_positions.load(data)
    index = np.arange(len(held))
    now, *afterwards = solved_positions.observations(held, index)
    solved = solved_positions.load_part(data, 0)
    assert solved is not None
    kept = solved_positions.first_of_each(solved_positions.states_of(solved.moves))[: len(held)]
    moves, later = solved.moves[kept], solved.later[kept]
    expected, ended = np.asarray(now), np.zeros(len(held), bool)
    observe = jax.jit(jax.vmap(held.labelled.game.observe))
    for plies, seen in zip((2, 4), afterwards, strict=True):
        ended |= later[:, plies] == NO_MOVE
        whole = moves.copy()
        for row in np.flatnonzero(~ended):
            ply = int((moves[row] != NO_MOVE).sum())
            whole[row, ply : ply + plies] = later[row, :plies]
        there = np.asarray(observe(solved_positions.states_of(whole)))
        expected = np.where(ended[:, None, None, None], expected, there)
        np.testing.assert_array_equal(seen, expected)
        assert 0 < ended.sum() < len(held)


def output(rng: np.random.Generator) -> NetworkOutput:
    """Of two positions, with four channels everywhere."""
    shown = {
        f"{name}_features": jnp.asarray(rng.normal(size=(2, 3, 3, 4)), jnp.float32)
        for name in ("policy", "outcome", "block", "own")
    }
    return NetworkOutput(policy_logits=jnp.zeros((2, 5)), value=jnp.zeros(2), **shown)


@pytest.mark.parametrize(
    ("at", "channels"),
    [
        ("head", [("policy", 3), ("policy", 2), ("outcome", 0)]),
        ("last_block", [("block", 3), ("block", 2), ("block", 1)]),
        ("own", [("own", 3), ("own", 2), ("own", 1)]),
    ],
)
def test_which_channels_learn_what(at: Any, channels: list[tuple[str, int]]) -> None:
    rng = np.random.default_rng(0)
    seen = output(rng)
    moves, results = rng.normal(size=(2, 3, 3, 2)), rng.normal(size=(2, 3, 3, 1))
    targets = (jnp.asarray(moves, jnp.float32), jnp.asarray(results, jnp.float32))
    found = features.loss(Learned(Features((0, 1), (0,), at), 2.0), seen, targets)
    layers = [moves[..., 0], moves[..., 1], results[..., 0]]
    expected = np.zeros(2)
    for (name, channel), layer in zip(channels, layers, strict=True):
        values = np.asarray(getattr(seen, f"{name}_features"))[..., channel]
        expected += 2.0 * ((values - layer) ** 2).mean((1, 2))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.slow
def test_the_study_learns_features(data: Path, tmp_path: Path) -> None:
    kinds = ("none", "move1", "move0_win0_random", "move1_last_block", "move0_win0_own")
    changes = {
        "study.features": kinds,
        "study.outcome_labels": ("corrected",),
        "study.positions": 80,
        "study.teacher_positions": 40,
        "study.seeds": 1,
        "study.max_epochs": 2,
    }
    study.run(tiny(data, changes), tmp_path)
    found = {g["features"]: g for g in files.read_json(tmp_path / workdir.RESULTS)["groups"]}
    assert tuple(found) == kinds
    plies = found["none"]["statistics"]["by_ply"]
    assert sum(plies.values()) == 80  # of the networks' own positions, not of the teacher's
    assert found["move0_win0_own"]["parameters"] > found["move1"]["parameters"]
    targets = {row["target"] for row in files.read_rows(tmp_path / workdir.METRICS)}
    assert targets == {*(g["name"] for g in found.values()), "blocks3_v1_corrected_teacher"}
