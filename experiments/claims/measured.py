"""What finished loss studies measured of each run, by target and seed, ours and the papers'."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from experiments import published
from experiments.pages import study as study_lib
from experiments.pages.study import Run, Study
from jaxzero import workdir
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.settings.switches import SWITCHES, game_family

STUDY: Final = "loss_ablation"
AS_PUBLISHED: Final = "published"  # the tournament in which the entries of a loss are one model
# May differ between directories whose runs are counted together.
_OWN: Final = ("seed", "study.seeds", "study.targets", "preset")
_OWN_SECTIONS: Final = ("execution.", "tracking.", "study.ladder_", "switches.")

Key: TypeAlias = tuple[int, int]  # (directory, seed): runs are paired within a directory


@dataclass(frozen=True)
class BoardStudies:
    """Studies of one board under one semantics with equal settings, their seeds different."""

    board: str  # its name
    semantics: str  # `config.semantics`, then the switches that were set apart from it
    directories: tuple[Path, ...]  # as given
    studies: tuple[Study, ...]  # as given

    def values(self, statistic: str, target: str) -> tuple[dict[Key, float], tuple[str, ...]]:
        """One statistic of one target's runs by (directory, seed); what is missing, in words."""
        found: dict[Key, float] = {}
        missing: list[str] = []
        for place, study in enumerate(self.studies):
            if statistic in _RATED and no_seeds(study):
                missing.append(
                    f"{statistic} of {study.name}: the tournament's entries of a loss are one "
                    "model, no seeds, and all models were not rated beside them, as they are now"
                )
                continue
            runs = {run.seed: run for run in study.runs_of(target)}
            asked = study.setting("study.targets")
            if not runs and asked and target not in asked:
                missing.append(f"{target}: no loss of {study.name} (study.targets)")
                continue
            for seed in _seeds(study):
                run = runs.get(seed)
                if run is not None and run.name in study.failed:
                    at = study.failed[run.name]
                    missing.append(f"{run.name} of {study.name}: failed in iteration {at}")
                    continue
                value = None if run is None else STATISTICS[statistic](study, run)
                if value is not None and math.isfinite(value):
                    found[place, seed] = value
                else:
                    why = "no such run" if run is None else f"no {statistic}"
                    missing.append(f"{target}_seed{seed} of {study.name}: {why}")
        return found, tuple(missing)


def _seeds(study: Study) -> list[int]:
    """The seeds that each target should have."""
    planned = study.setting("study.seeds")
    first = int(study.setting("seed") or 0)
    seeds = set(range(first, first + int(planned))) if planned else set()
    return sorted(seeds | {run.seed for run in study.runs})


def load(directories: Iterable[Path]) -> tuple[BoardStudies, ...]:
    """Finished loss studies, grouped by board and semantics.

    ConfigError: a directory without results of this study; two that cannot be counted together.
    """
    return together((directory, _open(directory)) for directory in directories)


def together(studies: Iterable[tuple[Path, Study]]) -> tuple[BoardStudies, ...]:
    """The same of studies that were read already.

    ConfigError: two can't be counted together; one was trained on since its results.
    """
    grouped: dict[tuple[str, str], list[tuple[Path, Study]]] = {}
    for directory, study in studies:
        if study.went_on:
            raise ConfigError(f"{directory}: {study.went_on}")
        grouped.setdefault((study.game, semantics(study)), []).append((directory, study))
    for members in grouped.values():
        for at, (directory, study) in enumerate(members):
            for earlier, other in members[:at]:
                _check_together(earlier, other, directory, study)
    return tuple(
        BoardStudies(board, meant, *(tuple(column) for column in zip(*members, strict=True)))
        for (board, meant), members in grouped.items()
    )


def _open(directory: Path) -> Study:
    if not (directory / workdir.RESULTS).is_file():
        raise ConfigError(
            f"{directory}: holds no {workdir.RESULTS}; name directories of finished {STUDY} runs"
        )
    if (kind := workdir.read_results(directory).get("study")) != STUDY:
        raise ConfigError(f"{directory}: is a run of {kind}; claims are about {STUDY} runs")
    return study_lib.load(directory)


def semantics(study: Study) -> str:
    """`corrected`, or `published, dropout_inactive=False` where a switch was set apart.

    A switch that is set to what it is, or that does not concern the game, is not apart.
    """
    meant = str(study.setting("semantics") or "corrected")
    apart = [
        f"{name}={value}"
        for name, value in sorted((study.setting("switches") or {}).items())
        if value is not None and name in SWITCHES and value != getattr(SWITCHES[name], meant)
        if not SWITCHES[name].families or game_family(study.game) in SWITCHES[name].families
    ]
    return ", ".join([meant, *apart])


def _check_together(one: Path, study: Study, other: Path, second: Study) -> None:
    """Refuses to count two directories together that do not go together."""
    settings, others = _settings(study), _settings(second)
    for key in sorted(settings.keys() | others.keys()):
        if settings.get(key) != others.get(key):
            raise ConfigError(
                f"{other}: {key}={others.get(key)}, but {settings.get(key)} in {one}, on the same "
                "board: decide them apart"
            )
    twice = {(r.target, r.seed) for r in study.runs} & {(r.target, r.seed) for r in second.runs}
    if twice:
        target, seed = min(twice)
        raise ConfigError(
            f"{other}: {target}_seed{seed} is in {one} too, the same run again: name one of them"
        )


def _settings(study: Study) -> dict[str, Any]:
    """What must be equal, by dotted key."""
    flat = config_lib.with_defaults(study.results.get("config") or {})
    return {k: v for k, v in flat.items() if k not in _OWN and not k.startswith(_OWN_SECTIONS)}


# ---- statistics of a run: what claims_losses.json names


def rating(
    study: Study, kind: str, *, target: str | None, seed: int, tournament: str = "final"
) -> float | None:
    """Of the final tournament, or of another by its name."""
    for played in study.tournaments:
        if played["name"] != tournament:
            continue
        for player, elo in zip(played["players"], played["elo"], strict=False):
            if (player["kind"], player["target"], player["seed"]) == (kind, target, seed):
                return None if elo is None else float(elo)
    return None


def one_model_per_target(study: Study) -> bool:
    """Whether the papers' tournament has one model for all entries of a loss, as published."""
    return bool((study.results.get("switches") or {}).get("tournament_one_model_per_target"))


def no_seeds(study: Study) -> bool:
    """Whether the final tournament is that one: so in older runs, which had no other for it."""
    names = {played["name"] for played in study.tournaments}
    return one_model_per_target(study) and AS_PUBLISHED not in names


def _tournament_elo(study: Study, run: Run) -> float | None:
    return rating(study, "trained", target=run.target, seed=run.seed)


def _low_tournament_elo(study: Study, run: Run) -> float | None:
    return rating(study, "trained", target=run.target, seed=run.seed, tournament="low")


def _training_elo_gain(study: Study, run: Run) -> float | None:
    rated = study.training_elo(run.name)
    return None if rated is None else float(rated[1][-1] - rated[1][0])


def _second_half_gain(iterations: np.ndarray, elo: np.ndarray) -> float:
    return -_fall(0.5)(iterations, elo)


def _second_half_training_elo_gain(study: Study, run: Run) -> float | None:
    rated = study.training_elo(run.name)
    return None if rated is None else _second_half_gain(*rated[:2])


def _training_elo_bias(study: Study, run: Run) -> float | None:
    trained, gain = _tournament_elo(study, run), _training_elo_gain(study, run)
    untrained = rating(study, "untrained", target=None, seed=run.seed)
    if trained is None or untrained is None or gain is None:
        return None
    return gain - (trained - untrained)


def _last(iterations: np.ndarray, values: np.ndarray) -> float:
    return float(values[-1])


def _fall(share: float = 0.0, *, after: int = 1) -> Callable[[np.ndarray, np.ndarray], float]:
    """From an iteration, or the one at a share of all, to the last; NaN if none is between."""

    def measured(iterations: np.ndarray, values: np.ndarray) -> float:
        first = np.flatnonzero(iterations >= max(after, round(share * iterations[-1])))
        return float(values[first[0]] - values[-1]) if len(first) > 1 else math.nan

    return measured


# By statistic: which training loss, and what of its curve, values by iteration.
LOSSES: Final[dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], float]]]] = {
    "final_loss": ("minimised", _last),
    "loss_fall": ("minimised", _fall()),
    "second_half_loss_fall": ("minimised", _fall(0.5)),
    "late_loss_fall": ("minimised", _fall(0.75)),
    "policy_loss_fall": ("policy", _fall()),
    "policy_loss_fall_after_10": ("policy", _fall(after=10)),
    "value_loss_fall": ("value", _fall()),
    "value_loss_fall_after_10": ("value", _fall(after=10)),
    "second_half_value_loss_fall": ("value", _fall(0.5)),
    "final_policy_loss": ("policy", _last),
    "final_value_loss": ("value", _last),
}


def _of_loss(statistic: str) -> Callable[[Study, Run], float | None]:
    name, measure = LOSSES[statistic]

    def measured(study: Study, run: Run) -> float | None:
        iterations, values = study.series(run.name, f"loss/{name}")
        return measure(iterations, values) if len(values) else None

    return measured


def _value_less_policy(study: Study, run: Run) -> float | None:
    value, policy = (_of_loss(f"final_{name}_loss")(study, run) for name in ("value", "policy"))
    return None if value is None or policy is None else value - policy


def _epoch_fall(study: Study, run: Run) -> float | None:
    """l_p + l_v of the first epoch less that of the last, mean over the iterations."""
    falls = [
        sum(row[f"loss_epochs/{name}"][0] - row[f"loss_epochs/{name}"][-1] for name in _PARTS)
        for row in study.rows.get(run.name, {}).values()
        if all(row.get(f"loss_epochs/{name}") for name in _PARTS)
    ]
    return float(np.mean(falls)) if falls else None


_PARTS: Final = ("policy", "value")
STATISTICS: Final[dict[str, Callable[[Study, Run], float | None]]] = {
    "tournament_elo": _tournament_elo,
    "low_tournament_elo": _low_tournament_elo,  # the same networks with hardly any search
    "training_elo_gain": _training_elo_gain,
    "training_elo_bias": _training_elo_bias,
    "second_half_training_elo_gain": _second_half_training_elo_gain,
    "value_less_policy": _value_less_policy,
    "epoch_fall": _epoch_fall,
    **{name: _of_loss(name) for name in LOSSES},
}
_RATED: Final = ("tournament_elo", "low_tournament_elo", "training_elo_bias")


# ---- the same of the published numbers


def published_value(statistic: str, board: str, target: str) -> float | None:
    """The papers' mean; None where it was not published as a number.

    Of training_elo_bias all but the untrained network's rating, which differences do not have.
    """
    if statistic == "training_elo_bias":
        gain, rated = (
            published_value(part, board, target) for part in ("training_elo_gain", "tournament_elo")
        )
        return None if gain is None or rated is None else gain - rated
    if statistic == "tournament_elo":
        ratings = (published.tournament(board) or {}).get(target)
        return None if ratings is None else float(ratings.mean())
    if statistic in ("training_elo_gain", "second_half_training_elo_gain"):
        curve = (published.training_elo(board) or {}).get(target)
        if curve is None:
            return None
        late = _second_half_gain(curve.iterations, curve.mean)
        return late if statistic != "training_elo_gain" else float(curve.mean[-1] - curve.mean[0])
    if statistic == "value_less_policy":
        value, policy = (
            published_value(f"final_{name}_loss", board, target) for name in ("value", "policy")
        )
        return None if value is None or policy is None else value - policy
    if statistic not in LOSSES:
        return None
    curves = published.loss_curves(board) or published.losses_in_words(board) or {}
    name, measure = LOSSES[statistic]
    curve = curves.get(target, {}).get(target if name == "minimised" else name)
    value = math.nan if curve is None else measure(curve.iterations, curve.mean)
    return value if math.isfinite(value) else None
