"""The report of the study of paper 002's section 4: accuracy by network index and by cost."""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.connect_four import efficiency_report as efficiency
from experiments.pages import learning_section, page
from experiments.pages.page import Page, plate, section
from experiments.pages.tables import Table, table
from experiments.pages.wording import game_title, maybe, number
from jaxzero import workdir


def write_report(directory: Path) -> Path:
    """Writes figures and page of a finished study; returns the page's path."""
    results = workdir.read_json(directory / workdir.RESULTS)
    arms = {arm["arm"]: arm for arm in results["arms"]}
    figure = efficiency.accuracy_figure(arms, {}, tuple(arms))
    built = Page(
        title=f"The extensions of section 4: {game_title(results['game'])}",
        subtitle=f"{results['game']}, preset {results['preset']}",
        verdicts=efficiency.sentences(arms, results["positions"]["random"]["strong"]),
        missing=(),
        facts=efficiency.facts(results),
        sections=[
            section(
                "Accuracy against cost",
                plate("extensions_cost", figure, "Accuracy with search", "Mean of the runs."),
            ),
            section("Numbers", efficiency.accuracy_and_cost(arms, {}), searches(arms)),
        ],
    )
    return page.write(learning_section.added(built, directory), directory)


def searches(arms: dict[str, Any]) -> Table:
    """Searches asked for and made by each arm, means of its runs, and what they took."""

    def last(arm: dict[str, Any], name: str) -> float:
        return float(np.mean([run["points"][-1][name] for run in arm["runs"]]))

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
