"""The page of a study of arms: which of them changes how the losses rank, and by how much."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import inference
from experiments.reporting import ladder, page, study, style
from experiments.reporting.ladder import PALETTE, Group
from experiments.reporting.page import Plate, Section
from experiments.reporting.study import Study
from experiments.reporting.tables import Table
from experiments.reporting.wording import (
    ABSENT,
    NONE,
    duration,
    game_title,
    number,
    percent,
    plural,
    plus_minus,
    short,
)
from jaxzero import workdir

_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
_WEIGHTS: Final = {"value": 0.0, "policy": 1.0}  # lambda of the targets that are ends of the sweep


@dataclass(frozen=True)
class Arms:
    """A study of arms, read.

    Attributes:
      name: of its directory.
      results: as stored.
      studies: of each arm that has one, by name.
    """

    name: str
    results: dict[str, Any]
    studies: dict[str, Study]

    @property
    def names(self) -> list[str]:
        """The arms, in order."""
        return [arm["name"] for arm in self.results["arms"]]

    @property
    def targets(self) -> list[str]:
        """The losses, in order."""
        return list(dict.fromkeys(run["target"] for run in self.results["runs"]))

    def curves(self, arm: str) -> dict[str, Group]:
        """Strength over training by target, on the common scale."""
        runs = {r["name"]: r["target"] for r in self.results["runs"] if r["arm"] == arm}
        measured = (self.results.get("ladder") or {}).get("runs") or {}
        return ladder.groups_of({"runs": {n: c for n, c in measured.items() if n in runs}}, runs)

    def shade(self, arm: str) -> str:
        """An arm's colour, where losses are not what is told apart."""
        return PALETTE[self.names.index(arm) % len(PALETTE)]


def load(directory: Path) -> Arms:
    """Reads `results.json` and the arms' own directories."""
    results = workdir.read_json(directory / workdir.RESULTS)
    places = {arm["name"]: directory / arm["name"] for arm in results["arms"]}
    studies = {name: study.load(place) for name, place in places.items() if place.is_dir()}
    return Arms(directory.resolve().name, results, studies)


def write_report(directory: Path) -> Path:
    """Writes figures and report.html from results.json; returns the latter's path."""
    return page.write(build(load(directory)), directory)


def build(found: Arms) -> page.Page:
    """The page, figures drawn, nothing written yet."""
    results = found.results
    sections = [_strength(found), _effects(found), _sweep(found), _self_play(found)]
    return page.Page(
        title=f"Arms of the loss study: {game_title(results['game'])}",
        subtitle=f"{results['game']}, preset {results['preset']}, {found.name}",
        verdicts=sentences(results),
        missing=_missing(found),
        facts=_facts(found),
        sections=[s for s in sections if s.text or s.plates or s.tables],
    )


def sentences(results: dict[str, Any]) -> list[str]:
    """What noise and search change between l_v and its rivals, each with its error."""
    said = []
    for row in results.get("effects") or []:
        if row["kind"] == "change":
            plain = _find(results, "loss", "plain", row["target"])
            here = _find(results, "loss", row["arm"], row["target"])
            if plain and here:
                said.append(
                    f"Value less {row['target']}: {_told(plain)} Elo in plain, {_told(here)} in "
                    f"{row['arm']}; {_change(row)}"
                )
    return said


def _find(results: dict[str, Any], kind: str, arm: str, target: str) -> dict[str, Any] | None:
    for row in results.get("effects") or []:
        if (row["kind"], row["arm"], row["target"]) == (kind, arm, target):
            return row
    return None


def _told(row: dict[str, Any]) -> str:
    stderr = math.nan if row["stderr"] is None else row["stderr"]
    return plus_minus(row["effect"], stderr)


def _change(row: dict[str, Any]) -> str:
    told = f"changed by {_told(row)}"
    if row["low"] is None:
        return f"{told}, no interval from {plural(row['seeds'], 'seed')}."
    interval = f"95 % interval {number(row['low'])} to {number(row['high'])}"
    surely = row["low"] > 0 or row["high"] < 0
    return f"{told}, {interval}: {'the arm matters' if surely else 'may be nothing'}."


def _missing(found: Arms) -> list[str]:
    said = [f"Arm {name} has no directory." for name in found.names if name not in found.studies]
    if not found.results.get("ladder"):
        said.append("No strength was measured (study.ladder_games=0): arms are not compared.")
    fewest = min((row["seeds"] for row in found.results.get("effects") or []), default=None)
    if fewest is not None and fewest < inference.FEWEST:
        said.append(
            f"{plural(fewest, 'seed')} of each loss: intervals need {inference.FEWEST} "
            "(--config.study.seeds), what is written with ± is the spread over seeds."
        )
    return said


def _facts(found: Arms) -> list[tuple[str, str]]:
    results = found.results
    environment = results.get("environment") or {}
    facts = [
        (f"Arm {arm['name']}", f"{arm['meaning']}{_changes(arm['changes'])}")
        for arm in results["arms"]
    ]
    seconds = sum(float(arm["cost"]["wall_seconds"]) for arm in results["arms"])
    facts += [
        ("Runs", f"{len(results['runs'])}, {len(found.targets)} losses in each arm"),
        ("Reports", ", ".join(f"{name}/report.html" for name in found.names)),
        ("Device", str(environment.get("device", ABSENT))),
        ("Wall time", f"{duration(seconds)} without the last measurement"),
        ("Commit", str(environment.get("commit", ABSENT))),
        ("Command", str(results.get("command", ABSENT))),
    ]
    return facts


def _changes(changes: dict[str, Any]) -> str:
    told = ", ".join(f"{key}={short(value)}" for key, value in changes.items())
    return f" ({told})" if told else ""


# ---- strength


def _strength(found: Arms) -> Section:
    title = "Strength over training"
    if not found.results.get("ladder"):
        return Section(title)
    measured = found.results["ladder"]
    plates = [
        Plate(
            "arms_strength",
            strength_figure(found),
            title,
            "A panel for each arm, a curve for each loss: mean over seeds, band ± 1 standard "
            "deviation, thin lines single seeds. All networks played fixed opponents (random = 0) "
            f"with the plain arm's search and {number(measured['settings']['simulations'])} "
            "simulations, whatever they were trained with; networks did not meet. No published "
            "data: the papers have the plain arm only, without such a scale.",
        ),
        Plate(
            "arms_final",
            final_figure(found),
            "Strength at the end",
            "Last measured networks: mean ± standard error over seeds (or of the ratings, where "
            "larger), points single seeds.",
        ),
    ]
    return Section(title, plates=tuple(plates), tables=(_final_table(found),))


@style.styled
def strength_figure(found: Arms) -> Figure:
    """Elo above random by iteration, a panel for each arm."""
    names = found.names
    columns = min(len(names), 2)
    rows = math.ceil(len(names) / columns)
    figure, panels = style.new_figure(
        rows, columns, panel=(4.4, 2.9), share_y=True, spare=rows * columns - len(names)
    )
    for axes, name in zip(panels, names, strict=True):
        last = 1.0
        for target, group in found.curves(name).items():
            style.draw_band(axes, group.band, target)
            last = max(last, float(group.band.iterations[-1]))
        axes.set_title(name)
        style.iteration_axis(axes, last)
    for axes in panels[::columns]:
        axes.set_ylabel("Elo above the random player")
    style.legend_below(figure, [style.handle(target) for target in found.targets], columns=6)
    return figure


@style.styled
def final_figure(found: Arms) -> Figure:
    """Elo of the last measured networks by arm, losses side by side."""
    targets, names = found.targets, found.names
    figure, (axes,) = style.new_figure(1, 1, panel=(max(6.0, 1.9 * len(names)), 3.4))
    for place, name in enumerate(names):
        groups = found.curves(name)
        for index, target in enumerate(t for t in targets if t in groups):
            group, last = groups[target], groups[target].band.last
            x = place + 0.7 * ((index + 0.5) / len(targets) - 0.5)
            shade = style.colour(target)
            axes.plot(
                np.full(len(group.band.seeds), x), group.band.seeds[:, last], ".", color=shade,
                alpha=0.5, markersize=4,
            )  # fmt: skip
            axes.errorbar(
                [x], [group.band.mean[last]], yerr=[group.error_of_mean(last)], color=shade,
                marker=style.MARKERS.get(target, "o"), markersize=6, markeredgecolor="white",
                elinewidth=1.5,
            )  # fmt: skip
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.grid(axis="x", visible=False)
    for place in range(1, len(names)):
        axes.axvline(place - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    axes.set_ylabel("Elo above the random player")
    handles = [
        style.handle(target, linestyle="", marker=style.MARKERS.get(target, "o"))
        for target in targets
    ]
    style.legend_below(figure, handles, columns=6)
    return figure


def _final_table(found: Arms) -> Table:
    rows = []
    for target in found.targets:
        cells = []
        for name in found.names:
            group = found.curves(name).get(target)
            if group is None:
                cells.append(NONE)
                continue
            last = group.band.last
            cells.append(plus_minus(float(group.band.mean[last]), group.error_of_mean(last)))
        rows.append((style.label(target), *cells))
    return Table(
        "Elo above random at the end",
        ("minimised", *found.names),
        tuple(rows),
        "Means over seeds ± standard error.",
    )


# ---- differences


def _effects(found: Arms) -> Section:
    rows = found.results.get("effects") or []
    titles = {
        "loss": "l_v against its rivals within an arm",
        "change": "Change of those differences from the plain arm",
        "arm": "Each loss in an arm against the plain arm",
    }
    note = (
        "Differences of strength at the end, seed by seed (runs of a seed begin with the same "
        "weights in all arms): mean ± standard error, and the 95 % interval of the bootstrap over "
        f"seeds, from {inference.FEWEST} seeds on."
    )
    tables = tuple(
        Table(
            title,
            ("difference", "Elo", "95 % interval", "seeds"),
            tuple(_effect_row(row) for row in rows if row["kind"] == kind),
            note,
            folded=kind == "arm",
        )
        for kind, title in titles.items()
        if any(row["kind"] == kind for row in rows)
    )
    return Section("What the arms change", tables=tables)


def _effect_row(row: dict[str, Any]) -> tuple[str, ...]:
    interval = NONE if row["low"] is None else f"{number(row['low'])} to {number(row['high'])}"
    return row["words"], _told(row), interval, str(row["seeds"])


# ---- lambda


def _sweep(found: Arms) -> Section:
    title = "Between the value loss and the policy loss"
    figure = sweep_figure(found)
    if figure is None:
        return Section(title)
    plate = Plate(
        "arms_lambda",
        figure,
        title,
        "Elo above random at the end of runs that minimise λ l_p + (1 - λ) l_v; λ = 0 is l_v, "
        "λ = 1 is l_p (the targets value and policy, where they were run), λ = 1/2 is half of l_+. "
        "Mean ± standard error, points single seeds. 000, section 5.3, defines it and runs only "
        "the ends and the sum: no published data.",
    )
    return Section(title, plates=(plate,))


@style.styled
def sweep_figure(found: Arms) -> Figure | None:
    """Strength at the end over lambda, a line for each arm; None without lambdas."""
    if not any(style.weight_of(target) is not None for target in found.targets):
        return None
    figure, (axes,) = style.new_figure(1, 1, panel=(6.4, 3.4))
    handles = []
    for index, name in enumerate(found.names):
        marker = _MARKERS[index % len(_MARKERS)]
        shade, shift = found.shade(name), 0.012 * (index - (len(found.names) - 1) / 2)
        _sweep_line(axes, _by_weight(found.curves(name).items()), shade, marker, shift)
        handles.append(style.key(name, color=shade, marker=marker, markersize=5))
    axes.set_xlabel("λ, weight of the policy loss")
    axes.set_ylabel("Elo above the random player")
    axes.set_xlim(-0.04, 1.04)
    style.legend_below(figure, handles, columns=5)
    return figure


def _by_weight(groups: Iterable[tuple[str, Group]]) -> dict[float, Group]:
    """Groups by lambda, ascending; a lambda that was run under its own name goes before."""
    found: dict[float, Group] = {}
    for target, group in groups:
        weight = style.weight_of(target)
        if weight is None and target in _WEIGHTS:
            found.setdefault(_WEIGHTS[target], group)
        elif weight is not None:
            found[weight] = group
    return dict(sorted(found.items()))


def _sweep_line(
    axes: Axes, groups: dict[float, Group], shade: str, marker: str, shift: float
) -> None:
    if not groups:
        return
    last = {weight: group.band.last for weight, group in groups.items()}
    x = np.array(list(groups)) + shift
    for at, (weight, group) in zip(x, groups.items(), strict=True):
        seeds = group.band.seeds[:, last[weight]]
        axes.plot(np.full(len(seeds), at), seeds, ".", color=shade, alpha=0.4, markersize=3)
    axes.errorbar(
        x,
        [float(group.band.mean[last[weight]]) for weight, group in groups.items()],
        yerr=[group.error_of_mean(last[weight]) for weight, group in groups.items()],
        color=shade, marker=marker, markersize=5, markeredgecolor="white", elinewidth=1.2,
        linewidth=1.4,
    )  # fmt: skip


# ---- how explored self-play was


def _self_play(found: Arms) -> Section:
    rows = []
    for name, own in found.studies.items():
        for target in own.targets:
            rows.append((name, style.label(target), *_explored(own, target)))
    headers = ("arm", "minimised", "distinct games", "distinct positions", "entropy", "accepted")
    note = (
        "Means over seeds and iterations of self-play: shares of games and of positions that "
        "differ within an iteration, entropy of the policy targets in nats; accepted networks of a "
        "run. Few distinct games mean that self-play did not explore."
    )
    table = Table("How much self-play explored", headers, tuple(rows), note, text_columns=2)
    return Section("Self-play", tables=(table,) if rows else ())


def _explored(own: Study, target: str) -> tuple[str, ...]:
    played = [
        row
        for run in own.runs_of(target)
        for iteration, row in own.rows.get(run.name, {}).items()
        if iteration > 0
    ]
    if not played:
        return (NONE,) * 4

    def mean(key: str, over: str | None = None) -> float:
        values = [row[key] / (row[over] if over else 1.0) for row in played if row.get(key)]
        return float(np.mean(values)) if values else math.nan

    accepted = sum(row.get("arena/accepted", 0) for row in played) / len(own.runs_of(target))
    return (
        percent(mean("selfplay/distinct_games", "count/games")),
        percent(mean("selfplay/distinct_positions", "selfplay/positions")),
        number(mean("selfplay/policy_entropy"), 3),
        number(accepted, 1),
    )
