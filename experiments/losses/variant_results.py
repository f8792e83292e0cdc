"""The loss study under several searches (arms), read once: its results, and the study of each."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.pages import study, style
from experiments.pages.study import Study
from experiments.strength import ladder_figures
from experiments.strength.ladder_figures import StrengthCurve
from jaxzero import workdir


@dataclass(frozen=True)
class SearchVariants:
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


def load(directory: Path) -> SearchVariants:
    """Reads `results.json` and the arms' own directories."""
    results = workdir.read_json(directory / workdir.RESULTS)
    places = {arm["name"]: directory / arm["name"] for arm in results["arms"]}
    studies = {name: study.load(place) for name, place in places.items() if place.is_dir()}
    return SearchVariants(directory.resolve().name, results, studies)
