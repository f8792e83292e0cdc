"""A study under observation, in a process of its own: `start.py` begins it and reads it.

    python -m benchmarks.probe RESULT.json BEGUN_AT STUDY ITERATIONS [the study's flags]

It is the study's own command up to so many iterations of its first training. What the runner
compiles, dispatches and waits for is noted on the way, by standing in for the public functions that
it calls.
"""

import importlib
import resource
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from experiments.shell import cli
from jaxzero import files, workdir
from jaxzero.runs import memory, population, runner
from jaxzero.runs.memory import Forecast
from jaxzero.runs.population import Program
from jaxzero.settings.config import changed


class Enough(BaseException):
    """Training is over; the tournaments are not measured."""


class Watch:
    """What happened when; `time.time` seconds."""

    def __init__(self, iterations: int) -> None:
        self.iterations = iterations
        self.entered = time.time()
        self.compile_seconds = 0.0  # of the iteration, as the runner says
        self.all_compiling = 0.0  # by XLA, of all programs
        jax.monitoring.register_event_duration_secs_listener(self._hear)
        self.dispatched: list[float] = []
        self.ready: list[float] = []
        self.forecast: Forecast | None = None
        self.analysis: Any = None
        self.resident = 0
        self.losses: dict[str, float] = {}
        self._waiting: list[threading.Thread] = []

    def _hear(self, event: str, duration_secs: float, **_: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            self.all_compiling += duration_secs

    def forecasting(self, *args: Any, **kwargs: Any) -> Forecast:
        """Stands in for `memory.forecast`."""
        self.forecast = _forecast(*args, **kwargs)
        return self.forecast

    def making(self, *args: Any, **kwargs: Any) -> Program:
        """Stands in for `population.make_program`."""
        program = _make_program(*args, **kwargs)
        return program._replace(iterate=_Watched(program.iterate, self))

    def training(self, *args: Any, **kwargs: Any) -> None:
        """Stands in for `runner.train`."""
        config, members, directory, *others = args
        few = changed(config, {"train.iterations": self.iterations})
        _train(few, members, directory, *others, **kwargs)
        rows = files.read_rows(directory / workdir.METRICS)
        last = [row for row in rows if row["iteration"] == rows[-1]["iteration"]]
        names = [name for name in last[0] if name.startswith("loss/")]
        self.losses = {name: sum(row[name] for row in last) / len(last) for name in names}
        raise Enough

    def call(self, compiled: Any, args: Sequence[Any]) -> Any:
        """One iteration: notes when it is dispatched and, in a thread, when it is ready."""
        if not self.dispatched:
            self.resident = _forget_peak()
        self.dispatched.append(time.time())
        out = compiled(*args)

        def wait() -> None:
            jax.block_until_ready(out[1])  # metrics: states are donated to the next iteration
            self.ready.append(time.time())

        thread = threading.Thread(target=wait)
        thread.start()
        self._waiting.append(thread)
        return out

    def report(self, begun: float) -> dict[str, Any]:
        """Everything `start.py` asks for."""
        for thread in self._waiting:
            thread.join()
        if not self.ready or self.forecast is None or self.analysis is None:
            raise RuntimeError(
                "the runner no longer trains through population.make_program and memory.forecast: "
                "benchmarks/probe.py has to follow it"
            )
        gaps = [
            max(after - before, 0.0)
            for before, after in zip(self.ready, self.dispatched[1:], strict=False)
        ]
        return {
            "imports_seconds": self.entered - begun,
            "compile_seconds": self.compile_seconds,
            "all_compiling_seconds": self.all_compiling,
            "start_seconds": self.dispatched[0] - begun,
            "first_seconds": self.ready[0] - begun,
            "first_iteration_seconds": self.ready[0] - self.dispatched[0],
            "losses": self.losses,  # mean of all runs, after the last iteration
            "host_seconds": sum(gaps),
            "host_longest_seconds": max(gaps, default=0.0),
            "between_seconds": self.ready[-1] - self.ready[0] if gaps else 1.0,
            "memory": self._memory(),
        }

    def _memory(self) -> dict[str, Any]:
        """Bytes. On a CPU: what the process grew by in training, and the program's arguments."""
        used, forecast = self.analysis, self.forecast
        assert forecast is not None
        stats = jax.local_devices()[0].memory_stats() or {}
        peak = stats.get("peak_bytes_in_use")
        growth = _peak() - self.resident + used.argument_size_in_bytes
        return {
            "peak": growth if peak is None else peak,
            "of": "growth of the process in training" if peak is None else "device memory",
            "forecast": forecast.total,
            "xla": used.argument_size_in_bytes
            + used.output_size_in_bytes
            - used.alias_size_in_bytes
            + used.temp_size_in_bytes,
            "process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "before": self.resident,
        }


class _Watched:
    """A jitted iteration that is lowered and compiled as the runner does, under observation."""

    def __init__(self, iterate: Any, watch: Watch) -> None:
        self._iterate, self._watch, self._begun = iterate, watch, 0.0

    def lower(self, *args: Any) -> "_Watched":
        self._begun = time.time()
        self._iterate = self._iterate.lower(*args)
        return self

    def compile(self) -> Any:
        compiled = self._iterate.compile()
        self._watch.compile_seconds = time.time() - self._begun
        self._watch.analysis = compiled.memory_analysis()
        return lambda *args: self._watch.call(compiled, args)


def _status(field: str) -> int:
    """Bytes of a line of Linux's account of this process; 0 elsewhere."""
    path = Path("/proc/self/status")
    if not path.exists():
        return 0
    [line] = [row for row in path.read_text("utf-8").splitlines() if row.startswith(f"{field}:")]
    return int(line.split()[1]) * 1024


def _forget_peak() -> int:
    """Lets the process's peak of memory start again; returns what it holds now."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5", "utf-8")
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM")


_forecast, _make_program, _train = memory.forecast, population.make_program, runner.train


def main(words: Sequence[str]) -> None:
    """Trains under observation and writes what was seen."""
    result, begun, name, iterations, *flags = words
    module = importlib.import_module(f"experiments.{name}")
    sys.setswitchinterval(1e-4)  # the thread that waits for results notes the time at once
    watch = Watch(int(iterations))
    memory.forecast, population.make_program = watch.forecasting, watch.making
    runner.train = watch.training  # type: ignore[assignment]

    def study(config: ConfigDict, directory: Path, command: str) -> None:
        try:
            module.run(config, directory, command)
        except Enough:
            files.write_json(Path(result), watch.report(float(begun)))

    sys.argv = ["benchmarks.probe", *flags]
    cli.run(study, name)


if __name__ == "__main__":
    main(sys.argv[1:])
