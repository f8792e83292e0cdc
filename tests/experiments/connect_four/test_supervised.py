"""Supervised Connect Four: labels, schedule, parameter counts, the study as a whole."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ml_collections import ConfigDict

from experiments import connect_four_supervised as study
from experiments import published
from experiments.claims.supervised import PUBLISHED
from experiments.configs.connect_four_supervised import get_config
from experiments.connect_four import solved_games, solved_positions, supervised
from experiments.connect_four.solved_games import Recipe
from experiments.connect_four.supervised import Progress, Schedule
from jaxzero import files, networks, workdir
from jaxzero.runs.stopping import Stopped
from jaxzero.settings.config import ConfigError
from jaxzero.training import learner
from jaxzero.training.learner import Learner
from tests import small
from tests.experiments.exhibits import missing_in
from tests.tracking.test_tracking import read_events, series

TINY: dict[str, Any] = {
    "network.channels": 4,
    "train.batch_size": 16,
    "study.blocks": (1,),
    "study.outcome_labels": ("corrected", "published"),
    "study.seeds": 2,
    "study.positions": 120,
    "study.max_epochs": 3,
    "study.searches": 2,
    "study.mistakes": 2,
    "execution.population": "map",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("bitbully")
    recipe = Recipe(0.5, False, 0)
    made = tmp_path_factory.mktemp("set")
    solved_positions.save_part(made, 0, solved_games.play_part(recipe, 0))
    solved_positions.merge(made, 1, 120, recipe)
    return made


def tiny(data: Path, changes: dict[str, Any] | None = None) -> ConfigDict:
    return small.changed(get_config("quick"), TINY | {"study.data": str(data)} | (changes or {}))


def test_published_labels_turn_losses_of_the_first_player_into_draws() -> None:
    result = np.array([1, 0, -1, 1, 0, -1], np.float32)
    plies = np.array([4, 4, 4, 5, 5, 5])
    found = supervised.published_result(result, plies)
    np.testing.assert_array_equal(found, [1, 0, 0, 1, 0, -1])


def authors_schedule(scores: list[float], patience: int) -> list[float]:
    """The learning rate of each epoch, as the loop of the authors' program goes."""
    epoch = last_improvement = last_reduction = 0
    best, rate, rates = None, 0.2, []
    while epoch - last_improvement < patience * 1.5 and epoch < len(scores):
        if epoch - max(last_improvement, last_reduction) >= patience:
            last_reduction = epoch
            rate /= 10
        rates.append(rate)
        if best is None:
            best = scores[epoch]
        elif best < scores[epoch]:
            best, last_improvement = scores[epoch], epoch
        epoch += 1
    return rates


@pytest.mark.parametrize("seed", range(4))
def test_the_schedule_is_the_authors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.maximum.accumulate(rng.random(60) * np.linspace(0, 1, 60)) - rng.random(60) * 0.1
    schedule = Schedule(patience=4, factor=0.1, stop_after=6, max_epochs=60)
    zero = jnp.int32(0)
    nothing = Learner((), (), ())
    progress = Progress(
        nothing, nothing, jnp.float32(0.2), jnp.float32(-1), zero, zero, zero, jnp.zeros(())
    )
    rates = []
    while supervised.is_going(schedule, progress):
        progress = supervised.fall(schedule, progress)
        rates.append(float(progress.learning_rate))
        score = jnp.float32(scores[int(progress.epoch)])
        progress = supervised.note(progress, nothing, score)
    np.testing.assert_allclose(rates, authors_schedule(scores.tolist(), 4), rtol=1e-5)


def test_parameter_counts_are_the_papers() -> None:
    config = get_config("paper")
    for row in (published.load(PUBLISHED) or {})["rows"]:
        spec, _ = study.settings(
            config, study.NetworkVariant(row["blocks"], row["version"], "corrected")
        )
        shape = jax_shape(spec)
        assert networks.count_parameters({"params": shape}) == row["parameters"]


def jax_shape(spec: Any) -> Any:
    return jax.eval_shape(lambda: learner.init(spec, jax.random.key(0)).params)


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("supervised")
    study.run(tiny(data, {"tracking.tensorboard": True}), directory)
    return directory


def test_everything_is_there(finished: Path) -> None:
    results = files.read_json(finished / workdir.RESULTS)
    names = [group["name"] for group in results["groups"]]
    assert names == ["blocks1_v1_corrected", "blocks1_v1_published"]
    for group in results["groups"]:
        assert group["positions"] == {"train": 96, "validation": 12, "test": 12}
        assert 0 <= group["network"]["strong"]["mean"] <= 1
        assert group["search"]["weak"]["mean"] >= group["search"]["strong"]["mean"]
        assert len(group["seeds"][0]["mistakes"]) <= 2
        assert group["epochs"] == [3, 3]
    assert "Table 1" in (finished / "report.html").read_text()
    assert missing_in(finished / "report.html", "connect_four_supervised") == set()
    assert (finished / "figures" / "supervised_curves.svg").is_file()


def test_tensorboard_has_every_epoch_and_the_accuracies(finished: Path) -> None:
    rows = files.read_rows(finished / workdir.METRICS)
    name = "blocks1_v1_published_seed1"
    events = read_events(finished / "tensorboard" / name)
    own = [(r["iteration"], pytest.approx(r["validation/move"])) for r in rows if r["run"] == name]
    assert series(events, "validation/move") == own
    [table] = read_events(finished / "tensorboard" / "study").Tensors("groups/text_summary")
    assert b"network/strong/mean" in table.tensor_proto.string_val[0]


@pytest.mark.usefixtures("undrawn")
def test_interrupted_and_resumed_with_more_groups_is_the_same(
    finished: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter(range(100))

    def after_two(self: Any) -> Stopped | None:
        del self
        return Stopped("enough", 0) if next(calls) == 1 else None

    with monkeypatch.context() as patch:
        patch.setattr("jaxzero.runs.stopping.StopRequest.reason", after_two)
        with pytest.raises(Stopped, match="saved at epoch 2"):
            study.run(tiny(data, {"study.outcome_labels": ("corrected",)}), tmp_path)
    study.run(tiny(data), tmp_path)
    rows = [files.read_rows(d / workdir.METRICS) for d in (finished, tmp_path)]
    seconds = [row.pop("seconds") for own in rows for row in own][len(rows[0]) :]
    assert rows[0] == rows[1]
    assert seconds[:6] == sorted(seconds[:6])  # of the group that was stopped, too
    groups = [files.read_json(d / workdir.RESULTS)["groups"] for d in (finished, tmp_path)]
    assert groups[0][0]["network"] == groups[1][0]["network"]


def test_it_learns(data: Path) -> None:
    """Two blocks on 96 positions, by heart: marks on the training positions rise to nearly all."""
    found = solved_positions.load(data)
    config = tiny(data, {"network.channels": 16, "train.learning_rate": 0.05})
    spec, hyper = study.settings(config, study.NetworkVariant(1, 1, "corrected"))
    index = np.arange(96)
    train = supervised.examples(found.labelled, index, published_labels=False)
    asked = supervised.questions(found.labelled, index)
    schedule = Schedule(100, 0.1, 1000, 1000)
    epoch = jax.jit(lambda p: supervised.epoch(spec, hyper, schedule, p, train, asked))
    progress = supervised.start(spec, hyper, 0)
    for _ in range(60):
        progress, metrics = epoch(progress)
    assert float(metrics["validation/move"]) > 0.9
    assert float(metrics["validation/result"]) > 0.9
    few = jax.tree.map(lambda x: x[:5], train)  # fewer than a minibatch are one
    jax.eval_shape(lambda p: supervised.epoch(spec, hyper, schedule, p, few, asked), progress)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"game": "connect_four_5x5"}, "config.game='connect_four_5x5'"),
        ({"network.value_head": "scalar"}, "needs resnet with wdl"),
        ({"study.blocks": (1, 1)}, r"config.study.blocks=\(1, 1\)"),
        ({"study.versions": (3,)}, "config.study.versions=3"),
        ({"train.reply_weight": 0.35}, "config.train.reply_weight=0.35: solved positions have no"),
        ({"train.batch_size": 128}, "config.train.batch_size=128"),
        (
            {"train.schedule": "linear", "train.anneal_to": 0.5},
            "config.train.schedule='linear': this study has its own",
        ),
        (
            {"study.features": ("move0_win0",), "study.teacher_positions": 10},
            "8*0 % of them, choose a smaller one or raise config.study.teacher_positions",
        ),
    ],
)
def test_bad_settings_are_one_line(
    changes: dict[str, Any], told: str, data: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=told):
        study.run(tiny(data, changes), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_schedule_stays_what_it_was(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere `study.patience` says when to stop, and may change; here when the rate falls."""

    def interrupted(*_: Any) -> Any:
        raise InterruptedError

    monkeypatch.setattr(study, "StopRequest", interrupted)
    with pytest.raises(InterruptedError):
        study.run(tiny(data), tmp_path)
    with pytest.raises(ConfigError, match=r"study\.patience: 8 -> 3"):
        study.run(tiny(data, {"study.patience": 3}), tmp_path)


def test_too_few_games_to_be_split_are_refused(data: Path) -> None:
    config = study.resolve(tiny(data, {"study.split": "game"}))
    found = solved_positions.load(data)
    few = found.part(slice(8))
    with pytest.raises(ConfigError, match=r"config.study.split='game': 8 positions are too few"):
        study._split(config, few)


def test_a_set_made_otherwise_is_refused(data: Path, tmp_path: Path) -> None:
    config = study.resolve(tiny(data))
    assert len(study.positions(config, 1, 0.5))
    with pytest.raises(ConfigError, match="made otherwise"):
        study.positions(config, 1, 0.9)


def test_semantics_decides_the_labels() -> None:
    config = small.changed(get_config("few"), {"semantics": "published"})
    assert study.resolve(config).study.outcome_labels == ("published",)
    assert study.resolve(get_config("few")).study.outcome_labels == ("corrected",)


def test_both_sets_have_groups_of_their_own() -> None:
    config = study.resolve(get_config("laptop_features"))
    names = [group.name for group in study.groups(config)]
    assert names[:2] == ["blocks5_v2_corrected", "blocks5_v2_corrected_move0_win0"]
    assert names[3] == "blocks5_v2_easy_corrected"
    assert len(set(names)) == 6
