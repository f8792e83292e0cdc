"""The figure of the verdicts on the papers' claims: every contrast with its interval."""

import math
import textwrap
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.claims import inference
from experiments.claims.decision import (
    CONTRADICTED,
    EQUIVALENT,
    REPRODUCED,
    UNDECIDED,
    VERDICTS,
    Decided,
    Tested,
)
from experiments.claims.losses import Findings, published_effect
from experiments.claims.measured import LOSSES
from experiments.claims.papers import Contrast
from experiments.claims.wording import words_of
from experiments.pages import style
from experiments.pages.page import Plate
from experiments.pages.wording import NO_DATA, game_title, plural

COLOURS: Final = {
    REPRODUCED: "#009E73",
    CONTRADICTED: "#D55E00",
    EQUIVALENT: "#0072B2",
    UNDECIDED: "#777777",
}
# What may share an axis: Elo of a tournament and of training differ by a factor of ten.
_KINDS: Final = (
    ("tournament Elo", ("tournament_elo",)),
    (
        "training Elo",
        ("training_elo_gain", "second_half_training_elo_gain", "training_elo_bias"),
    ),
    ("loss", ("epoch_fall", "value_less_policy", *LOSSES)),
)
_CAPTION: Final = (
    "A line is one contrast, seed by seed, as written on the left with what is claimed; bar: the "
    f"interval over seeds that decides (none with fewer than {inference.FEWEST}), of 95 % or, "
    "where a claim has several contrasts, more; shaded: differences that count as none; open "
    "diamonds: the same in the papers' numbers (none: no numbers published); arrows: the interval "
    "goes on. Claims of Wang 2019, 2020 and 2023 (sections V, 6.3 and 6.3); where each stands is "
    "in the table."
)
_WORDS_WIDE = 74  # characters of a claim over its contrasts


# A line of the figure: a claim's words, or one of its contrasts.
_Line: TypeAlias = tuple[str, Tested | None]


def plates(findings: Findings) -> list[Plate]:
    """Effects with their intervals: a figure for each semantics and each kind of statistic."""
    found: list[Plate] = []
    for semantics in dict.fromkeys(one.semantics for one in findings.decided):
        own = [one for one in findings.decided if one.semantics == semantics]
        for kind, names in _KINDS:
            if lines := _lines(own, names):
                title = f"Effects behind the verdicts, {semantics} semantics: {kind}"
                found.append(
                    Plate(f"claims_{len(found) + 1}", _figure(kind, lines), title, _CAPTION)
                )
    return found


def _lines(decided: Sequence[Decided], statistics: Sequence[str]) -> list[_Line]:
    lines: list[_Line] = []
    one_board = len({test.contrast.board for one in decided for test in one.tests}) == 1
    for one in decided:
        tests = [test for test in one.tests if test.contrast.statistic in statistics]
        if tests:
            wrapped = textwrap.wrap(
                style.symbols(f"{one.claim.words} ({one.verdict})"), _WORDS_WIDE
            )
            lines += [(words, None) for words in wrapped]
            lines += [(_on_board(test.contrast, one_board), test) for test in tests]
    return lines


def _on_board(contrast: Contrast, one_board: bool) -> str:
    """`training Elo gain: l+ - lp > 0, Othello 6x6`; without the board where all are of one."""
    words = words_of(contrast)
    return words if one_board else f"{words}, {game_title(contrast.board)}"


@style.styled
def _figure(kind: str, lines: Sequence[_Line]) -> Figure:
    tests = [test for _, test in lines if test is not None]
    drawn = Figure(figsize=(9.6, 0.185 * len(lines) + 0.8), layout="constrained")
    style.canvas(drawn)
    axes = drawn.subplots()
    margin, reach = tests[0].contrast.margin, _reach(tests)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(len(lines) - 0.4, -0.8)
    axes.axvspan(-margin, margin, color="#000000", alpha=0.06, linewidth=0)
    axes.axvline(0, color="#999999", linewidth=0.8)
    axes.grid(axis="y", visible=False)
    named = {place: text for place, (text, test) in enumerate(lines) if test is not None}
    axes.set_yticks([*named], [*named.values()])
    axes.tick_params(axis="y", length=0, labelsize=7.5)
    axes.set_xlabel(f"difference in {kind}")
    for place, (text, test) in enumerate(lines):
        if test is None:
            axes.text(
                0.005, place, text, transform=axes.get_yaxis_transform(), va="center",
                fontsize=7.8, fontweight="bold", color=style.INK,
            )  # fmt: skip
        else:
            _contrast(axes, place, test, reach)
    handles = [
        style.key(verdict, color=COLOURS[verdict], marker="o", markersize=5)
        for verdict in VERDICTS
        if verdict in {test.verdict for test in tests}
    ]
    known = any(published_effect(test.contrast) is not None for test in tests)
    words, marker = ("published", "D") if known else (NO_DATA, "")
    handles.append(style.key(words, linestyle="", marker=marker, markerfacecolor="none"))
    style.legend_below(drawn, handles, columns=5)
    return drawn


def _reach(tests: Sequence[Tested]) -> float:
    """Half the width of an axis: effects, margins, and most of the intervals fit in."""
    theirs = [published_effect(t.contrast) for t in tests]
    effects = [abs(effect) for effect in theirs if effect is not None]
    effects += [abs(t.estimate.effect) for t in tests if t.estimate is not None]
    effects += [2 * t.contrast.margin for t in tests]
    known = [abs(end) for t in tests for end in t.interval if math.isfinite(end)]
    typical = float(np.quantile(known, 0.9)) if known else 0.0
    return 1.12 * max(*effects, min(typical, 3 * max(effects)))


def _contrast(axes: Axes, place: int, test: Tested, reach: float) -> None:
    shade, theirs = COLOURS[test.verdict], published_effect(test.contrast)
    if theirs is not None:
        axes.plot(theirs, place, "D", markersize=4.5, color="#555555", markerfacecolor="none")
    if test.estimate is None:
        words = "no runs"
    else:
        low, high = test.interval
        if not math.isnan(low):
            ends = np.clip([low, high], -reach, reach)
            axes.plot(ends, [place, place], color=shade, linewidth=1.6, solid_capstyle="butt")
            for end, beyond, arrow in ((-reach, low < -reach, "<"), (reach, high > reach, ">")):
                if beyond:
                    axes.plot(end, place, arrow, color=shade, markersize=5, clip_on=False)
        axes.plot(test.estimate.effect, place, "o", color=shade, markersize=5, zorder=3)
        words = plural(test.estimate.seeds, "seed")
        words += f", needs {test.to_decide}" if test.verdict == UNDECIDED else ""
    axes.annotate(
        f"{test.verdict}, {words}", (1.0, place), xycoords=("axes fraction", "data"),
        xytext=(7, 0), textcoords="offset points", va="center", fontsize=7.5, color=shade,
    )  # fmt: skip
