"""What the reports of the hyper-parameter studies share: facts, failures, programs, strength."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.claims.ranking import Rated, ranking
from experiments.pages import page, record
from experiments.pages.page import Section, section
from experiments.pages.study import Study
from experiments.pages.tables import Table, table
from experiments.pages.wording import (
    ABSENT,
    TIMES,
    duration,
    game_title,
    moving_first,
    number,
    plural,
    plus_minus,
)

POINTS: Final = "Points over cost tell their settings when the pointer rests on them."


def heading(study: Study, asks: str) -> dict[str, Any]:
    """Title and subtitle of a page."""
    preset = study.results.get("preset")
    return {
        "title": f"{asks}: {game_title(study.game)}",
        "subtitle": f"{study.game}, preset {preset}, {study.name}",
    }


def facts(study: Study) -> page.Facts:
    """What was run, on what, at what cost."""
    cost, runs = study.results.get("cost") or {}, study.results.get("runs") or []
    settings = number(len(study.results.get("settings") or []))
    programs = plural(len(cost.get("programs") or []), "group")
    return [
        ("Settings", f"{settings} {TIMES} {plural(len({run['seed'] for run in runs}), 'seed')}"),
        ("Runs", f"{number(len(runs))} (settings that differ in I alone are one run, looked at "
         "after different iterations)"),
        ("Programs", f"{programs}, compiled in {duration(cost.get('compile_seconds'))} in all"),
        ("Training", f"{duration(cost.get('wall_seconds'))}, groups one after another"),
        ("Semantics", str(study.setting("semantics") or ABSENT)),
        *page.origin(study.results),
    ]  # fmt: skip


def missing(study: Study) -> list[str]:
    """Settings that failed, and what else the reader must know."""
    alone = len({run["seed"] for run in study.results.get("runs") or []}) == 1
    return record.failures(study.results) + alone * [
        "One seed of each setting, as in the papers: differences between settings cannot be "
        "separated from differences between seeds."
    ]


def programs(study: Study) -> Section:
    """Programs, and all settings."""
    compiled = table(
        "Programs",
        (study.results.get("cost") or {}).get("programs") or [],
        {
            "group, by the sizes of its program": lambda p: str(p["group"]),
            "runs": lambda p: number(p["runs"]),
            "compiling, s": lambda p: number(float(p["compile_seconds"]), 1),
            "in all, s": lambda p: number(float(p["seconds"]), 1),
        },
        "Members of a group use as much of the program's sizes as their settings say.",
    )
    others = (record.settings(study), record.other_settings(study))
    return section("Settings and programs", compiled, *others)


def tally(decided: Sequence[Mapping[str, Any]], what: str) -> str:
    """`Of the 12 remarks 2 are reproduced, 10 undecided.`"""
    counts: dict[str, int] = {}
    for claim in decided:
        counts[claim["verdict"]] = counts.get(claim["verdict"], 0) + 1
    listed = ", ".join(f"{number(n)} {verdict}" for verdict, n in counts.items())
    return f"Of the papers' {plural(len(decided), what)} on these runs: {listed}."


def strength(played: Mapping[str, Any]) -> dict[str, Rated]:
    """By setting, untrained and random too, the strongest first."""
    return {one.target: one for one in ranking(played, trained_only=False)}


def strength_table(played: Mapping[str, Any], *, folded: bool = False) -> Table:
    """Settings by Elo, best first."""
    m = played.get("num_simulations")
    return table(
        str(played["title"]),
        enumerate(strength(played).values(), 1),
        {
            "": lambda row: str(row[0]),
            "setting": lambda row: row[1].target,
            "Elo ± standard error": lambda row: plus_minus(row[1].mean, row[1].stderr),
            "seeds": lambda row: str(row[1].seeds),
        },
        f"{plural(int(played['games']), 'game')}, "
        f"{number(int(played['distinct_games']))} distinct; "
        f"{'each its own number of' if m is None else m} simulations a move, temperature 0; "
        f"{moving_first(played)}.",
        text_columns=2,
        folded=folded,
    )
