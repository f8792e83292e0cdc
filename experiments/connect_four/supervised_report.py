"""The report of the supervised study: Table 1 beside the paper's, learning curves, mistakes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.claims.supervised import probability_of
from experiments.connect_four import claims, supervised_rows
from experiments.pages import draw, page, style
from experiments.pages.page import Page, plate, section
from experiments.pages.tables import Table, table
from experiments.pages.wording import duration, number, plus_minus
from jaxzero import files, workdir


def build(directory: Path) -> Page:
    """The page of a finished study, figures drawn, nothing written yet."""
    results = workdir.read_results(directory)
    rows = files.read_rows(directory / workdir.METRICS)
    groups = results["groups"]
    return Page(
        title="How well can the network know Connect Four?",
        subtitle=f"supervised on solved positions, preset {results['preset']}",
        verdicts=sentences(groups),
        missing=[],
        facts=_facts(results),
        sections=[
            section(
                "Accuracy",
                _METHOD,
                plate(
                    "supervised_curves",
                    learning_curves(rows),
                    "Validation accuracy",
                    "After each epoch; true results in validation, whatever the labels of "
                    "training.",
                ),
                accuracies(results),
            ),
            section("The paper's claims", claims.table(results)),
            section("Where it errs", stages(groups), *map(mistakes, groups)),
            section("Positions", sets(results)),
        ],
    )


_METHOD = (
    "A move is right if it is among the best (quickest win, slowest loss), a result if the "
    "likeliest of win, draw and loss is true. Both are counted on test positions with true "
    "results, whatever labels a network learned from; the network of the best validation epoch "
    "counts. Published labels call positions draws that the first player is to move in and loses."
)


def sentences(groups: list[dict[str, Any]]) -> list[str]:
    """The findings, one by one."""
    lines = []
    for group in groups:
        net = group["network"]
        lines.append(
            f"{group['name']}: {_percent(net['strong'])} % of moves and {_percent(net['result'])} "
            f"% of results right after training on {number(group['positions']['train'])} positions."
        )
        if group["labels"] == "published":
            wrong = group["statistics"]["first_to_move_and_lost"]
            lines.append(
                f"{group['name']}: {100 * wrong:.1f} % of its positions are labelled wrongly: at "
                f"most about {100 * (1 - wrong):.1f} % of results can be learned from them."
            )
    return lines


def _percent(value: dict[str, Any]) -> str:
    error = value["stderr"]
    return plus_minus(100 * value["mean"], None if error is None else 100 * error, 2)


def accuracies(results: dict[str, Any]) -> Table:
    """Of each group, the row of Table 1 with the same recipe beside it."""

    def of_paper(group: dict[str, Any], key: str) -> str | None:
        row = supervised_rows.matching(results, group)
        return None if row is None else f"{100 * row[key]:.2f}"

    def of_set(group: dict[str, Any]) -> str:
        found = supervised_rows.set_name(probability_of(results, group))
        return "" if found == "hard" else f", {found}"

    return table(
        "Supervised accuracy in percent",
        results["groups"],
        {
            "blocks, set, labels": lambda group: (
                f"{group['blocks']}, version {group['version']}{of_set(group)}, {group['labels']}"
                + (f", {kind}" if (kind := group.get("features", "none")) != "none" else "")
            ),
            "parameters": lambda group: number(group["parameters"]),
            "trained on": lambda group: number(group["positions"]["train"]),
            "moves": lambda group: _percent(group["network"]["strong"]),
            "moves, Clausen 2021": lambda group: of_paper(group, "move"),
            "results": lambda group: _percent(group["network"]["result"]),
            "results, Clausen 2021": lambda group: (
                of_paper(group, "result") if group["labels"] == "published" else None
            ),
            "moves with search": lambda group: (
                _percent(group["search"]["strong"]) if group.get("search") else None
            ),
        },
        "Mean ± standard error over networks. Clausen 2021: means of 5 networks of 128 channels, "
        "800,000 positions, published labels; shown where blocks, squeeze and excite, version and "
        "share of best moves (hard or easy set) are the same, and results beside published labels "
        "only." + supervised_rows.about_features(results),
    )


def stages(groups: list[dict[str, Any]]) -> Table:
    """The same by stage of the game and by difficulty."""

    def mean(kind: str) -> Callable[[tuple[dict[str, Any], str]], str]:
        def cell(row: tuple[dict[str, Any], str]) -> str:
            values = [seed["network"][row[1]][kind] for seed in row[0]["seeds"]]
            return number(100 * float(np.mean([np.nan if v is None else v for v in values])), 2)

        return cell

    def random(row: tuple[dict[str, Any], str]) -> str | None:
        share = row[0]["random"][row[1]]["strong"]
        return None if share is None else number(100 * share, 2)

    return table(
        "By stage and difficulty",
        [(group, name) for group in groups for name in group["seeds"][0]["network"]],
        {
            "networks": lambda row: row[0]["name"],
            "positions": lambda row: row[1].replace("_", " "),
            "number": lambda row: number(row[0]["seeds"][0]["network"][row[1]]["positions"]),
            "best move": mean("strong"),
            "keeps the result": mean("weak"),
            "result": mean("result"),
            "random": random,
        },
        "Percent, means over networks. Early, middle, late: thirds of the plies; one, two, more: "
        "best moves of a position. Random: share of best moves of a random player, counted.",
        text_columns=2,
    )


def mistakes(group: dict[str, Any]) -> Table:
    """The worst of a group's first network."""
    return table(
        f"Worst mistakes of the first network of {group['name']}",
        group["seeds"][0]["mistakes"],
        {
            "board": lambda m: m["board"],
            "ply": lambda m: number(m["ply"]),
            "played": lambda m: str(m["played"]),
            "best": lambda m: ", ".join(map(str, m["best"])),
        },
        "Those that give away most first. X moved first.",
        folded=True,
    )


def sets(results: dict[str, Any]) -> Table:
    """The positions' results and best moves, those of the paper's sets beside them."""
    kinds = {
        (probability_of(results, group), group["version"]): group
        for group in reversed(results["groups"])
    }
    rows = []
    for (probability, version), group in sorted(kinds.items(), key=lambda item: item[0]):
        name = f"{supervised_rows.set_name(probability)}, version {version}"
        rows.append((f"ours, {name}", group["statistics"]))
        if of_paper := supervised_rows.set_of(probability, version):
            rows.append(of_paper)
    return table(
        "Positions",
        rows,
        {
            "set": lambda row: row[0],
            "best moves": lambda row: number(row[1]["best_moves"], 3),
            **{
                kind: lambda row, kind=kind: number(100 * row[1][kind], 2)
                for kind in ("won", "lost", "drawn")
            },
        },
        "Mean number of best moves; percent of positions by their result under best play.",
    )


@style.styled
def learning_curves(rows: list[dict[str, Any]]) -> Figure | None:
    """Validation accuracy against epochs, one line a network, one look a group."""
    if not rows:
        return None
    figure, panels = style.new_figure(2, panel=(4.5, 3.0))
    targets = list(dict.fromkeys(row["target"] for row in rows))
    for axes, key, title in zip(
        panels, ("validation/move", "validation/result"), ("moves", "results"), strict=True
    ):
        for i, target in enumerate(targets):
            names = dict.fromkeys(row["run"] for row in rows if row["target"] == target)
            for j, name in enumerate(names):
                own = [row for row in rows if row["run"] == name]
                x, y = [row["iteration"] for row in own], [100 * row[key] for row in own]
                axes.plot(x, y, linewidth=1.2, label=None if j else target, **style.line(i))
        axes.set_title(title)
        axes.set_ylabel("right, % of validation")
        draw.iteration_axis(axes, max(row["iteration"] for row in rows), text="epoch")
    panels[0].legend(loc="lower right")
    return figure


def _facts(results: dict[str, Any]) -> page.Facts:
    seconds = sum(group["seconds"] for group in results["groups"])
    study = results["config"]["study"]
    return [
        ("Networks", f"{study['seeds']} of each group"),
        ("Split", f"80/10/10 by {study['split']}"),
        ("Wall time", duration(seconds)),
        *page.origin(results),
    ]
