"""Settings of thinking time, and of players whose searches differ and evolve (Clausen 2021).

Part of `jaxzero.settings.table`. By default none of them acts.
"""

from collections.abc import Iterator
from typing import Any

from ml_collections import ConfigDict

from jaxzero.settings.keys import Key
from jaxzero.settings.switches import Switches

EVOLVING = ("c_puct", "unvisited_q", "draw_value", "dirichlet_alpha", "kld_stop")

_MANY = 10_000_000

LEAGUE: tuple[Key, ...] = (
    Key(
        "search.kld_step",
        0,
        "after so many simulations each a search asks whether to go on (Clausen 2021: 50), to "
        "search.num_simulations at most; one whose visits are all of one move ends; 0: it never "
        "asks; puct only",
        low=0,
        high=100_000,
    ),
    Key(
        "search.kld_stop",
        -9.0,
        "it ends when the visits have changed by at most 2 to the power of this, in bits (KLD), "
        "since it asked last",
        low=-100,
        high=100,
    ),
    Key(
        "selfplay.clock",
        0,
        "simulations that a player has for a game of self-play, beside search.kld_step more in "
        "each turn (Clausen 2021: 4650); 0: any number; needs search.kld_step",
        low=0,
        high=_MANY,
    ),
    Key(
        "selfplay.league",
        "none",
        "games between players of one network that differ in numbers of their searches and evolve; "
        "the best are those with most wins (Elo), whose won games have most positions that the run "
        "had not seen, or whose games have (Clausen 2021, Figs. 12 and 13)",
        choices=("none", "wins", "novel_wins", "novelty"),
    ),
    Key(
        "selfplay.league_evolves",
        ("c_puct", "unvisited_q", "draw_value"),
        "the numbers that differ, keys of search; the others are as those keys say",
        choices=EVOLVING,
    ),
    Key(
        "selfplay.league_players", 50, "best players, who play; the first generation", low=2,
        high=10_000,
    ),
    Key(
        "selfplay.league_parents",
        15,
        "best players of whom two mutated copies each join, the next generation",
        low=1,
        high=10_000,
    ),
    Key(
        "selfplay.league_games",
        100.0,
        "games of the newest of the best players, on average, until then (in the first generation "
        "0.6 of it); 0: the players stay as they are",
        low=0,
        high=1e9,
    ),
    Key(
        "selfplay.league_points",
        90_000.0,
        "points given out until then, one for each new position",
        low=1,
        high=1e12,
    ),
    Key(
        "selfplay.league_pairing",
        "even",
        "both players of the best; or, as in Clausen 2021's program, the second one of twice as "
        "many, so that the lower half of these never moves first",
        choices=("even", "skewed"),
    ),
    Key(
        "selfplay.seen_positions",
        0,
        "positions that the run can remember to have seen, 12 bytes each and part of checkpoints: "
        "measures how many of an iteration are new to the run; 0: none",
        low=0,
        high=2**30,
    ),
)  # fmt: skip


def conflicts(config: ConfigDict, switches: Switches) -> Iterator[tuple[Any, str, str]]:
    """(whether it is so, key, remedy) of what does not go together."""
    if config.selfplay.league != "none":
        yield from _of_players(config, switches)
    yield from _of_thinking(config, switches)


def _of_players(config: ConfigDict, switches: Switches) -> Iterator[tuple[Any, str, str]]:
    search, own = config.search, config.selfplay
    for name, needed in (("algorithm", "puct"), ("loop", "tree"), ("key", "game")):
        yield (
            search[name] != needed,
            "selfplay.league",
            f"its players search with numbers of their own, set config.search.{name}={needed!r}",
        )
    yield (
        switches.keep_tree,
        "selfplay.league",
        "a kept tree would be of both players, set config.switches.keep_tree=False",
    )
    yield (
        own.league in ("novel_wins", "novelty") and not own.seen_positions,
        "selfplay.league",
        "it counts positions that the run had not seen, set config.selfplay.seen_positions, e.g. "
        "to twice the moves of all games",
    )
    yield (
        own.league_parents > own.league_players,
        "selfplay.league_parents",
        f"choose at most config.selfplay.league_players={own.league_players}",
    )
    evolves = own.league_evolves
    for wrong, remedy in (
        (not evolves, f"name at least one of {', '.join(EVOLVING)}"),
        (len(set(evolves)) < len(evolves), "name each only once"),
        (
            "draw_value" in evolves and config.network.value_head != "wdl",
            "the network tells no draws, set config.network.value_head='wdl' or leave draw_value "
            "out",
        ),
        (
            "kld_stop" in evolves and not search.kld_step,
            "no search asks whether to go on, set config.search.kld_step or leave kld_stop out",
        ),
        (
            "dirichlet_alpha" in evolves and not search.dirichlet_fraction,
            "there is no root noise, set config.search.dirichlet_fraction or leave "
            "dirichlet_alpha out",
        ),
    ):
        yield wrong, "selfplay.league_evolves", remedy


def _of_thinking(config: ConfigDict, switches: Switches) -> Iterator[tuple[Any, str, str]]:
    search, own = config.search, config.selfplay
    yield (
        search.kld_step == 1,
        "search.kld_step",
        "after one simulation each search would end, choose at least 2, or 0",
    )
    yield (
        search.kld_step and switches.keep_tree,
        "search.kld_step",
        "visits of a kept tree are not all of its search, set config.switches.keep_tree=False",
    )
    yield (
        own.clock and (not search.kld_step or search.key != "game" or own.fast_share),
        "selfplay.clock",
        "it is for searches that depend on the game, set config.search.kld_step, "
        "config.search.key='game' and config.selfplay.fast_share=0",
    )
