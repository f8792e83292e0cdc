"""The loss study under several searches (arms), read once: its results, and the study of each."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from experiments.losses import arms_effects
from experiments.losses.arms_effects import Scale
from experiments.pages import study, style
from experiments.pages.study import Study
from experiments.strength import ladder_figures
from experiments.strength.ladder_figures import StrengthCurve
from jaxzero import workdir
from jaxzero.settings import config as config_lib

_OWN_SECTIONS: Final = ("execution.", "tracking.")  # of settings, that arms may have apart


@dataclass(frozen=True)
class ArmsStudy:
    """A study of arms, read."""

    name: str  # of its directory
    results: dict[str, Any]  # as stored
    studies: dict[str, Study]  # of each arm that has one, by name

    @property
    def names(self) -> list[str]:
        """The arms, in order."""
        return [arm["name"] for arm in self.results["arms"]]

    @property
    def targets(self) -> list[str]:
        """The losses, in order."""
        return list(dict.fromkeys(run["target"] for run in self.results["runs"]))

    def curves(self, arm: str) -> dict[str, StrengthCurve]:
        """Strength over training by target, on the common scale."""
        runs = {r["name"]: r["target"] for r in self.results["runs"] if r["arm"] == arm}
        measured = (self.results.get("ladder") or {}).get("runs") or {}
        return ladder_figures.groups_of(
            {"runs": {n: c for n, c in measured.items() if n in runs}}, runs
        )

    def shade(self, arm: str) -> str:
        """An arm's colour, where losses are not what is told apart."""
        return style.PALETTE[self.names.index(arm) % len(style.PALETTE)]


def together(parts: Sequence[Study]) -> list[Study]:
    """Studies of arms as one where nothing but the arms differs: of each arm the first that has it.

    Each was measured against the same fixed opponents, on a ladder of its own.
    """
    groups: list[list[Study]] = []
    for part in parts:
        equal = (group for group in groups if alike(group[0], part))
        if (group := next(equal, None)) is None:
            groups.append(group := [])
        group.append(part)
    return [_joined(group) if len(group) > 1 else group[0] for group in groups]


def alike(one: Study, other: Study) -> bool:
    """Whether nothing but the arms differs."""
    return _settings(one) == _settings(other)


def _settings(part: Study) -> dict[str, Any]:
    """What must be equal, by dotted key."""
    flat = config_lib.with_defaults(part.results.get("config") or {})
    return {k: v for k, v in flat.items() if k != "study.arms" and not k.startswith(_OWN_SECTIONS)}


def _joined(parts: Sequence[Study]) -> Study:
    arms: dict[str, Any] = {}
    runs: list[Any] = []
    curves: dict[str, Any] = {}
    judged: dict[str, Any] = {}
    scales: dict[str, Scale] = {}
    for number, results in enumerate(part.results for part in parts):
        more = {arm["name"]: arm for arm in results["arms"] if arm["name"] not in arms}
        arms |= more
        scales |= dict.fromkeys(more, Scale(number, _scale_error(results)))
        runs += [run for run in results["runs"] if run["arm"] in more]
        curves = ((results.get("ladder") or {}).get("runs") or {}) | curves
        judged = judged or results.get("judged_as_published") or {}
    first = parts[0].results
    joined = {
        "arms": [*arms.values()],
        "runs": runs,
        "ladder": (first.get("ladder") or {}) | {"runs": curves},
        "ladders": len(parts),
        "effects": arms_effects.effects(arms_effects.final_strengths(runs, curves), scales),
        "judged_as_published": judged,
    }
    return dataclasses.replace(parts[0], results=first | joined)


def _scale_error(results: Mapping[str, Any]) -> float:
    """Elo: the largest error of the fixed opponents, by whom the networks are rated."""
    anchors = (results.get("ladder") or {}).get("anchors") or []
    return max((float(one["stderr"]) for one in anchors), default=0.0)


def load(directory: Path) -> ArmsStudy:
    """Reads `results.json` and the arms' own directories."""
    results = workdir.read_results(directory)
    places = {arm["name"]: directory / arm["name"] for arm in results["arms"]}
    studies = {name: study.load(place) for name, place in places.items() if place.is_dir()}
    return ArmsStudy(directory.resolve().name, results, studies)
