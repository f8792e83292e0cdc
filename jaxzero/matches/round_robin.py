"""Everyone against everyone, compiled, and played in parts so that progress can be shown.

One program plays some of the rounds (in round r player i moves first against player i + r) and some
of the games of each pair. A game depends on its pair and number only, so the parts play the games
that the whole would have played.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

from jaxzero.games.base import Game
from jaxzero.matches import arena
from jaxzero.players import Cost, Players


@dataclasses.dataclass(frozen=True)
class Parts:
    """How a round robin is cut: each part plays so many rounds, so many games of each pair.

    Attributes:
      rounds, games: of a part; the last parts may hold fewer.
      starts: (first round, from 1; first game, from 0) of every part.
    """

    rounds: int
    games: int
    starts: tuple[tuple[int, int], ...]


def cut(num_players: int, games_per_direction: int, *, parts: int, least: int) -> Parts:
    """Cuts a round robin into about so many equal parts.

    Args:
      num_players: P.
      games_per_direction: k.
      parts: wanted.
      least: games that each player should play at a time, or about so many: tiny batches cost.
    """
    rounds = num_players - 1
    wanted = max(1, least, -(-rounds * games_per_direction // parts))
    per_round = _even(games_per_direction, wanted)
    per_part = _even(rounds, wanted // per_round if per_round == games_per_direction else 1)
    starts = [
        (r, g)
        for r in range(1, num_players, per_part)
        for g in range(0, games_per_direction, per_round)
    ]
    return Parts(per_part, per_round, tuple(starts))


def _even(total: int, most: int) -> int:
    """At most `most` of `total`, so that the parts are about equal."""
    return -(-total // -(-total // max(1, min(most, total))))


def round_pairs(num_players: int, first_round: Any, rounds: int) -> Any:
    """int32[P rounds, 2] ordered pairs of some rounds, grouped by the first.

    Beyond the last round everyone sits out (is paired with itself). `first_round` may be traced.
    """
    numpy = np if isinstance(first_round, int) else jnp
    number = numpy.minimum(first_round + np.arange(rounds, dtype=np.int32), num_players)
    first = np.repeat(np.arange(num_players, dtype=np.int32), rounds)
    second = (first + numpy.tile(number, num_players)) % num_players
    return numpy.stack([numpy.asarray(first), second], -1).astype(np.int32)


@dataclasses.dataclass(frozen=True)
class Forecast:
    """What a round robin will cost, before it is played.

    Attributes:
      games: exactly.
      evaluations: of each player, at most: if some game lasts as long as any can.
    """

    games: int
    evaluations: tuple[int, ...]


def forecast(game: Game, simulations: Sequence[int], games_per_direction: int) -> Forecast:
    """Counts games and evaluations.

    Args:
      simulations: m of each player, 0 for those who do not search.
      games_per_direction: k.
    """
    each = (len(simulations) - 1) * games_per_direction  # games of one player at a time
    turns = game.max_plies * (1 if game.is_alternating else 2)
    return Forecast(
        games=len(simulations) * each,
        evaluations=tuple(turns * each * (m + 1) if m else 0 for m in simulations),
    )


RoundRobin = Callable[..., arena.Match]


def compile_round_robin(
    game: Game,
    kinds: Sequence[Players],
    *,
    games_per_direction: int,
    opening_plies: int,
    draw_for_asked: float = 0.0,
    parts: Parts | None = None,
) -> RoundRobin:
    """A round robin as a function of its players' params, compiled at its first call.

    Args:
      kinds: players by kind, numbered in this order.
      games_per_direction: games of each ordered pair, so a pair plays twice as many.
      opening_plies: random plies before each colour-swapped pair of games.
      draw_for_asked: see `scoring.arena_outcome`.
      parts: of `cut`; by default about 24, of at least 8 games a player at a time on a CPU and 128
        on an accelerator. They change no game.

    Returns:
      (params of each kind, key, title=None) -> the match, on the host. With a title a bar shows the
      games that were played.
    """
    num_players = sum(players.size for players in kinds)
    on_cpu = jax.default_backend() == "cpu"
    parts = parts or cut(num_players, games_per_direction, parts=24, least=8 if on_cpu else 128)

    @jax.jit
    def run(params: Sequence[Any], key: jax.Array, first_round: Any, first_game: Any) -> Any:
        given = [players._replace(params=p) for players, p in zip(kinds, params, strict=True)]
        return arena.play_match(
            game,
            given,
            key,
            games_per_direction=parts.games,
            played=games_per_direction,
            pairs=round_pairs(num_players, first_round, parts.rounds),
            opponents=[parts.rounds] * len(given),
            first_game=first_game,
            opening_plies=opening_plies,
            draw_for_asked=draw_for_asked,
        )

    @functools.cache
    def compiled() -> Callable[..., arena.Match]:
        """Before the bar starts, so that its estimate is of playing."""
        params = [players.params for players in kinds]
        return run.lower(params, jax.random.key(0), jnp.int32(0), jnp.int32(0)).compile()

    def play(params: Sequence[Any], key: jax.Array, title: str | None = None) -> arena.Match:
        program = compiled()
        whole = _Whole(game, num_players, games_per_direction)
        total = num_players * (num_players - 1) * games_per_direction
        with progress(total, title) as bar:
            for first_round, first_game in parts.starts:
                part = program(params, key, jnp.int32(first_round), jnp.int32(first_game))
                part = jax.tree.map(np.asarray, part)
                whole.add(part, round_pairs(num_players, first_round, parts.rounds), first_game)
                bar.update(int(part.played.sum()))
        return whole.match()

    return play


def progress(total: int, title: str | None) -> Any:
    """A bar of games, hidden without a title."""
    return tqdm(total=total, desc=title, unit="game", disable=title is None, mininterval=0.5)


class _Whole:
    """The match that parts add up to, in the order of `arena.ordered_pairs`."""

    def __init__(self, game: Game, num_players: int, games: int) -> None:
        self._players = num_players
        shape = (num_players * (num_players - 1), games)
        self._outcome: Any = np.zeros((*shape, 2), np.float32)
        self._played: Any = np.zeros(shape, bool)
        self._actions: Any = np.full((game.max_plies, *shape), -1, np.int16)
        self._cost: Any = Cost(np.zeros(()), np.zeros(()))  # type: ignore[arg-type]

    def add(self, part: arena.Match, pairs: np.ndarray, first_game: int) -> None:
        """Puts the games of a part, [m, g], in their places."""
        m, g = np.nonzero(part.played)
        first, second = pairs[m].T
        row = first * (self._players - 1) + second - (second > first)
        column = first_game + g
        self._outcome[row, column] = part.outcome[m, g]
        self._played[row, column] = True
        self._actions[:, row, column] = part.actions[:, m, g]
        self._cost = jax.tree.map(lambda a, b: np.asarray(a + b), self._cost, part.cost)

    def match(self) -> arena.Match:
        return arena.Match(self._outcome, self._played, self._actions, self._cost)
