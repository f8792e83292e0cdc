"""Players: uniform where they should be, and with exactly the search that they were given."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.games import Game, make_game
from jaxzero.players import (
    Players,
    Searcher,
    random_action,
    random_players,
    rollout_evaluate,
    search_players,
)
from jaxzero.search import SearchOptions, SearchResult, core
from tests.games.boards import play
from tests.oracles.stub_network import jax_stub_evaluate

NAME = "connect_four_3x3_line3"


def expected_result(game: Game, state: Any, player: int) -> float:
    """The mean result of uniformly random play, by trying everything."""
    if bool(game.is_terminal(state)):
        return float(game.outcome(state)[player])
    actions = np.flatnonzero(np.asarray(game.legal_actions(state)))
    step = functools.partial(_step, game)
    return float(np.mean([expected_result(game, step(state, a), player) for a in actions]))


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Game, state: Any, action: int) -> Any:
    return game.step(state, action)


@functools.partial(jax.jit, static_argnums=1)
def batch_of(state: Any, count: int) -> Any:
    """The same position, many times."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *jnp.shape(x))), state)


def test_random_moves_are_uniform_over_the_legal_ones() -> None:
    game = make_game(NAME)
    state = play(game, [0, 0, 0])  # the first column is full
    count = 6000
    keys = jax.random.split(jax.random.key(0), count)
    choose = jax.jit(jax.vmap(lambda key: random_action(game, key, state)))
    shares = np.bincount(np.asarray(choose(keys)), minlength=3) / count
    np.testing.assert_allclose(shares, [0, 0.5, 0.5], atol=5 * 0.5 / np.sqrt(count))


def test_random_players_are_as_many_as_asked_for() -> None:
    players = random_players(make_game(NAME), 3)
    assert players.size == 3
    game = make_game(NAME)
    keys = jax.random.split(jax.random.key(1), 4)
    turn = jax.jit(players.choose)(
        players.params[0], (), keys, batch_of(game.init(), 4), jnp.ones(4, bool)
    )
    assert turn.action.dtype == jnp.int32
    assert turn.cost.evaluations == 0


def test_rollouts_estimate_the_value_of_random_play() -> None:
    game = make_game(NAME)
    evaluate = rollout_evaluate(game).fn
    count = 4000
    run = jax.jit(lambda state, key: evaluate(jax.random.split(key, count), batch_of(state, count)))
    for seed, actions in enumerate(([0, 0, 1, 2], [1, 1, 0, 2, 1], [0, 1, 0, 1, 2])):
        state = play(game, actions)
        logits, values = run(state, jax.random.key(seed))
        assert not np.asarray(logits).any()
        assert set(np.asarray(values).tolist()) <= {-1.0, 0.0, 1.0}
        expected = expected_result(game, state, int(game.to_move(state)))
        assert abs(float(values.mean()) - expected) < 5 / np.sqrt(count)


def test_rollouts_of_a_finished_game_are_its_result() -> None:
    game = make_game(NAME)
    state = play(game, [0, 1, 0, 1, 0])  # player 0 has a column of three
    assert game.is_terminal(state)
    evaluate = jax.jit(rollout_evaluate(game).fn)
    _, values = evaluate(jax.random.split(jax.random.key(0), 2), batch_of(state, 2))
    np.testing.assert_array_equal(values, [-1, -1])  # it would be the loser's turn


def two_players(*, keep_tree: bool = False) -> Players:
    """Searchers who differ in m and c."""
    game = make_game(NAME)
    stub = jax_stub_evaluate(game.num_actions, 1)
    return search_players(
        game,
        lambda scale: lambda observation: tuple(x * scale for x in stub(observation)[:2]),
        Searcher(jnp.array([1.0, 0.5]), jnp.array([20, 2]), jnp.array([1.0, 3.0])),
        SearchOptions(capacity=64),
        keep_tree=keep_tree,
    )


def test_every_searcher_searches_with_its_own_network_m_and_c() -> None:
    game = make_game(NAME)
    players, stub = two_players(), jax_stub_evaluate(game.num_actions, 1)
    states = batch_of(play(game, [1]), 2)
    keys = jax.random.split(jax.random.key(0), 2)
    live = jnp.array([True, False])
    choose = jax.jit(players.choose)

    @jax.jit
    def search(scale: Any, m: Any, c: Any) -> SearchResult:
        return core.run(
            game,
            lambda observation: tuple(x * scale for x in stub(observation)[:2]),
            keys,
            states,
            options=SearchOptions(capacity=64),
            num_simulations=m,
            c_puct=c,
            active=live,
        )

    for i, (scale, m, c) in enumerate(((1.0, 20, 1.0), (0.5, 2, 3.0))):
        searcher = jax.tree.map(lambda x, i=i: x[i], players.params)
        turn = choose(searcher, (), keys, states, live)
        expected = search(scale, m, c)
        assert turn.action[0] == expected.action[0] == np.argmax(expected.visit_counts[0])
        assert turn.cost.evaluations == 2 * (m + 1)
        assert turn.cost.useful_evaluations == expected.diagnostics.useful_evaluations
        assert turn.cost.useful_evaluations <= m + 1


def test_a_kept_tree_follows_the_moves_of_both_sides() -> None:
    game = make_game(NAME)
    players = two_players(keep_tree=True)
    searcher = jax.tree.map(lambda x: x[0], players.params)
    live, keys = jnp.array([True, True]), jax.random.split(jax.random.key(0), 2)
    choose, notice = jax.jit(players.choose), jax.jit(players.notice)
    memory = jax.jit(players.remember, static_argnums=0)(2)
    assert not memory[1].any()
    turn = choose(searcher, memory, keys, batch_of(game.init(), 2), live)
    tree, is_kept = turn.memory
    assert is_kept.all()
    assert (np.asarray(tree.children_visits[:, 0].sum(-1)) == 20).all()
    # Game 0 moves on, game 1 does not.
    action = jnp.full((2,), turn.action[0])
    below = int(tree.children_visits[0, tree.children_index[0, 0, action[0]]].sum())
    moved, kept = notice(turn.memory, action, jnp.array([True, False]))
    assert kept.all()
    assert moved.children_visits[0, 0].sum() == below
    np.testing.assert_array_equal(moved.children_visits[1], tree.children_visits[1])
    # The reply, and a search that adds to what is left.
    reply = jnp.full((2,), jnp.argmax(moved.children_visits[0, 0]).astype(jnp.int32))
    moved, kept = notice((moved, kept), reply, jnp.array([True, False]))
    left = int(moved.children_visits[0, 0].sum())
    state = play(game, [int(action[0]), int(reply[0])])
    turn = choose(searcher, (moved, kept), keys, batch_of(state, 2), jnp.array([True, False]))
    assert turn.memory[0].children_visits[0, 0].sum() == left + 20
    # Whoever was not to move keeps the tree that it had.
    np.testing.assert_array_equal(turn.memory[0].children_visits[1], tree.children_visits[1])


def test_a_move_that_was_never_searched_starts_a_fresh_tree() -> None:
    game = make_game(NAME)
    players = two_players(keep_tree=True)
    searcher = jax.tree.map(lambda x: x[1], players.params)  # two simulations, three moves
    live, keys = jnp.ones(2, bool), jax.random.split(jax.random.key(0), 2)
    memory = jax.jit(players.remember, static_argnums=0)(2)
    turn = jax.jit(players.choose)(searcher, memory, keys, batch_of(game.init(), 2), live)
    never = np.argmin(np.asarray(turn.memory[0].children_visits[0, 0]))
    _, kept = jax.jit(players.notice)(turn.memory, jnp.full((2,), never, jnp.int32), live)
    assert not kept.any()
