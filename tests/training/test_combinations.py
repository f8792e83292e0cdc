"""Mechanisms together: every accepted pair of settings plays legally and learns true targets.

A covering array: each pair of levels of two factors that any accepted settings hold is in one row
at least. Most defects of combinations need two settings; one test of all is not possible.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.reliability import played
from jaxzero.games.gobang import Gobang
from jaxzero.search import Evaluate
from jaxzero.settings.config import ConfigError, changed, default_config
from jaxzero.training import episodes, features, iteration, learner, past
from jaxzero.training import spec as spec_lib
from jaxzero.training.replay import Examples
from jaxzero.training.spec import Spec
from jaxzero.training.trajectory import Trajectory
from tests.oracles.stub_network import jax_stub_evaluate

GAMES, SIMULATIONS = 4, 5
ONLY_DRAWS = "gobang_3x3"  # nobody can have four in a row

BASE: dict[str, Any] = {
    "network.name": "resnet",
    "network.blocks": 1,
    "network.channels": 4,
    "search.num_simulations": SIMULATIONS,
    "selfplay.episodes": GAMES,
    "selfplay.temperature_plies": 4,
    "selfplay.curriculum_initial_plies": 9.0,
    "selfplay.curriculum_epochs": (0,),
    "selfplay.curriculum_fractions": (0.6,),
    "replay.window": 2,
    "replay.images": "none",
    "train.batch_size": 4,
    "arena.gate": "none",
    "execution.devices": 1,
}
# The first level of each is the plainest; all first levels together are accepted.
FACTORS: dict[str, tuple[dict[str, Any], ...]] = {
    "game": tuple({"game": name} for name in ("gobang_3x3_line3", ONLY_DRAWS, "reversi_4x4")),
    "semantics": ({}, {"semantics": "published"}),
    "head": ({"network.value_head": "wdl"}, {"network.value_head": "scalar"}),
    "algorithm": ({}, {"search.algorithm": "gumbel"}),
    "loop": ({}, {"search.loop": "mctx"}),
    "draw value": ({}, {"search.draw_value": 0.4}, {"search.draw_value": -0.5}),
    "share": ({}, {"train.root_value_share": 0.5}, {"train.root_value_share": 1.0}),
    "merging": ({}, {"replay.window_positions": 40, "replay.duplicate_weight": 0.8}),
    "caps": (
        {},
        {"selfplay.fast_share": 0.5, "selfplay.fast_simulations": 2},
        {"selfplay.fast_share": 0.5, "selfplay.fast_simulations": 1},
    ),
    "known": (
        {},
        {"search.propagate_results": True},
        {
            "search.propagate_results": True,
            "search.stop_when_known": True,
            "selfplay.known_labels": True,
        },
    ),
    "discount": ({}, {"search.discount": 0.9}),
    "target": ({}, {"search.puct_target": "improved"}, {"search.gumbel_target": "visits"}),
    "root value": ({}, {"search.gumbel_root_value": "policy"}),
    "kept tree": ({}, {"switches.keep_tree": True}, {"switches.keep_tree": False}),
    "beginning": (
        {},
        {"selfplay.opening_plies": 4},
        {"selfplay.curriculum": "schedule"},
        {"selfplay.curriculum": "schedule", "selfplay.curriculum_drop": "trim"},
    ),
    "archive": (
        {},
        {"selfplay.archive_share": 0.5},
        {"selfplay.archive_share": 1.0, "selfplay.archive": "losses"},
    ),
    "thinking": (
        {},
        {"search.kld_step": 2},
        {"search.kld_step": 2, "selfplay.clock": 6},
    ),
    "league": (
        {},
        {"selfplay.league": "wins", "selfplay.league_players": 3, "selfplay.league_parents": 1}
        | {"selfplay.league_games": 1.0},
        {"selfplay.league": "novelty", "selfplay.league_parents": 1}
        | {"selfplay.league_points": 1.0, "selfplay.seen_positions": 100},
    ),
    "sharing": (
        {},
        {"search.key": "position"},
        {"search.key": "position", "selfplay.share": "ply"},
        {"search.key": "position", "selfplay.share": "cache"},
        {"search.key": "position", "selfplay.share": "cache"}
        | {"selfplay.tree_c": 1.5, "selfplay.parts": 2},
        {"search.key": "position", "selfplay.share": "cache"}
        | {"selfplay.retry": True, "selfplay.parts": 2},
    ),
    "noise": ({}, {"search.dirichlet_fraction": 0.25, "search.ties": "random"}),
    "forced": ({}, {"search.forced_playouts": 2.0}),
    "unit": ({}, {"search.q_scale": "unit", "search.renormalise_prior": False}),
    "heads": (
        {},
        {"train.reply_weight": 0.3, "train.move_value_weight": 0.1}
        | {"train.feature_weight": 1.0, "train.features": "move0_win0_random"},
    ),
    "drawn games": ({}, {"selfplay.drop_draws": 0.5}),
}
LEVELS = tuple(FACTORS.values())
TRIES = 4  # rows of which the one with most new pairs is taken
QUICK, PARTS = 12, 4  # rows of the default suite, which hold most pairs, and tests that share them
Row = tuple[int, ...]  # a level of each factor
Pair = tuple[tuple[int, int], tuple[int, int]]  # (factor, level) twice


def settings_of(row: Row) -> dict[str, Any]:
    """All settings of a row."""
    levels = [level[i] for level, i in zip(LEVELS, row, strict=True)]
    return functools.reduce(lambda a, b: a | b, levels, BASE)


@functools.cache
def refusal(row: Row) -> str | None:
    """What is said to a row's settings; None: they are accepted."""
    try:
        spec_of(row)
    except ConfigError as error:
        return str(error)
    return None


def spec_of(row: Row) -> Spec:
    """Static settings, with the board on which nobody can win if that is the row's."""
    settings = settings_of(row)
    if settings["game"] != ONLY_DRAWS:
        return spec_lib.make_spec(changed(default_config(), settings))
    spec = spec_lib.make_spec(changed(default_config(), settings | {"game": "gobang_3x3_line3"}))
    return dataclasses.replace(spec, game=OnlyDraws(size=3, line=9))


class OnlyDraws(Gobang):
    """Nobody can have nine in a row on a board of nine squares in which both have stones."""

    def __post_init__(self) -> None:
        """The line is longer than the board is wide."""


def stub_of(spec: Spec) -> Evaluate:
    """In place of the network: priors and values of no meaning, or nothing but draws."""
    stub = jax_stub_evaluate(spec.game.num_actions, 1)
    if not isinstance(spec.game, OnlyDraws):
        return stub

    def drawn(observation: jax.Array) -> tuple[Any, ...]:
        logits, value, _ = stub(observation)
        return logits, jnp.zeros_like(value), jnp.ones_like(value)

    return drawn


def first(observation: Any) -> Any:
    """In place of a teacher's features: the first plane of the board."""
    return observation[..., :1].astype("float32")


class Played(NamedTuple):
    """A batch of games, and what is learned from them."""

    games: Trajectory
    examples: Examples


def play(row: Row) -> Played:
    """The second batch of games of a row's settings, through the window that training draws from.

    The second, because it may begin in the first.
    """
    spec, hyper = spec_of(row), spec_lib.make_hyper(changed(default_config(), settings_of(row)))
    window, games = iteration.window_of(spec), []

    def self_play(*args: Any) -> tuple[Trajectory, Any]:
        games.append(REAL(*args))
        return games[-1]

    def batch(kept: Any, key: jax.Array) -> Any:
        return episodes.play_batch(spec, hyper, None, kept, jnp.int32(0), key)

    def turn(carry: Any, number: jax.Array) -> Any:
        kept, held, key = carry
        played, held = window.take_in(held, batch, kept, number, jax.random.fold_in(key, number))
        source = window.source(held, number, jnp.int32(1))
        found = games[-1][0], source.take(jnp.arange(spec.positions)), source.count
        return (played.progress, held, key), found

    def run(key: jax.Array) -> Any:
        begun = past.begin(spec, key), window.begin(), key
        return jax.tree.map(lambda x: x[-1], jax.lax.scan(turn, begun, jnp.arange(1, 3))[1])

    with (
        mock.patch.object(learner, "acting", lambda spec, network: stub_of(spec)),
        mock.patch.object(episodes, "self_play", self_play),
        mock.patch.object(features, "seen_by", lambda network, variables, x: (first(x), -first(x))),
    ):
        found, examples, count = jax.device_get(jax.jit(run)(jax.random.key(sum(row))))
    return Played(found, jax.tree.map(lambda x: x[: int(count)], examples))


REAL = episodes.self_play


def check(row: Row) -> None:
    """Plays a row, and holds its games and targets against what must be true of any."""
    settings, spec = settings_of(row), spec_of(row)
    games, examples = play(row)
    what = str({k: v for k, v in settings.items() if BASE.get(k) != v})
    assert not played.wrong(spec, games, examples), what
    if examples.features is not None:  # equal positions have equal features, merged or not
        moves, results = examples.features
        np.testing.assert_allclose(moves, first(examples.observation), atol=1e-5, err_msg=what)
        np.testing.assert_array_equal(moves, -results, err_msg=what)
    if isinstance(spec.game, OnlyDraws) and len(examples.value):
        if examples.draw is not None:
            np.testing.assert_allclose(examples.draw, 1, atol=2e-4, err_msg=what)
        np.testing.assert_allclose(examples.value, 0, atol=2e-4, err_msg=what)


def all_pairs() -> list[Pair]:
    """Every level of a factor with every level of another."""
    sizes = [range(len(levels)) for levels in LEVELS]
    return [
        ((i, a), (j, b))
        for i, j in itertools.combinations(range(len(sizes)), 2)
        for a in sizes[i]
        for b in sizes[j]
    ]


def with_levels(row: Row, *levels: tuple[int, int]) -> Row:
    changed = dict(levels)
    return tuple(changed.get(i, level) for i, level in enumerate(row))


def accepted_with(pair: Pair) -> Row | None:
    """Accepted settings that hold a pair, at most one other factor being not at its first level."""
    plain = with_levels((0,) * len(FACTORS), *pair)
    others = [(i, a) for i, levels in enumerate(LEVELS) for a in range(1, len(levels))]
    tried = (plain, *(with_levels(plain, other, *pair) for other in others))
    return next((row for row in tried if refusal(row) is None), None)


def covering() -> Iterator[Row]:
    """Accepted rows that hold every pair which any accepted row was found for; greedy."""
    found = {pair: accepted_with(pair) for pair in all_pairs()}
    missing = {pair for pair, row in found.items() if row}
    rng = np.random.default_rng(0)
    while missing:
        starts = sorted(missing)
        tried = [starts[i] for i in rng.integers(len(starts), size=TRIES)]
        filled = [_filled(found[pair], pair, missing, rng) for pair in tried]
        best = max(filled, key=lambda row: len(pairs_of(row) & missing))
        yield best
        missing -= pairs_of(best)


@functools.cache
def quick() -> tuple[Row, ...]:
    return tuple(itertools.islice(covering(), QUICK))


def _filled(row: Row, pair: Pair, missing: set[Pair], rng: np.random.Generator) -> Row:
    """A row with that pair, its other levels so that it has many missing pairs."""
    for i in rng.permutation(len(FACTORS)).tolist():
        if i not in dict(pair):
            others = (with_levels(row, (i, level)) for level in range(len(LEVELS[i])))
            possible = [other for other in others if refusal(other) is None]
            row = max(possible, key=lambda other: len(pairs_of(other) & missing))
    return row


def pairs_of(row: Row) -> set[Pair]:
    return set(itertools.combinations(enumerate(row), 2))


def test_what_is_refused_is_refused_in_one_line() -> None:
    for pair in all_pairs():
        told = refusal(with_levels((0,) * len(FACTORS), *pair))
        assert told is None or (told.startswith("config.") and "\n" not in told), told


@pytest.mark.parametrize("part", range(PARTS))
def test_combinations(part: int) -> None:
    for row in quick()[part::PARTS]:
        check(row)


@pytest.mark.slow
def test_the_other_combinations() -> None:
    for row in itertools.islice(covering(), QUICK, None):
        check(row)
