"""How well can the network know Connect Four? Supervised learning (Clausen 2021, Table 1).

    python -m experiments.connect_four_supervised \\
        --config=experiments/configs/connect_four_supervised.py:quick --workdir=runs/supervised

Trains networks of several depths on the two versions of the paper's positions, several seeds each,
with true outcome labels and with the published ones, and measures moves and results on held-out
positions. Makes the positions on first use. Writes `results.json` and `report.html`.
"""

import dataclasses
import itertools
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from ml_collections import ConfigDict

from experiments.claims.supervised import STUDY
from experiments.configs.connect_four_supervised import GAME, HARD, KEYS, LABELS
from experiments.connect_four import (
    claims,
    solved_positions,
    solved_set,
    supervised,
    supervised_rows,
    supervised_training,
)
from experiments.connect_four import supervised_report as report
from experiments.connect_four.solved_games import Recipe
from experiments.connect_four.solved_positions import Positions
from experiments.connect_four.supervised_training import GROUPS, Place, fit
from experiments.shell import cli
from experiments.shell import study as shell
from jaxzero import files, networks, solvers
from jaxzero.runs import population
from jaxzero.runs.processes import say
from jaxzero.runs.stopping import StopRequest
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.settings.features import FEATURES, Learned
from jaxzero.tracking import Tracker
from jaxzero.training import components, features, learner, losses
from jaxzero.training import spec as spec_lib
from jaxzero.training.spec import Hyper, Spec

TEACHER = "teacher"  # the group of the network whose features the others learn
FIXED = ("study.patience",)  # may not change on resuming: here it is part of the learning rate


class NetworkVariant(NamedTuple):
    """Networks that differ in their seeds alone."""

    blocks: int
    version: int
    labels: str
    features: str = "none"  # of `FEATURES`, or those of the teacher's own network
    best_move_probability: float = HARD  # of its positions

    @property
    def name(self) -> str:
        """`blocks5_v1_corrected`, `blocks5_v1_corrected_move1`, `blocks5_v2_easy_corrected`."""
        kind, probability = f"v{self.version}", self.best_move_probability
        if probability != HARD:
            kind += f"_{supervised_rows.set_name(probability)}"
        end = "" if self.features == "none" else f"_{self.features}"
        return f"blocks{self.blocks}_{kind}_{self.labels}{end}"


def resolve(config: ConfigDict) -> ConfigDict:
    """Fills in what depends on the semantics: the kind of outcome labels."""
    config = ConfigDict(config)
    if config.study.outcome_labels is None:
        config.study.outcome_labels = (config.semantics,)
    return config.lock()


def groups(config: ConfigDict) -> list[NetworkVariant]:
    """All groups, set by set, smallest networks first."""
    s = config.study
    kinds = itertools.product(s.blocks, s.versions, s.outcome_labels, s.features)
    sets = itertools.product(map(float, s.best_move_probability), kinds)
    return [NetworkVariant(*kind)._replace(best_move_probability=p) for p, kind in sets]


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything is made or compiled."""
    config = resolve(config)
    several = ("blocks", "versions", "outcome_labels", "features", "best_move_probability")
    shell.check(config, KEYS, *several)
    if config.game != GAME:
        raise ConfigError(f"config.game={config.game!r}: the solved positions are of {GAME}")
    if config.network.name != "resnet" or config.network.value_head != "wdl":
        pair = f"{config.network.name!r} with value_head={config.network.value_head!r}"
        raise ConfigError(f"config.network.name={pair}: this study needs resnet with wdl")
    for head in losses.HEADS.values():
        if weight := config.train[head.weight]:
            raise ConfigError(
                f"config.train.{head.weight}={weight}: solved positions have no such target, leave "
                "it out"
            )
    if (schedule := config.train.schedule) != "constant":
        raise ConfigError(
            f"config.train.schedule={schedule!r}: this study has its own, leave it out"
        )
    for name in ("positions", "teacher_positions") if _has_teacher(config) else ("positions",):
        count = config.study[name]
        if config.train.batch_size > count * solved_positions.SHARES[0]:
            raise ConfigError(
                f"config.train.batch_size={config.train.batch_size}: {count} positions train on "
                f"80 % of them, choose a smaller one or raise config.study.{name}"
            )
    for group in groups(config):
        settings(config, group)


def _has_teacher(config: ConfigDict) -> bool:
    """Whether a small network is trained, for its features."""
    return any(FEATURES[name].trained for name in config.study.features if name != "none")


def settings(config: ConfigDict, group: NetworkVariant) -> tuple[Spec, Hyper]:
    """The network and the optimiser of a group."""
    own = config_lib.changed(config, {"network.blocks": group.blocks})
    spec, hyper = spec_lib.make_spec(own), spec_lib.make_hyper(own)
    if group.features == TEACHER:
        small = features.teacher_network(spec.network)
        spec = dataclasses.replace(spec, network=small, features=None)
    elif group.features != "none":
        learned = Learned(FEATURES[group.features], config.study.feature_weight)
        seen = spec.network.clone(**features.exposing(learned))
        spec = dataclasses.replace(spec, network=seen, features=learned)
    return spec, hyper


def positions(config: ConfigDict, version: int, probability: float) -> Positions:
    """A version's positions of a set, made now if they are missing."""
    wanted = Recipe(probability, version == 2, config.study.data_seed)
    directory = solved_set.place_of(wanted, files.from_home(config.study.data))
    held = solved_positions.describe(directory)
    if held is not None and held["recipe"] != wanted._asdict():
        raise ConfigError(
            f"config.study.data={config.study.data!r}: made otherwise ({held['recipe']}), choose "
            "its settings (config.study.versions, best_move_probability, data_seed) or another "
            "folder"
        )
    count = config.study.positions
    if _has_teacher(config):
        count += config.study.teacher_positions
    if held is None or held["positions"] < count:
        say(f"making {count} positions in {directory}")
        solved_set.make(wanted, count, directory)
    found = solved_positions.load(directory)
    game = components.build_game(config)  # in the encoding that the network is to see
    return dataclasses.replace(found, labelled=dataclasses.replace(found.labelled, game=game))


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """The whole study, or the rest of it: (config, workdir) -> results.json, report.html."""
    study = shell.begin(STUDY, resolve(config), directory, command, validate=validate, fixed=FIXED)
    config, execution, finished = study.config, study.config.execution, []
    with Tracker(directory, config, STUDY) as tracker:
        with StopRequest(execution.max_minutes, study.started, execution.grace) as stop:
            for group in groups(config):
                path = directory / GROUPS / f"{group.name}.json"
                if not path.is_file():
                    result = _train_and_measure(config, group, Place(directory, tracker, stop))
                    path.parent.mkdir(parents=True, exist_ok=True)
                    files.write_json(path, result)
                finished.append(files.read_json(path))
        results = study.header() | {"groups": finished}
        print(report.accuracies(results).text())
        results |= {"claims": claims.rows(results)}
        tracker.finish(study.finish(results))


def _train_and_measure(config: ConfigDict, group: NetworkVariant, place: Place) -> dict[str, Any]:
    data = positions(config, group.version, group.best_move_probability)
    own = data.part(slice(config.study.positions))
    index = _split(config, own)
    spec, hyper = settings(config, group)
    started = time.monotonic() - supervised_training.seconds(place, group.name)
    train = supervised.examples(
        data.labelled, index["train"], published_labels=group.labels == "published"
    )
    if group.features != "none":
        wanted = FEATURES[group.features]
        teacher = _teacher(config, group, data, place, trained=wanted.trained)
        seen = (
            solved_positions.observations(data, index["train"])
            if wanted.later
            else [train.observation]
        )
        train = supervised.with_features(train, *teacher, wanted, seen)
    asked = supervised.questions(own.labelled, index["validation"])
    progress = fit(config, group.name, (spec, hyper), train, asked, place)
    test = data.labelled.take(index["test"])
    measured = supervised.measure(spec, progress.best, test, config)
    result = {
        **group._asdict(),
        "name": group.name,
        "parameters": networks.count_parameters(
            jax.eval_shape(lambda: {"params": learner.init(spec, jax.random.key(0)).params})
        ),
        "positions": {name: len(part) for name, part in index.items()},
        "sha256": data.sha256,
        "statistics": solved_positions.statistics(own.labelled),
        "epochs": np.asarray(progress.epoch).tolist(),
        "best_epoch": np.asarray(progress.best_epoch).tolist(),
        "seconds": time.monotonic() - started,
        "random": solvers.policy_accuracy(test, solvers.uniform(test)),
        "seeds": measured,
        "learning_rate": float(hyper.learning_rate),
    }
    for part in ("network", "search"):
        if part in measured[0]:
            result[part] = {
                name: _mean_and_error([m[part]["all"][name] for m in measured])
                for name in ("strong", "weak", "result")
            }
    return files.plain(result)


def _mean_and_error(values: list[float]) -> dict[str, float]:
    """Mean over networks, standard deviation and standard error (NaN of one)."""
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return {"mean": float(np.mean(values)), "sd": sd, "stderr": sd / len(values) ** 0.5}


def _teacher(
    config: ConfigDict, pupils: NetworkVariant, data: Positions, place: Place, *, trained: bool
) -> tuple[Spec, learner.Learner]:
    """The small network, trained on positions that nobody else sees, or as it began."""
    group = pupils._replace(blocks=3, labels=LABELS[0], features=TEACHER)
    spec, hyper = settings(config, group)
    if not trained:
        return spec, learner.init(spec, jax.random.key(config.seed))
    begin = config.study.positions  # sets that other runs share may hold more
    rest = data.part(slice(begin, begin + config.study.teacher_positions))
    index = _split(config, rest)
    train = supervised.examples(rest.labelled, index["train"], published_labels=False)
    alone = config_lib.changed(config, {"study.seeds": 1})
    asked = supervised.questions(rest.labelled, index["validation"])
    progress = fit(alone, group.name, (spec, hyper), train, asked, place)
    return spec, population.member(progress.best, 0)


def _split(config: ConfigDict, data: Positions) -> dict[str, np.ndarray]:
    """As `solved_positions.split`. ConfigError: nothing is left for a part."""
    index = solved_positions.split(data, config.study.split)
    if not all(len(part) for part in index.values()):
        raise ConfigError(
            f"config.study.split={config.study.split!r}: {len(data)} positions are too few to be "
            "trained on, validated and tested apart, raise config.study.positions (of a teacher: "
            "config.study.teacher_positions)"
        )
    return index


if __name__ == "__main__":
    cli.run(run, STUDY)
