"""Trials of a search that Optuna proposes, kept in the study's run directory."""

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from jaxzero.settings.config import ConfigError

JOURNAL: Final = "optuna.jsonl"  # Optuna's own format (JSON lines)


def check_installed(study: str) -> None:
    """Refuses a study that searches where Optuna is not installed (ConfigError)."""
    if importlib.util.find_spec("optuna") is None:
        raise ConfigError(
            f'experiments.{study}: optuna is not installed, pip install -e ".[search]"'
        )


def open_study(directory: Path, name: str, *, directions: Sequence[str]) -> Any:
    """Optuna's study, its trials in the run directory; goals to `"maximize"` or to `"minimize"`."""
    optuna = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storages = importlib.import_module("optuna.storages.journal")
    return optuna.create_study(
        study_name=name,
        storage=optuna.storages.JournalStorage(
            storages.JournalFileBackend(str(directory / JOURNAL))
        ),
        directions=list(directions),
        load_if_exists=True,
    )


def sampler(name: str, *, seed: int, begun: int, startup: int) -> Any:
    """How settings are proposed (`"tpe"`, `"nsga2"`, `"random"`) after so many trials were begun.

    Its state is not kept, so it is made for each batch, and seeded with that number too: a search
    that goes on proposes what it would have proposed, and never again the same. `startup`: finished
    trials before tpe models them, until then it proposes at random.
    """
    optuna = importlib.import_module("optuna")
    own = int(np.random.SeedSequence([seed, begun]).generate_state(1)[0])
    samplers = {
        "tpe": lambda: optuna.samplers.TPESampler(
            seed=own, constant_liar=True, n_startup_trials=startup
        ),
        "nsga2": lambda: optuna.samplers.NSGAIISampler(seed=own),
        "random": lambda: optuna.samplers.RandomSampler(seed=own),
    }
    return samplers[name]()


def next_batch(
    study: Any,
    *,
    total: int,
    at_once: int,
    parameters: int,
    sampler_after: Callable[[int], Any],
    suggest: Callable[[Any], None],
    first: Mapping[str, float] | None = None,
) -> list[Any]:
    """Trials that a stopped process left running, else new ones; none when all are done.

    `total`: trials in all; `at_once`: new ones at most; `parameters`: how many a whole trial has;
    `sampler_after`: so many trials, see `sampler`; `suggest`: asks a new trial for them; `first`:
    those of the first whole trial, by default it is proposed like the others. Returns frozen
    trials, with number and params.
    """
    states = importlib.import_module("optuna").trial.TrialState
    trials = [t for t in study.get_trials(deepcopy=False) if t.state != states.WAITING]
    running = [t for t in trials if not t.state.is_finished()]
    wanted = min(at_once, total - len(trials))
    whole = [t for t in running if len(t.params) == parameters]
    for half in running:  # proposed while the process died: never trained
        if half not in whole:
            fail(study, half.number)
    if whole or wanted < 1:
        return whole
    begun = study.get_trials(deepcopy=False)
    if first is not None and not any(
        t.state == states.WAITING or t.params == dict(first) for t in begun
    ):
        study.enqueue_trial(dict(first))
    study.sampler = sampler_after(len(trials))
    for _ in range(wanted):
        suggest(study.ask())
    return [t for t in study.get_trials(deepcopy=False) if t.state == states.RUNNING]


def finished(study: Any, directory: Path, reason: str) -> list[Any]:
    """The trials that did not fail. ConfigError: all did; `reason`: why the first one did."""
    done = [trial for trial in study.get_trials(deepcopy=False) if trial.values]
    if not done:
        raise ConfigError(f"--workdir={directory}: every trial has failed: {reason}")
    return done


def fail(study: Any, number: int) -> None:
    """Tells Optuna that a trial came to nothing."""
    study.tell(number, state=importlib.import_module("optuna").trial.TrialState.FAIL)
