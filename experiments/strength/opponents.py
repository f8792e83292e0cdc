"""Fixed opponents: a random player, a greedy one, plain MCTS with rollouts, players that ship."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import jax.numpy as jnp

from experiments import published
from jaxzero import pretrained, runs
from jaxzero.games.base import Game
from jaxzero.players import (
    Players,
    Searcher,
    greedy_players,
    random_players,
    rollout_evaluate,
    rollouts_of,
    search_players,
)
from jaxzero.ratings import DEFAULT_ADVANTAGE, DEFAULT_DRAW_ELO
from jaxzero.search.options import SearchOptions
from jaxzero.settings.config import ConfigError, nearest

# Any mcts_NUMBER will do, and pretrained:NAME.
NAMES = ("random", "greedy", "mcts_50", "mcts_200", "mcts_800")
_MOST_ROLLOUTS = 999_999
# What `--help` says of the flags that all commands with opponents have.
FLAGS: Final = {
    "simulations": "simulations a move, the same for all networks (default: each network's own)",
    "openings": "random plies before each colour-swapped pair of games",
    "seed": "of the games",
}


class Entry(NamedTuple):
    """A player of a tournament, as results.json describes it."""

    name: str  # unique in its tournament
    kind: str  # trained, untrained, random, greedy, rollouts or pretrained
    target: str | None = None  # of a network
    seed: int | None = None  # of a network
    run: str | None = None  # of a network, the label of its run directory where there are several
    iteration: int | None = None  # of a network, how long it was trained
    simulations: int | None = None  # m of a search


def listed_as_published(players: Sequence[Entry]) -> list[int]:
    """Their numbers in the order of the papers' list: random, l_+, l_p, l_v, l_x, then others.

    The authors' release (pitresult/) lists them so, and its ratings depend on it.
    """
    kinds = published.LISTED

    def place(number: int) -> int:
        kind = players[number].target or players[number].kind
        return kinds.index(kind) if kind in kinds else len(kinds)

    return sorted(range(len(players)), key=place)


def terms(players: Sequence[Entry], *, as_published: bool) -> dict[str, Any]:
    """Arguments of `tournament.rate` and `tournament.fit`: BayesElo's defaults, or none."""
    if not as_published:
        return {}
    listed = listed_as_published(players)
    return {"advantage": DEFAULT_ADVANTAGE, "draw_elo": DEFAULT_DRAW_ELO, "listed": listed}


def check(names: Sequence[str], flag: str, game: str) -> tuple[str, ...]:
    """The names, each known, of this board and given once; else ConfigError of the flag or key."""
    for name in names:
        if name.startswith(pretrained.PREFIX):
            if (plays := runs.open_run(name).spec.game.name) != game:
                raise ConfigError(f"{flag}={name!r}: it plays {plays}, not {game}")
        elif name not in NAMES and not 1 <= rollouts_of(name) <= _MOST_ROLLOUTS:
            raise ConfigError(
                f"{flag}={name!r}: {nearest(name, NAMES)} (any mcts_NUMBER will do, and "
                f"{pretrained.PREFIX}NAME)"
            )
        if names.count(name) > 1:
            raise ConfigError(f"{flag}: {name!r} is named twice, name each opponent once")
    return tuple(names)


def build(game: Game, names: Sequence[str]) -> tuple[list[Entry], list[Players]]:
    """Opponents by kind: plain MCTS by number of rollouts, greedy, random, players that ship.

    `names`: as `check` lets them through.
    """
    entries: list[Entry] = []
    kinds: list[Players] = []
    rollouts = sorted(filter(None, map(rollouts_of, names)))
    if rollouts:
        entries += [Entry(f"mcts_{m}", "rollouts", simulations=m) for m in rollouts]
        kinds.append(_rollout_players(game, rollouts))
    for name, players in (("greedy", greedy_players), ("random", random_players)):
        if name in names:
            entries.append(Entry(name, name))
            kinds.append(players(game))
    for name in names:
        if name.startswith(pretrained.PREFIX):
            run = runs.open_run(name)
            m = run.members[0].config.search.num_simulations
            entries.append(Entry(name, "pretrained", simulations=m))
            kinds.append(runs.player_of(run))
    return entries, kinds


def _rollout_players(game: Game, rollouts: Sequence[int]) -> Players:
    """Plain MCTS, c = sqrt(2)."""
    searchers = Searcher(
        (), jnp.array(rollouts, jnp.int32), jnp.full((len(rollouts),), jnp.sqrt(2.0), jnp.float32)
    )
    return search_players(
        game, lambda _: rollout_evaluate(game), searchers, SearchOptions(capacity=max(rollouts) + 1)
    )
