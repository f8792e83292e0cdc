"""Matches of players whose moves are known beforehand, shared by the tests of matches."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxzero.games import make_game
from jaxzero.matches import arena
from jaxzero.matches.arena import Match
from jaxzero.players import Players, Turn, no_cost

LOWEST, HIGHEST, MIDDLE, BROKEN = range(4)
NAMES = ("connect_four_4x4", "othello_4x4", "reversi_4x4")


def scripted_choice(script: int, legal: Sequence[int]) -> int:
    """What a scripted player plays: its lowest, highest or middle legal action."""
    return legal[{LOWEST: 0, HIGHEST: len(legal) - 1, MIDDLE: len(legal) // 2}[script]]


def scripted_players(name: str, scripts: Sequence[int]) -> Players:
    """`scripted_choice`, compiled; `BROKEN`: action 0, legal or not, as searches with NaN do."""
    game = make_game(name)

    def choose_one(script: jax.Array, state: Any) -> jax.Array:
        legal = game.legal_actions(state)
        order = jnp.argsort(~legal)  # stable: the legal ones first, in order
        count = legal.sum()
        place = jnp.stack([jnp.zeros_like(count), count - 1, count // 2, count])[script]
        return jnp.where(script == BROKEN, 0, order[place])

    def choose(script: jax.Array, memory: Any, keys: Any, states: Any, live: Any) -> Turn:
        action = jax.vmap(choose_one, in_axes=(None, 0))(script, states)
        return Turn(action.astype(jnp.int32), memory, no_cost())

    return Players(params=jnp.asarray(scripts), choose=choose)


@functools.cache
def compiled(
    name: str, scripts: tuple[int, ...], games: int, openings: int, draw_for_asked: float
) -> Callable[..., Match]:
    """(key, played) -> match of scripted players."""
    return jax.jit(
        lambda key, played: arena.play_match(
            make_game(name),
            [scripted_players(name, scripts)],
            key,
            games_per_direction=games,
            played=played,
            opening_plies=openings,
            draw_for_asked=draw_for_asked,
        )
    )


def match_of(
    name: str = NAMES[0],
    scripts: tuple[int, ...] = (LOWEST, HIGHEST, MIDDLE),
    *,
    games: int = 3,
    openings: int = 0,
    played: int | None = None,
    draw_for_asked: float = 0.0,
) -> Match:
    """A match of scripted players, as NumPy."""
    run = compiled(name, scripts, games, openings, draw_for_asked)
    return jax.device_get(run(jax.random.key(0), games if played is None else played))


def moves(match: Match, pair: int, game: int) -> list[int]:
    """The actions of one game."""
    actions = match.actions[:, pair, game]
    return actions[actions >= 0].tolist()
