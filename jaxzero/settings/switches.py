"""What the published programs did and what is right: `config.semantics` and its single switches.

Imports nothing of ours. docs/semantics.md tells the story of each.
"""

import dataclasses
import re
from typing import Any, NamedTuple

from ml_collections import ConfigDict

SEMANTICS = ("corrected", "published")


class Switch(NamedTuple):
    """One difference: published on and corrected off, or the reverse."""

    meaning: str
    families: tuple[str, ...] = ()  # game families it applies to; empty: all
    published: bool = True

    @property
    def corrected(self) -> bool:
        """How it stands where things are right."""
        return not self.published

    @property
    def described(self) -> str:
        """The meaning, after the games that it concerns if not all."""
        return f"{', '.join(self.families)}: {self.meaning}" if self.families else self.meaning


def _switch(meaning: str, *families: str, published: bool = True) -> Any:
    return dataclasses.field(metadata={"switch": Switch(meaning, families, published)})


@dataclasses.dataclass(frozen=True)
class Switches:
    """The switches as they act in one run: resolved, hashable. `SWITCHES` describes them."""

    one_hot_after_temperature: bool = _switch(
        "after T' the policy target is the chosen move, not the visits"
    )
    root_expansion_counts: bool = _switch(
        "the first simulation of a fresh tree only expands the root: m - 1"
    )
    keep_tree: bool = _switch("the search tree is kept during a game")
    arena_random_openings: bool = _switch(
        "arena pairs start from their own random opening", published=False
    )
    accept_all_drawn: bool = _switch("a gate with draws only is passed")
    othello_tie_is_loss_of_asked: bool = _switch(
        "a tie is lost by whoever is asked (getGameEnded)", "othello"
    )
    small_draw_value: bool = _switch(
        "a draw is 1e-4 for whoever is asked", "connect_four", "gobang"
    )
    gobang_absolute_labels: bool = _switch(
        "first player's positions of decisive games are labelled lost, whoever won", "gobang"
    )
    mirror_without_policy: bool = _switch(
        "the mirrored image keeps the policy as it was", "connect_four"
    )
    dropout_inactive: bool = _switch("dropout never acts in training")
    tournament_one_model_per_target: bool = _switch(
        "the eight entries of a loss are one model (late binding)"
    )
    elo_first_listed_advantage: bool = _switch(
        "Elo: fixed 32.8 for the first-listed player, mover unknown"
    )

    @property
    def draw_for_asked(self) -> float:
        """Worth of a drawn game to the side that is asked; see `jaxzero.games.scoring`."""
        if self.othello_tie_is_loss_of_asked:
            return -1.0
        return 1e-4 if self.small_draw_value else 0.0


SWITCHES: dict[str, Switch] = {
    field.name: field.metadata["switch"] for field in dataclasses.fields(Switches)
}


def game_family(name: str) -> str:
    """`"connect_four"` of `"connect_four_6x7"`; the part before the first digit otherwise."""
    if name.startswith("pgx:"):
        return "pgx"
    return re.split(r"\d", name, maxsplit=1)[0].rstrip("_")


def resolve_switches(config: ConfigDict) -> Switches:
    """`config.semantics`, overruled by single `config.switches`, for the game's family.

    A switch that does not concern the game is off, whatever is asked.
    """
    family = game_family(config.game)
    values = {}
    for name, switch in SWITCHES.items():
        asked = config.switches[name]
        values[name] = getattr(switch, config.semantics) if asked is None else asked
        if switch.families and family not in switch.families:
            values[name] = switch.corrected
    return Switches(**values)
