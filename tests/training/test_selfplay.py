"""Self-play: every game played to its end, labelled with what happened, and nobody's but its own.

The network is a deterministic stub; games are replayed with the plain-Python rules.
"""

import functools
import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import Game, make_game
from jaxzero.search import Diagnostics, SearchOptions
from jaxzero.search.tree import UNKNOWN
from jaxzero.training import heldout, learner, selfplay
from jaxzero.training.selfplay import Trajectory
from tests import small
from tests.games.boards import plain_game
from tests.oracles.mcts import Tree
from tests.oracles.mcts_games import JaxGame
from tests.oracles.stub_network import jax_stub_evaluate

LANES = 16
SIMULATIONS = 6
SEED = 5  # of the stub network
ALWAYS, NEVER = 1000, 0  # T': every move is sampled, or none
LINE = "connect_four_4x4"
Played = tuple[Trajectory, Diagnostics]


@functools.cache
def signed(name: str) -> Game:
    """The game with one plane of +1/-1/0."""
    return make_game(name, observation="signed")


@functools.cache
def program(name: str, options: SearchOptions, flags: tuple[str, ...]) -> Callable[..., Played]:
    """(keys, active, T') -> games."""
    game = signed(name)

    def run(keys: jax.Array, active: jax.Array, temperature_plies: Any) -> Played:
        return selfplay.play(
            game,
            jax_stub_evaluate(game.num_actions, SEED),
            keys,
            active,
            options=options,
            num_simulations=SIMULATIONS,
            c_puct=1.0,
            temperature_plies=temperature_plies,
            **dict.fromkeys(flags, True),
        )

    return jax.jit(run)


def play(
    name: str,
    temperature_plies: int = ALWAYS,
    *flags: str,
    active: np.ndarray | None = None,
    seed: int = 0,
    **options: Any,
) -> Played:
    """`LANES` games, as NumPy."""
    keys = jax.random.split(jax.random.key(seed), LANES)
    mask = np.ones(LANES, bool) if active is None else active
    settings = SearchOptions(**{"capacity": 4 * SIMULATIONS + 1, **options})
    return jax.device_get(program(name, settings, flags)(keys, mask, temperature_plies))


def moves(games: Trajectory, lane: int) -> list[int]:
    """The actions of one game."""
    return games.action[: games.plies[lane], lane].tolist()


def signed_plane(board: Any) -> np.ndarray:
    """[H, W, 1] of a plain-Python board, from the player to move."""
    plane = np.zeros((board.rows, board.columns, 1))
    for square, owner in board.stones.items():
        plane[square] = 1 if owner == board.to_move() else -1
    return plane


def true_labels(board: Any, **_: Any) -> tuple[float, float]:
    """What players 0 and 1 got out of a finished game."""
    return board.outcome()


def labels_of_tie_lost_by_asked(board: Any) -> tuple[float, float]:
    """alpha-zero-general's Othello asks for the side that would be to move."""
    if board.winner is None:
        return (-1.0, 1.0) if board.to_move() == 0 else (1.0, -1.0)
    return board.outcome()


def labels_of_small_draw(board: Any) -> tuple[float, float]:
    """Its Connect Four: 1e-4 for the side that would be to move."""
    if board.winner is None:
        return (1e-4, -1e-4) if board.to_move() == 0 else (-1e-4, 1e-4)
    return board.outcome()


def labels_of_gobang_defect(board: Any) -> tuple[float, float]:
    """Its Gobang: the first player has lost whatever was won."""
    return (0.0, 0.0) if board.winner is None else (-1.0, 1.0)


LABELS: dict[str, tuple[str, tuple[str, ...], dict[str, Any], Callable]] = {
    "connect_four": (LINE, (), {}, true_labels),
    "othello": ("othello_4x4", (), {}, true_labels),
    "reversi, the same player twice": ("reversi_4x4", (), {}, true_labels),
    "gobang": ("gobang_4x4", (), {}, true_labels),
    "small_draw_value": (LINE, (), {"draw_for_asked": 1e-4}, labels_of_small_draw),
    "othello_tie_is_loss_of_asked": (
        "othello_4x4",
        (),
        {"draw_for_asked": -1.0},
        labels_of_tie_lost_by_asked,
    ),
    "gobang_absolute_labels": (
        "gobang_4x4",
        ("first_player_always_loses",),
        {},
        labels_of_gobang_defect,
    ),
}


@pytest.mark.parametrize("case", LABELS)
def test_every_game_is_played_to_its_end_and_labelled_with_its_result(case: str) -> None:
    name, flags, options, labels_of = LABELS[case]
    games, _ = play(name, ALWAYS, *flags, **options)
    assert games.active.all()
    seen = set()
    for lane in range(LANES):
        board = plain_game(name)
        movers = []
        for ply, action in enumerate(moves(games, lane)):
            assert not board.is_terminal()
            assert games.valid[ply, lane]
            assert games.to_move[ply, lane] == board.to_move()
            np.testing.assert_array_equal(games.legal[ply, lane], board.legal_actions())
            np.testing.assert_array_equal(games.observation[ply, lane], signed_plane(board))
            movers.append(board.to_move())
            board.step(action)
        assert board.is_terminal()
        assert not games.valid[len(movers) :, lane].any()
        assert (games.action[len(movers) :, lane] == -1).all()
        np.testing.assert_array_equal(games.outcome[lane], board.outcome())
        labels = np.float32(labels_of(board))
        np.testing.assert_array_equal(games.value[: len(movers), lane], labels[movers])
        seen.add(board.winner)
        if name == "reversi_4x4":
            seen.update("twice" for a, b in itertools.pairwise(movers) if a == b)
    assert {0, 1} <= seen
    assert None in seen  # ties and full boards came up
    assert ("twice" in seen) == (name == "reversi_4x4")


def test_a_discount_counts_the_plies_to_the_end() -> None:
    games, _ = play(LINE, ALWAYS, discount=0.9)
    left = games.plies - np.arange(len(games.value))[:, None]
    won = np.where(games.to_move == 0, games.outcome[:, 0], games.outcome[:, 1])
    expected = won * 0.9 ** np.maximum(left, 0)
    np.testing.assert_allclose(games.value[games.valid], expected[games.valid], rtol=1e-5)
    np.testing.assert_array_equal(games.drawn[games.valid], (won == 0)[games.valid])


def test_labels_by_what_was_known() -> None:
    """The second player threw a win away, the first player's draw was known before the end."""
    unknown = UNKNOWN
    value = np.array([[1, 0], [-1, 0], [1, 0], [-1, 0]], np.float32)
    known = np.array([[unknown, unknown], [1, 0], [unknown] * 2, [-1, unknown]], np.int8)
    is_first = np.array([True, False, True, False])[:, None] & np.ones((4, 2), bool)
    found = selfplay.label_by_known(jnp.asarray(value), jnp.asarray(known), jnp.asarray(is_first))
    np.testing.assert_array_equal(found, [[-1, 0], [1, 0], [1, 0], [-1, 0]])


def test_labels_by_what_was_known_are_the_results_of_who_plays_by_it() -> None:
    options = {"propagate_results": True, "stop_when_known": True}
    games, diagnostics = play(LINE, ALWAYS, "known_labels", **options)
    plain, _ = play(LINE, ALWAYS, **options)
    chex.assert_trees_all_equal(games, plain)
    assert diagnostics.simulations < SIMULATIONS * games.plies.sum()  # some were sure


def test_gobang_defect_depends_on_the_side_to_move_alone() -> None:
    games, _ = play("gobang_4x4", ALWAYS, "first_player_always_loses")
    decided = games.valid & (games.outcome[:, 0] != 0)[None]
    assert {1.0, -1.0} == set(games.outcome[games.outcome[:, 0] != 0, 0].tolist())
    np.testing.assert_array_equal(
        games.value[decided], np.where(games.to_move[decided] == 0, -1, 1)
    )


@pytest.mark.parametrize(("draw_for_asked", "backed_up"), [(0.0, 0.0), (-1.0, 1.0)])
def test_othello_tie_is_loss_of_asked_in_the_search(
    draw_for_asked: float, backed_up: float
) -> None:
    # Where the last move is forced, all simulations end in the tie, and the other side is asked.
    games, _ = play("othello_4x4", ALWAYS, draw_for_asked=draw_for_asked)
    tied = np.flatnonzero(games.outcome[:, 0] == 0)
    last = games.plies[tied] - 1
    forced = games.legal[last, tied].sum(-1) == 1
    assert forced.any()
    own_evaluation = 1 / (SIMULATIONS + 1)  # the root's, in [-1, 1], is averaged in
    for value in games.root_value[last, tied][forced]:
        assert abs(value - backed_up * (1 - own_evaluation)) <= own_evaluation + 1e-6


def test_moves_are_sampled_in_plies_1_to_t_minus_1_only() -> None:
    for temperature_plies in (NEVER, 1, 2, 3, 6):
        games, _ = play(LINE, temperature_plies)
        sampled = max(temperature_plies - 1, 0)
        best = games.policy.argmax(-1)
        greedy = games.valid & (np.arange(games.valid.shape[0]) >= sampled)[:, None]
        np.testing.assert_array_equal(games.action[greedy], best[greedy])
        if sampled:  # the last of the sampled plies is one
            ply = sampled - 1
            assert (games.action[ply] != best[ply])[games.valid[ply]].any()
        # Whatever is equal up to there is equal to the end.
        prefixes = {tuple(games.action[:sampled, lane]) for lane in range(LANES)}
        assert len({tuple(games.action[:, lane]) for lane in range(LANES)}) == len(prefixes)
        assert len(prefixes) > 1 or not sampled


def test_moves_are_sampled_in_proportion_to_the_visits() -> None:
    count, visits = 20_000, np.array([0.0, 0.5, 0.125, 0.375], np.float32)
    result = SimpleNamespace(
        policy=jnp.broadcast_to(visits, (count, 4)),
        visit_counts=jnp.broadcast_to((8 * visits).astype(np.int32), (count, 4)),
        action=jnp.full((count,), 1, jnp.int32),
    )
    keys = jax.random.split(jax.random.key(0), count)
    choose = functools.partial(selfplay.choose, options=SearchOptions())
    action, policy = choose(keys, result, jnp.bool_(True), one_hot_after_temperature=True)
    shares = np.bincount(np.asarray(action), minlength=4) / count
    np.testing.assert_allclose(shares, visits, atol=5 * 0.5 / np.sqrt(count))
    assert shares[0] == 0
    np.testing.assert_array_equal(policy[0], visits)
    action, policy = choose(keys, result, jnp.bool_(False), one_hot_after_temperature=True)
    assert (action == 1).all()
    np.testing.assert_array_equal(policy[0], [0, 1, 0, 0])


def test_policy_targets_are_visits_over_the_legal_moves_at_any_temperature() -> None:
    sampled, greedy = play(LINE, ALWAYS)[0], play(LINE, NEVER)[0]
    for games in (sampled, greedy):
        valid = games.valid
        np.testing.assert_allclose(games.policy[valid].sum(-1), 1, rtol=1e-6)
        assert (games.policy >= 0).all()
        assert not games.policy[~games.legal].any()
        visits = games.policy[valid] * SIMULATIONS
        np.testing.assert_allclose(visits, np.round(visits), atol=1e-5)
    # Equal histories have equal targets, whatever was going to be played.
    compared = 0
    for lane in range(LANES):
        for ply in range(sampled.plies[lane]):
            if moves(sampled, lane)[:ply] != moves(greedy, 0)[:ply]:
                break
            np.testing.assert_array_equal(sampled.policy[ply, lane], greedy.policy[ply, 0])
            compared += 1
    assert compared > LANES


def test_one_hot_after_temperature() -> None:
    plies = 4
    published, corrected = play(LINE, plies, "one_hot_after_temperature")[0], play(LINE, plies)[0]
    np.testing.assert_array_equal(published.action, corrected.action)
    np.testing.assert_array_equal(published.policy[: plies - 1], corrected.policy[: plies - 1])
    late = published.valid & (np.arange(published.valid.shape[0]) >= plies - 1)[:, None]
    one_hot = np.eye(4, dtype=np.float32)[published.action[late]]
    np.testing.assert_array_equal(published.policy[late], one_hot)
    assert (corrected.policy[late].max(-1) < 1).any()


def test_root_expansion_counts() -> None:
    (published, cost), (corrected, full) = (
        play(LINE, NEVER, root_expansion_counts=on) for on in (True, False)
    )
    assert cost.simulations == (SIMULATIONS - 1) * published.valid.sum()
    assert full.simulations == SIMULATIONS * corrected.valid.sum()
    visits = published.policy[published.valid] * (SIMULATIONS - 1)
    np.testing.assert_allclose(visits, np.round(visits), atol=1e-5)


@pytest.mark.parametrize("flags", [(), ("keep_tree",)])
@pytest.mark.parametrize("root_expansion_counts", [False, True])
def test_a_greedy_game_equals_a_plain_python_search(
    flags: tuple[str, ...], root_expansion_counts: bool
) -> None:
    games, cost = play(LINE, NEVER, *flags, root_expansion_counts=root_expansion_counts)
    game = signed(LINE)
    oracle = JaxGame(game, jax_stub_evaluate(game.num_actions, SEED))
    position = oracle.init()
    tree, most = None, 0
    for ply, action in enumerate(moves(games, 0)):
        fresh = tree is None or not flags
        if fresh:
            tree = Tree(oracle, position, dtype=np.float32)
        tree.run(SIMULATIONS - (root_expansion_counts and fresh))
        visits = tree.visits()
        np.testing.assert_allclose(games.policy[ply, 0], visits / visits.sum(), atol=1e-6)
        np.testing.assert_allclose(games.root_value[ply, 0], tree.value(), atol=1e-5)
        assert action == int(np.argmax(visits))
        most = max(most, visits.sum())
        position = oracle.step(position, action)
        child = tree.root.children.get(action)
        tree = tree.advance(action) if flags and child is not None else None
    assert position.terminal
    assert (most > SIMULATIONS) == bool(flags)  # keep_tree: visits of earlier plies count
    assert cost.simulations <= SIMULATIONS * games.valid.sum()


def test_a_game_depends_on_its_own_key_alone() -> None:
    keys = jax.random.split(jax.random.key(7), 3)
    run = program(LINE, SearchOptions(capacity=SIMULATIONS + 1, ties="random"), ())
    together, _ = run(keys, np.ones(3, bool), ALWAYS)
    alone, _ = run(keys[2:], np.ones(1, bool), ALWAYS)
    small.assert_equal(lane(together, 2), lane(alone, 0))
    assert moves(together, 0) != moves(together, 1)


def test_games_with_a_network_depend_on_their_own_keys_alone() -> None:
    spec = small.small_spec()
    network = jax.jit(functools.partial(learner.init, spec))(jax.random.key(0))

    @jax.jit
    def run(keys: jax.Array, active: jax.Array) -> Trajectory:
        return selfplay.play(
            spec.game,
            learner.acting(spec, network),
            keys,
            active,
            options=spec.search,
            num_simulations=4,
            c_puct=1.0,
            temperature_plies=8,
        )[0]

    keys = jax.random.split(jax.random.key(1), 4)
    games = run(keys, np.ones(4, bool))
    order = np.array([2, 0, 3, 1])
    shuffled = run(keys[order], np.array([True, False, True, True]))
    for place in (0, 2, 3):
        small.assert_equal(lane(shuffled, place), lane(games, order[place]))
    assert len({tuple(moves(games, i)) for i in range(4)}) > 1


def test_games_that_were_not_asked_for_stay_empty() -> None:
    active = np.arange(LANES) % 3 == 0
    some, cost = play(LINE, ALWAYS, active=active)
    everyone, _ = play(LINE, ALWAYS)
    np.testing.assert_array_equal(some.active, active)
    assert not some.plies[~active].any()
    assert not some.valid[:, ~active].any()
    assert not some.policy[:, ~active].any()
    assert (some.action[:, ~active] == -1).all()
    for i in np.flatnonzero(active):
        small.assert_equal(lane(some, i), lane(everyone, i))
    assert cost.simulations == SIMULATIONS * some.plies.sum()
    nobody, cost = play(LINE, ALWAYS, active=np.zeros(LANES, bool))
    assert not nobody.valid.any()
    assert cost.evaluations == 0


def test_gumbel_explores_where_moves_are_sampled_and_only_there() -> None:
    for temperature_plies in (ALWAYS, NEVER):
        games, cost = play(LINE, temperature_plies, algorithm="gumbel", max_considered_actions=4)
        valid = games.valid
        np.testing.assert_allclose(games.policy[valid].sum(-1), 1, rtol=1e-5)
        assert not games.policy[~games.legal].any()
        assert np.isfinite(games.policy).all()
        played = np.take_along_axis(games.legal, np.maximum(games.action, 0)[..., None], -1)[..., 0]
        assert played[valid].all()
        assert cost.simulations == SIMULATIONS * valid.sum()
        distinct = {tuple(moves(games, i)) for i in range(LANES)}
        assert (len(distinct) > 1) == (temperature_plies == ALWAYS)


def test_dirichlet_noise_makes_greedy_games_differ() -> None:
    assert len({tuple(moves(play(LINE, NEVER)[0], i)) for i in range(LANES)}) == 1
    games, _ = play(LINE, NEVER, dirichlet_fraction=0.5, dirichlet_alpha=1.0)
    assert len({tuple(moves(games, i)) for i in range(LANES)}) > 1
    np.testing.assert_allclose(games.policy[games.valid].sum(-1), 1, rtol=1e-6)


def test_the_heldout_games_are_always_the_same_and_truly_labelled() -> None:
    game = signed(LINE)
    settings = {"num_games": 4, "num_simulations": 3, "temperature_plies": 5}
    (examples, counts), again = (heldout.make(game, **settings) for _ in range(2))
    small.assert_equal((examples, counts), again)
    assert examples.policy.shape == (4 * game.max_plies, game.num_actions)
    count = int(counts.sum())
    assert counts[:count].all()
    np.testing.assert_allclose(examples.policy[:count].sum(-1), 1, rtol=1e-6)
    assert set(np.asarray(examples.value[:count]).tolist()) <= {-1.0, 0.0, 1.0}
    starts = np.flatnonzero(~np.asarray(examples.observation[:count]).any((1, 2, 3)))
    assert len(starts) == 4
    for begin, end in zip(starts, [*starts[1:], count], strict=True):
        value = np.asarray(examples.value[begin:end])
        np.testing.assert_array_equal(value, value[0] * (-1.0) ** np.arange(end - begin))


def lane(games: Trajectory, index: int) -> dict[str, np.ndarray]:
    """One game; what stands in its rows after the end means nothing."""
    fields = {name: np.asarray(x) for name, x in vars(games).items() if x is not None}
    ended = ~fields["valid"][:, index]
    game = {name: fields[name][index] for name in ("outcome", "plies", "active")}
    for name in fields.keys() - game.keys():
        game[name] = fields[name][:, index].copy()
        game[name][ended] = 0
    return game
