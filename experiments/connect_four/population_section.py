"""What population-based training found: constants over generations, and what copying was worth."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import published
from experiments.configs.connect_four_extensions import POPULATIONS
from experiments.connect_four.baselines import EXTENDED
from experiments.connect_four.search_report import LABELS, PUBLISHED
from experiments.pages import style
from experiments.pages.page import Section, plate, section
from experiments.pages.wording import joined, number, plural
from jaxzero.runs import generations
from jaxzero.runs.generations import Generation

_LABELS: Final = LABELS | {"learning_rate": "learning rate"}
_SHADES: Final = dict(zip(POPULATIONS, style.PALETTE[:2], strict=True))
_METHOD: Final = (
    "Runs of one population, side by side, with constants of their own: the first with the "
    "settings', all others drawn. After each generation the worst fifth go on as copies of the "
    "best fifth (network, optimiser, window), each constant 0.8 or 1.2 times as large, one in four "
    "drawn afresh (Jaderberg et al. 2017). Fitness, by which is copied and the best run is named, "
    "is the accuracy with search on solved positions that are no test positions: that of the best "
    "of several is too high. It is judged by the test positions, which chose nothing (the two sets "
    "are not equally hard). population_alone: the same beginning and as many games, no copies. The "
    "searches of the comparisons are not counted as cost; both have them."
)
_CAPTION: Final = (
    "First panel: fitness of the best run by fitness (solid), its accuracy on the test positions "
    f"(dashed); grey: test accuracy of {EXTENDED}, mean over seeds. Others: constants of each slot "
    "of the population; thick: of the run that was best at last, through those whose copy it is. "
    "Dotted: Clausen 2021's constants, from a Bayesian search over whole trainings; dash-dotted: "
    "those of its Bayesian search for the best network alone."
)


def of(arms: Mapping[str, Any]) -> dict[str, list[Generation]]:
    """Their generations, of arms that have some."""
    return {
        name: [Generation(**each) for each in arm["generations"]]
        for name, arm in arms.items()
        if "generations" in arm
    }


def best(arm: Mapping[str, Any], generation: Generation) -> tuple[int, float]:
    """(number of the best run by fitness, its accuracy on the test positions)."""
    run = int(np.argmax(generation.fitness or [0.0]))
    points = {point["iteration"]: point for point in arm["runs"][run]["points"]}
    return run, float(points[generation.iteration]["search"])


def became(arms: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of a table of constants at last: of the best run by fitness, and means over all runs."""
    rows = []
    for name, held in of(arms).items():
        run, accuracy = best(arms[name], held[-1])
        ends = [one["points"][-1]["search"] for one in arms[name]["runs"]]
        for text, found, of_runs in (
            ("best by fitness", accuracy, [run]),
            ("mean of all runs", float(np.mean(ends)), range(len(ends))),
        ):
            constants = {
                _key(k): float(np.mean([_shown(k, values[i]) for i in of_runs]))
                for k, values in held[-2].constants.items()
            }
            own = {"name": f"{name}, {text}, ours", "accuracy": 100 * found}
            rows.append(own | {"constants": constants})
    return rows


def shown(arms: Mapping[str, Any], positions: int) -> Section | None:
    """All of it; None without a population."""
    found = of(arms)
    if not found:
        return None
    drawn = plate("extensions_population", figure(arms, found), "Constants that evolve", _CAPTION)
    return section("Population-based training", sentence(arms, positions), _METHOD, drawn)


def sentence(arms: Mapping[str, Any], positions: int) -> str:
    """What the best run by fitness came to, on positions that did not choose it."""
    lines = []
    for name, held in of(arms).items():
        _, accuracy = best(arms[name], held[-1])
        searches = sum(run["points"][-1]["searches"] for run in arms[name]["runs"])
        copied = sum(i != d for g in held[1:-1] for i, d in enumerate(g.donor))
        error = 100 * float(np.sqrt(accuracy * (1 - accuracy) / positions))
        lines.append(
            f"{100 * accuracy:.1f} \N{PLUS-MINUS SIGN} {error:.1f} % in {name} "
            f"({plural(len(held[0].donor), 'run')}, "
            f"{plural(copied, 'copy', 'copies')}, {number(float(searches))} searches)"
        )
    return (
        f"The best run by fitness plays a best move in {joined(lines)}. Standard errors are those "
        "of the choice of test positions alone, and each is one population: which is better is "
        "undecided."
    )


@style.styled
def figure(arms: Mapping[str, Any], found: Mapping[str, list[Generation]]) -> Figure:
    """Fitness, accuracy and constants over iterations."""
    first = next(iter(found.values()))
    names = list(first[0].constants)
    drawn, panels = style.new_figure(1 + len(names), columns=3, panel=(3.6, 2.6))
    _accuracy(panels[0], arms, found)
    held = found.get(POPULATIONS[0], first)
    for axes, name in zip(panels[1:], names, strict=True):
        _constant(axes, name, held)
    for axes in panels:
        axes.set_xlabel("iteration")
    handles = [style.key(name.replace("_", " "), color=_SHADES[name]) for name in found]
    if EXTENDED in arms:
        handles.append(style.key(EXTENDED, color=style.FAINT))
    style.legend_below(drawn, handles, columns=3)
    return drawn


def _accuracy(axes: Axes, arms: Mapping[str, Any], found: Mapping[str, list[Generation]]) -> None:
    for name, held in found.items():
        x = [each.iteration for each in held[1:]]
        fitness = [100 * max(each.fitness or [0.0]) for each in held[1:]]
        tested = [100 * best(arms[name], each)[1] for each in held[1:]]
        axes.plot(x, fitness, "-o", color=_SHADES[name], markersize=3)
        axes.plot(x, tested, "--s", color=_SHADES[name], markersize=3)
    if EXTENDED in arms:
        runs = [run["points"][1:] for run in arms[EXTENDED]["runs"]]
        known = min(runs, key=len)  # a run may have ended sooner
        means = [
            100 * float(np.mean([run[i]["search"] for run in runs])) for i in range(len(known))
        ]
        axes.plot([p["iteration"] for p in known], means, color=style.FAINT)
    axes.set_ylabel("accuracy with search, %")


def _constant(axes: Axes, name: str, held: list[Generation]) -> None:
    x = [each.iteration for each in held]
    values = np.array([each.constants[name] for each in held[:-1]])  # [periods, R]
    values = _shown(name, np.concatenate([values, values[-1:]]))
    for slot in values.T:
        axes.step(x, slot, where="post", color=style.FAINT, linewidth=0.8, label=style.SEED)
    run = int(np.argmax(held[-1].fitness or [0.0]))
    line = generations.lineage(held, run)
    axes.step(x, values[range(len(x)), [*line, run]], where="post", color=_SHADES[POPULATIONS[0]])
    theirs = published.load(PUBLISHED) or {"sets": [], "players": []}
    sets = [(theirs["sets"][:1], ":")]
    sets.append(([p for p in theirs["players"] if p["name"] == "best network, Bayesian"], "-."))
    for known, style_ in sets:
        for one in known:
            if _key(name) in one["constants"]:
                axes.axhline(one["constants"][_key(name)], linestyle=style_, color=style.INK, lw=1)
    if name in ("c_puct", "dirichlet_alpha", "learning_rate"):
        axes.set_yscale("log")
    axes.set_ylabel(_LABELS[_key(name)])


def _key(name: str) -> str:
    """As the published constants are named."""
    return "draw" if name == "draw_value" else name


def _shown(name: str, value: Any) -> Any:
    """A draw between a loss, 0, and a win, 1."""
    return (1 + value) / 2 if name == "draw_value" else value
