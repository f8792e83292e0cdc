"""The papers' own numbers, one JSON file per paper, read through small typed functions.

Everything here answers `None` where nothing is published for a board: a comparison that does not
exist must look different from one that agrees.
"""

import functools
import json
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

LOSSES = "wang2021_losses"  # papers 000, 001 and 003
CLAIMS = "claims_losses"  # what they say of the four losses, and what decides it
LISTED = ("random", "sum", "policy", "value", "product")  # their tournaments' order of players


class Curve(NamedTuple):
    """A published curve, mean and standard deviation over the paper's runs."""

    iterations: np.ndarray  # int [N]
    mean: np.ndarray  # float [N]
    sd: np.ndarray  # float [N]


@functools.cache
def load(name: str) -> dict[str, Any] | None:
    """The contents of `<name>.json` in this folder, or None when there is no such file.

    The result is shared between callers: do not change it.
    """
    file = resources.files(__package__).joinpath(f"{name}.json")
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def _section(section: str, game: str) -> dict[str, Any] | None:
    return (load(LOSSES) or {}).get(section, {}).get(game)


def _curve(raw: dict[str, list[float]], first: int) -> Curve:
    mean = np.asarray(raw["mean"], dtype=np.float64)
    return Curve(np.arange(first, first + len(mean)), mean, np.asarray(raw["sd"], dtype=np.float64))


def loss_curves(game: str) -> dict[str, dict[str, Curve]] | None:
    """Training losses by minimised target, then by measured loss, from iteration 1.

    Wang et al. 2020, Figs. 7 and 8 (001: Figs. 2 to 4). Each target was published with the policy
    and the value loss, sum and product also with the loss that they minimise.
    """
    found = _section("losses", game)
    if found is None:
        return None
    return {
        target: {loss: _curve(raw, first=1) for loss, raw in curves.items()}
        for target, curves in found.items()
    }


def losses_in_words(game: str) -> dict[str, dict[str, Curve]] | None:
    """The first and the last value where the papers have a text but no curve (000, section 6.3.1).

    As `loss_curves`; a value that is not said is NaN.
    """
    found = _section("losses_in_words", game)
    if found is None:
        return None
    ends = np.array([1, int(default_settings(game)["train.iterations"])])

    def curve(said: list[float | None]) -> Curve:
        values = np.array([np.nan if x is None else x for x in said])
        return Curve(ends, values, np.full(2, np.nan))

    return {
        target: {loss: curve(said) for loss, said in losses.items()}
        for target, losses in found.items()
    }


def is_pictured(section: str, game: str) -> bool:
    """Whether the papers have only a picture of something on a board.

    `section`: "losses", "training_elo", "tournament" or "epochs".
    """
    return game in (load(LOSSES) or {})["pictures"].get(section, [])


def training_elo(game: str) -> dict[str, Curve] | None:
    """Training Elo by minimised target, from iteration 0, the untrained network (000, Fig. 10)."""
    found = _section("training_elo", game)
    if found is None:
        return None
    return {target: _curve(raw, first=0) for target, raw in found.items()}


def tournament(game: str) -> dict[str, np.ndarray] | None:
    """Tournament Elo of the entries by minimised target, and `"random"` (000, Fig. 11).

    See the file's `tournament_caveat`: the entries of one target are one model.
    """
    found = _section("tournament", game)
    if found is None:
        return None
    return {target: np.asarray(elo, dtype=np.float64) for target, elo in found.items()}


def settings(game: str) -> dict[str, float] | None:
    """The papers' default settings for a board, by our config keys (000, Table 1 and section 5)."""
    if _section("losses", game) is None:
        return None
    return default_settings(game)


def default_settings(game: str) -> dict[str, float]:
    """The same for any board: I is 200 on 5x5 boards and 100 elsewhere (7x7, 8x8: not stated)."""
    published = load(LOSSES) or {}
    by_rule = {"train.iterations": 200} if "_5x5" in game else {}
    return published["settings"] | by_rule | published["settings_by_game"].get(game, {})


def boards() -> tuple[str, ...]:
    """The boards of the papers' loss studies, in their order."""
    return tuple((load(CLAIMS) or {})["plies"])


def random_plies(game: str) -> float | None:
    """Mean length of random games on one of the papers' boards."""
    return (load(CLAIMS) or {})["plies"].get(game)
