"""What the reports of the hyper-parameter studies share: facts, failures, programs, strength."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.claims.ranking import ranking
from experiments.pages import page, tables
from experiments.pages.page import Section
from experiments.pages.study import Study
from experiments.pages.tables import Table
from experiments.pages.wording import (
    ABSENT,
    TIMES,
    duration,
    number,
    plural,
    plus_minus,
    short,
)


def facts(found: Study) -> list[tuple[str, str]]:
    """What was run, on what, at what cost."""
    cost = found.results.get("cost") or {}
    seeds = sorted({run["seed"] for run in found.results.get("runs") or []})
    programs = cost.get("programs") or []
    return [
        ("Settings", f"{number(len(found.results.get('settings') or []))} {TIMES} "
         f"{plural(len(seeds), 'seed')}"),
        ("Runs", f"{number(len(found.results.get('runs') or []))} (settings that differ in I alone "
         "are one run, looked at after different iterations)"),
        ("Programs", f"{plural(len(programs), 'group')}, compiled in "
         f"{duration(cost.get('compile_seconds'))} in all"),
        ("Wall time of training", duration(cost.get("wall_seconds"))),
        ("Semantics", str(found.setting("semantics") or ABSENT)),
        *page.origin(found.results),
    ]  # fmt: skip


def missing(found: Study) -> list[str]:
    """Settings that failed, and what else the reader must know."""
    said = [f"{name} failed: {why}" for name, why in (found.results.get("failed") or {}).items()]
    seeds = {run["seed"] for run in found.results.get("runs") or []}
    if len(seeds) == 1:
        said.append(
            "One seed of each setting, as in the papers: differences between settings cannot be "
            "told from differences between seeds."
        )
    return said


def record(found: Study) -> Section:
    """Programs, and all settings."""
    programs = (found.results.get("cost") or {}).get("programs") or []
    rows = tuple(
        (
            str(p["group"]),
            number(p["runs"]),
            number(float(p["compile_seconds"]), 1),
            number(float(p["seconds"]), 1),
        )
        for p in programs
    )
    compiled = Table(
        "Programs",
        ("group, by the sizes of its program", "runs", "compiling, s", "in all, s"),
        rows,
        "Members of a group use as much of the program's sizes as their settings say.",
    )
    given = [compiled, tables.settings(found), tables.other_settings(found)]
    return Section("Settings and programs", tables=tuple(t for t in given if t is not None))


def tally(decided: Sequence[Mapping[str, Any]], what: str) -> str:
    """`Of the 12 remarks 2 are reproduced, 10 undecided.`"""
    counts: dict[str, int] = {}
    for claim in decided:
        counts[claim["verdict"]] = counts.get(claim["verdict"], 0) + 1
    listed = ", ".join(f"{number(n)} {verdict}" for verdict, n in counts.items())
    return f"Of the papers' {plural(len(decided), what)} on these runs: {listed}."


def strength(played: Mapping[str, Any]) -> dict[str, tuple[float, float, int]]:
    """Mean Elo, its standard error and the number of seeds, by setting, untrained and random too.

    The error is the larger of the spread over seeds and the ratings' own.
    """
    rated = ranking(played, trained_only=False)
    return {one.target: (one.mean, one.stderr, one.seeds) for one in rated}


def strength_table(played: Mapping[str, Any], *, folded: bool = False) -> Table:
    """Settings by Elo, best first."""
    rated = sorted(strength(played).items(), key=lambda item: -item[1][0])
    rows = tuple(
        (str(place), name, plus_minus(elo, error), str(seeds))
        for place, (name, (elo, error, seeds)) in enumerate(rated, 1)
    )
    note = (
        f"{plural(int(played['games']), 'game')}, "
        f"{number(int(played['distinct_games']))} distinct; "
        f"{_simulations(played)} simulations a move, temperature 0; advantage of the first mover "
        f"{number(float(played['advantage']), 1)} Elo."
    )
    return Table(
        str(played["title"]),
        ("", "setting", "Elo ± standard error", "seeds"),
        rows,
        note,
        text_columns=2,
        folded=folded,
    )


def _simulations(played: Mapping[str, Any]) -> str:
    m = played.get("num_simulations")
    return "each its own number of" if m is None else str(m)


def value(x: float) -> str:
    """A hyper-parameter's value."""
    return short(float(x))
