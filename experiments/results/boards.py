"""How strong each loss's players became, and l_v against l_+, board by board, as recorded."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.claims import decision, inference, papers
from experiments.claims.decision import Tested
from experiments.claims.inference import Estimate
from experiments.claims.measured import BoardStudies
from experiments.claims.papers import Contrast
from experiments.losses import joint_figures
from experiments.losses.elo_figures import Series, anchored
from experiments.pages import draw, style
from experiments.pages.tables import Table, table
from experiments.pages.wording import (
    error_of_mean,
    game_title,
    interval,
    mean_and_error,
    number,
    plural,
    plus_minus,
)
from experiments.strength import absolute_section

_ENDS: Final = 2  # kept iterations that are no course: the first and the last
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
    last = max((x[-1] for its in curves.values() for x, _ in its if len(x)), default=0)
    elo = {
        target: np.array([(y[0], y[-1]) for x, y in its if _whole(x, y) and x[-1] == last])
        for target, its in curves.items()
    }
    known = {target: ends for target, ends in elo.items() if len(ends)}
    untrained = [ends[:, 0] for ends in known.values()]
    zero = float(np.concatenate(untrained).mean()) if untrained else math.nan
    anchors = (study.results.get("ladder") or {}).get("anchors") or []
    return Strength(
        runs.board,
        runs.semantics,
        min(map(len, known.values()), default=0),
        {target: ends[:, 1] - ends[:, 0] for target, ends in known.items()},
        {one["name"]: one["elo"] - zero for one in anchors},
    )


def _whole(iterations: np.ndarray, elo: np.ndarray) -> bool:
    """Whether a run was measured from its untrained network on, and rated throughout."""
    return bool(len(iterations)) and iterations[0] == 0 and bool(np.isfinite(elo).all())


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


class Course(NamedTuple):
    """Strength over training of the networks of a board's loss, by games against opponents."""

    board: str
    semantics: str
    target: str
    above: dict[int, np.ndarray]  # by iteration: Elo above the untrained network of the seed [S]
    late: Estimate  # gain from the kept network nearest to half of the training to the last
    test: Tested  # of it


def courses(boards: Sequence[BoardStudies]) -> list[Course]:
    """Of all losses whose networks were kept on the way; tests corrected within a board."""
    found: list[Course] = []
    for group in sorted(boards, key=lambda one: (one.board, one.semantics == "corrected")):
        study = joint_figures.merged(group)
        by_target = {t: _above(anchored(study, t)) for t in style.in_order(study.targets)}
        known = {target: above for target, above in by_target.items() if len(above) > _ENDS}
        late = [inference.estimate([_late(above)]) for above in known.values()]
        tests = decision.decide([Contrast()] * len(late), late)
        found += [
            Course(group.board, group.semantics, target, above, estimate, test)
            for (target, above), estimate, test in zip(known.items(), late, tests, strict=True)
        ]
    return found


def _above(curves: Sequence[Series]) -> dict[int, np.ndarray]:
    """By iteration, of the seeds whose networks were kept as most were: a failed run's were not."""
    whole = [(tuple(x.tolist()), y) for x, y in curves if _whole(x, y)]
    kept = Counter(x for x, _ in whole).most_common(1)
    iterations = kept[0][0] if kept else ()
    same = [y for x, y in whole if x == iterations]
    return {at: np.array([y[k] - y[0] for y in same]) for k, at in enumerate(iterations)}


def _middle(above: Mapping[int, np.ndarray]) -> int:
    """The kept iteration nearest to half of the training, the later of two."""
    last = max(above)
    return min(sorted(above, reverse=True), key=lambda at: abs(at - last / 2))


def _late(above: Mapping[int, np.ndarray]) -> np.ndarray:
    return above[max(above)] - above[_middle(above)]


def course_table(courses: Sequence[Course]) -> Table:
    """A row for each board, semantics and loss."""
    kept = sorted({at for one in courses for at in one.above})
    return table(
        "Elo above the untrained network of the same seed, by iteration",
        courses,
        {
            "board": lambda one: game_title(one.board),
            "behaviour": lambda one: one.semantics,
            "minimised": lambda one: style.label(one.target),
            **{
                str(at): lambda one, at=at: (
                    mean_and_error(one.above[at]) if at in one.above else None
                )
                for at in kept[1:]
            },
            "gained in the second half": lambda one: plus_minus(one.late.effect, one.late.stderr),
            "interval that decides": lambda one: interval(one.test.interval),
            "seeds": lambda one: number(one.late.seeds),
        },
        "From games of the kept networks against the fixed opponents: means ± standard errors over "
        "seeds. The second half begins at the kept network nearest to it. Intervals are corrected "
        "over the losses of a board and behaviour, by Holm's method.",
        text_columns=3,
    )


def exact_tables(boards: Sequence[BoardStudies]) -> Iterator[Table]:
    """Moves and values against exact solutions, of the boards where they were measured."""
    merged = [joint_figures.merged(group) for group in boards]
    for title, study in zip(joint_figures.titles(boards), merged, strict=True):
        if measured := study.results.get("absolute_strength"):
            made = absolute_section.strengths(measured)
            count = measured["positions"]
            asked = f" {count['contested']} of {plural(count['found'], 'position')} are contested."
            yield replace(made, title=f"{made.title}, {title}", note=made.note + asked)


class Rivalry(NamedTuple):
    """The value's loss against the usual sum on a board, by Elo in a tournament."""

    board: str
    semantics: str
    estimate: Estimate  # of l_v less l_+, seed by seed
    test: Tested  # of it

    @property
    def verdict(self) -> str:
        """Which loss is above, by the interval that decides."""
        names = {decision.REPRODUCED: "value", decision.CONTRADICTED: "sum"}
        if name := names.get(self.test.verdict):
            return f"{style.label(name)} above"
        small = self.test.verdict == decision.EQUIVALENT
        margin = number(self.test.contrast.margin)
        return f"less than {margin} apart" if small else self.test.verdict


def rivalries(boards: Sequence[BoardStudies], elo: str = "tournament_elo") -> list[Rivalry]:
    """Of boards and semantics with seeds enough to decide, corrected together; in order.

    `elo`: the statistic of `measured.STATISTICS`, of the tournament.
    """
    enough: list[tuple[BoardStudies, Estimate]] = []
    for one in sorted(boards, key=lambda one: (one.board, one.semantics == "corrected")):
        sides = [one.values(elo, target)[0] for target in ("value", "sum")]
        differences = inference.paired(sides, (1.0, -1.0))
        if len(differences) and (estimate := inference.estimate([differences])).tested:
            enough.append((one, estimate))
    # as the papers claim it of their boards, with that claim's margin
    claimed = next(
        contrast
        for claim in papers.claims(papers.LOSSES)
        for contrast in claim.contrasts
        if claim.id == "value_best" and contrast.minus == ("sum",)
    )
    tests = decision.decide([claimed] * len(enough), [estimate for _, estimate in enough])
    return [
        Rivalry(one.board, one.semantics, estimate, test)
        for (one, estimate), test in zip(enough, tests, strict=True)
    ]


def rivalry_table(rivalries: Sequence[Rivalry], tournament: str = "the final tournament") -> Table:
    """A row for each board and semantics."""
    return table(
        f"Elo of {style.label('value')} less {style.label('sum')} in {tournament}",
        rivalries,
        {
            "board": lambda one: game_title(one.board),
            "behaviour": lambda one: one.semantics,
            "difference": lambda one: plus_minus(one.estimate.effect, one.estimate.stderr),
            "95 % alone": lambda one: interval(one.estimate.interval()),
            "corrected over these rows": lambda one: interval(one.test.interval),
            "verdict": lambda one: one.verdict,
            "seeds": lambda one: number(one.test.seeds),
        },
        "Seed by seed, ± standard errors over seeds. Verdicts are read off the corrected "
        "intervals, by Holm's method. The papers' claims are decided over their own boards and "
        "losses: [verdicts](verdicts.md).",
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
