"""The report of the efficiency study: Clausen 2021's Figs. 1 to 7 with the published curves."""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from experiments import published
from experiments.claims.earned import Measure, earned, earned_table, shared_evaluations
from experiments.configs.connect_four_efficiency import WITHOUT_ARMS
from experiments.configs.connect_four_supervised import GAME
from experiments.connect_four import claims
from experiments.connect_four.baselines import EXTENDED
from experiments.connect_four.learning_lines import (
    AXES,
    LEVELS,
    MOVE_MS,
    Line,
    Lines,
    hours_to,
    mean_line,
    of_arms,
    placed,
)
from experiments.pages import page, record, style
from experiments.pages.page import Page, plate, section
from experiments.pages.tables import Table, table
from experiments.pages.wording import NONE, game_title, maybe, mean_and_error, number, plural
from jaxzero import workdir
from jaxzero.settings import config as config_lib
from jaxzero.training import optimiser
from jaxzero.training.spec import TrainSettings

PUBLISHED = "clausen_efficiency"
_ACCURACY = Measure("search", "accuracy with search, %", 100, 2)

# Arms of a figure, its number in the paper, its title.
FIGURES: tuple[tuple[str, int | None, str, tuple[str, ...]], ...] = (
    ("dedupe", 1, "Merged duplicates", ("dedupe_0.2", "dedupe_0.5", "dedupe")),
    ("cyclic", 3, "Cyclic learning rate and momentum", ("cyclic",)),
    ("slow_window", 4, "Slow window", ("slow_window",)),
    ("reply", 5, "The opponent's reply", ("reply",)),
    ("squeeze_excite", 6, "Squeeze and excite", ("squeeze_excite",)),
    ("baselines", 7, "Baseline and extended baseline", ("extended",)),
    ("without", None, "Extended without one of its extensions", WITHOUT_ARMS),
    ("playout_caps", None, "Playout caps", ("playout_caps",)),
    ("other", None, "Other extensions of section 2.4", (
        "move_values", "mixed_values", "forced_playouts", "known_results", "few_head_filters",
        "symmetric_images",
    )),
)  # fmt: skip
_BASE = "baseline"
# Of the arms of a figure, the first one's alone in its colour.
_LOOKS: tuple[dict[str, Any], ...] = (
    {"color": style.PALETTE[0], "linestyle": "-", "marker": "o"},
    *(
        {"color": colour, "linestyle": line, "marker": marker}
        for line, marker in (("-", "o"), ("--", "s"), ("-.", "^"))
        for colour in style.PALETTE[1:]
    ),
)
_FEW = 4  # arms that leave room for a legend within the axes


def build(directory: Path) -> Page:
    """The page of a finished study, figures drawn, nothing written yet."""
    results = workdir.read_results(directory)
    arms = {arm["arm"]: arm for arm in results["arms"]}
    drawn = figures(results)
    plates = [
        plate(f"efficiency_{name}", draw(), title, "Thick: mean of the runs; thin, if any: each.")
        for name, (title, draw) in drawn.items()
    ]
    second = plate("cycle", cycle(), "Learning rate and momentum (Fig. 2)", _CYCLE)
    plates.insert(FIGURES[0][0] in drawn, second)
    return Page(
        title=f"What makes AlphaZero cheaper: {game_title(results['game'])}",
        subtitle=f"{results['game']}, preset {results['preset']}",
        verdicts=sentences(arms, results["positions"]["random"]["strong"]),
        missing=_missing(arms, _published(results)),
        facts=facts(results),
        sections=[
            section("Accuracy against cost", _METHOD, AXES[as_drawn(results)], *plates),
            section("The paper's claims", claims.table(results)),
            section("Numbers", *tables(results)),
        ],
    )


def tables(results: Mapping[str, Any]) -> list[Table | None]:
    """What was reached at what cost, and what each ingredient earned."""
    arms = {arm["arm"]: arm for arm in results["arms"]}
    costs = accuracy_and_cost(arms, _published(results), AXES[as_drawn(results)])
    return [costs, ingredients(arms)]


def figures(results: Mapping[str, Any]) -> dict[str, tuple[str, Callable[[], Figure]]]:
    """Title and what draws it, by name, of the figures whose arms were run."""
    ours = of_arms(results["arms"], results["config"]["network"]["channels"])
    theirs = _published(results)
    found: dict[str, tuple[str, Callable[[], Figure]]] = {}
    for name, number_, title, arms in FIGURES:
        if any(arm in ours for arm in arms):
            shown = (EXTENDED if arms == WITHOUT_ARMS else _BASE, *arms)
            head = f"{title} (Fig. {number_})" if number_ else title
            found[name] = head, functools.partial(accuracy_figure, ours, theirs, shown)
    return found


def as_drawn(results: Mapping[str, Any]) -> bool:
    """Whether published networks stand where the paper draws them, see `AXES`."""
    return bool(results["config"]["study"].get("curves_as_drawn", False))


def _published(results: Mapping[str, Any]) -> dict[str, Any]:
    """The published curves by arm, of the published board."""
    if results["game"] != GAME:
        return {}
    curves = (published.load(PUBLISHED) or {}).get("curves", {})
    return {
        name: curve | {"mean": placed(curve["mean"], as_drawn=as_drawn(results)).T}
        for name, curve in curves.items()
    }


_METHOD = (
    "Accuracy: share of solved positions in which the network with its search plays a best move "
    "(quickest win, slowest loss). Cost as the paper counts it: positions played until then times "
    "the time of one move, training and marking free. Figures take the time of a move on the "
    "authors' machine, one RTX 2070 Super, for both, published curves dotted: the same hours are "
    "the same number of moves of the baseline; a search that asks the network half as often "
    "counts half. Tables are in hours of this machine."
)
_CYCLE = "Of one iteration's training, before annealing, for a learning rate of 0.2."


def sentences(arms: dict[str, Any], random: float) -> list[str]:
    """The findings, one by one."""
    lines = [f"A random player finds a best move in {100 * random:.1f} % of the positions."]
    for name, arm in arms.items():
        best = [100 * max(p["search"] for p in run["points"]) for run in arm["runs"]]
        untrained = np.mean([100 * run["points"][0]["search"] for run in arm["runs"]])
        lines.append(
            f"{name}: at best {mean_and_error(best, 2)} % ({plural(len(best), 'run')}), untrained "
            f"{untrained:.2f} %."
        )
    return lines


def _missing(arms: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    absent = [name for name in theirs if name not in arms]
    lines = [f"Not run: {', '.join(absent)}."] if absent else []
    alone = [name for name, arm in arms.items() if len(arm["runs"]) == 1]
    if alone:
        lines.append(f"One run only of {', '.join(alone)}: no spread over seeds can be given.")
    if not theirs:
        lines.append("There is no published data for this board.")
    elif any(name in WITHOUT_ARMS for name in arms):
        lines.append("There is no published data for arms without an extension.")
    return lines


@style.styled
def accuracy_figure(ours: Lines, theirs: dict[str, Any], shown: tuple[str, ...]) -> Figure:
    """Accuracy in percent against cost in hours of the authors' machine, published ones dotted.

    `shown`: names, the baseline first; those that are neither here nor there are left out.
    """
    figure, (axes,) = style.new_figure(panel=(6.0, 3.6))
    drawn = [name for name in shown if name in ours or name in theirs]
    looks = dict(zip(drawn, itertools.cycle(_LOOKS), strict=False))
    for name in drawn:
        for line in ours.get(name, ()) if len(drawn) <= _FEW else ():
            thin: dict[str, Any] = {"linewidth": 0.6, "alpha": 0.5, "label": style.SEED}
            axes.plot(line.paper_hours, line.accuracy, color=looks[name]["color"], **thin)
        if name in ours:
            x, y = mean_line(ours[name], "paper_hours", "accuracy")
            axes.plot(x, y, **looks[name], linewidth=2.0, markersize=3, label=name)
        if name in theirs:
            x, y = theirs[name]["mean"].T
            axes.plot(x, y, ":", color=looks[name]["color"], linewidth=1.5, label="_")
    axes.set_xscale("log")
    axes.set_xlabel(f"cost of self-play, hours at {MOVE_MS:g} ms a move")
    axes.set_ylabel("accuracy with search, %")
    if len(drawn) <= _FEW:
        axes.legend(loc="best")
    else:
        named = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
        style.legend_below(figure, named, columns=3)
    return figure


@style.styled
def cycle() -> Figure:
    """Learning rate and momentum over one iteration's training (Fig. 2)."""
    figure, panels = style.new_figure(2, panel=(4.0, 2.6))
    train = config_lib.section(TrainSettings, config_lib.default_config().train, schedule="cyclic")
    progress = np.linspace(0, 1, 201)
    rates = [
        0.2 * float(optimiser.learning_rate_factor(train, jnp.int32(1), jnp.float32(p)))
        for p in progress
    ]
    momenta = [float(optimiser.momentum(train, jnp.float32(p))) for p in progress]
    for axes, values, label in zip(
        panels, (rates, momenta), ("learning rate", "momentum"), strict=True
    ):
        axes.plot(progress, values, color=style.PALETTE[0])
        axes.set_xlabel("share of the training")
        axes.set_ylabel(label)
    return figure


def accuracy_and_cost(arms: dict[str, Any], theirs: dict[str, Any], axes: str = "") -> Table:
    """Best accuracy and cost of levels, a row for each arm and one for the published one.

    `axes`: where published networks stand, in words.
    """
    rows: list[dict[str, Any]] = []
    lines = of_arms([*arms.values()])
    for name, arm in arms.items():
        rows.append({"arm": name, "of": "ours", **_measured(arm, lines[name])})
        if name in theirs:
            curve = theirs[name]
            x, y = curve["mean"].T
            hours = [maybe(hours_to(x, y, level), 1) for level in LEVELS]
            own = {"runs": curve["mean_of"], "best": float(curve["best"]), "hours": hours}
            rows.append({"arm": name, "of": "Clausen 2021", **own})
    clocks = f" Hours are those of each one's own machine. {axes}" if theirs else ""
    return table(
        "Accuracy and cost",
        rows,
        {
            "arm": lambda row: row["arm"],
            "": lambda row: row["of"],
            "runs": lambda row: number(row["runs"]),
            "best, %": lambda row: number(row["best"], 2),
            "iterations": lambda row: row.get("iterations"),
            **{
                f"hours to {level} %": lambda row, k=k: row["hours"][k]
                for k, level in enumerate(LEVELS)
                if any(row["hours"][k] != NONE for row in rows)  # somebody reached it
            },
            "ms a move": lambda row: maybe(row.get("milliseconds"), 3),
            "new positions": lambda row: maybe(row.get("new"), 2),
        },
        "Of the mean curve. New positions: share of the last iteration's positions that the window "
        "did not hold (all where equal ones are kept apart). A run ends when it has not "
        "improved for study.patience iterations." + clocks,
        text_columns=2,
    )


def ingredients(arms: dict[str, Any]) -> Table | None:
    """What each ingredient of the extended baseline earned; None where none was left out."""
    compared = {name: arm for name, arm in arms.items() if name in (EXTENDED, *WITHOUT_ARMS)}
    if EXTENDED not in compared or len(compared) == 1:
        return None
    at = shared_evaluations(compared.values())
    return earned_table(earned(compared, EXTENDED, _ACCURACY, at), EXTENDED, _ACCURACY, at)


def _measured(arm: dict[str, Any], lines: Sequence[Line]) -> dict[str, Any]:
    """What a row tells of one of our arms."""
    hours, accuracy = mean_line(lines, "hours", "accuracy")
    return {
        "runs": len(arm["runs"]),
        "best": float(accuracy.max()),
        "iterations": _iterations(arm),
        "hours": [maybe(hours_to(hours, accuracy, level), 2) for level in LEVELS],
        "milliseconds": 1000 * arm["seconds_per_move"],
        "new": float(np.mean([run["points"][-1]["new_share"] for run in arm["runs"]])),
    }


def _iterations(arm: dict[str, Any]) -> str:
    """Of the runs: `30`, or `21 to 30`."""
    last = [run["points"][-1]["iteration"] for run in arm["runs"]]
    return number(last[0]) if min(last) == max(last) else f"{min(last)} to {max(last)}"


def facts(results: dict[str, Any]) -> page.Facts:
    """Of every study that measures networks on solved positions."""
    config = results["config"]
    m = config["study"].get("simulations") or config["search"]["num_simulations"]
    return [
        ("Budget", record.budget(config)),
        ("Measured with", results.get("examination", f"{m} simulations")),
        ("Network", f"{config['network']['blocks']} blocks of {config['network']['channels']}"),
        ("Test positions", number(results["positions"]["number"])),
        *page.origin(results),
    ]
