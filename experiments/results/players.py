"""The players that ship, as a table."""

import json
from collections.abc import Mapping
from typing import Any

from experiments.pages.tables import Table, table
from experiments.pages.wording import NONE, joined, number
from jaxzero import pretrained


def shipped() -> Table:
    """What their cards say of them."""
    paths = [pretrained.directory(name) / pretrained.CARD for name in pretrained.names()]
    cards = [json.loads(path.read_text(encoding="utf-8")) for path in paths]

    def share(card: Mapping[str, Any], name: str) -> str | None:
        measured = card["measured"].get(name)
        return None if measured is None else number(100 * measured, 1)

    solved = sorted({card["measured"].get("contested") for card in cards} - {None})
    positions = joined([number(count) for count in solved])

    def points(card: Mapping[str, Any]) -> str:
        games = card["measured"]["games"]
        won = card["measured"]["points"].items()
        return joined([f"{number(p, 3)} ({name}, {games[name]} games)" for name, p in won])

    return table(
        "Players that ship, one seed each",
        cards,
        {
            "player": lambda card: f"`pretrained:{card['game']}`",
            "points a game against": points,
            "moves that keep the result, %": lambda card: share(card, "search"),
            "of the network alone, %": lambda card: share(card, "network"),
            "simulations": lambda card: number(card["simulations"]),
            "games": lambda card: number(card["games"]),
            "minutes": lambda card: number(round(card["minutes"])),
            "hardware": lambda card: card["hardware"],
            "commit": lambda card: card["commit"],
        },
        f"Kept results: of {positions} contested positions, solved exactly; {NONE}: not measured. "
        "Games: of self-play. Commands stand in each card, `jaxzero/pretrained/NAME/card.json`.",
    )
