"""The first hour on a GPU: what is most worth knowing about it first, in pieces.

python -m benchmarks.first_light --out=runs/first_light                   # all, in turn
python -m benchmarks.first_light --out=runs/first_light --max-minutes=9   # again: the rest
python -m benchmarks.first_light --out=runs/first_light --pieces=device,resuming
python -m benchmarks.first_light --list
python -m benchmarks.first_light --out=runs/try --small                   # on a CPU too

Each piece is a process of its own, ends after 8 minutes at most, and writes OUT/PIECE.json after
each of its figures. What a file has is not measured again, whatever the code has become since:
remove the file for that. A piece that ended without a new figure goes last from then on. The end is
OUT/first_light.md, a table of all.
"""

import argparse
import functools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import agreement, kernels, presets, resuming, search, suite, training
from benchmarks.cases import Case, Measured
from benchmarks.markdown import as_table, short
from benchmarks.records import Record, Records
from jaxzero import arguments, files
from jaxzero.runs import backend
from jaxzero.settings.config import ConfigError, default_config, nearest

_ROOT = Path(__file__).resolve().parents[1]
_TESTS = ("tests/search", "tests/networks", "tests/training/test_losses.py")
_MODEL = _ROOT / "docs" / "performance" / "model.json"


class Piece(NamedTuple):
    """What one process measures."""

    cases: Callable[[bool], Sequence[Case]]  # whether small -> the cases
    flags: str = ""  # XLA's, of that process


def _family(name: str, small: bool) -> Sequence[Case]:
    return suite.choose("tiny" if small else "gpu", (name,))


def _searches(points: Sequence[search.Point], small: bool) -> Sequence[Case]:
    names = {search.name(point) for point in points}
    return [c for c in _family("search", small) if small or c.name in names]


def _trainings(small: bool) -> Sequence[Case]:
    names = {training.name(point) for point in training.CONVOLUTIONS}
    return [c for c in _family("training", small) if small or c.name in names]


def _tests(small: bool) -> Sequence[Case]:
    paths = ("tests/test_loops.py",) if small else _TESTS
    return [
        Case(path, {"path": path}, functools.partial(_pytest, path), guess=120.0) for path in paths
    ]


def _preset(point: presets.Point, small: bool) -> Sequence[Case]:
    return [presets.case(point._replace(small=small))]


def _agreements(small: bool) -> Sequence[Case]:
    point = agreement.Point(channels=4, batch=8) if small else agreement.Point()
    return [agreement.case(point._replace(dtype=dtype)) for dtype in ("float32", "bfloat16")]


def _resuming(small: bool) -> Sequence[Case]:
    return [resuming.case(resuming.SMALL if small else resuming.Point())]


def _kernels(small: bool) -> Sequence[Case]:
    of: Sequence[Any] = (
        search.Point("puct", 100, 50, channels=256, members=32),
        training.Point(256, 20, members=32, mode="vmap"),
        search.Point("puct", 100, 50, channels=256),
    )
    hidden: tuple[tuple[str, Any], ...] = ()
    if small:
        hidden = (("network.hidden", (8, 8)),)
        of = (
            search.Point("puct", 3, 4, "connect_four_5x5", channels=4),
            training.Point(4, 2, batch=8, game="connect_four_5x5"),
        )
    return [kernels.case(kernels.Point(point, hidden)) for point in of]


_GRAPHED = [
    point
    for algorithm in ("puct", "gumbel")
    for point in search.LOOPS[algorithm]
    if point.games == 50 and point.loop != "mctx"
]
_FIRST = presets.Point("loss_ablation")
_FEW = "--config.study.test_positions=10"  # they are solved on the CPU before training begins
_OTHERS = (
    presets.Point("curriculum"),
    presets.Point("hyperparameter_correlation"),
    presets.Point("connect_four_efficiency", changes=(_FEW,)),
    presets.Point("connect_four_extensions", changes=(_FEW, "--config.study.arms=tree")),
    presets.Point("train", "connect_four_6x7.gpu"),
    presets.Point("arms"),
    presets.Point("hyperparameter_sweep"),
    presets.Point("hyperparameter_search"),
    presets.Point("connect_four_search", changes=(_FEW,)),
)  # connect_four_supervised has no iterations
# Whole loops as one CUDA graph, their conditions too; by default XLA captures what is within.
_GRAPHS = (
    "--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,CONDITIONAL,WHILE"
)
PIECES: Mapping[str, Piece] = {
    "device": Piece(functools.partial(_family, "device")),
    "tests": Piece(_tests),
    **{
        dtype: Piece(functools.partial(_preset, _FIRST._replace(dtype=dtype)))
        for dtype in ("float32", "bfloat16")
    },
    "agreement": Piece(_agreements),
    "resuming": Piece(_resuming, resuming.FLAGS),
    "search_puct": Piece(functools.partial(_searches, search.LOOPS["puct"])),
    "search_gumbel": Piece(functools.partial(_searches, search.LOOPS["gumbel"])),
    "search_population": Piece(functools.partial(_searches, search.POPULATIONS)),
    "search_graphs": Piece(functools.partial(_searches, _GRAPHED), _GRAPHS),
    "training": Piece(_trainings),
    "selfplay": Piece(functools.partial(_family, "selfplay")),
    **{f"preset_{point.study}": Piece(functools.partial(_preset, point)) for point in _OTHERS},
    "kernels": Piece(_kernels),
}


def _pytest(path: str) -> Mapping[str, Measured]:
    """The tests of a file or folder, slow ones left out, as users' programs are compiled."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--verbosity=0",
        "-rfE",
        "--tb=line",
        "--maxfail=20",
        path,
    ]
    environment = os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "0"}
    done = subprocess.run(
        command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False
    )
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", done.stdout)}
    if not counts:
        raise RuntimeError(f"no test ran: {(done.stdout + done.stderr)[-2000:]}")
    failed = re.findall(r"^(?:FAILED|ERROR) (.*)$", done.stdout, re.MULTILINE)
    return {"": Measured(value=counts.get("passed", 0), unit="passed", details={"failed": failed})}


def waiting(cases: Sequence[Case], path: Path) -> list[Case]:
    """The cases that a piece's file has no figures of."""
    found = files.read_json(path)["figures"] if path.exists() else []
    done = [(record["case"], record["settings"]) for record in found]
    return [case for case in cases if (case.name, files.plain(case.settings)) not in done]


def measure(name: str, small: bool, path: Path, minutes: float) -> int:
    """A piece in this process; the exit status."""
    backend.prepare(default_config())
    outcome = suite.measure(waiting(PIECES[name].cases(small), path), Records(path), minutes)
    return 1 if outcome.failed else 0


def run(name: str, small: bool, out: Path, minutes: float) -> str:
    """A piece in a process of its own; what became of it, in a few words."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} {PIECES[name].flags}".strip()
    environment = os.environ | {
        "XLA_FLAGS": flags,
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # processes within need some, too
    }
    words = [f"--pieces={name}", f"--out={out}", f"--minutes={minutes:g}", "--here"]
    words += ["--small"] if small else []
    command = [sys.executable, "-m", "benchmarks.first_light", *words]
    begun = time.monotonic()
    process = subprocess.Popen(command, cwd=_ROOT, env=environment, start_new_session=True)
    try:
        status = process.wait(60 * minutes)
        said = "ended" if status == 0 else f"failed (status {status})"
    except subprocess.TimeoutExpired:
        said = f"stopped after {minutes:g} minutes"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # with the processes within
            process.wait()
    return f"{said}, {time.monotonic() - begun:.0f} s"


def table(out: Path) -> str:
    """Markdown of all pieces' files."""
    parts = ["# First light\n"]
    predictions = {f["figure"]: f for f in files.read_json(_MODEL)["figures"]}
    for name in PIECES:
        path = out / f"{name}.json"
        if not path.exists():
            continue
        found = files.read_json(path)
        figures, device = found["figures"], found["environment"]["device"]
        commits = ", ".join(sorted({record["commit"] for record in figures}))
        versions = found["environment"]["packages"]
        parts.append(f"## {name}\n\n{device}; JAX {versions['jax']}; commit {commits}\n")
        parts.append(
            as_table(
                ("figure", "value", "against", "predicted", "details"),
                [_row(record, predictions, device) for record in figures],
            )
        )
        parts += [_slowest(record) for record in figures if "slowest" in record["details"]]
    return "\n".join(parts)


def _row(record: Record, predictions: Mapping[str, Any], device: str) -> tuple[str, ...]:
    against = ""
    if record["floor"] is not None:
        against = f"{record['against']} {short(record['floor'])}"
        if record["fraction"] is not None:
            against += f": {record['fraction']:.2f}"
    details = "; ".join(
        f"{key.replace('_', ' ')} {short(value) if isinstance(value, float | int) else value}"
        for key, value in record["details"].items()
        if key != "slowest"
    )
    predicted = _predicted(record, predictions, device)
    return (
        record["figure"], f"{short(record['value'])} {record['unit']}", against, predicted, details
    )  # fmt: skip


def _predicted(record: Record, predictions: Mapping[str, Any], device: str) -> str:
    """What `benchmarks.model` says of a search or a training, for the machines it knows."""
    name = record["figure"]
    found = predictions.get(name) or predictions.get(f"{name} {record['settings'].get('measure')}")
    known = [key for key in found or () if key in device]
    if not found or not known:
        return ""
    figures = found[known[0]]
    if "seconds" in figures:
        return f"{short(figures['seconds'])} s"
    return f"{short(figures['examples_per_second'])} examples/s"


def _slowest(record: Record) -> str:
    head = ("kernel", "times", "us", "of the kernels' time")
    listed = [
        (f"`{k['kernel']}`", f"{k['times']:,}", short(k["us"]), f"{k['share']:.3f}")
        for k in record["details"]["slowest"]
    ]
    return f"**{record['figure']}**\n\n" + as_table(head, listed)


def main(words: Sequence[str] | None = None) -> int:
    """Measures what is asked for and writes the table; the exit status: 0 when nothing is left."""
    asked = _parse(words)
    if asked.list:
        for name, piece in PIECES.items():
            print(f"{name}: {'; '.join(case.name for case in piece.cases(asked.small))}")
        return 0
    out = Path(asked.out)
    out.mkdir(parents=True, exist_ok=True)
    if asked.here:
        [name] = asked.pieces
        return measure(name, asked.small, out / f"{name}.json", 0.9 * asked.minutes)
    ends = time.monotonic() + 60 * (asked.max_minutes or float("inf"))
    for name in sorted(asked.pieces, key=lambda name: (out / f"{name}.stuck").exists()):
        left = (ends - time.monotonic()) / 60
        cases, path = PIECES[name].cases(asked.small), out / f"{name}.json"
        before = waiting(cases, path)
        if before and left > 0:
            minutes = min(asked.minutes, left)
            _say(f"{name}: {run(name, asked.small, out, minutes)}")
            if minutes == asked.minutes and waiting(cases, path) == before:
                (out / f"{name}.stuck").touch()
    text = table(out)
    with files.writing(out):
        (out / "first_light.md").write_text(text, "utf-8")
    print(text)
    left_over = {
        name: len(waiting(PIECES[name].cases(asked.small), out / f"{name}.json"))
        for name in asked.pieces
    }
    for name, count in left_over.items():
        if count:
            _say(f"{name}: {count} figures are missing; the same command measures them")
    return 1 if any(left_over.values()) else 0


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = arguments.Parser(prog="python -m benchmarks.first_light", description=__doc__)
    add = parser.add_argument
    add("--out", metavar="DIR", help="where figures go, and what is there is not measured again")
    add("--pieces", default="", metavar="NAME[,NAME]", help="some of them, in this order")
    add("--list", action="store_true", help="the pieces and their figures; nothing is measured")
    add("--small", action="store_true", help="tiny sizes, for trying out; the figures mean nothing")
    add("--minutes", type=float, default=8.0, metavar="N", help="of a piece at most (default 8)")
    add("--max-minutes", type=float, default=0.0, metavar="N", help="of all; 0: no limit")
    add("--here", action="store_true", help="one piece, in this process")
    asked = parser.parse(words)
    asked.pieces = [name for name in asked.pieces.split(",") if name] or list(PIECES)
    for name in asked.pieces:
        if name not in PIECES:
            raise ConfigError(f"--pieces={name}: no such piece, {nearest(name, PIECES)}")
    if not asked.list and not asked.out:
        raise ConfigError("--out is missing: name a folder for the figures, e.g. runs/first_light")
    if not (0 < asked.minutes < 1e4 and 0 <= asked.max_minutes < 1e6):
        raise ConfigError("--minutes and --max-minutes: give minutes")
    return asked


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    arguments.run(lambda: sys.exit(main()))
