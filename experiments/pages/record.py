"""What every study records and every report shows: facts, settings, checks, time and work."""

from collections.abc import Mapping
from typing import Any, Final

from experiments import published
from experiments.pages.page import Facts
from experiments.pages.study import Study
from experiments.pages.tables import Table, table
from experiments.pages.wording import ABSENT, NONE, number, percent, plural, short
from jaxzero.settings.config import LETTERS, flatten

# Paper 000, Table 1: letter, our key, meaning.
SETTINGS: Final = tuple((letter, key.name, key.meaning) for letter, key in LETTERS.items())
_MANY_RUNS = 16  # from here on a table with a row per run is shown closed
_KINDS: Final = ("evaluations", "gradient_steps", "games")


def software(results: Mapping[str, Any]) -> Facts:
    """Names and versions of everything else that was recorded of the environment."""
    environment = results.get("environment") or {}
    versions = {k: v for k, v in environment.items() if k not in ("device", "commit")}
    versions |= versions.pop("packages", {})
    shown = ", ".join(f"{name} {short(version)}" for name, version in versions.items())
    return [("Software", shown)] if shown else []


def budget(config: Mapping[str, Any], iterations: int | None = None) -> str:
    """`30 iterations of 1,000 games, 64 simulations a move`; `iterations`: that were done."""
    planned = config["train"]["iterations"] if iterations is None else iterations
    return (
        f"{plural(planned, 'iteration')} of {number(config['selfplay']['episodes'])} games, "
        f"{config['search']['num_simulations']} simulations a move"
    )


def failures(results: Mapping[str, Any]) -> list[str]:
    """Settings or trials that failed, in sentences."""
    return [f"{name} failed: {why}" for name, why in (results.get("failed") or {}).items()]


def settings(study: Study) -> Table | None:
    """The papers' twelve settings with their letters, and the papers' defaults for this board."""
    if not study.results.get("config"):
        return None
    theirs = published.settings(study.game) or {}
    return table(
        "Settings",
        SETTINGS,
        {
            "letter": lambda setting: setting[0],
            "key": lambda setting: setting[1],
            "meaning": lambda setting: setting[2],
            "this study": lambda setting: ", ".join(
                short(value) for value in _tried(study, setting[0], setting[1])
            ),
            "papers' default": lambda setting: (
                short(theirs[setting[1]]) if setting[1] in theirs else None
            ),
        },
        text_columns=3,
    )


def _tried(study: Study, letter: str, key: str) -> list[Any]:
    """All values of a hyper-parameter, the smallest first; most studies have one."""
    changed = [setting["values"] for setting in study.results.get("settings") or []]
    values = {values[letter] for values in changed if letter in values}
    if not changed or any(letter not in values for values in changed):
        values.add(study.setting(key))
    return sorted(values) if len(values) > 1 else list(values)


def other_settings(study: Study) -> Table:
    """All the other keys of the config; switches as they were, be it by `semantics` alone."""
    named = {key for _, key, _ in SETTINGS}
    switches = {
        f"switches.{name}": value for name, value in (study.results.get("switches") or {}).items()
    }
    settings = flatten(study.results.get("config") or {})
    return table(
        "All other settings",
        [pair for pair in settings.items() if pair[0] not in named],
        {
            "key": lambda pair: pair[0],
            "value": lambda pair: short(
                switches.get(pair[0], pair[1]) if pair[1] is None else pair[1]
            ),
        },
        folded=True,
    )


def time(study: Study) -> Table | None:
    """Wall time as it was measured: of the whole, of compiling, of every recorded phase."""
    recorded = study.results.get("cost")
    if not recorded:
        return None
    measured = [("wall time", recorded.get("wall_seconds"))]
    measured += [("of which compiling, in the last call", recorded.get("compile_seconds"))]
    measured += flatten(recorded.get("phases") or {}).items()
    columns = {"phase": lambda m: m[0].replace("_", " "), "seconds": lambda m: short(m[1])}
    return table("Time", measured, columns)


def work_in_words(study: Study) -> str:
    """What all runs did together, as far as it was counted."""
    runs = ((study.results.get("cost") or {}).get("runs") or {}).values()
    known = [kind for kind in _KINDS if runs and all(kind in run for run in runs)]
    sums = (f"{number(sum(r[kind] for r in runs))} {kind.replace('_', ' ')}" for kind in known)
    return ", ".join(sums) or ABSENT


def work(study: Study) -> Table | None:
    """The work of every run, counted: runs that share a program have no clock of their own."""
    counts = (study.results.get("cost") or {}).get("runs")
    if not counts:
        return None
    rows = [
        (run, *(number(done.get(kind)) for kind in _KINDS), useful_share(study, run))
        for run, done in counts.items()
    ]
    if len(counts) > 1:
        totals = [[done.get(kind) for done in counts.values()] for kind in _KINDS]
        sums = [ABSENT if None in column else number(sum(column)) for column in totals]
        rows.append(("all runs", *sums, NONE))
    headers = ("run", "evaluations", "gradient steps", "games", "useful evaluations")
    return Table("Work", headers, tuple(rows), folded=len(counts) > _MANY_RUNS)


def useful_share(study: Study, run: str) -> str:
    """Evaluations that reached a game that was still going on, as a share of all."""
    pairs = [
        (row["count/useful_evaluations"], row["count/evaluations"])
        for row in study.rows.get(run, {}).values()
        if "count/useful_evaluations" in row
    ]
    total = sum(evaluated for _, evaluated in pairs)
    return percent(sum(useful for useful, _ in pairs) / total) if total else NONE


def checks(study: Study) -> Table:
    """Statements that were tested, with their bars; without a bar, a finding."""
    return table(
        "Checks",
        study.results.get("checks") or [],
        {
            "check": lambda check: str(check.get("name")),
            "statement": lambda check: str(check.get("statement", "")),
            "verdict": _verdict,
            "value": lambda check: short(check.get("value")),
            "± error": lambda check: short(check.get("stderr")),
            "bar": lambda check: short(check.get("bar")),
        },
        text_columns=3,
    )


def _verdict(check: dict[str, Any]) -> str:
    if check.get("bar") is None:
        return "reported"
    return "holds" if check.get("holds") else "does not hold"
