"""Candidates against references: references meet everyone, candidates do not meet each other.

Networks of many iterations and runs are measured against the same few opponents, so that the work
grows with their number and not with its square, and so that all ratings have one scale.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

from jaxzero.games.base import Game
from jaxzero.matches import arena, tournament
from jaxzero.players import Players
from jaxzero.ratings import Ratings


def ladder_pairs(candidates: int, references: int) -> np.ndarray:
    """int32[M, 2]: all ordered pairs but those of two candidates, who are numbered first."""
    pairs = arena.ordered_pairs(candidates + references)
    return pairs[pairs.max(1) >= candidates]


class Ladder:
    """Games of candidates against references, and of these among themselves, compiled once."""

    def __init__(
        self,
        game: Game,
        candidates: Players,
        references: Sequence[Players],
        *,
        games_per_direction: int,
        opening_plies: int,
        at_once: int,
        references_meet: bool = True,
    ) -> None:
        """What is played.

        Args:
          candidates: numbered from 0; `play` takes the params of any others of their kind.
          references: by kind, numbered after the candidates.
          games_per_direction: k, of each ordered pair.
          opening_plies: random plies before each colour-swapped pair of games.
          at_once: games of each ordered pair that are played together; it changes no game.
          references_meet: they play among themselves too, which ratings need.
        """
        self.pairs = ladder_pairs(candidates.size, sum(players.size for players in references))
        if not references_meet:
            self.pairs = self.pairs[self.pairs.min(1) < candidates.size]
        self.games = len(self.pairs) * games_per_direction
        self._params = candidates.params
        self._starts = range(0, games_per_direction, at_once)

        @jax.jit
        def run(params: Any, key: jax.Array, first_game: jax.Array) -> arena.Match:
            return arena.play_match(
                game,
                [candidates._replace(params=params), *references],
                key,
                games_per_direction=at_once,
                played=games_per_direction,
                pairs=self.pairs,
                first_game=first_game,
                opening_plies=opening_plies,
            )

        self._run = run
        self._compiled: Callable[..., arena.Match] | None = None

    def compile(self) -> None:
        """Before a bar starts, so that its estimate is of playing. Compiles once."""
        if self._compiled is None:
            lowered = self._run.lower(self._params, jax.random.key(0), jnp.int32(0))
            self._compiled = lowered.compile()

    def play(
        self,
        params: Any,
        key: jax.Array,
        bar: tqdm,
        earlier: Sequence[set[bytes]] | None = None,
    ) -> np.ndarray:
        """int64[M, 5]: rows of distinct games of other candidates; the bar counts every game.

        `earlier`: see `tournament.is_first_of_its_kind`.
        """
        self.compile()
        assert self._compiled is not None
        parts = []
        for first_game in self._starts:
            part = self._compiled(params, key, jnp.int32(first_game))
            parts.append(jax.tree.map(np.asarray, part))
            bar.update(int(parts[-1].played.sum()))
        actions = np.concatenate([part.actions for part in parts], axis=2)
        outcome = np.concatenate([part.outcome for part in parts], axis=1)
        played = np.concatenate([part.played for part in parts], axis=1)
        counted = tournament.is_first_of_its_kind(actions, played, earlier)
        return tournament.result_rows(outcome, counted, self.pairs)


def above(ratings: Ratings, zero: int) -> tuple[np.ndarray, np.ndarray]:
    """Elo of all players [P] with one of them at 0, and the standard errors of the differences."""
    elo, stderr = np.array([ratings.difference(i, zero) for i in range(len(ratings.elo))]).T
    return elo, stderr
