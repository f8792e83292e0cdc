"""Rules: random play of every game, side by side with pgx's where it has the game too.

One step of one board: choose a random legal move, play it, see what the network would see, begin
again when the game is over. The floor is the same loop with states that are only read and written.
"""

import functools
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from benchmarks import cases as cases_lib
from benchmarks.cases import Case, Measured
from benchmarks.timing import Effort, Thunk, interleave
from jaxzero.games import GAME_EXAMPLES, make_game
from jaxzero.games.base import Game
from jaxzero.loops import where_lanes

GAMES = tuple(dict.fromkeys(("othello_6x6", "othello_8x8", *GAME_EXAMPLES)))
PGX = {"connect_four_6x7": "connect_four", "othello_8x8": "othello"}


class Sizes(NamedTuple):
    """What a preset measures: boards side by side, steps of all boards in one go."""

    batches: tuple[int, ...]
    work: int
    effort: Effort


_SIZES = {
    "cpu": Sizes((64, 1024, 8192), 200_000, Effort(20, 1.0)),
    "gpu": Sizes((64, 512, 1024, 4096, 8192), 2_000_000, Effort(20, 1.0)),
    "tiny": Sizes((4,), 8, Effort(1, 0.0, small=True)),
}


def cases(preset: str) -> Iterator[Case]:
    """A case for each game and number of boards."""
    sizes = _SIZES[preset]
    for name in GAMES if preset != "tiny" else ("connect_four_6x7",):
        for batch in sizes.batches:
            rivals = [PGX[name]] if name in PGX and pgx_is_installed() else []
            yield Case(
                f"games/{name} {batch}",
                {"game": name, "batch": batch, "beside": rivals},
                functools.partial(_measure, name, batch, sizes),
                guess=9.0 if name in PGX else 4.0,
                first=2,
            )


def pgx_is_installed() -> bool:
    """Whether the extra is there."""
    return importlib.util.find_spec("pgx") is not None


class Rules(NamedTuple):
    """What random play needs of a game, ours or pgx's; all on batches."""

    start: Callable[[jax.Array, int], Any]  # (key, batch) -> states at the start
    legal: Callable[[Any], jax.Array]  # states -> bool[B, A]
    step: Callable[[Any, jax.Array], Any]  # (states, actions) -> states
    observe: Callable[[Any], jax.Array]  # states -> observations, computed or carried
    over: Callable[[Any], jax.Array]  # states -> bool[B]


def our_rules(game: Game) -> Rules:
    """Of a game of this package."""

    def start(key: jax.Array, batch: int) -> Any:
        del key
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (batch, *jnp.shape(x))), game.init())

    return Rules(
        start,
        jax.vmap(game.legal_actions),
        jax.vmap(game.step),
        jax.vmap(game.observe),
        jax.vmap(game.is_terminal),
    )


def pgx_rules(env_id: str) -> Rules:
    """Of an environment of pgx; its states carry legal moves and observation."""
    import pgx

    environment: Any = pgx.make(env_id)
    return Rules(
        lambda key, batch: jax.vmap(environment.init)(jax.random.split(key, batch)),
        lambda states: states.legal_action_mask,
        jax.vmap(environment.step),
        lambda states: states.observation,
        lambda states: states.terminated | states.truncated,
    )


def random_play(rules: Rules, batch: int, turns: int) -> Thunk:
    """`turns` steps of `batch` boards; returns the last states and observations."""

    def choose(key: jax.Array, legal: jax.Array) -> jax.Array:
        """One random number a board: the k-th of its legal moves."""
        bits = jax.random.bits(key, (legal.shape[0],), jnp.uint32)
        counts = jnp.cumsum(legal, -1, dtype=jnp.int32)
        k = (bits % jnp.maximum(counts[:, -1], 1).astype(jnp.uint32)).astype(jnp.int32)
        return jnp.argmax(counts > k[:, None], -1).astype(jnp.int32)

    @jax.jit
    def run(key: jax.Array) -> Any:
        fresh = rules.start(key, batch)

        def body(turn: jax.Array, carry: tuple) -> tuple:
            states, _ = carry
            action = choose(jax.random.fold_in(key, turn), rules.legal(states))
            moved = rules.step(states, action)
            seen = rules.observe(moved)
            return where_lanes(rules.over(moved), fresh, moved), seen

        return jax.lax.fori_loop(0, turns, body, (fresh, rules.observe(fresh)))

    key = jax.random.key(0)

    def thunk() -> Any:
        with jax.numpy_rank_promotion("allow"):  # pgx's
            return run(key)

    return thunk


def only_copied(game: Game, batch: int, turns: int) -> Thunk:
    """The same loop, states and observations read and written and nothing else."""
    rules = our_rules(game)

    @jax.jit
    def run(carry: Any) -> Any:
        def touch(x: jax.Array) -> jax.Array:
            return ~x if x.dtype == bool else x + jnp.ones((), x.dtype)

        return jax.lax.fori_loop(0, turns, lambda _, c: jax.tree.map(touch, c), carry)

    states = rules.start(jax.random.key(0), batch)
    carry = jax.tree.map(jnp.array, (states, rules.observe(states)))
    return lambda: run(carry)


def _measure(name: str, batch: int, sizes: Sizes) -> Mapping[str, Measured]:
    turns = max(2, sizes.work // batch)
    thunks = {
        "": random_play(our_rules(make_game(name)), batch, turns),
        "floor": only_copied(make_game(name), batch, turns),
    }
    if name in PGX and pgx_is_installed():
        thunks["pgx"] = random_play(pgx_rules(PGX[name]), batch, turns)
    times = interleave(thunks, sizes.effort)
    steps = batch * turns

    def rate(which: str, **details: Any) -> Measured:
        return cases_lib.rate(
            steps / times[which], "steps/s", steps / times["floor"], "states copied", **details
        )

    if "pgx" not in times.all:
        return {"": rate("")}
    return {"": rate("", over_pgx=times["pgx"] / times[""]), "pgx": rate("pgx")}
