"""How strong each loss's players became, board by board, in recorded loss studies."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.claims import inference, measured
from experiments.claims.measured import BoardStudies
from experiments.pages import draw, style
from experiments.pages.tables import Table, table
from experiments.pages.wording import error_of_mean, game_title, mean_and_error, number

_BESIDE: Final = 4  # boards of panels that stand beside each other, not below


class Strength(NamedTuple):
    """Of a board's final networks, in the tournament with the full search."""

    board: str
    semantics: str
    seeds: int
    above: dict[str, np.ndarray]  # by loss: Elo above the untrained network of the same seed [S]
    rollouts: dict[str, float]  # by name: plain MCTS above the mean of the untrained networks


def strengths(boards: Sequence[BoardStudies]) -> list[Strength]:
    """Of boards and semantics with seeds enough to decide, by board, as published first."""
    ratings = [_strength(one) for one in boards]
    enough = [one for one in ratings if one.seeds >= inference.FEWEST]
    return sorted(enough, key=lambda one: (one.board, one.semantics == "corrected"))


def _strength(runs: BoardStudies) -> Strength:
    untrained = {
        (place, seed): measured.rating(study, "untrained", target=None, seed=seed)
        for place, study in enumerate(runs.studies)
        for seed in {run.seed for run in study.runs}
    }
    known = {key: elo for key, elo in untrained.items() if elo is not None}
    above = {}
    for target in style.in_order({t for study in runs.studies for t in study.targets}):
        elo, _ = runs.values("tournament_elo", target)
        above[target] = np.array([elo[key] - known[key] for key in elo if key in known])
    zero = float(np.mean(list(known.values()))) if known else math.nan
    rollouts = {
        player["name"]: elo - zero
        for study in runs.studies[:1]
        for played in study.tournaments
        if played["name"] == "final"
        for player, elo in zip(played["players"], played["elo"], strict=True)
        if player["kind"] == "rollouts" and elo is not None
    }
    return Strength(runs.board, runs.semantics, len(known), above, rollouts)


def strength_table(strengths: Sequence[Strength]) -> Table:
    """A row for each board and semantics."""
    targets = style.in_order({target for one in strengths for target in one.above})
    rollouts = dict.fromkeys(name for one in strengths for name in one.rollouts)
    return table(
        "Elo above untrained networks with the same search, by the loss that was minimised",
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
                f"plain {name}": lambda one, name=name: (
                    number(one.rollouts[name]) if name in one.rollouts else None
                )
                for name in rollouts
            },
            "seeds": lambda one: number(one.seeds),
        },
        "Means ± standard errors over seeds, final networks. Published: trained and judged as the "
        "authors' programs did; compare losses within a row.",
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
                if len(elo := one.above.get(target, np.empty(0))):
                    draw.error_bars(axes, x, elo.mean(), error_of_mean(elo), target)
            for rollouts in one.rollouts.values():
                axes.hlines(rollouts, column - 0.4, column + 0.4, colors=style.colour("rollouts"))
        draw.level(axes, 0.0)
        words = [game_title(name).rsplit(" ", 1) for name in names]
        draw.name_columns(axes, ["\n".join(parts) for parts in words])
        axes.set_title(f"{meant} behaviour")
    style.label_rows(panels, "Elo above untrained")
    handles = [style.handle(target, linestyle="") for target in targets]
    handles.append(style.key("plain MCTS", color=style.colour("rollouts")))
    style.legend_below(drawn, handles, columns=5)
    return drawn
