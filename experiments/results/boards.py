"""How strong each loss's players became, and l_v against l_+, board by board, as recorded."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.claims import decision, inference
from experiments.claims.decision import Tested
from experiments.claims.inference import Estimate
from experiments.claims.measured import BoardStudies
from experiments.claims.papers import Contrast
from experiments.losses import joint_figures
from experiments.losses.elo_figures import anchored
from experiments.pages import draw, style
from experiments.pages.tables import Table, table
from experiments.pages.wording import (
    error_of_mean,
    game_title,
    interval,
    mean_and_error,
    number,
    plus_minus,
)

_BESIDE: Final = 4  # boards of panels that stand beside each other, not below


class Strength(NamedTuple):
    """Of a board's final networks, by games against fixed opponents (the ladder)."""

    board: str
    semantics: str
    seeds: int
    above: dict[str, np.ndarray]  # by loss: Elo above the untrained network of the same seed [S]
    opponents: dict[str, float]  # by name: Elo above the mean of the untrained networks


def strengths(boards: Sequence[BoardStudies]) -> list[Strength]:
    """Of boards and semantics with seeds enough to decide, by board, as published first."""
    ratings = [_strength(one) for one in boards]
    enough = [one for one in ratings if one.seeds >= inference.FEWEST]
    return sorted(enough, key=lambda one: (one.board, one.semantics == "corrected"))


def _strength(runs: BoardStudies) -> Strength:
    study = joint_figures.merged(runs)
    curves = {target: anchored(study, target) for target in style.in_order(study.targets)}
    elo = {
        target: np.array([(y[0], y[-1]) for x, y in its if len(x) and x[0] == 0])
        for target, its in curves.items()
    }
    known = {target: ends for target, ends in elo.items() if len(ends)}
    untrained = [ends[:, 0] for ends in known.values()]
    zero = float(np.concatenate(untrained).mean()) if untrained else math.nan
    anchors = (runs.studies[0].results.get("ladder") or {}).get("anchors") or []
    return Strength(
        runs.board,
        runs.semantics,
        min(map(len, known.values()), default=0),
        {target: ends[:, 1] - ends[:, 0] for target, ends in known.items()},
        {one["name"]: one["elo"] - zero for one in anchors},
    )


def strength_table(strengths: Sequence[Strength]) -> Table:
    """A row for each board and semantics."""
    targets = style.in_order({target for one in strengths for target in one.above})
    opponents = dict.fromkeys(name for one in strengths for name in one.opponents)
    return table(
        "Elo above the untrained network of the same seed, by the loss that was minimised",
        strengths,
        {
            "board": lambda one: game_title(one.board),
            "behaviour": lambda one: one.semantics,
            **{
                style.label(target): lambda one, target=target: (
                    mean_and_error(one.above[target]) if len(one.above.get(target, ())) else None
                )
                for target in targets
            },
            **{
                name: lambda one, name=name: (
                    number(one.opponents[name]) if name in one.opponents else None
                )
                for name in opponents
            },
            "seeds": lambda one: number(one.seeds),
        },
        "Of final networks, from games against the fixed opponents in the last columns: means ± "
        "standard errors over seeds. Published: as the authors' programs trained; compare losses "
        "within a row. The claims are decided by a tournament among all networks, whose ratings "
        "are another scale.",
    )


class Rivalry(NamedTuple):
    """The value's loss against the usual sum on a board, by Elo in the final tournament."""

    board: str
    semantics: str
    estimate: Estimate  # of l_v less l_+, seed by seed
    test: Tested  # of it

    @property
    def verdict(self) -> str:
        """Which loss is above, by the interval that decides."""
        low, high = self.test.interval
        if low > 0 or high < 0:
            return f"{style.label('value' if low > 0 else 'sum')} above"
        return decision.UNDECIDED


def rivalries(boards: Sequence[BoardStudies]) -> list[Rivalry]:
    """Of boards and semantics with seeds enough to decide, corrected together; in order."""
    enough: list[tuple[BoardStudies, Estimate]] = []
    for one in sorted(boards, key=lambda one: (one.board, one.semantics == "corrected")):
        value, total = (one.values("tournament_elo", target)[0] for target in ("value", "sum"))
        if value and total and (estimate := inference.difference(value, total)).tested:
            enough.append((one, estimate))
    tests = decision.decide([Contrast()] * len(enough), [estimate for _, estimate in enough])
    return [
        Rivalry(one.board, one.semantics, estimate, test)
        for (one, estimate), test in zip(enough, tests, strict=True)
    ]


def rivalry_table(rivalries: Sequence[Rivalry]) -> Table:
    """A row for each board and semantics."""
    return table(
        f"Elo of {style.label('value')} less {style.label('sum')} in the final tournament",
        rivalries,
        {
            "board": lambda one: game_title(one.board),
            "behaviour": lambda one: one.semantics,
            "difference": lambda one: plus_minus(one.estimate.effect, one.estimate.stderr),
            "95 % by itself": lambda one: interval(one.estimate.interval()),
            "interval that decides": lambda one: interval(one.test.interval),
            "verdict": lambda one: one.verdict,
            "seeds": lambda one: number(one.test.seeds),
        },
        "Seed by seed, ± standard errors over seeds. The intervals that decide are corrected over "
        "the rows, by Holm's method. A claim's verdict above is of its own boards and losses.",
    )


@style.styled
def figure(strengths: Sequence[Strength]) -> Figure | None:
    """The same: a panel for each semantics, a column for each board; None without studies."""
    if not strengths:
        return None
    semantics = list(dict.fromkeys(one.semantics for one in strengths))
    names = list(dict.fromkeys(one.board for one in strengths))
    panel = (max(3.4, 0.9 * len(names) + 0.9), 2.9)
    columns = 2 if len(names) <= _BESIDE else 1
    drawn, panels = style.new_figure(len(semantics), panel=panel, columns=columns, share_y=True)
    targets = style.in_order({target for one in strengths for target in one.above})
    for axes, meant in zip(panels, semantics, strict=True):
        for one in (one for one in strengths if one.semantics == meant):
            column = names.index(one.board)
            places = draw.beside(column, len(targets), 0.5)
            for x, target in zip(places, targets, strict=True):
                if len(gains := one.above.get(target, np.empty(0))):
                    draw.error_bars(axes, x, gains.mean(), error_of_mean(gains), target)
            for name, elo in one.opponents.items():
                if name.startswith("mcts"):
                    axes.hlines(elo, column - 0.4, column + 0.4, colors=style.colour("rollouts"))
        draw.level(axes, 0.0)
        words = [game_title(name).rsplit(" ", 1) for name in names]
        draw.name_columns(axes, ["\n".join(parts) for parts in words])
        axes.set_title(f"{meant} behaviour")
    style.label_rows(panels, "Elo above untrained")
    handles = [style.handle(target, linestyle="") for target in targets]
    handles.append(style.key("plain MCTS", color=style.colour("rollouts")))
    style.legend_below(drawn, handles, columns=5)
    return drawn
