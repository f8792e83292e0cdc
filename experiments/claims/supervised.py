"""Clausen 2021's claims about supervised networks, decided from finished studies together.

Networks are compared across directories where all of their settings agree but for those that a
claim's sides name differently. A claim that several such settings address is decided for each.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from experiments import published
from experiments.claims import papers, sides
from experiments.claims.decision import Decided
from experiments.claims.papers import EFFICIENCY, Claim, Contrast
from experiments.configs.connect_four_supervised import EASY, HARD
from experiments.pages.wording import joined
from jaxzero.settings import config as config_lib

STUDY: Final = "connect_four_supervised"
PUBLISHED: Final = "clausen_supervised"
# Of claims_efficiency.json: a published row's key, and that of our networks' accuracies.
STATISTICS: Final = {"moves": ("move", "strong"), "results": ("result", "result")}
FEW: Final = 10_000  # training positions, up to which a study is one of few examples
_PERFECT: Final = "study.best_move_probability"
_SETS: Final = {"hard": HARD, "easy": EASY, "few": HARD}  # perfect moves where positions are made
# Listed by a study of which each network has one, or no matter of how a network came to be.
_LISTED: Final = (
    "study.blocks",
    "study.versions",
    "study.outcome_labels",
    "study.features",
    _PERFECT,
)
_OWN: Final = ("preset", "study.seeds", "study.searches", "study.mistakes", "study.data")
_OWN_SECTIONS: Final = ("execution.", "tracking.")


class Networks(NamedTuple):
    """Networks of a study that differ in their seeds alone."""

    directory: str  # of the study; empty where it needs no name
    settings: Mapping[str, Any]  # all that they were made with
    seeds: Sequence[Mapping[str, Any]]  # what each of them measured

    def are(self, name: str) -> bool:
        """Whether a side of this name means them."""
        return _wanted(name).items() <= self.settings.items()


def probability_of(results: Mapping[str, Any], group: Mapping[str, Any]) -> float:
    """That share of a group's positions; older studies had one for all groups."""
    found = group.get("best_move_probability", results["config"]["study"]["best_move_probability"])
    return float(found)


def networks(directory: str, results: Mapping[str, Any]) -> Iterator[Networks]:
    """Of a study's results.json."""
    flat = config_lib.with_defaults(results["config"])
    common = {
        key: value
        for key, value in flat.items()
        if key not in _LISTED + _OWN and not key.startswith(_OWN_SECTIONS)
    }
    for group in results["groups"]:
        probability, trained_on = probability_of(results, group), group["positions"]["train"]
        own = kind(group, probability, trained_on) | {"positions": group.get("sha256")}
        yield Networks(directory, common | own, group["seeds"])


def kind(group: Mapping[str, Any], probability: float, trained_on: int) -> dict[str, Any]:
    """What sides name of a group: of a share of perfect moves, trained on so many positions."""
    return {
        "blocks": group["blocks"],
        "version": group["version"],
        "labels": group["labels"],
        "features": group.get("features", "none"),
        "few": trained_on <= FEW,
        _PERFECT: probability,
    }


def _wanted(name: str) -> dict[str, Any]:
    """The settings that a side names.

    `blocks5_v1`: the hard set, nothing but moves and results learned; `easy_move1`, `hard_none`: a
    set and the features; `few_none`: the same of at most `FEW` positions of the hard set.
    """
    if depth := re.fullmatch(r"blocks(\d+)_v(\d+)", name):
        own = {"blocks": int(depth[1]), "version": int(depth[2])}
        return own | {"features": "none", _PERFECT: _SETS["hard"]}
    of_set, _, features = name.partition("_")
    few = {"few": True} if of_set == "few" else {}
    return {"features": features, _PERFECT: _SETS[of_set]} | few


def _varied(names: Iterable[str]) -> set[str]:
    """The settings in which these sides differ; with others come other positions."""
    wanted = [_wanted(name) for name in names]
    keys = {key for one in wanted for key in one if len({own.get(key) for own in wanted}) > 1}
    return keys | ({"positions"} if keys & {"version", _PERFECT} else set())


def alike(known: Iterable[Networks], varied: set[str]) -> list[list[Networks]]:
    """Those that may be compared: that agree in all settings but the varied ones."""
    found: dict[str, list[Networks]] = {}
    for one in known:
        rest = {key: value for key, value in one.settings.items() if key not in varied}
        found.setdefault(json.dumps(rest, sort_keys=True, default=str), []).append(one)
    return [*found.values()]


def values(known: Sequence[Networks], contrast: Contrast, name: str) -> dict[int, float]:
    """A statistic in percent by seed; of networks that several directories have, of the first."""
    key = STATISTICS[contrast.statistic][1]
    seeds = next((one.seeds for one in known if one.are(name)), ())
    return {i: 100 * one["network"]["all"][key] for i, one in enumerate(seeds)}


def rows(studies: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The verdicts from the results.json of studies by directory, each kind of labels apart."""
    known = [one for name, results in studies.items() for one in networks(name, results)]
    return [
        row | {"semantics": labels}
        for labels in dict.fromkeys(one.settings["labels"] for one in known)
        for claim in papers.claims(EFFICIENCY)
        if "supervised" in claim.raw["studies"]
        for row in _decide(claim, [one for one in known if one.settings["labels"] == labels])
    ]


def _decide(claim: Claim, known: Sequence[Networks]) -> list[dict[str, Any]]:
    """A claim wherever its runs can be compared, or once with what it needs."""
    names = dict.fromkeys(name for contrast in claim.contrasts for name, _ in contrast.sides)
    varied, found = _varied(names), []
    for same in alike(known, varied):
        decided = sides.decide(claim, partial(values, same))
        if decided.tests:
            of_claim = [one for one in same if any(map(one.are, names))]
            found.append(sides.row(decided, published_effect) | _origin(of_claim, varied))
    if found:
        return found
    absent = [name for name in names if not any(one.are(name) for one in known)]
    needs = f"runs of {joined(absent)}" if absent else _otherwise_alike(names)
    return [sides.row(Decided(claim, (), missing=(needs,)), published_effect)]


def _otherwise_alike(names: Iterable[str]) -> str:
    return f"runs of {joined([*names])} whose other settings agree"


def _origin(compared: Sequence[Networks], varied: set[str]) -> dict[str, Any]:
    """Which networks a verdict is about."""
    one = compared[0].settings
    words = {"blocks": f"{one['blocks']} blocks", "version": f"version {one['version']}"}
    return {
        "networks": ", ".join(text for key, text in words.items() if key not in varied),
        "directories": [*filter(None, dict.fromkeys(each.directory for each in compared))],
    }


def published_effect(contrast: Contrast) -> float | None:
    """The contrast in the paper's numbers, means of its networks; None without them."""
    return sides.effect(contrast, published_values)


def published_values(contrast: Contrast, name: str) -> dict[int, float]:
    """The published mean, in percent, of a group or of features, `hard_move1`, `few_move0_win0`."""
    key, theirs = STATISTICS[contrast.statistic][0], published.load(PUBLISHED) or {}
    named = {f"blocks{row['blocks']}_v{row['version']}": row for row in theirs["rows"]}
    features = (row for row in theirs["features"] if row["at"] == "head")
    named |= {f"{row['set']}_{row['targets']}": row for row in features}
    few = {
        f"few_{features}": theirs["features_few"][features] for features in ("none", "move0_win0")
    }
    if key == "move" and name in few:
        return {0: 100 * few[name]}
    return {0: 100 * named[name][key]} if name in named else {}
