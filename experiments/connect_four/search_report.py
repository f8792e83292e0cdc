"""The search for Clausen 2021's constants: all trials, the best beside the published ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from experiments import published
from experiments.connect_four import claims
from experiments.connect_four import efficiency_report as efficiency
from experiments.pages import record, style
from experiments.pages.page import Page, plate, section
from experiments.pages.tables import Table, table
from experiments.pages.wording import game_title, maybe, mean_and_error, number, plural
from jaxzero import workdir

PUBLISHED: Final = "clausen_constants"
LABELS: Final = {
    "c_puct": "exploration c",
    "unvisited_q": "first-play urgency",
    "dirichlet_alpha": "root noise, alpha over the legal moves",
    "draw": "worth of a draw (loss 0, win 1)",
}


def build(directory: Path) -> Page:
    """The page of a finished search, figures drawn, nothing written yet."""
    results = workdir.read_results(directory)
    tried = sorted(results["trials"], key=lambda t: -t["accuracy"])
    theirs = (published.load(PUBLISHED) or {}).get("sets", [])
    seeds = results["config"]["study"]["seeds"]
    return Page(
        title=f"Constants of the search: {game_title(results['game'])}",
        subtitle=f"{results['game']}, preset {results['preset']}",
        verdicts=sentences(tried, results["positions"]),
        missing=record.failures(results),
        facts=[("Runs of a trial", str(seeds)), *efficiency.facts(results)],
        sections=[
            section(
                "Trials",
                _METHOD,
                plate("constants", figure(tried, theirs), "Accuracy by constant", _CAPTION),
                trials_table(tried),
                published_table(theirs),
            ),
            section("The paper's claims", claims.table(results)),
        ],
    )


_METHOD: Final = (
    "A trial is a short training with its own constants; its accuracy is the share of solved "
    "positions in which a network with its search plays a best move (quickest win, slowest loss), "
    "the best of its kept networks. The first trial has the constants of the settings, all others "
    "are proposed. The best of many noisy trials is better than it will be again: train it again, "
    "with several seeds, before believing it."
)
_CAPTION: Final = (
    "Each point is a trial; filled: the best. Dotted: the constants that Clausen 2021 used, from a "
    "search of 65 steps of two hours each."
)


def sentences(tried: Sequence[Mapping[str, Any]], positions: Mapping[str, Any]) -> list[str]:
    """What came out, one by one; `tried` with the best first."""
    best, accuracies = tried[0], [100 * t["accuracy"] for t in tried]
    random, share = positions["random"]["strong"], best["accuracy"]
    choice = 100 * float(np.sqrt(share * (1 - share) / positions["number"]))
    lines = [
        f"{plural(len(tried), 'trial')}: {min(accuracies):.2f} to {max(accuracies):.2f} % of best "
        f"moves, the median {float(np.median(accuracies)):.2f} %. A random player finds "
        f"{100 * random:.1f} %.",
        f"Best: {best['name']} with {_in_words(best['constants'])}. The choice of "
        f"{number(positions['number'])} positions, the same for all, alone gives an accuracy a "
        f"standard error of {choice:.1f} points.",
    ]
    first = next((t for t in tried if t["name"] == "trial_0"), None)
    if first is not None:
        rank = 1 + [t["name"] for t in tried].index("trial_0")
        lines.append(
            f"The settings' own constants ({_in_words(first['constants'])}) came to "
            f"{100 * first['accuracy']:.2f} %, rank {rank} of {len(tried)}."
        )
    return lines


def _in_words(constants: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in constants.items())


@style.styled
def figure(tried: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> Figure:
    """Accuracy in percent against each constant; `tried` with the best first."""
    drawn, panels = style.new_figure(4, columns=2, panel=(4.0, 2.8))
    accuracy = [100 * t["accuracy"] for t in tried]
    for axes, (name, label) in zip(panels, LABELS.items(), strict=True):
        values = [t["constants"][name] for t in tried]
        axes.plot(values, accuracy, "o", mfc="none", color="#0072B2")
        axes.plot(values[:1], accuracy[:1], "o", color="#D55E00")
        if theirs:
            axes.axvline(theirs[0]["constants"][name], linestyle=":", color=style.FAINT)
        axes.set_xlabel(label)
        axes.set_ylabel("accuracy with search, %")
    return drawn


def trials_table(tried: Sequence[Mapping[str, Any]]) -> Table:
    """All trials, the best first."""
    return table(
        "Trials",
        tried,
        {
            "trial": lambda t: t["name"],
            **{text: lambda t, k=k: f"{t['constants'][k]:.4g}" for k, text in LABELS.items()},
            "accuracy, %": lambda t: mean_and_error([100 * value for value in t["seeds"]], 2),
            "at iteration": lambda t: ", ".join(map(str, t["iterations"])),
            "untrained, %": lambda t: number(100 * t["untrained"], 2),
        },
        "\N{PLUS-MINUS SIGN}: standard error over seeds. Untrained: the same network's search with "
        "these constants before any training.",
    )


def published_table(theirs: Sequence[Mapping[str, Any]]) -> Table:
    """The sets of 002, with the accuracies of full runs."""
    return table(
        "Published",
        theirs,
        {
            "set": lambda one: one["name"],
            **{text: lambda one, k=k: f"{one['constants'][k]:g}" for k, text in LABELS.items()},
            "accuracy, %": lambda one: maybe(one["accuracy"], 2),
        },
        "Of full runs (mean of 5), which go on far longer than a trial: not to be compared with "
        "the trials' accuracies.",
    )
