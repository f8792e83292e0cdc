"""Players as somebody at a board meets them: one position at a time, with their analysis of it."""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero import pretrained, runs
from jaxzero.games import Game
from jaxzero.games.base import State
from jaxzero.play.display.session import Session
from jaxzero.players import Players, greedy_players, random_players, rollout_evaluate, rollouts_of
from jaxzero.runs import Run
from jaxzero.search import core, variations
from jaxzero.search.evaluation import Evaluate, StateEvaluate
from jaxzero.search.options import SearchOptions
from jaxzero.search.result import SearchResult
from jaxzero.settings.config import ConfigError, nearest
from jaxzero.training import learner
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Spec

PLAIN_NAMES = ("random", "greedy", "mcts_200")
MAX_SIMULATIONS = 100_000
_LINES, _DEPTH = 3, 8  # of principal variations


class Analysis(NamedTuple):
    """What a player makes of one position; P is the player to move there."""

    action: int  # its choice
    # of the search, for P in [-1, 1]; None for a player who does not search, like the rest
    value: float | None = None
    network_value: float | None = None  # before the search; None without a network
    prior: np.ndarray | None = None  # float32[A], the network's probabilities; None without one
    visits: np.ndarray | None = None  # int32[A], of the search
    q: np.ndarray | None = None  # float32[A], value of each move for P; meaningless without visits
    lines: np.ndarray | None = None  # int32[L, D], principal variations, see `variations.principal`


@dataclasses.dataclass(frozen=True)
class BoardPlayer:
    """Someone who can choose a move."""

    name: str  # short, e.g. `"sum_seed0"`.
    title: str  # says all, e.g. `"sum_seed0 of runs/quick, iteration 30, m = 25"`.
    # (key, consumed; state of one game) -> Analysis. The first call compiles.
    analyse: Callable[[jax.Array, State], Analysis]
    searches: bool  # its analyses have values and visits


def analyse(player: BoardPlayer, now: Session, seed: int) -> Analysis:
    """What a player makes of the newest position: the same again for the same seed and ply."""
    key = jax.random.fold_in(jax.random.key(seed), len(now.actions))
    return player.analyse(key, now.now.state)


def of_run(
    run: Run,
    member: int,
    *,
    at: int | None = None,
    simulations: int | None = None,
    flag: str = "--simulations",
) -> BoardPlayer:
    """The best network of a member after an iteration, with a fresh search for each move.

    `at`: the iteration, by default the newest; `simulations`: m, by default the member's own;
    `flag`: by which m was asked for. ConfigError: that iteration is not kept, or a search of
    `simulations` is impossible.
    """
    at = run.iterations[-1] if at is None else at
    m = run.members[member].config.search.num_simulations if simulations is None else simulations
    return of_network(run, member, runs.member_network(run, member, at), at, m, flag=flag)


def of_network(
    run: Run,
    member: int,
    network: Learner,
    at: int,
    m: int,
    *,
    most: int | None = None,
    flag: str = "--simulations",
) -> BoardPlayer:
    """As `of_run`, of a network (`runs.member_network`) that is at hand, with m simulations.

    Players with equal `most`, by default m, share a compiled search, whatever their m up to it. A
    search that fixes m (Gumbel, `search.loop=mctx`) is compiled for each.

    ConfigError: a search of m is impossible.
    """
    least = least_simulations(run)
    if not least <= m <= MAX_SIMULATIONS:
        raise ConfigError(f"{flag}={m}: choose from {least} to {MAX_SIMULATIONS}")
    options, fixed = _sized(run.spec.arena_search, m, most)
    c_puct = jnp.float32(run.members[member].config.search.c_puct)

    def of_position(key: jax.Array, state: State) -> Analysis:
        return _on_host(
            _search_with_network(run.spec, options, fixed, m, network, c_puct, key, state)
        )

    name, place = run.members[member].name, pretrained.named(run.directory)
    title = f"{name} of {place}"
    if place.startswith(pretrained.PREFIX):  # with one network, which has no name of its own
        name, title = run.directory.name, place
    title += f", iteration {at}, m = {m}"
    return BoardPlayer(name, title, of_position, True)


def least_simulations(run: Run) -> int:
    """Of a search with a network of the run: 2 where evaluating the root counts as one."""
    return 2 if run.spec.switches.root_expansion_counts else 1


def plain(name: str, game: Game, *, most: int | None = None) -> BoardPlayer:
    """A player without a network: `random`, `greedy` (one ply ahead), or `mcts_N` (N rollouts).

    `most`: as of `of_network`. ConfigError: there is none of that name.
    """
    if name == "random":
        return _of_players(name, "a random player", random_players(game))
    if name == "greedy":
        return _of_players(name, "a greedy player", greedy_players(game))
    m = rollouts_of(name)
    if not 1 <= m <= MAX_SIMULATIONS:
        raise ConfigError(
            f"{name!r} is no player without a network: {nearest(name, PLAIN_NAMES)} "
            f"(mcts_1 to mcts_{MAX_SIMULATIONS})"
        )
    options, fixed = _sized(SearchOptions(capacity=m + 1), m, most)

    def of_position(key: jax.Array, state: State) -> Analysis:
        analysis = _on_host(_search_with_rollouts(game, options, fixed, m, key, state))
        return analysis._replace(network_value=None, prior=None)

    return BoardPlayer(name, f"plain MCTS with {m} rollouts a move", of_position, True)


def _of_players(name: str, title: str, players: Players) -> BoardPlayer:
    """The first of some players who say nothing but their move, and remember nothing."""
    params = jax.tree.map(lambda x: x[0], players.params)

    @jax.jit
    def choose(key: jax.Array, state: State) -> jax.Array:
        turn = players.choose(params, (), key[None], _batch_of_one(state), jnp.ones((1,), bool))
        return turn.action[0]

    return BoardPlayer(name, title, lambda key, state: Analysis(int(choose(key, state))), False)


def _sized(options: SearchOptions, m: int, most: int | None) -> tuple[SearchOptions, int | None]:
    """Options with room for the search, and m where it must be static, else None."""
    sized = dataclasses.replace(options, capacity=max(m, most or 0) + 1)
    return sized, m if options.fixes_simulations else None


def _batch_of_one(state: State) -> State:
    return jax.tree.map(lambda x: jnp.asarray(x)[None], state)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _search_with_network(
    spec: Spec,
    options: SearchOptions,
    fixed: int | None,
    simulations: jax.Array | int,
    network: Learner,
    c_puct: jax.Array,
    key: jax.Array,
    state: State,
) -> dict[str, jax.Array]:
    evaluate = learner.acting(spec, network)
    return _search(spec.game, evaluate, options, fixed or simulations, c_puct, key, state)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _search_with_rollouts(
    game: Game,
    options: SearchOptions,
    fixed: int | None,
    simulations: jax.Array | int,
    key: jax.Array,
    state: State,
) -> dict[str, jax.Array]:
    evaluate = rollout_evaluate(game)
    c_puct = jnp.sqrt(jnp.float32(2.0))
    return _search(game, evaluate, options, fixed or simulations, c_puct, key, state)


def _search(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    options: SearchOptions,
    simulations: jax.Array | int,
    c_puct: jax.Array,
    key: jax.Array,
    state: State,
) -> dict[str, jax.Array]:
    result: SearchResult = core.run(
        game,
        evaluate,
        key[None],
        _batch_of_one(state),
        options=options,
        num_simulations=simulations,
        c_puct=c_puct,
        noise_scale=0.0,
    )
    return {  # the fields of an `Analysis`
        "action": result.action[0],
        "value": result.value[0],
        "network_value": result.tree.raw_values[0, 0],
        "prior": jnp.exp(result.tree.children_prior_logits[0, 0]),
        "visits": result.visit_counts[0],
        "q": result.q[0],
        "lines": variations.principal(result.tree, count=_LINES, depth=_DEPTH)[0],
    }


def _on_host(fields: dict[str, jax.Array]) -> Analysis:
    return Analysis(
        **{name: x if x.ndim else x.item() for name, x in jax.device_get(fields).items()}
    )
