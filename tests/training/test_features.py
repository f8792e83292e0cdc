"""Features of a small network in self-play: which positions they are of, and who is the teacher."""

import dataclasses
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ml_collections import ConfigDict

from jaxzero import runs, workdir
from jaxzero.runs import Member, teachers
from jaxzero.runs.checkpoints import Checkpoints
from jaxzero.settings.config import ConfigError
from jaxzero.settings.features import Features
from jaxzero.training import episodes, features, learner, replay
from jaxzero.training import spec as spec_lib
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Spec
from tests import small
from tests.runs.trained import train

LEARNED: dict[str, Any] = {
    "game": "connect_four_4x4",
    "network.name": "resnet",
    "network.blocks": 1,
    "network.channels": 4,
    "network.head_filters": 2,
    "network.value_head": "wdl",
    "train.feature_weight": 1.0,
    "train.features": "move0_win0_random",
    "train.teacher_blocks": 1,
    "train.teacher_channels": 6,
    "train.measure": "in_step",
    "arena.gate": "none",
}


def one(changes: dict[str, Any] | None = None) -> tuple[Any, Any, Any]:
    """Spec, settings with a teacher, network of a run."""
    config = small.small_config(LEARNED | (changes or {}))
    spec, hyper = spec_lib.make_spec(config), spec_lib.make_hyper(config)
    taught = teachers.of(config, [Member("one", "sum", 3, config)], spec, Path())
    teacher = jax.tree.map(lambda x: x[0], taught)
    network = jax.jit(learner.init, static_argnums=0)(spec, jax.random.key(0))
    return spec, dataclasses.replace(hyper, teacher=teacher), network


def test_layers_are_of_the_players_next_positions_and_behind_the_end_of_its_last() -> None:
    """Against a loop over games that looks at one position after another."""
    spec, hyper, network = one()
    played, _ = jax.jit(lambda key: episodes.self_play(spec, hyper, network, key))(
        jax.random.key(1)
    )
    teacher = features.teacher_network(spec.network, *spec.features.size)
    wanted = Features((2, 0), (1,))
    moves, results = jax.jit(lambda x: features.of_games(teacher, hyper.teacher, wanted, x))(played)
    look = jax.jit(lambda x: teacher.apply(hyper.teacher, x, train=False))
    lengths = np.asarray(played.valid.sum(0))
    assert len(set(lengths.tolist())) > 1
    for game, length in enumerate(lengths[:4]):
        out = look(played.observation[:, game])
        for ply in range(length):
            then = [ply, ply + 2, ply + 4]
            at = [max(p for p in range(ply, length, 2) if p <= goal) for goal in then]
            expected = [out.policy_features[at[2]], out.policy_features[at[0]]]
            np.testing.assert_allclose(moves[ply, game], jnp.concatenate(expected, -1), atol=1e-5)
            np.testing.assert_allclose(results[ply, game], out.outcome_features[at[1]], atol=1e-5)


def test_features_are_learned_and_turn_with_the_board() -> None:
    spec, hyper, network = one({"replay.images": "all"})
    batch = spec.train.batch_size
    plain = small.random_examples(spec.game, batch)
    stones = plain.observation.astype(jnp.float32)
    targets = (stones, 1 - 2 * stones)
    given = dataclasses.replace(plain, features=targets)
    turned = replay.image_of(given, jnp.ones(batch, int), spec.game.symmetries)
    for mine, theirs in zip(targets, turned.features, strict=True):
        np.testing.assert_array_equal(theirs, mine[:, :, ::-1])
    np.testing.assert_array_equal(turned.observation, given.observation[:, :, ::-1])

    @jax.jit
    def error(network: Any) -> jax.Array:
        out = learner.infer(spec, network, given.observation)
        return features.loss(spec.features, out, targets).mean()

    step = jax.jit(lambda network, key: learner.train_step(spec, hyper, network, given, key)[0])
    after = network
    for i in range(40):
        after = step(after, jax.random.key(i))
    assert error(after) < 0.5 * error(network)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train.features": "move1"}, "config.train.features='move1': name the small network"),
        ({"train.teacher": "../x"}, "config.train.teacher='../x': .*untrained network"),
        ({"train.feature_weight": 0.0, "train.teacher": "x"}, "set train.feature_weight"),
        ({"network.style": "curriculum"}, "config.network.style='curriculum'"),
        (
            {"train.features": "move2", "train.teacher": "x"},
            "config.network.head_filters=2: .*'move2' are learned in 3 of them",
        ),
        ({"network.name": "convnet"}, "config.train.feature_weight=1.0"),
        (
            {"train.features": "move1_own", "train.teacher": "x"}
            | {"network.grow_at": (1,), "network.grow_to": (8,)},
            "config.network.grow_at",
        ),
        (
            {"train.features": "move1_random", "game": "reversi_4x4"},
            "config.train.features='move1_random': in reversi_4x4",
        ),
    ],
)
def test_what_cannot_be_learned_is_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        spec_lib.make_spec(small.small_config(LEARNED | changes))
    assert "\n" not in str(caught.value)


KEY = jax.random.key(5)
TEACHER = {
    "network.blocks": 1,
    "network.channels": 6,
    "network.stem_filters": 24,
    "network.head_filters": 1,
    "network.squeeze_excite": True,
    "train.feature_weight": 0.0,
}


def one_run(config: ConfigDict, seeds: int = 1) -> list[Member]:
    return [Member(f"r{i}", "sum", i, config) for i in range(seeds)]


@cache
def started(spec: Spec) -> Learner:
    return jax.jit(jax.vmap(partial(learner.init, spec)))(jax.random.split(KEY, 1))


def small_run(directory: Path, changes: dict[str, Any], at: int = 1) -> Learner:
    """A run directory of a small network, as it began; the network, [1]."""
    config = small.small_config(LEARNED | TEACHER | changes)
    workdir.claim(directory, config, "small")
    runs.write_members(directory, config, one_run(config))
    networks = learner.without_optimiser(started(spec_lib.make_spec(config)))
    kept = Checkpoints(directory / runs.SNAPSHOTS, keep=None)
    kept.save(at, networks)
    kept.close()
    return networks


def test_a_population_learns_features_of_a_run_beside_it(tmp_path: Path) -> None:
    theirs = small_run(tmp_path / "small", {})
    small_run(tmp_path / "wide", {"network.channels": 8})
    learned = {"train.features": "move1", "train.teacher": "../small"}
    config = small.small_config(LEARNED | learned)
    spec, place = spec_lib.make_spec(config), tmp_path / "several"
    place.mkdir()
    found = teachers.of(config, one_run(config, 3), spec, place)
    for mine, its in zip(
        jax.tree.leaves(found["params"]), jax.tree.leaves(theirs.params), strict=True
    ):
        np.testing.assert_array_equal(mine, np.repeat(its, 3, 0))
    settings = LEARNED | learned | {"train.iterations": 1}
    held = train(tmp_path / "large", settings, one_run).states.replay.examples.features
    assert held[1] is None
    assert held[0].shape[-1] == 2
    assert (np.abs(np.asarray(held[0])).max((0, 1, 2, 3, 4)) > 0).all()
    for changes, message in (
        ({"train.teacher": "../nobody"}, "config.train.teacher='../nobody': .* no run directory"),
        ({"game": "connect_four_4x5"}, "config.train.teacher='../small': .*connect_four_4x5"),
        ({"train.teacher": "../wide"}, "config.train.teacher='../wide': .* another size"),
    ):
        other = small.changed(config, changes)
        with pytest.raises(ConfigError, match=message):
            teachers.of(other, one_run(other), spec_lib.make_spec(other), place)
    small_run(tmp_path / "small", {}, at=2)  # it was trained on
    teachers.of(config, one_run(config, 3), spec, place)  # nothing was trained there yet
    with pytest.raises(ConfigError, match=r"of iteration 2, this run began with .* of iteration 1"):
        teachers.of(config, one_run(config, 3), spec, tmp_path / "large")
