"""Published accuracies of supervised networks (Clausen 2021, Table 1), matched to ours."""

from collections.abc import Mapping
from typing import Any, Final

from experiments import published
from experiments.claims.papers import Contrast

PUBLISHED: Final = "clausen_supervised"
# Of claims_efficiency.json: a published row's key, and that of our networks' accuracies.
STATISTICS: Final = {"moves": ("move", "strong"), "results": ("result", "result")}
FEW: Final = 10_000  # training positions, up to which a study is one of few examples


def all_rows() -> list[dict[str, Any]]:
    """Every published row with what its networks and positions were."""
    theirs = published.load(PUBLISHED) or {}
    sets = theirs["features_sets"]
    features = [
        theirs["features_recipe"] | {"best_move_probability": sets[row["set"]]} | row
        for row in theirs["features"]
    ]
    none = {"targets": "none", "at": "head"}
    return [theirs["recipe"] | none | row for row in theirs["rows"]] + features


def matching(results: Mapping[str, Any], group: Mapping[str, Any]) -> dict[str, Any] | None:
    """The published row of a group's recipe: depth, features, and how its positions are made."""
    config = results["config"]
    targets = group.get("features", "none")
    recipe = {
        "targets": targets.removesuffix("_last_block"),
        "at": "last_block" if targets.endswith("_last_block") else "head",
        "blocks": group["blocks"],
        "version": group["version"],
        "best_move_probability": config["study"]["best_move_probability"],
        "squeeze_excite": config["network"].get("squeeze_excite", False),
    }
    return next((row for row in all_rows() if recipe.items() <= row.items()), None)


def about_features(results: Mapping[str, Any]) -> str:
    """What must be known of the published rows with features, where a study has some."""
    if all(group.get("features", "none") == "none" for group in results["groups"]):
        return ""
    theirs = published.load(PUBLISHED) or {}
    few = theirs["features_few"]
    none, some = (
        f"{100 * few[name]:.2f} ± {100 * few[f'{name}_sd']:.2f}" for name in ("none", "move0_win0")
    )
    return (
        f" {theirs['features_note']} With {few['examples']:,} examples theirs had {none} % of "
        f"moves right without features, {some} with move0_win0 (standard deviations)."
    )


def set_of(results: Mapping[str, Any], version: int) -> tuple[str, dict[str, Any]] | None:
    """Name and statistics of 002's positions of the same recipe."""
    probability = results["config"]["study"]["best_move_probability"]
    key = {0.5: f"hard_version_{version}", 0.9: "easy_test"}.get(probability, "")
    found = (published.load(PUBLISHED) or {})["sets"].get(key)
    return None if found is None else (f"Clausen 2021's {key.replace('_', ' ')}", found)


def values(
    results: Mapping[str, Any], labels: str, contrast: Contrast, name: str
) -> dict[int, float]:
    """A statistic of a group's networks in percent, by seed.

    Groups are named `blocks5_v1`, `blocks5_v1_easy`; where features are learned too, by the set and
    the features: `hard_move1`, `hard_none`; also `few_none` if at most `FEW` positions of the hard
    set were trained on.
    """
    if contrast.statistic not in STATISTICS:
        return {}
    key = STATISTICS[contrast.statistic][1]
    probability = results["config"]["study"]["best_move_probability"]
    of_set = {0.5: "hard", 0.9: "easy"}.get(probability, f"{probability}")
    named: dict[str, Any] = {}
    for group in (one for one in results["groups"] if one["labels"] == labels):
        features = group.get("features", "none")
        named.setdefault(f"{of_set}_{features}", group["seeds"])
        if of_set == "hard" and group["positions"]["train"] <= FEW:
            named.setdefault(f"few_{features}", group["seeds"])
        if features == "none":
            plain = f"blocks{group['blocks']}_v{group['version']}"
            named[plain + (f"_{of_set}" if of_set != "hard" else "")] = group["seeds"]
    return {i: 100 * one["network"]["all"][key] for i, one in enumerate(named.get(name, ()))}


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
