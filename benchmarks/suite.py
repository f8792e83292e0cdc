"""Measures speed and memory, and prints each figure next to its floor.

python -m benchmarks.suite                                  # 2 CPU cores, under 15 minutes
python -m benchmarks.suite --only=search                    # one family, or any part of a name
python -m benchmarks.suite --preset=gpu --json=gpu.json     # in pieces: again until nothing is left
"""

import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import device, games, iteration, parts, search, selfplay, start, training
from benchmarks.cases import Case
from benchmarks.records import Record, Records
from jaxzero import arguments, pipes
from jaxzero.runs import backend
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError, default_config, nearest

PRESETS = ("cpu", "gpu", "tiny")  # tiny: only tries the suite out
FAMILIES: dict[str, Callable[[str], Iterable[Case]]] = {
    "device": device.cases,
    "games": games.cases,
    "search": search.cases,
    "parts": parts.cases,
    "selfplay": selfplay.cases,
    "training": training.cases,
    "iteration": iteration.cases,
    "start": start.cases,
}
_PIECE = 8.0  # minutes, of the gpu preset


class Wish(NamedTuple):
    """The command line."""

    preset: str
    only: tuple[str, ...]
    path: Path | None
    minutes: float


def choose(preset: str, only: Sequence[str]) -> list[Case]:
    """The cases of a preset, the important ones first.

    Args:
      preset: one of `PRESETS`.
      only: families, or parts of cases' names; empty: all.

    Raises:
      ConfigError: a word that no case has.
    """
    cases = [case for family in FAMILIES.values() for case in family(preset)]
    for word in only:
        if not any(_is_named(case, word) for case in cases):
            raise ConfigError(f"--only={word}: no such figure, {nearest(word, FAMILIES)}")
    if only:
        cases = [case for case in cases if any(_is_named(case, word) for word in only)]
    return sorted(cases, key=lambda case: case.first)


def _is_named(case: Case, word: str) -> bool:
    return case.name.partition("/")[0] == word if word in FAMILIES else word in case.name


class Outcome(NamedTuple):
    """How far `measure` came: cases that wait for the next command, and names of broken ones."""

    left: int
    failed: list[str]


def measure(cases: Sequence[Case], kept: Records, minutes: float) -> Outcome:
    """Runs the cases that have not been measured yet.

    A case that breaks down (too little memory, say) is named, and the others go on.

    Args:
      cases: in order.
      kept: where figures go, and where earlier ones are.
      minutes: after the first, no case is begun that would not end before; 0: no limit.
    """
    waiting = [case for case in cases if not kept.has(case)]
    if len(waiting) < len(cases):
        _say(f"{len(cases) - len(waiting)} of {len(cases)} cases are measured already")
    started, guessed, taken = time.monotonic(), 0.0, 0.0
    failed: list[str] = []
    for number, case in enumerate(waiting):
        pace = taken / guessed if guessed else 1.0  # how wrong the guesses are
        elapsed = time.monotonic() - started
        if minutes and number and elapsed + pace * case.guess > 60 * minutes:
            return Outcome(len(waiting) - number, failed)
        left = pace * sum(c.guess for c in waiting[number:])
        _say(f"[{number + 1}/{len(waiting)}] {case.name}, about {left / 60:.1f} min left")
        begun = time.monotonic()
        try:
            measured = case.run()
            kept.put(case, measured, time.monotonic() - begun)
        except (RuntimeError, MemoryError) as error:
            _say(f"failed: {case.name}: {error}")
            failed.append(case.name)
        gc.collect()  # networks and windows of this case
        guessed, taken = guessed + case.guess, taken + time.monotonic() - begun
    return Outcome(0, failed)


def table(figures: Iterable[Record]) -> str:
    """figure, value, unit, floor, fraction, settings: one line each."""
    head = ("figure", "value", "unit", "floor", "fraction", "settings")
    lines = [head]
    for record in figures:
        settings = " ".join(f"{k}={v}" for k, v in record["settings"].items())
        floor = "" if record["floor"] is None else f"{record['floor']:.4g} ({record['against']})"
        fraction = "" if record["fraction"] is None else f"{record['fraction']:.2f}"
        value = f"{record['value']:.4g}"
        lines.append((record["figure"], value, record["unit"], floor, fraction, settings))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(w) for cell, w in zip(line, widths, strict=False)), line[-1]])
        for line in lines
    )


def main(words: Sequence[str]) -> int:
    """Measures what the command line asks for and prints the table: the exit status."""
    wish = _parse(words)
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # `start` needs some, too
    backend.prepare(default_config())
    cases = choose(wish.preset, wish.only)
    kept = Records(wish.path)
    load = os.getloadavg()[0]
    _say(f"{devices.describe()}; preset {wish.preset}; load average {load:.1f}")
    if load > 0.5:
        _say("warning: other programs are running, figures will come out too low")
    _say(devices.idle_accelerator() or "")
    if "games" in {case.name.partition("/")[0] for case in cases} and not games.pgx_is_installed():
        _say('pgx is not installed, so not compared with: pip install -e ".[pgx]"')
    outcome = measure(cases, kept, wish.minutes)
    names = {case.name for case in cases}
    print(table(record for record in kept.figures if record["case"] in names))
    if outcome.left:
        _say(f"{outcome.left} cases are left: the same command resumes from here")
    if outcome.failed:
        _say(f"failed: {'; '.join(outcome.failed)}")
    return 1 if outcome.failed else 0


def _parse(words: Sequence[str]) -> Wish:
    parser = arguments.Parser(prog="python -m benchmarks.suite", description=__doc__)
    add = parser.add_argument
    add("--only", default="", metavar="NAME[,NAME]", help=f"of {', '.join(FAMILIES)}, or a part")
    add("--preset", choices=PRESETS, default="cpu", help="how much is measured (default: cpu)")
    add("--json", metavar="FILE", help="keeps the figures; what it has already is not done again")
    add("--max-minutes", type=float, metavar="N", help="stop before; gpu: 8, else no limit")
    given = parser.parse(words)
    if given.preset == "gpu" and not given.json:
        raise ConfigError(
            "--json is missing: --preset=gpu measures in pieces and keeps its figures in a file, "
            "e.g. --json=docs/performance/gpu.json"
        )
    minutes = given.max_minutes
    if minutes is None:
        minutes = _PIECE if given.preset == "gpu" else 0.0
    if not 0 <= minutes < 1e6:
        raise ConfigError(f"--max-minutes={minutes:g}: give minutes, or 0 for no limit")
    only = tuple(word for word in given.only.split(",") if word)
    return Wish(given.preset, only, Path(given.json) if given.json else None, minutes)


def _say(text: str) -> None:
    if text:
        print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        with pipes.reader_may_leave():
            sys.exit(main(sys.argv[1:]))
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted; with --json the same command resumes", file=sys.stderr)
        sys.exit(130)
