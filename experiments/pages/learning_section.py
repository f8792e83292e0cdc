"""Is it learning? Kept networks on fixed positions, beside the targets that they learn from.

Of `learning.json`, which every training writes (`jaxzero.runs.learning`), and of its metrics.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from experiments.pages import draw, page, style
from experiments.pages.learning_curves import Group, groups_of
from experiments.pages.page import Page, Section, plate, section
from experiments.pages.tables import Table, table
from experiments.pages.wording import maybe, number, percent, plural
from jaxzero import files
from jaxzero.runs import learning
from jaxzero.solvers.accuracy import STAGES

TITLE: Final = "Is it learning?"
CLEARLY: Final = 0.02  # of the positions: less is no improvement
REPEATS: Final = {"games": 0.5, "positions": 0.3}  # share of distinct ones below which they repeat
_OPEN_ROWS = 12
_LINES: Final = {"network": ":", "search": "-", "target": "--"}


def write(built: Page, directory: Path) -> Path:
    """Writes the page of a directory's trainings, this section behind its first one; its path."""
    first, *rest = built.sections
    sections = [first, section_of(directory), *rest]
    return page.write(dataclasses.replace(built, sections=sections), directory)


def section_of(directory: Path) -> Section:
    """Of all trainings in a study's directory; without content if none was examined."""
    found = [(path.parent, files.read_json(path)) for path in learning.paths(directory)]
    examined = [(place, one) for place, one in found if "iterations" in one]
    if not examined:
        skipped = dict.fromkeys(one["skipped"] for _, one in found)
        return section(TITLE, *skipped)
    groups = groups_of(
        [("" if place == directory else place.name, place, one) for place, one in examined]
    )
    lines = [line for group in groups for line in sentences(group)]
    return section(
        TITLE,
        *lines,
        _asked([one for _, one in examined], len(found)),
        plate("learning", figure(groups), "What is known and what is taught", _CAPTION),
        numbers(groups),
        by_stage(groups),
    )


_CAPTION: Final = (
    "Left: share of contested positions in which the move keeps what can be reached: the network "
    "alone (dotted), the common search (solid), and the policy target of self-play, its likeliest "
    "move (dashed). Middle: mean squared error of the value, and of the best constant (grey). "
    "Right: mean result over predicted value of the last networks, in bins; the diagonal is "
    "perfect. Means over runs."
)


def _asked(found: Sequence[Mapping[str, Any]], trainings: int) -> str:
    """How it was measured; trainings may have asked for other numbers of positions."""
    first = found[0]
    ends = [ply for one in found for ply in one["plies"]]
    labels = "solved exactly"
    if first["labels"] != "exact":
        judge = first["labels"] + (", each training by its own" if len(found) > 1 else "")
        labels = f"not solved but judged by {judge}: right is the move that it prefers"
    left_out = sum(len(one["kept"]) - len(one["iterations"]) for one in found)
    caption = (
        f"{_range(found, 'positions')} positions of random games, {min(ends)} to {max(ends)} plies "
        f"from the start, {labels}; {_range(found, 'contested')} of them are contested: some legal "
        "move is worse. "
        f"The search is the same for all networks: PUCT, {first['simulations']} simulations, "
        f"c = {first['c_puct']}, no noise, no known results. The target is that of the run's own "
        "self-play, noise and all."
    )
    discount = min(one["discount"] for one in found)
    if discount < 1:
        caption += (
            f" Values are learned with a discount of {discount} a ply and compared with results "
            "without it: their error says too much."
        )
    if left_out:
        caption += f" {plural(left_out, 'kept network')} were left out to keep it cheap."
    if trainings > len(found):
        caption += (
            f" Not examined, for their cost: {trainings - len(found)} of {trainings} trainings."
        )
    return caption


def _range(found: Sequence[Mapping[str, Any]], key: str) -> str:
    """`150`, or `60 to 150` where trainings differ."""
    counts = sorted({one[key] for one in found})
    return " to ".join(map(number, dict.fromkeys((counts[0], counts[-1]))))


def sentences(group: Group) -> list[str]:
    """What is wrong with the learning of some runs, with the numbers; else that they learn."""
    first, last = group.iterations[0], group.iterations[-1]
    head = f"{group.name}: " if group.name else ""

    def now(name: str) -> float:
        return group.at(name, last)

    lines = []
    for name, what in (("search", "Search"), ("target", "The target that training receives")):
        if now(name) <= now("network") + CLEARLY:
            lines.append(
                f"{what} does not improve on the network: after iteration {last} it is right in "
                f"{percent(now(name))} of contested positions, the network alone in "
                f"{percent(now('network'))}."
            )
    lines += _no_better_than_a_constant(group)
    lines += _repetition(group)
    lines += _worse(group)
    margin = 2 * _error(group, first, "network")
    if last > first and now("network") <= group.at("network", first) + margin:
        lines.append(
            f"The network alone has not improved beyond doubt: {percent(now('network'))} after "
            f"iteration {last}, {percent(group.at('network', first))} after {first}, of "
            f"{plural(group.contested, 'contested position')}."
        )
    if not lines and group.contested and last > first:
        lines.append(
            f"It learns: from iteration {first} to {last} the network alone went from "
            f"{percent(group.at('network', first))} to {percent(now('network'))} of contested "
            f"positions, with search from {percent(group.at('search', first))} to "
            f"{percent(now('search'))}, the value's error from "
            f"{number(group.at('value_error', first), 3)} to {number(now('value_error'), 3)} "
            f"(best constant {number(now('constant_error'), 3)})."
        )
    if not group.contested:
        lines.append("No position is contested: moves are not judged.")
    if group.left_out:
        several = "iterations" if len(group.left_out) > 1 else "iteration"
        lines.append(
            f"Only some of the runs have networks of {several} "
            f"{', '.join(map(str, group.left_out))}: left out."
        )
    return [head + line for line in lines]


def _repetition(group: Group) -> list[str]:
    lines = []
    for kind, level in REPEATS.items():
        shares = group.means.get(f"distinct_{kind}", {})
        if shares and min(shares.values()) < level:
            worst = min(shares, key=lambda i: shares[i])
            lines.append(
                f"Self-play repeats itself: {percent(shares[worst])} of the {kind} of iteration "
                f"{worst} are distinct, less than {percent(level)}."
            )
    return lines


def _error(group: Group, at: int, name: str) -> float:
    """Standard error of a share of the contested positions."""
    p = group.at(name, at)
    return math.sqrt(max(p * (1 - p), 0.0) / max(group.contested, 1))


def _no_better_than_a_constant(group: Group) -> list[str]:
    """Also where it may be luck; files that are older have no standard error."""
    last = group.iterations[-1]
    error, constant = (group.at(f"{name}_error", last) for name in ("value", "constant"))
    stderr, doubt, known = group.at("value_gain_stderr", last), 0.0, ""
    if not math.isnan(stderr):
        doubt, known = 2 * stderr, f", the difference's standard error {number(stderr, 3)}"
    if constant - error > doubt:
        return []
    surely = "worse" if error - constant > doubt else "not better beyond doubt"
    return [
        f"The value is {surely} than a constant: after iteration {last} its mean squared error is "
        f"{number(error, 3)}, that of the best constant {number(constant, 3)}{known}."
        + _recalibrated(group, [last])
    ]


def _recalibrated(group: Group, iterations: Sequence[int]) -> str:
    """Whether the value does not know, or is too sure; files that are older don't say."""
    left = [group.at("recalibrated_error", i) for i in iterations]
    if any(map(math.isnan, left)):
        return ""
    return f" Recalibrated it is {' and '.join(number(one, 3) for one in left)}."


def _worse(group: Group) -> list[str]:
    """What had been better before."""
    lines, last = [], group.iterations[-1]
    for name, what in (("search", "with search"), ("network", "of the network alone")):
        best = max(group.iterations, key=lambda i: (group.at(name, i), i))
        if group.at(name, best) - group.at(name, last) > 2 * _error(group, best, name):
            lines.append(
                f"It has become worse after its best: the share {what} was "
                f"{percent(group.at(name, best))} after iteration {best} and is "
                f"{percent(group.at(name, last))} after {last}."
            )
    best = min(group.iterations, key=lambda i: (group.at("value_error", i), -i))
    least, error = group.at("value_error", best), group.at("value_error", last)
    stderrs = [group.at("value_error_stderr", i) for i in (best, last)]  # NaN in older files
    if error - least > 2 * math.hypot(*stderrs):
        lines.append(
            f"The value has become worse after its best: its error was {number(least, 3)} after "
            f"iteration {best} and is {number(error, 3)} after {last}."
            + _recalibrated(group, [best, last])
        )
    return lines


@style.styled
def figure(groups: Sequence[Group]) -> Figure:
    """Accuracy and value error by iteration, and the calibration of the last networks."""
    made, (moves, values, calibration) = style.new_figure(3, panel=(3.4, 3.0))
    calibration.plot([-1, 1], [-1, 1], color=style.FAINT, linewidth=0.9, linestyle=draw.DASHES)
    last = max(group.iterations[-1] for group in groups)
    for group, shade in zip(groups, style.PALETTE, strict=False):
        at = group.iterations
        look: dict[str, Any] = {"color": shade, "marker": "o", "markersize": 3}
        for name, line in _LINES.items():
            moves.plot(at, [group.at(name, i) for i in at], line, **look)
        values.plot(at, [group.at("value_error", i) for i in at], **look)
        constant = [group.at("constant_error", i) for i in at]
        values.plot(at, constant, color=style.FAINT, linestyle=draw.DASHES, linewidth=0.9)
        calibration.plot(group.bins[:, 0], group.bins[:, 1], **look)
    moves.set_ylabel("share of moves that keep the result")
    values.set_ylabel("mean squared error of the value")
    values.set_ylim(bottom=0)
    calibration.set(xlabel="value of the network", ylabel="mean result", xlim=(-1, 1), ylim=(-1, 1))
    calibration.set_xticks([-1, -0.5, 0, 0.5, 1])
    for axes in (moves, values):
        draw.iteration_axis(axes, last)
    handles = [
        style.key(group.name, color=shade)
        for group, shade in zip(groups, style.PALETTE, strict=False)
        if group.name
    ]
    handles += [style.key(name, color=style.INK, linestyle=line) for name, line in _LINES.items()]
    style.legend_below(made, handles, columns=5)
    return made


def numbers(groups: Sequence[Group]) -> Table:
    """Every examined iteration."""
    columns = {
        "alone": ("network", 3),
        "search": ("search", 3),
        "target": ("target", 3),
        "target, expected": ("target_mean", 3),
        "entropy of target": ("target_entropy", 2),
        "of prior": ("prior_entropy", 2),
        "KL": ("target_divergence", 2),
        "value error": ("value_error", 3),
        "constant": ("constant_error", 3),
        "recalibrated": ("recalibrated_error", 3),
        "calibration": ("calibration_error", 3),
        "distinct games": ("distinct_games", 2),
        "positions": ("distinct_positions", 2),
        "window": ("effective_share", 2),
        "passes": ("passes", 1),
    }
    rows = [(group, i) for group in groups for i in group.iterations]
    return table(
        "By kept iteration",
        rows,
        {
            "runs": lambda row: row[0].name or "all",
            "iteration": lambda row: str(row[1]),
            **{
                text: lambda row, key=key, digits=digits: maybe(row[0].at(key, row[1]), digits)
                for text, (key, digits) in columns.items()
            },
        },
        "Shares of contested positions; entropies and KL of the target from the prior in nats, "
        "errors of the value squared, recalibrated: what is left of it where each of five bins of "
        "the prediction stands for its true mean; calibration: mean distance of predicted and true "
        "value over these bins. Distinct: share of the iteration's games and positions; window: "
        "effective number of its positions, 1 over the sum of the squared shares of different "
        "ones, as a share of all; passes: examples that gradient steps drew for each new one.",
        text_columns=1,
        folded=len(rows) > _OPEN_ROWS,
    )


def by_stage(groups: Sequence[Group]) -> Table:
    """The value's error by thirds of the plies, after the last examined iteration."""
    return table(
        "Value by plies played",
        groups,
        {
            "runs": lambda group: group.name or "all",
            **{
                f"{stage}: {text}": lambda group, key=f"{name}_{stage}": maybe(
                    group.at(key, group.iterations[-1]), 3
                )
                for stage in STAGES
                for text, name in (("error", "value_error"), ("constant", "constant_error"))
            },
        },
        "Mean squared error of the last examined networks, and that of the best constant of those "
        "positions; thirds of the plies that the positions span.",
    )
