"""The report of the curriculum study: West 2020's Figures 1, 4, 5 and 6, and the verdicts."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from ml_collections import ConfigDict

from experiments.claims import section as claims_section
from experiments.claims.decision import METHOD
from experiments.endgame import claims as papers_claims
from experiments.endgame import win_ratio
from experiments.endgame.win_ratio import AXES, Point
from experiments.pages import draw, drawings, page, style
from experiments.pages.page import Page, plate, section
from experiments.pages.tables import Table, table
from experiments.pages.wording import duration, game_title, interval, maybe, number, plural
from jaxzero import files, workdir
from jaxzero.games import make_game

SHADES: Final = {
    "curriculum": "#D55E00",
    "baseline": "#009E73",
    "trim": "#0072B2",
    "horizon": "#AA4499",
}
DASHES: Final = {"curriculum": "-", "baseline": ":", "trim": "--", "horizon": "-."}
LABELS: Final = {"minutes": "minutes of training", "steps": "training steps", "epochs": "epochs"}
_CLAIMS_NOTE: Final = (
    "Win ratio of the curriculum player less the baseline's; late gain: mean of both players'. "
    f"{METHOD} Each claim stands alone. Published: the same of the paper's curves."
)
_LEAD: Final = 0.03  # win ratio by which a player must have led before it can be overtaken
_SELFPLAY: Final = (
    ("curriculum/fraction", "share of a game\nsearched (zeta)"),
    ("curriculum/random_plies", "random plies"),
    ("selfplay/plies", "length of a game\n(plies)"),
    ("curriculum/horizon", "visibility horizon\n(plies)"),
    ("curriculum/rolled_back", "games rolled back\n(share)"),
    ("selfplay/draws", "draws\n(share)"),
    ("loss/policy", "training l_p (nats)"),
    ("loss/value", "training l_v"),
)


def build(directory: Path) -> Page:
    """The page of a finished study, figures drawn, nothing written yet."""
    results = workdir.read_results(directory)
    metrics = {
        arm: files.read_rows(directory / "arms" / arm / workdir.METRICS)
        for arm in results["config"]["study"]["arms"]
    }
    config = ConfigDict(results["config"])
    points = points_of(results)
    game = make_game(
        config.game,
        observation="planes" if config.game.startswith("racing_kings") else config.observation,
    )
    start = drawings.positions({config.game: (game, None)})
    claims = results["claims"]
    known = papers_claims.published_curves(papers_claims.figure_of(config))
    reference = results["reference"]["name"]
    facts = [
        ("Preset", results["preset"]),
        ("Seeds", str(config.study.seeds)),
        ("Reference", f"{reference}, {results['reference']['games']} games a point"),
        ("Wall time", duration(results["cost"]["wall_seconds"])),
        *page.origin(results),
    ]
    return Page(
        title=f"End games first on {game_title(config.game)}",
        subtitle="West, Maire, Browne and Denman (2020): a curriculum for AlphaZero",
        verdicts=[f"{c['words']} {c['verdict'].capitalize()}{_numbers(c)}." for c in claims],
        missing=_missing(results),
        facts=facts,
        sections=[
            section(
                "Win ratio",
                plate(
                    "win_ratio",
                    win_ratios(config, points),
                    f"Win ratio against {reference}",
                    f"Moving average of {plural(config.study.smoothing, 'point')} of all seeds "
                    "together, as in West 2020's Figures 4 to 6; shaded: 95 % Wilson interval of "
                    "the games. Minutes are the player's own wall time from its first iteration "
                    "on, without compiling, all its seeds together, alone on the devices."
                    + (" Second row: what the paper published, on its own axes." if known else ""),
                ),
                ratio_table(config, points),
            ),
            section(
                "Claims", claims_section.of_results("The paper's claims", claims, _CLAIMS_NOTE)
            ),
            section(
                "Self-play",
                plate(
                    "selfplay",
                    self_play(metrics),
                    "What the players learned from",
                    "Means over seeds.",
                ),
            ),
            section("The start", plate("start", start, "Where games begin", "West 2020, Fig. 1.")),
        ],
    )


def points_of(results: Mapping[str, Any]) -> list[Point]:
    """The points of `results.json`."""
    return [Point.of(row, {axis: row[axis] for axis in AXES}) for row in results["points"]]


@style.styled
def win_ratios(config: ConfigDict, points: Sequence[Point]) -> Figure:
    """Figures 4, 5 and 6: win ratio against minutes, steps and epochs, the published ones below."""
    theirs = papers_claims.published_curves(papers_claims.figure_of(config))
    figure, panels = style.new_figure(6 if theirs else 3, columns=3, panel=(3.1, 2.7))
    arms = list(dict.fromkeys(point.arm for point in points))
    change = papers_claims.end_of_curriculum(config)
    for axes, axis in zip(panels, AXES, strict=False):
        for arm in arms:
            own = [p for p in points if p.arm == arm]
            _draw(axes, own, arm, axis, config)
        if axis == "epochs" and change is not None:
            axes.axvline(change, color=style.FAINT, linewidth=1, linestyle=draw.DASHES)
        axes.set_xlabel(LABELS[axis])
        axes.set_ylim(0, None)
    panels[0].set_ylabel("win ratio, this study")
    for axes, axis in zip(panels[3:], AXES, strict=False):
        for arm, line in theirs[axis].items():
            axes.plot(line["x"], line["y"], DASHES[arm], color=SHADES[arm], linewidth=1.5)
        axes.set_xlabel(f"{LABELS[axis]} (West 2020)")
        axes.set_ylim(0, None)
    if theirs:
        panels[3].set_ylabel("win ratio, published")
    handles = [style.key(arm, color=SHADES[arm], linestyle=DASHES[arm]) for arm in arms]
    if change is not None:
        handles.append(style.key("the curriculum ends", linestyle=draw.DASHES))
    style.legend_below(figure, handles, columns=5)
    return figure


def _draw(axes: Axes, own: Sequence[Point], arm: str, axis: str, config: ConfigDict) -> None:
    shade, draw_points = SHADES[arm], config.study.draw_points
    known = [p for p in own if p.games]
    x, y = [p.x[axis] for p in known], [p.ratio(draw_points) for p in known]
    axes.plot(x, y, ".", color=shade, markersize=2.5, alpha=0.35)
    curve = win_ratio.smooth(own, axis, config.study.smoothing, draw_points)
    axes.fill_between(curve.x, curve.low, curve.high, color=shade, alpha=0.15, linewidth=0)
    axes.plot(curve.x, curve.mean, DASHES[arm], color=shade)


@style.styled
def self_play(metrics: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure | None:
    """What the curriculum did, by iteration."""
    shown = [
        (key, text)
        for key, text in _SELFPLAY
        if any(key in row for rows in metrics.values() for row in rows)
    ]
    if not shown:
        return None
    figure, panels = style.new_figure(len(shown), panel=(2.4, 2.0))
    for axes, (key, text) in zip(panels, shown, strict=True):
        for arm, rows in metrics.items():
            by_iteration: dict[int, list[float]] = {}
            for row in rows:
                if row.get(key) is not None and row["iteration"]:
                    by_iteration.setdefault(row["iteration"], []).append(row[key])
            x = sorted(by_iteration)
            means = [float(np.mean(by_iteration[i])) for i in x]
            axes.plot(x, means, DASHES[arm], color=SHADES[arm])
        axes.set_ylabel(text, fontsize=8.5)
        axes.set_ylim(0, None)
        axes.set_xlabel("iteration")
    handles = [style.key(arm, color=SHADES[arm], linestyle=DASHES[arm]) for arm in metrics]
    style.legend_below(figure, handles, columns=4)
    return figure


def ratio_table(config: ConfigDict, points: Sequence[Point]) -> Table | None:
    """Smoothed ratios at quarters of the way, and where the curves meet."""
    window, draw_points = config.study.smoothing, config.study.draw_points
    ends = {axis: win_ratio.common_end(points, axis) for axis in AXES}
    curves = {
        (axis, arm): win_ratio.smooth(
            [p for p in points if p.arm == arm], axis, window, draw_points
        )
        for axis in AXES
        for arm in dict.fromkeys(p.arm for p in points)
    }

    def at(share: float) -> Callable[[tuple[str, str]], str]:
        def cell(key: tuple[str, str]) -> str:
            curve = curves[key]
            x = float(np.clip(share * ends[key[0]], curve.x[0], curve.x[-1]))
            mean, low, high = (
                float(np.interp(x, curve.x, y)) for y in (curve.mean, curve.low, curve.high)
            )
            return f"{number(mean, 2)} ({interval((low, high), 2)})"

        return cell

    def meeting(key: tuple[str, str]) -> str | None:
        axis, arm = key
        if arm == "baseline" or (axis, "baseline") not in curves:
            return None
        meets = win_ratio.meeting(curves[key], curves[axis, "baseline"], _LEAD)
        return maybe(meets, 1 if axis == "minutes" else 0)

    return table(
        "Win ratios",
        [key for key, curve in curves.items() if len(curve.x)],
        {
            "axis": lambda key: LABELS[key[0]],
            "player": lambda key: key[1],
            "1/4 of the way": at(0.25),
            "1/2": at(0.5),
            "3/4": at(0.75),
            "end": at(1.0),
            "stops leading at": meeting,
        },
        "Win ratio with its 95 % interval, at shares of what all runs reached. Stops leading: "
        "where a player that led the baseline by 0.03 is overtaken for the first time.",
        text_columns=2,
    )


def _numbers(claim: Mapping[str, Any]) -> str:
    if "needs" in claim:
        return f": needs {claim['needs']}"
    if claim["effect"] is None:
        return ": no run reached it"
    return f": {number(claim['effect'], 3)} with {plural(claim['seeds'], 'seed')}"


def _missing(results: Mapping[str, Any]) -> list[str]:
    found = [f"The engine had problems: {text}." for text in results["problems"]]
    if not results["claims"]:
        found.append("Without both players, curriculum and baseline, no claim can be decided.")
    empty = sum(row["wins"] + row["draws"] + row["losses"] == 0 for row in results["points"])
    if empty:
        found.append(f"{plural(empty, 'point')} without a finished game.")
    return found
