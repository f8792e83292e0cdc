"""Counts how often it goes wrong: settings, positions, searches, kills, in pieces.

python -m benchmarks.reliability configs --count=10000        # random settings, refused or accepted
python -m benchmarks.reliability traced --count=100           # accepted ones, forecast and traced
python -m benchmarks.reliability trained --count=10           # and trained for two iterations
python -m benchmarks.reliability positions --count=1000000    # of each game, by independent engines
python -m benchmarks.reliability searches --count=10000       # by a plain-Python search
python -m benchmarks.reliability kills --count=50             # of each study and command
python -m benchmarks.reliability pairs --count=10             # of processes, one is killed
python -m benchmarks.reliability disk --count=100 --only=train # which is full; needs root
python -m benchmarks.reliability memory --count=40 --only=train  # less than needed; needs root
python -m benchmarks.reliability --page                       # docs/reliability.md, from the counts

A number stands for one random case (a batch of games, of searches), always the same. The same
command resumes after the last number that the file has; a larger --count adds to it.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax

from benchmarks.reliability import (
    configs,
    disk,
    kills,
    memory,
    mutations,
    page,
    pairs,
    positions,
    searches,
    studies,
)
from benchmarks.reliability.tally import Step, Tally
from jaxzero import arguments
from jaxzero.runs import backend
from jaxzero.settings.config import ConfigError, default_config, nearest

_TOO_MANY = 20  # failed numbers of a row, after which it is not continued


class Piece(NamedTuple):
    """Something to count."""

    unit: str  # what `--count` is of
    step: Callable[[str, int], Step]  # (row, number) -> what it gave
    # counted one after another; one without a name is the piece's own
    rows: tuple[str, ...] = ("",)


def _checked(_: str, number: int) -> Step:
    case = mutations.case(number)
    found = configs.check(case)
    failures = (f"{case}: {found.said}",) if found.kind == "failed" else ()
    return Step({"cases": 1, found.kind: 1}, failures)


def _traced(_: str, number: int) -> Step:
    case = mutations.case(number)
    config = configs.check(case).config
    if config is None:
        return Step({})
    try:
        configs.trace(config)
    except Exception as error:
        return Step({"programs": 1}, (f"{case}: {type(error).__name__}: {str(error)[:300]}",))
    return Step({"programs": 1})


def _trained(_: str, number: int) -> Step:
    case = mutations.case(number)
    config = configs.check(case).config
    small = None if config is None else configs.shrunk(config)
    if small is None:
        return Step({})
    try:
        broken = configs.train(small)
    except Exception as error:
        broken = [f"{type(error).__name__}: {str(error)[:300]}"]
    jax.clear_caches()  # of programs that no other case has
    return Step({"runs": 1}, (f"{case}: {', '.join(broken)}",) if broken else ())


def _played(name: str, number: int) -> Step:
    try:
        return Step({"positions": positions.compare(name, number)})
    except AssertionError as error:
        return Step({"games": 1}, (str(error)[:500],))


def _searched(_: str, number: int) -> Step:
    count, differs = searches.compare(number)
    return Step({"searches": count}, tuple(differs))


def _disturbed(
    disturb: Callable[[str, int], tuple[Mapping[str, int], str | None]], name: str, number: int
) -> Step:
    happened, wrong = disturb(name, number)
    return Step({"studies": 1, **happened}, (wrong,) if wrong else ())


PIECES = {
    "configs": Piece("cases", _checked),
    "traced": Piece("programs", _traced),
    "trained": Piece("runs", _trained),
    "positions": Piece("positions", _played, positions.GAMES),
    "searches": Piece("searches", _searched),
    "kills": Piece("studies", partial(_disturbed, kills.kill), kills.NAMES),
    "pairs": Piece("studies", partial(_disturbed, pairs.part), tuple(pairs.ROWS)),
    "memory": Piece("studies", partial(_disturbed, memory.starve), tuple(studies.STUDIES)),
    "disk": Piece("studies", partial(_disturbed, disk.fill), tuple(studies.STUDIES)),
}


def main(words: Sequence[str] | None = None) -> int:
    """Counts what is asked for; the exit status: 0 if nothing has failed."""
    parser = arguments.Parser(prog="python -m benchmarks.reliability", description=__doc__)
    add = parser.add_argument
    add("piece", nargs="?", help=f"one of {', '.join(PIECES)}")
    add("--count", type=int, default=100, metavar="N", help="of each row, in all (default 100)")
    add("--only", default="", metavar="WORD", help="rows with that word in their name")
    add("--max-minutes", type=float, default=0.0, metavar="N", help="0: no limit")
    add("--json", type=Path, default=page.COUNTS, metavar="FILE", help="where the counts are")
    add("--again", action="store_true", help="failed numbers are tried again, with today's code")
    add("--page", action="store_true", help="writes docs/reliability.md")
    asked = parser.parse(words)
    if asked.piece is not None and asked.piece not in PIECES:
        raise ConfigError(f"{asked.piece!r}: no such piece, {nearest(asked.piece, PIECES)}")
    tally = Tally(asked.json)
    if asked.piece is not None:
        backend.prepare(default_config())
        ends = time.monotonic() + 60 * (asked.max_minutes or float("inf"))
        for name in PIECES[asked.piece].rows:
            if asked.only in name:
                _work(asked.piece, name, tally, asked.count, ends, asked.again)
    if asked.page:
        page.write(tally.rows)
    failed = {name: len(row["failures"]) for name, row in tally.rows.items() if row["failures"]}
    for name, count in failed.items():
        print(f"{name}: {count} failures, see {asked.json}", file=sys.stderr)
    return 1 if failed else 0


def _work(piece: str, name: str, tally: Tally, count: int, ends: float, again: bool) -> None:
    row, (unit, step, _) = f"{piece} {name}".strip(), PIECES[piece]

    def take(number: int) -> None:
        begun = time.monotonic()
        tally.add(row, number, step(name, number), time.monotonic() - begun)

    try:
        for number in tally.forget_failures(row) if again else ():
            take(number)
        while (
            tally.count(row, unit) < count
            and time.monotonic() < ends
            and tally.failed(row) < _TOO_MANY
        ):
            take(tally.next(row))
    finally:
        tally.write()
    found = tally.rows.get(row, {"counts": {}})["counts"]
    counts = ", ".join(f"{number:,} {what}" for what, number in found.items())
    print(f"{row}: {counts}", file=sys.stderr, flush=True)
