"""What the tests of the search share: positions, compiled searches, the plain-Python reference."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import mctx
import numpy as np

from jaxzero.games import Game, make_game
from jaxzero.search import SearchOptions, SearchResult, core, mctx_loop
from tests.oracles.mcts import Tree
from tests.oracles.mcts import search as plain_search
from tests.oracles.mcts_games import JaxGame, Position
from tests.oracles.stub_network import jax_stub_evaluate

SEED = 3  # of the stub network
LANES = 8  # games in a batch, so that programs are shared between tests
CAPACITY = 256  # more than any test's simulations

SMALL = "connect_four_3x3_line3"  # finished positions are everywhere in its trees
AGAIN = "reversi_4x4"  # the same player often moves twice
GAMES = (
    SMALL,
    "connect_four_5x5",
    "connect_four_6x7",
    "gobang_5x5",
    "othello_6x6",
    "reversi_8x8",
    AGAIN,
)
GUMBEL_GAMES = (SMALL, "connect_four_5x5", AGAIN)  # mctx's Gumbel functions compile slowly
SIMULATIONS = 24  # where they must be static
WITH_FINISHED = 3  # the lane of `positions_with_an_end` whose game is over


@functools.cache
def game_named(name: str) -> Game:
    """One game object per name."""
    return make_game(name)


@functools.cache
def oracle_game(name: str) -> JaxGame:
    """The game with the stub network for the plain-Python search."""
    game = game_named(name)
    return JaxGame(game, jax_stub_evaluate(game.num_actions, SEED))


def scaled_network(name: str, scale: jax.Array | float) -> Callable[[jax.Array], tuple]:
    """The stub network times 1, 0 (it knows nothing), or -1 (another network); all exact."""
    stub = jax_stub_evaluate(game_named(name).num_actions, SEED)

    def evaluate(observation: jax.Array) -> tuple:
        logits, value, draw = stub(observation)
        return logits * scale, value * scale, draw * abs(scale)

    return evaluate


def options_of(**changes: Any) -> SearchOptions:
    """Options with the tests' capacity."""
    return SearchOptions(**{"capacity": CAPACITY, **changes})


@functools.cache
def compiled(name: str, options: SearchOptions) -> Callable[..., SearchResult]:
    """The search: (keys, states, simulations, c, scale of the network, active) -> result."""

    def run(
        keys: jax.Array, states: Any, m: Any, c: Any, scale: Any, active: jax.Array
    ) -> SearchResult:
        return core.run(
            game_named(name),
            scaled_network(name, scale),
            keys,
            states,
            options=options,
            num_simulations=m,
            c_puct=c,
            active=active,
        )

    return jax.jit(run)


def search_all(
    name: str,
    positions: Sequence[Position],
    num_simulations: int,
    *,
    c_puct: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
    active: np.ndarray | None = None,
    options: SearchOptions | None = None,
) -> SearchResult:
    """Searches up to `LANES` positions (the rest of the lanes repeat the last one), as NumPy."""
    count = len(positions)
    padded = [*positions, *[positions[-1]] * (LANES - count)]
    lanes = np.ones(LANES, bool)
    if active is not None:
        lanes[:count] = active
    run = compiled(name, options or options_of())
    keys = jax.random.split(jax.random.key(seed), LANES)
    result = jax.device_get(run(keys, stack(padded), num_simulations, c_puct, scale, lanes))
    rows = jax.tree.map(lambda x: x[:count] if np.ndim(x) else x, result)
    return rows.replace(diagnostics=result.diagnostics)


def stack(positions: Sequence[Position]) -> Any:
    """Their states as one batch."""
    return jax.tree.map(lambda *x: jnp.stack(x), *[position.state for position in positions])


def play(name: str, actions: Sequence[int]) -> Position:
    """The position after these legal actions."""
    game = oracle_game(name)
    position = game.init()
    for action in actions:
        assert position.legal[action]
        position = game.step(position, action)
    return position


@functools.cache
def random_game(name: str, seed: int) -> tuple[Position, ...]:
    """All positions of a random game, the start and the end included."""
    game, rng = oracle_game(name), np.random.default_rng(seed)
    positions = [game.init()]
    while not positions[-1].terminal:
        action = int(rng.choice(np.flatnonzero(positions[-1].legal)))
        positions.append(game.step(positions[-1], action))
    return tuple(positions)


@functools.cache
def various_positions(name: str) -> tuple[Position, ...]:
    """`LANES` unfinished positions: the start, three of the middle, four near the end.

    Where a player can move twice, two of the middle ones are one and two plies before that.
    """
    games = [random_game(name, seed) for seed in range(7)]
    middle = [game[len(game) // 2] for game in games[:3]]
    if not game_named(name).is_alternating:
        middle[1:] = positions_before_a_second_move(name)
    late = [
        game[max(0, len(game) - 1 - plies)]
        for game, plies in zip(games[3:], (1, 2, 3, 5), strict=True)
    ]
    return games[0][0], *middle, *late


def positions_before_a_second_move(name: str) -> list[Position]:
    """One and two plies before a move after which the same player is to move again."""
    for seed in range(100):
        game = random_game(name, seed)
        movers = [position.to_move for position in game[:-1]]
        for ply in range(len(movers) // 2, len(movers) - 2):
            if movers[ply] == movers[ply + 1]:
                return [game[ply - 1], game[ply]]
    raise AssertionError("no player moved twice")


@functools.cache
def positions_with_an_end(name: str) -> tuple[Position, ...]:
    """Various positions, one of them finished."""
    positions = list(various_positions(name))
    positions[WITH_FINISHED] = random_game(name, 0)[-1]
    return tuple(positions)


@functools.cache
def gumbel_of_mctx(name: str, options: SearchOptions) -> Callable[..., mctx.PolicyOutput]:
    """`mctx.gumbel_muzero_policy` with its own noise: (key, states, scale of the noise)."""
    game, evaluate = game_named(name), scaled_network(name, 1.0)

    def run(key: jax.Array, states: Any, gumbel_scale: Any) -> mctx.PolicyOutput:
        keys, everyone = jax.random.split(key, LANES), jnp.ones((LANES,), bool)
        trees, made = core.start(game, evaluate, keys, states, options)
        invalid = trees.root_invalid_actions
        embedding = mctx_loop.root(states, made)
        return mctx.gumbel_muzero_policy(
            (),
            key,
            mctx.RootFnOutput(
                prior_logits=trees.children_prior_logits[:, 0],
                value=trees.raw_values[:, 0],
                embedding=embedding,
            ),
            mctx_loop.model(game, evaluate, options, keys, everyone),
            SIMULATIONS - options.root_expansion_counts,
            invalid_actions=invalid,
            max_num_considered_actions=options.max_considered_actions,
            qtransform=functools.partial(
                mctx.qtransform_completed_by_mix_value,
                rescale_values=options.gumbel_rescale,
                value_scale=options.gumbel_value_scale,
                maxvisit_init=options.gumbel_visit_offset,
            ),
            gumbel_scale=gumbel_scale,
        )

    return jax.jit(run)


@functools.cache
def static_search(name: str, options: SearchOptions) -> Callable[..., SearchResult]:
    """The search with `SIMULATIONS`, given its noise: (states, c, noise [B, A]) -> result."""

    def run(states: Any, c: Any, noise: jax.Array) -> SearchResult:
        def set_noise(trees: Any, *_: Any) -> Any:
            return trees.replace(extra_data=trees.extra_data.replace(root_gumbel=noise))

        with mock.patch.object(core.noise, "add", set_noise):
            return core.run(
                game_named(name),
                scaled_network(name, 1.0),
                jax.random.split(jax.random.key(0), LANES),
                states,
                options=options,
                num_simulations=SIMULATIONS,
                c_puct=c,
            )

    return jax.jit(run)


class Edge(NamedTuple):
    """A visited edge of a stored tree. `q` is for the player to move at the parent."""

    parent: Position
    action: int
    visits: int
    q: float
    child_index: int  # -1 where no child is stored
    visits_below: int  # of the child's own edges, 0 where no child is stored


def visited_edges(name: str, result: SearchResult, lane: int) -> Iterator[Edge]:
    """All edges with visits of the nodes in use in one lane's tree."""
    tree = jax.tree.map(lambda x: x[lane], result.tree)
    for node in range(tree.extra_data.size):
        parent = oracle_game(name).position(jax.tree.map(lambda x, n=node: x[n], tree.embeddings))
        for action in np.flatnonzero(tree.children_visits[node]).tolist():
            child = int(tree.children_index[node, action])
            yield Edge(
                parent,
                action,
                int(tree.children_visits[node, action]),
                float(tree.children_values[node, action]),
                child,
                int(tree.children_visits[child].sum()) if child >= 0 else 0,
            )


def assert_same_search(result: SearchResult, lane: int, tree: Tree, what: str = "") -> None:
    """Visit counts equal to the plain-Python tree's; values and Q to 1e-5."""
    message = f"lane {lane} {what}"
    np.testing.assert_array_equal(result.visit_counts[lane], tree.visits(), message)
    assert abs(result.value[lane] - tree.value()) <= 1e-5, message
    q = tree.zero_sum() + tree.draw_value * tree.draw()
    np.testing.assert_allclose(result.q[lane], q, rtol=0, atol=1e-5, err_msg=message)


def plain_settings(options: SearchOptions) -> dict[str, Any]:
    """What the plain-Python search calls these options; none of them draws random numbers."""

    def value(outcome: tuple[float, float], to_move: int) -> float:
        return options.draw_for_asked if outcome[0] == outcome[1] else outcome[to_move]

    return {
        "unvisited_q": options.unvisited_q,
        "q_scale": options.q_scale,
        "renormalise": options.renormalise_prior,
        "sqrt_form": {"sqrt_total": "inside", "sqrt_total_plus": "plus"}[options.exploration],
        "draw_value": options.draw_value,
        "terminal_value": value,
        "capacity": options.capacity,
        "count_finished": False,
        "discount": options.discount,
        "propagate_results": options.propagate_results,
        "dtype": np.float32,
    }


def check_search(
    name: str,
    positions: Sequence[Position],
    num_simulations: int,
    c_puct: float,
    options: SearchOptions,
) -> None:
    """Searches positions as one batch, and one by one in plain Python.

    Raises:
      AssertionError: visits, values or choices differ.
    """
    result = search_all(name, positions, num_simulations, c_puct=c_puct, options=options)
    simulations = num_simulations - options.root_expansion_counts
    for lane, position in enumerate(positions):
        tree = plain_search(
            oracle_game(name),
            position,
            num_simulations=simulations,
            c_puct=c_puct,
            **plain_settings(options),
        )
        assert_same_search(result, lane, tree)
        assert result.action[lane] == tree.choice()
        if not options.propagate_results:
            np.testing.assert_allclose(result.policy[lane], tree.visits() / simulations, rtol=1e-6)
