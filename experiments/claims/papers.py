"""What the papers claim and what decides it, as data: published/claims_<paper>.json."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments import published

LOSSES, SWEEP, CORRELATION, CURRICULUM = "losses", "sweep", "correlation", "curriculum"
EFFICIENCY = "efficiency"  # all of paper 002


@dataclass(frozen=True)
class Contrast:
    """What decides a claim: mean of some sides' runs less mean of others', seed by seed."""

    plus: tuple[str, ...] = ()  # targets, settings or letters
    minus: tuple[str, ...] = ()  # the same; empty is 0
    board: str = ""  # whose runs; empty where the paper has one board
    against: str | None = None  # a board on which the same is taken and subtracted
    statistic: str = ""  # of a run, a name in the file's `statistics`
    # claimed: "greater" or "less" than 0, "equal" to it, "different", or "not_greater": not beyond
    # the margin
    direction: str = "different"
    margin: float = 0.0  # differences below it count as none
    than: float = 0.0  # subtracted, where a paper compares with a number

    @property
    def sides(self) -> list[tuple[str, float]]:
        """(name, weight) of all: the mean of the first less the mean of the others."""
        both = ((self.plus, 1.0), (self.minus, -1.0))
        return [(name, sign / len(names)) for names, sign in both for name in names]

    @property
    def boards(self) -> tuple[str, ...]:
        """Whose runs it needs: one board, or two of which the second's is subtracted."""
        return tuple(filter(None, (self.board, self.against)))


@dataclass(frozen=True)
class Claim:
    """What a paper says, where, and all contrasts that must hold for it."""

    id: str
    words: str
    where: tuple[str, ...]
    note: str
    contrasts: tuple[Contrast, ...]
    # the claim as the file has it, with what one paper alone needs (`letter`, `axis`, ...)
    raw: Mapping[str, Any] = field(repr=False, compare=False)


def file(paper: str) -> dict[str, Any]:
    """The whole file: source, margins, definitions of the statistics."""
    return published.load(f"claims_{paper}") or {}


@functools.cache
def claims(paper: str) -> tuple[Claim, ...]:
    """All claims of a file, each contrast spelt out for each of its boards.

    What a contrast does not name itself is the claim's own; a claim without contrasts is one.
    """
    return tuple(
        Claim(
            raw["id"],
            raw["words"],
            tuple(raw["where"]),
            raw.get("note", ""),
            tuple(
                contrast({**raw, **own}, board)
                for board in raw.get("boards", ("",))
                for own in raw.get("contrasts", ({},))
                if own.get("on", board) == board
            ),
            raw,
        )
        for raw in file(paper)["claims"]
    )


def contrast(raw: Mapping[str, Any], board: str = "") -> Contrast:
    """As a file has it."""
    return Contrast(
        plus=tuple(raw.get("plus", ())),
        minus=tuple(raw.get("minus", ())),
        board=board,
        against=raw.get("against"),
        statistic=raw.get("statistic", ""),
        direction=raw["direction"],
        margin=float(raw["margin"]),
        than=float(raw.get("than", 0.0)),
    )
