"""The report of the study of Clausen 2021's section 4: Figs. 8 to 13, claims, costs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments import published
from experiments.connect_four import (
    claims,
    extension_figures,
    learning_lines,
    population_section,
    search_report,
)
from experiments.connect_four import efficiency_report as efficiency
from experiments.connect_four.learning_lines import Lines
from experiments.pages.page import Page, section
from experiments.pages.tables import Table, table
from experiments.pages.wording import game_title, maybe, number
from jaxzero import workdir


def build(directory: Path) -> Page:
    """The page of a finished study, figures drawn, nothing written yet."""
    results = workdir.read_results(directory)
    arms, seeds = _arms(results)
    ours, theirs = lines(results)
    evolved = population_section.shown(arms, results["positions"]["number"])
    grown = extension_figures.steps(ours, theirs)
    return Page(
        title=f"The extensions of section 4: {game_title(results['game'])}",
        subtitle=f"{results['game']}, preset {results['preset']}",
        verdicts=efficiency.sentences(seeds, results["positions"]["random"]["strong"]),
        missing=() if theirs else ("There is no published data for this board.",),
        facts=efficiency.facts(results),
        sections=[
            section(
                "Accuracy by network and by cost",
                *extension_figures.plates(ours, theirs, as_drawn=efficiency.as_drawn(results)),
            ),
            *([evolved] if evolved else []),
            *([section("Growing", grown)] if grown.rows else []),
            section("The paper's claims", claims.table(results)),
            section("What a level costs", *extension_figures.costs(ours, theirs)),
            section(
                "Numbers", efficiency.accuracy_and_cost(seeds, {}), searches(arms), players(arms)
            ),
        ],
    )


def _arms(results: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """All arms by name, and those whose runs are seeds of one setting."""
    arms = {arm["arm"]: arm for arm in results["arms"]}
    return arms, {name: arm for name, arm in arms.items() if "generations" not in arm}


def lines(results: Mapping[str, Any]) -> tuple[Lines, Lines]:
    """Our curves by arm, and the published ones of that board."""
    _, seeds = _arms(results)
    ours = learning_lines.of_arms([*seeds.values()], results["config"]["network"]["channels"])
    if results["game"] != "connect_four_6x7":
        return ours, {}
    return ours, learning_lines.of_paper(as_drawn=efficiency.as_drawn(results))


def tables(results: Mapping[str, Any]) -> list[Table]:
    """What was reached at what cost, and by which searches."""
    arms, seeds = _arms(results)
    ours, theirs = lines(results)
    costs, _ = extension_figures.costs(ours, theirs)
    made = (
        costs,
        extension_figures.steps(ours, theirs),
        efficiency.accuracy_and_cost(seeds, {}),
        searches(arms),
        players(arms),
    )
    return [one for one in made if one.rows]


def players(arms: dict[str, Any]) -> Table:
    """What the players of leagues and the runs of populations became, beside 002's constants."""
    theirs = published.load(search_report.PUBLISHED) or {}
    labels = search_report.LABELS | {
        "kld_stop": "log2 of the gain that ends a search",
        "learning_rate": "learning rate",
    }
    ours = [
        {"name": f"{name}, ours", "constants": found}
        for name, arm in arms.items()
        if (found := _constants(_ends(arm)))
    ] + population_section.became(arms)
    return table(
        "What players and populations became",
        [*ours, *theirs["players"]] if ours else [],
        {
            "players": lambda row: row["name"],
            **{
                text: lambda row, key=key: maybe(row["constants"].get(key), 3)
                for key, text in labels.items()
            },
            "accuracy, %": lambda row: maybe(row.get("accuracy"), 2),
        },
        "Ours: of leagues the mean of the best after the last iteration, over the seeds; of "
        "populations the best run by fitness, its accuracy on the test positions. All others are "
        "Clausen 2021's, with one network each (the baseline's: its constants with that network); "
        "accuracies of other networks, searches and positions do not compare.",
    )


def _constants(ends: list[dict[str, Any]]) -> dict[str, float]:
    """Those that evolved, means over the runs' last points; a draw between a loss, 0, and 1."""
    found = {
        name: float(np.mean([end[f"league/{name}"] for end in ends]))
        for name in ("c_puct", "unvisited_q", "dirichlet_alpha", "draw_value", "kld_stop")
        if f"league/{name}" in ends[0]
    }
    if "draw_value" in found:
        found["draw"] = (1 + found.pop("draw_value")) / 2
    return found


def _ends(arm: dict[str, Any]) -> list[dict[str, Any]]:
    """The last point of each run."""
    return [run["points"][-1] for run in arm["runs"]]


def searches(arms: dict[str, Any]) -> Table:
    """Searches asked for and made by each arm, means of its runs, and what they took."""

    def last(arm: dict[str, Any], name: str) -> float:
        return float(np.mean([end[name] for end in _ends(arm)]))

    return table(
        "Searches",
        list(arms.items()),
        {
            "arm": lambda row: row[0],
            "asked": lambda row: number(last(row[1], "asked"), 0),
            "made": lambda row: number(last(row[1], "searches"), 0),
            "made / asked": lambda row: maybe(last(row[1], "searches") / last(row[1], "asked"), 2),
            "seconds": lambda row: number(last(row[1], "seconds"), 0),
        },
        "Of a run to its last network; seconds of wall time for all seeds together.",
        text_columns=1,
    )
