"""The report of the supervised study: Table 1 beside the paper's, learning curves, mistakes."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments import published
from experiments.pages import page, style
from experiments.pages.page import Plate, Section
from experiments.pages.tables import Table
from experiments.pages.wording import NONE, duration, number, plus_minus
from jaxzero import workdir

PUBLISHED = "clausen_supervised"
_COLOURS = tuple(style.COLOURS.values())


def write_report(directory: Path) -> Path:
    """Writes figures and page of a finished study; returns the page's path."""
    results = workdir.read_json(directory / workdir.RESULTS)
    rows = workdir.read_rows(directory / workdir.METRICS)
    found = results["groups"]
    theirs = published.load(PUBLISHED) or {}
    curves = learning_curves(rows)
    plates = () if curves is None else (_plate(curves),)
    return page.write(
        page.Page(
            title="How well can the network know Connect Four?",
            subtitle=f"supervised on solved positions, preset {results['preset']}",
            verdicts=sentences(found),
            missing=[],
            facts=_facts(results),
            sections=[
                Section("Accuracy", (_METHOD,), plates, (table(found, theirs),)),
                Section("Where it errs", tables=(_groups(found), *_mistakes(found))),
                Section("Positions", tables=(_sets(found, theirs),)),
            ],
        ),
        directory,
    )


_METHOD = (
    "A move is right if it is among the best (quickest win, slowest loss), a result if the "
    "likeliest of win, draw and loss is true. Both are counted on test positions with true "
    "results, whatever labels a network learned from; the network of the best validation epoch "
    "counts. Published labels call positions draws that the first player is to move in and loses."
)


def sentences(found: list[dict[str, Any]]) -> list[str]:
    """The findings, one by one."""
    told = []
    for group in found:
        net = group["network"]
        told.append(
            f"{group['name']}: {_percent(net['strong'])} % of moves and {_percent(net['result'])} "
            f"% of results right after training on {number(group['positions']['train'])} positions."
        )
        if group["labels"] == "published":
            wrong = group["statistics"]["first_to_move_and_lost"]
            told.append(
                f"{group['name']}: {100 * wrong:.1f} % of its positions are labelled wrongly: at "
                f"most about {100 * (1 - wrong):.1f} % of results can be learned from them."
            )
    return told


def _percent(value: dict[str, Any]) -> str:
    error = value["stderr"]
    return plus_minus(100 * value["mean"], None if error is None else 100 * error, 2)


def table(found: list[dict[str, Any]], theirs: dict[str, Any]) -> Table:
    """Table 1 of 002 with our numbers; its own beside them where there are any."""
    rows = []
    for group in found:
        match = [
            row
            for row in theirs.get("rows", [])
            if (row["blocks"], row["version"]) == (group["blocks"], group["version"])
        ]
        search = group.get("search")
        rows.append(
            (
                f"{group['blocks']}, version {group['version']}, {group['labels']}",
                number(group["parameters"]),
                number(group["positions"]["train"]),
                _percent(group["network"]["strong"]),
                f"{100 * match[0]['move']:.2f}" if match else NONE,
                _percent(group["network"]["result"]),
                f"{100 * match[0]['result']:.2f}" if match else NONE,
                _percent(search["strong"]) if search else NONE,
            )
        )
    return Table(
        "Supervised accuracy in percent",
        (
            "blocks, set, labels",
            "parameters",
            "trained on",
            "moves",
            "moves, 002",
            "results",
            "results, 002",
            "moves with search",
        ),
        tuple(rows),
        "Mean ± standard error over networks. 002: means of 5 networks, 800,000 positions, "
        "published labels, at the paper's width (128 channels).",
    )


def _groups(found: list[dict[str, Any]]) -> Table:
    rows = []
    for group in found:
        for name, one in group["seeds"][0]["network"].items():
            means = [
                np.mean(
                    [np.nan if (v := s["network"][name][k]) is None else v for s in group["seeds"]]
                )
                for k in ("strong", "weak", "result")
            ]
            random = group["random"][name]["strong"]
            rows.append(
                (
                    group["name"],
                    name.replace("_", " "),
                    number(one["positions"]),
                    *(number(100 * float(m), 2) for m in means),
                    NONE if random is None else number(100 * random, 2),
                )
            )
    return Table(
        "By stage and difficulty",
        ("networks", "positions", "number", "best move", "keeps the result", "result", "random"),
        tuple(rows),
        "Percent, means over networks. Early, middle, late: thirds of the plies; one, two, more: "
        "best moves of a position. Random: share of best moves of a random player, counted.",
        text_columns=2,
    )


def _mistakes(found: list[dict[str, Any]]) -> list[Table]:
    tables = []
    for group in found:
        listed = group["seeds"][0]["mistakes"]
        rows = tuple(
            (m["board"], number(m["ply"]), str(m["played"]), ", ".join(map(str, m["best"])))
            for m in listed
        )
        if rows:
            tables.append(
                Table(
                    f"Worst mistakes of the first network of {group['name']}",
                    ("board", "ply", "played", "best"),
                    rows,
                    "Those that give away most first. X moved first.",
                    folded=True,
                )
            )
    return tables


def _sets(found: list[dict[str, Any]], theirs: dict[str, Any]) -> Table:
    rows = []
    names = ("best_moves", "won", "lost", "drawn")
    for version in sorted({group["version"] for group in found}):
        group = next(g for g in found if g["version"] == version)
        rows.append((f"ours, version {version}", *_set_row(group["statistics"], names)))
        published_set = theirs.get("sets", {}).get(f"hard_version_{version}")
        if published_set:
            rows.append((f"002's hard set, version {version}", *_set_row(published_set, names)))
    return Table(
        "Positions",
        ("set", "best moves", "won", "lost", "drawn"),
        tuple(rows),
        "Mean number of best moves; percent of positions by their result under best play.",
    )


def _set_row(one: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    return [number(one[names[0]], 3), *(number(100 * one[name], 2) for name in names[1:])]


@style.styled
def learning_curves(rows: list[dict[str, Any]]) -> Figure | None:
    """Validation accuracy against epochs, one line a network, one colour a group."""
    if not rows:
        return None
    figure, panels = style.new_figure(1, 2, panel=(4.5, 3.0))
    targets = list(dict.fromkeys(row["target"] for row in rows))
    for axes, key, title in zip(
        panels, ("validation/move", "validation/result"), ("moves", "results"), strict=True
    ):
        for i, target in enumerate(targets):
            names = dict.fromkeys(row["run"] for row in rows if row["target"] == target)
            for j, name in enumerate(names):
                own = [row for row in rows if row["run"] == name]
                axes.plot(
                    [row["iteration"] for row in own],
                    [100 * row[key] for row in own],
                    color=_COLOURS[i % len(_COLOURS)],
                    linewidth=1.2,
                    label=target if j == 0 else None,
                )
        axes.set_title(title)
        axes.set_ylabel("right, % of validation")
        style.iteration_axis(axes, max(row["iteration"] for row in rows), text="epoch")
    panels[0].legend(loc="lower right")
    return figure


def _plate(figure: Figure) -> Plate:
    return Plate(
        "supervised_curves",
        figure,
        "Validation accuracy",
        "After each epoch; true results in validation, whatever the labels of training.",
    )


def _facts(results: dict[str, Any]) -> list[tuple[str, str]]:
    seconds = sum(group["seconds"] for group in results["groups"])
    study = results["config"]["study"]
    return [
        ("Networks", f"{study['seeds']} of each group"),
        ("Split", f"80/10/10 by {study['split']}"),
        ("Wall time", duration(seconds)),
        *page.origin(results),
    ]
