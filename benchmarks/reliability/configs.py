"""Random settings: each is refused in one line or accepted; accepted ones are traced, and trained.

A case goes the way of a user's command or notebook up to where a run directory would be made.
"""

import contextlib
import importlib
import io
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
from ml_collections import ConfigDict

from benchmarks.reliability import played
from benchmarks.reliability.mutations import Case
from experiments.shell import cli, presets
from experiments.shell import study as shell
from jaxzero.doctor import TINY, broken_losses
from jaxzero.runs import Member, backend, hardware
from jaxzero.runs.hardware import Hardware
from jaxzero.settings.config import ConfigError, changed, get
from jaxzero.training import iteration
from jaxzero.training import spec as spec_lib

PATIENCE = 60  # seconds of one case; more is a failure
# Presets and files are named by `--config`, keys by their names, games by theirs.
_NAMES = re.compile(r"config\.[\w.\[\]]|--\w|preset|key|flag")
_SMALL = {k: v for k, v in TINY.items() if k != "game"} | {
    "network.blocks": 1,
    "selfplay.parts": 1,
    "train.passes": 2.0,
    "search.tree_moves": 2,
    "evaluation.heldout_games": 1,
    "evaluation.heldout_simulations": 2,
}
_ROOM = 2**26  # bytes of a run that is small enough to train


class Outcome(NamedTuple):
    """What became of a case."""

    kind: str  # `refused`, `accepted`, or `failed`
    said: str = ""  # the line, or how it failed
    config: ConfigDict | None = None  # if it was accepted, the study's


class _Accepted(BaseException):
    """A run directory would be made now."""


def check(case: Case) -> Outcome:
    """Hands the settings in and sees what is said; nothing is compiled or written."""
    accepted: list[ConfigDict] = []

    def claim(directory: Path, config: ConfigDict, *_: Any, **__: Any) -> None:
        accepted.append(config)
        raise _Accepted

    errors, arguments, folder = io.StringIO(), sys.argv, tempfile.mkdtemp()
    try:
        with (
            mock.patch.object(shell, "claim", claim),
            mock.patch.object(backend, "prepare"),  # it changes the process
            contextlib.redirect_stderr(errors),
            _within(PATIENCE),
        ):
            status = _hand_in(case, Path(folder) / "never")
            if accepted:
                spec_lib.make_spec(accepted[0])
        made = list(Path(folder).iterdir())
    except Exception as error:
        return Outcome("failed", f"{type(error).__name__}: {str(error)[:300]}")
    finally:
        sys.argv = arguments
        shutil.rmtree(folder)
    said = errors.getvalue()
    if made:
        return Outcome("failed", f"left {made}")
    if accepted:
        return Outcome("accepted", "", accepted[0])
    return _judge(status, said)


def _hand_in(case: Case, directory: Path) -> Any:
    """The exit status."""
    module: Any = importlib.import_module(f"experiments.{case.study}")
    if not case.words:
        try:
            config = presets.settings(case.study, case.preset, case.changes)
            module.validate(config)
            module.run(config, directory)
        except _Accepted:
            return 0
        except ConfigError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        return "no end"
    file = f"experiments/configs/{case.study}.py:{case.preset}"
    sys.argv = ["study", f"--config={file}", f"--workdir={directory}", *case.words]
    try:
        cli.run(module.run, case.study)
    except _Accepted:
        return 0
    except SystemExit as stop:
        return stop.code
    return "no end"


def _judge(status: Any, said: str) -> Outcome:
    if status != 2:
        return Outcome("failed", f"status {status}: {said[:300]}")
    if not said.startswith("error: ") or said.count("\n") != 1:
        return Outcome("failed", f"not one line: {said[:300]!r}")
    if not _NAMES.search(said):
        return Outcome("failed", f"names no key: {said[:300]}")
    return Outcome("refused", said.strip())


@contextlib.contextmanager
def _within(seconds: int) -> Iterator[None]:
    """Raises TimeoutError in what takes longer."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"not done in {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def trace(config: ConfigDict) -> None:
    """Forecasts the memory of an accepted config's run and traces its iteration: shapes only."""
    hardware.forecast(config, [_member(config)], Hardware("cpu", "", 1, None))
    spec = spec_lib.make_spec(config)
    state = jax.eval_shape(lambda: iteration.init(spec, jnp.int32(0)))
    hyper = jax.eval_shape(lambda: spec_lib.make_hyper(config))
    held = hardware.heldout_shapes(config)
    jax.eval_shape(lambda *given: iteration.iterate(spec, *given), hyper, state, held)


def shrunk(config: ConfigDict) -> ConfigDict | None:
    """With sizes lowered to what a test trains; None where that is refused, or still large."""
    lowered = {k: min(get(config, k), most) for k, most in _SMALL.items() if k != "network.hidden"}
    small = changed(config, lowered | {"network.hidden": _SMALL["network.hidden"]})
    try:
        spec_lib.make_spec(small)
    except ConfigError:
        return None
    needed = hardware.forecast(small, [_member(small)], Hardware("cpu", "", 1, None))
    return small if needed.total <= _ROOM else None


def train(config: ConfigDict, iterations: int = 2) -> list[str]:
    """What was wrong with so many iterations: with their losses, games and examples."""
    spec, hyper = spec_lib.make_spec(config), spec_lib.make_hyper(config)
    shapes = hardware.heldout_shapes(config)
    held = jax.tree.map(lambda x: jnp.ones(x.shape, x.dtype), shapes)
    state = jax.jit(lambda: iteration.init(spec, jnp.int32(config.seed)))()
    iterate = jax.jit(lambda state: iteration.iterate(spec, hyper, state, held))
    broken = []
    with played.watched(spec) as found:
        for _ in range(iterations):
            state, metrics = iterate(state)
            broken += broken_losses(metrics)
    return broken + found


def _member(config: ConfigDict) -> Member:
    return Member("one", config.train.loss, config.seed, config)
