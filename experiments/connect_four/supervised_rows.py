"""Published accuracies of supervised networks (Clausen 2021, Table 1), matched to ours."""

from collections.abc import Mapping
from typing import Any

from experiments import published
from experiments.claims.supervised import PUBLISHED, probability_of
from experiments.configs.connect_four_supervised import EASY, HARD


def set_name(probability: float) -> str:
    """Of the share of perfect moves by which positions were made: `hard`, `easy`."""
    return {HARD: "hard", EASY: "easy"}.get(probability, f"p{probability:g}")


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
        "best_move_probability": probability_of(results, group),
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


def set_of(probability: float, version: int) -> tuple[str, dict[str, Any]] | None:
    """Name and statistics of 002's positions of the same recipe."""
    key = {HARD: f"hard_version_{version}", EASY: "easy_test"}.get(probability, "")
    found = (published.load(PUBLISHED) or {})["sets"].get(key)
    return None if found is None else (f"Clausen 2021's {key.replace('_', ' ')}", found)
