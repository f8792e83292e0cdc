"""Tournaments as files: their entry in results.json, and their games."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.strength.opponents import Entry
from jaxzero import files
from jaxzero.matches.tournament import Tournament
from jaxzero.ratings.triples import intransitivity


def entry(
    played: Tournament,
    players: Sequence[Entry],
    *,
    name: str,
    title: str,
    num_simulations: int | None,
    games_per_pair: int,
) -> dict[str, Any]:
    """A tournament in results.json, as the reports read it.

    `num_simulations`: None where each network has its own m; `games_per_pair`: both colours
    together.
    """
    return {
        "name": name,
        "title": title,
        "num_simulations": num_simulations,
        "games_per_pair": games_per_pair,
        "players": [player._asdict() for player in players],
        "results": played.results,
        "elo": played.ratings.elo,
        "stderr": played.ratings.stderr,
        "superiority": played.ratings.superiority,
        "advantage": played.ratings.advantage,
        "draw_elo": played.ratings.draw_elo,
        "draw_elo_stderr": played.ratings.draw_elo_stderr,
        "games": played.games,
        "distinct_games": played.distinct,
        "evaluations": played.evaluations,
    }


def circles(played: Tournament) -> dict[str, Any]:
    """What ratings cannot tell: `intransitive` in a tournament's entry."""
    circular = intransitivity(played.results, played.ratings)
    return {
        "intransitive": {
            "count": len(circular.triples),
            "of": circular.compared,
            "expected": circular.expected,
            "spread": circular.spread,
            "triples": [triple._asdict() for triple in circular.triples],
        }
    }


def games(directory: Path, tournaments: Mapping[str, Tournament], players: Sequence[Entry]) -> None:
    """games/<tournament>.npz: moves int16[max_plies, M, k] (-1 after the end) and the names."""
    for name, played in tournaments.items():
        arrays = {
            "actions": played.actions,
            "pairs": played.results[:, :2],
            "names": np.array([player.name for player in players]),
        }
        files.write_arrays(directory / "games" / f"{name}.npz", arrays)
