"""Clausen 2021, Figs. 8 to 13: accuracy and diversity by network and cost, ours and published."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.configs.connect_four_extensions import TEACHER
from experiments.connect_four.baselines import EXTENDED
from experiments.connect_four.learning_lines import (
    AXES,
    LEVELS,
    MOVE_MS,
    Line,
    Lines,
    hours_to,
    mean_line,
)
from experiments.pages import style
from experiments.pages.page import Plate, plate
from experiments.pages.tables import Table, table
from experiments.pages.wording import NONE, TIMES, mean_and_error, number, plural, short


class Comparison(NamedTuple):
    """One figure: what is compared with what."""

    name: str  # of its file
    source: str  # of the paper
    title: str  # above it
    arms: tuple[str, ...]  # the reference first, named alike here and in the published curves
    diversity: bool = False  # the figure has it


FIGURES: Final = (
    Comparison("cached", "Fig. 8", "Each position searched once", (EXTENDED, "cached")),
    Comparison(
        "tree", "Fig. 9", "One large tree", ("cached", "tree", "tree_5", "tree_15"), diversity=True
    ),
    Comparison(
        "retry", "thesis", "Other moves in lost games", ("cached", "retry", "archive"), True
    ),
    Comparison(
        "features",
        "Fig. 10",
        "Features of a small network as targets",
        (EXTENDED, "move1", "move0_win0", "win0", "only_move2", TEACHER),
    ),
    Comparison(
        "features_where",
        "thesis",
        "The same: random features, other places",
        (EXTENDED, "move1", "move1_random", "last_block", "extra_output"),
    ),
    Comparison(
        "growing",
        "Fig. 11",
        "Growing networks",
        (EXTENDED, "growing", "growing_net2net", "growing_parallel"),
    ),
    Comparison("evolution", "Fig. 12", "Evolving players", (EXTENDED, "evolve", "kld"), True),
    Comparison("novelty", "Fig. 13", "Evolving for novelty", (EXTENDED, "novelty"), True),
    Comparison(
        "novel_wins", "thesis", "Evolving for novel wins", (EXTENDED, "evolve", "novel_wins"), True
    ),
)
STEPS: Final = "Where networks grow"  # title of a table
_CAPTION: Final = (
    "Left: by network, the iterations of games that it was trained on; right: by what it had cost, "
    f"searches made times {MOVE_MS:g} ms, the authors' time of one, on both sides, so that the "
    "same hours are the same number of searches; a search that asks the network half as often "
    "counts half, one of a network half as wide what it took the authors; what the "
    "small network had cost is added where its features are learned. Thick: mean over seeds, "
    "as far as all go; thin: each; dotted: published, mean over their runs. {where} The search "
    "that measures accuracy and the size of the runs differ from theirs."
)
_DIVERSITY: Final = (
    " Below: positions that are new over positions played, of a network's newest games (ours: new "
    "in the window; theirs: new in the run)."
)


def shown(ours: Lines) -> list[Comparison]:
    """Every figure of which an arm was run besides its reference, and one of all other arms."""
    found = [one for one in FIGURES if {*one.arms[1:]} & ours.keys()]
    rest = [arm for arm in ours if not any(arm in one.arms for one in FIGURES)]
    if rest:
        found.append(Comparison("others", "", "Other arms", (EXTENDED, *rest), diversity=True))
    return found


def plates(ours: Lines, theirs: Lines, *, as_drawn: bool) -> list[Plate]:
    """The figures; `theirs`: empty where the board is another one, `as_drawn`: how it was read."""
    found = []
    for one in shown(ours):
        title = f"{one.title} ({one.source})" if one.source else one.title
        caption = _CAPTION.format(where=AXES[as_drawn]) + one.diversity * _DIVERSITY
        drawn = comparison(ours, theirs, one.arms, diversity=one.diversity)
        found.append(plate(f"extensions_{one.name}", drawn, title, caption))
    return [one for one in found if one is not None]


@style.styled
def comparison(ours: Lines, theirs: Lines, arms: Sequence[str], *, diversity: bool) -> Figure:
    """Accuracy in percent, and diversity below, by network (left) and by cost (right)."""
    measures = {"accuracy": "accuracy with search, %"}
    measures |= {"diversity": "new positions, share"} if diversity else {}
    figure, panels = style.new_figure(2 * len(measures), columns=2, panel=(4.4, 2.9))
    looks = dict(zip(arms, itertools.cycle(style.PALETTE), strict=False))
    places = itertools.product(measures, ("network", "paper_hours"))
    for axes, (measured, axis) in zip(panels, places, strict=True):
        for arm, shade in looks.items():
            _draw(axes, ours.get(arm, ()), theirs.get(arm, ()), axis, measured, shade)
        axes.set_ylabel(measures[measured])
        if axis == "network":
            axes.set_xlabel("network")
            axes.set_xlim(left=0)
        else:
            axes.set_xscale("log")
            axes.set_xlabel(f"cost, hours at {MOVE_MS:g} ms a search")
    handles = [
        style.key(arm.replace("_", " "), color=shade)
        for arm, shade in looks.items()
        if arm in ours or arm in theirs
    ]
    if any(arm in theirs for arm in arms):
        handles.append(style.key("published", linestyle=":"))
    style.legend_below(figure, handles, columns=4)
    return figure


def _draw(
    axes: Axes, ours: Sequence[Line], theirs: Sequence[Line], axis: str, measured: str, shade: str
) -> None:
    for line in ours if len(ours) > 1 else ():
        look: dict[str, Any] = {"linewidth": 0.5, "alpha": 0.5, "label": style.SEED}
        axes.plot(getattr(line, axis), getattr(line, measured), color=shade, **look)
    for lines, look in ((ours, {"marker": "o", "markersize": 3}), (theirs, {"linestyle": ":"})):
        x, y = mean_line(lines, axis, measured)
        if len(x):
            axes.plot(x, y, color=shade, **look)


def levels_of(lines: Sequence[Line]) -> tuple[float, ...]:
    """Levels on the way of these runs, whole percents: half, three quarters and all of it."""
    _, accuracy = mean_line(lines, "paper_hours", "accuracy")
    if not len(accuracy):
        return ()
    first, best = float(accuracy[0]), float(accuracy.max())
    return tuple(dict.fromkeys(float(int(first + s * (best - first))) for s in (0.5, 0.75, 1.0)))


def cost_of_levels(lines: Lines, levels: Sequence[float], title: str, note: str) -> Table:
    """Hours to each level by arm, and how many times cheaper than the extended baseline."""

    def cell(arm: str, level: float) -> str:
        own, base = (
            hours_to(*mean_line(lines.get(name, ()), "paper_hours", "accuracy"), level)
            for name in (arm, EXTENDED)
        )
        if own is None:
            return NONE
        hours = short(float(f"{own:.3g}"))
        if arm == EXTENDED or base is None:
            return hours
        return f"{hours} ({number(base / own, 2)}{TIMES})"

    def best(arm: str) -> str:
        found = [int(np.nanargmax(line.accuracy)) for line in lines[arm]]
        pairs = list(zip(lines[arm], found, strict=True))
        accuracy = float(np.mean([line.accuracy[i] for line, i in pairs]))
        where = "network" if len(pairs) == 1 else "networks"
        at = ", ".join(number(int(line.network[i])) for line, i in pairs)
        return f"{number(accuracy, 2)} ({where} {at})"

    return table(
        title,
        list(lines),
        {
            "arm": lambda arm: arm.replace("_", " "),
            "runs": lambda arm: plural(len(lines[arm]), "run"),
            **{f"{level:g} %": lambda arm, level=level: cell(arm, level) for level in levels},
            "best, %": best,
        },
        note,
    )


class _Step(NamedTuple):
    """Where runs grow."""

    arm: str  # what they are runs of
    whose: str  # ours or published
    network: int  # the first of its width
    lines: tuple[Line, ...]  # those of which that network and the one before it are known

    def mean(self, network: int) -> str:
        return number(float(np.mean([line.accuracy_of(network) for line in self.lines])), 2)

    def change(self) -> str:
        return mean_and_error([line.growth(self.network) for line in self.lines], 2)

    def regained(self) -> str:
        found = [_regained(line, self.network) for line in self.lines]
        return ", ".join(NONE if n is None else number(n) for n in found)


def _regained(line: Line, grown: int) -> int | None:
    """The first network from that which has grown on that is as accurate as the one before it."""
    as_good = (line.network >= grown) & (line.accuracy >= line.accuracy_of(grown - 1))
    return int(line.network[as_good][0]) if as_good.any() else None


def steps(ours: Lines, theirs: Lines) -> Table:
    """What every step up to a wider network does to accuracy; no rows where none was measured."""
    own = list(_steps(ours, "ours"))
    return table(
        STEPS,
        [*own, *_steps(theirs, "published")] if own else [],
        {
            "arm": lambda step: step.arm.replace("_", " "),
            "whose": lambda step: step.whose,
            "network": lambda step: number(step.network),
            "runs": lambda step: number(len(step.lines)),
            "before, %": lambda step: step.mean(step.network - 1),
            "after, %": lambda step: step.mean(step.network),
            "change": lambda step: step.change(),
            "regained by network": lambda step: step.regained(),
        },
        "Accuracy with search of the first network of a width and of the one before it, means over "
        "the runs of which both are known, their difference with its standard error. Regained: of "
        "each run, the first network that is as accurate as before.",
        text_columns=2,
    )


def _steps(lines: Lines, whose: str) -> Iterator[_Step]:
    for arm, runs in lines.items():
        for n in sorted({n for line in runs for n in line.grown}):
            known = [n in line.grown and np.isfinite(line.growth(n)) for line in runs]
            if any(known):
                yield _Step(arm, whose, n, tuple(itertools.compress(runs, known)))


def costs(ours: Lines, theirs: Lines) -> list[Table]:
    """Ours at levels on their way, and the published curves at the paper's."""
    own = cost_of_levels(
        ours,
        levels_of(ours.get(EXTENDED, ())),
        f"Hours to a level, at {MOVE_MS:g} ms a search",
        f"Of the mean curve; in brackets: times cheaper than {EXTENDED}. Levels: half, three "
        f"quarters and all of what {EXTENDED} gained. Best: mean over runs of each one's best "
        "network, the luckiest of many.",
    )
    known = {arm: lines for arm, lines in theirs.items() if np.isfinite(lines[0].network).all()}
    title = "Published: hours of their machine to a level"
    return [own, cost_of_levels(known, LEVELS, title, "As above, from the curves.")]
