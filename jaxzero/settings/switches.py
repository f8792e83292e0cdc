"""What the published programs did and what is right: `config.semantics` and its single switches.

Imports nothing of ours. docs/semantics.md tells the story of each.
"""

import dataclasses
from typing import Any

from ml_collections import ConfigDict

SEMANTICS = ("corrected", "published")


@dataclasses.dataclass(frozen=True)
class Switch:
    """One difference between the published programs and what is right."""

    kind: type
    published: Any
    corrected: Any
    families: tuple[str, ...]  # game families it applies to; empty: all
    meaning: str

    @property
    def described(self) -> str:
        """The meaning, after the games that it concerns if not all."""
        return f"{', '.join(self.families)}: {self.meaning}" if self.families else self.meaning


_ALL: tuple[str, ...] = ()
SWITCHES: dict[str, Switch] = {
    "one_hot_after_temperature": Switch(
        bool, True, False, _ALL, "after T' the policy target is the chosen move, not the visits"
    ),
    "root_expansion_counts": Switch(
        bool, True, False, _ALL, "the first simulation of a fresh tree only expands the root: m - 1"
    ),
    "keep_tree": Switch(bool, True, False, _ALL, "the search tree is kept during a game"),
    "arena_random_openings": Switch(
        bool, False, True, _ALL, "arena pairs start from their own random opening"
    ),
    "accept_all_drawn": Switch(bool, True, False, _ALL, "a gate with draws only is passed"),
    "othello_tie_is_loss_of_asked": Switch(
        bool, True, False, ("othello",), "a tie is lost by whoever is asked (getGameEnded)"
    ),
    "small_draw_value": Switch(
        bool, True, False, ("connect_four", "gobang"), "a draw is 1e-4 for whoever is asked"
    ),
    "gobang_absolute_labels": Switch(
        bool, True, False, ("gobang",), "first player's positions are always labelled lost"
    ),
    "mirror_without_policy": Switch(
        bool, True, False, ("connect_four",), "the mirrored image keeps the policy as it was"
    ),
    "dropout_inactive": Switch(bool, True, False, _ALL, "dropout never acts in training"),
    "tournament_one_model_per_target": Switch(
        bool, True, False, _ALL, "the eight entries of a loss are one model (late binding)"
    ),
    "elo_first_listed_advantage": Switch(
        bool, True, False, _ALL, "Elo: fixed 32.8 for the first-listed player, mover unknown"
    ),
}


def game_family(name: str) -> str:
    """`"connect_four"` of `"connect_four_6x7"`; the part before the first digit otherwise."""
    if name.startswith("pgx:"):
        return "pgx"
    head = name
    for i, character in enumerate(name):
        if character.isdigit():
            head = name[:i]
            break
    return head.rstrip("_")


@dataclasses.dataclass(frozen=True)
class Switches:
    """The switches as they act in one run: resolved, hashable. Meanings: `SWITCHES`."""

    one_hot_after_temperature: bool
    root_expansion_counts: bool
    keep_tree: bool
    arena_random_openings: bool
    accept_all_drawn: bool
    othello_tie_is_loss_of_asked: bool
    small_draw_value: bool
    gobang_absolute_labels: bool
    mirror_without_policy: bool
    dropout_inactive: bool
    tournament_one_model_per_target: bool
    elo_first_listed_advantage: bool

    @property
    def draw_for_asked(self) -> float:
        """Worth of a drawn game to the side that is asked; see `jaxzero.games.scoring`."""
        if self.othello_tie_is_loss_of_asked:
            return -1.0
        return 1e-4 if self.small_draw_value else 0.0


def resolve_switches(config: ConfigDict) -> Switches:
    """`config.semantics`, overruled by single `config.switches`, for the game's family.

    A switch that does not concern the game is off, whatever is asked.
    """
    family = game_family(config.game)
    values = {}
    for name, switch in SWITCHES.items():
        asked = config.switches[name]
        value = getattr(switch, config.semantics) if asked is None else asked
        if switch.families and family not in switch.families:
            value = switch.corrected
        values[name] = value
    return Switches(**values)
