"""The efficiency study from its settings to its report, with everything tiny, on a small board."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_collections import ConfigDict

from experiments import connect_four_efficiency as study
from experiments import published
from experiments.configs.connect_four_efficiency import (
    INGREDIENTS,
    OTHER_ARMS,
    PAPER_ARMS,
    PRESETS,
    WITHOUT_ARMS,
    get_config,
)
from experiments.connect_four import arms, baselines, efficiency_report, solved_accuracy
from experiments.shell.study import StudyRun
from jaxzero import files, runs, workdir
from jaxzero.runs import checkpoints, hardware
from jaxzero.runs.stopping import Stopped
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.training import spec as spec_lib
from tests import small

TINY: dict[str, Any] = {
    "game": "connect_four_4x5",
    "network.blocks": 1,
    "network.channels": 4,
    "search.num_simulations": 6,
    "selfplay.episodes": 6,
    "replay.window_positions": 100,
    "train.iterations": 2,
    "train.batch_size": 16,
    "execution.snapshot_every": 1,  # every network is marked
    "evaluation.heldout_games": 2,
    "evaluation.heldout_simulations": 2,
    "execution.devices": 1,
    "execution.population": "map",
    "study.arms": ("extended",),  # compiling takes far longer than running
    "study.test_positions": 20,
}


def tiny(changes: dict[str, Any] | None = None) -> ConfigDict:
    return small.changed(get_config("quick"), TINY | (changes or {}))


def arm_config(config: ConfigDict, arm: str) -> ConfigDict:
    return config_lib.changed(config, study.changes(config, arm))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("efficiency")
    study.run(tiny(), directory)
    return directory


def check(finished: Path, arms: list[str]) -> list[dict[str, Any]]:
    """Every arm has its marks and its costs; their last points."""
    results = files.read_json(finished / workdir.RESULTS)
    assert [arm["arm"] for arm in results["arms"]] == arms
    for arm in results["arms"]:
        points = arm["runs"][0]["points"]
        assert [p["iteration"] for p in points] == [0, 1, 2]
        assert all(0 <= p["search"] <= p["weak"] <= 1 for p in points)
        moves = np.cumsum([p["positions"] or 0 for p in points])
        hours = [p["hours"] for p in points]  # as the paper counts: positions x time of a move
        np.testing.assert_allclose(hours, moves * arm["seconds_per_move"] / 3600)
    assert "efficiency_baselines" in (finished / "report.html").read_text()
    return [arm["runs"][0]["points"][-1] for arm in results["arms"]]


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_fit_on_their_machines(preset: str) -> None:
    config = get_config(preset)
    study.validate(config)
    room = (4 if preset in ("quick", "cpu") else 80) * 2**30
    machine = hardware.Hardware("gpu", "one device", 1, room)
    own = arm_config(config, "extended")  # has the most heads
    predicted = hardware.forecast(own, runs.one_for_each_seed(own, "extended"), machine)
    assert machine.refuses(predicted) is None


@pytest.mark.parametrize(
    ("arm", "changes", "told"),
    [
        ("extended", {"train.schedule": "constant"}, "config.train.schedule='constant': .*cyclic"),
        ("extended", {"replay.duplicate_weight": 0.5}, "config.replay.duplicate_weight=0.5: .*0.8"),
        (
            "without_dedupe",
            {"train.anneal_to": 0.9},
            "config.train.anneal_to=0.9: .*without_dedupe",
        ),
        (
            "mixed_values",
            {"train.root_value_share": 0.1},
            "config.train.root_value_share=0.1: .*0.5",
        ),
    ],
)
def test_settings_that_an_arm_would_change_back_are_refused(
    arm: str, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigError, match=told) as caught:
        study.validate(tiny({"study.arms": ("baseline", arm)} | changes))
    assert "\n" not in str(caught.value)
    study.validate(tiny({"study.arms": ("baseline",)} | changes))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"study.slow_window_share": 0.0}, r"config.study.slow_window_share=0.0: .* not grow"),
        ({"study.slow_window_share": 1.0}, r"config.study.slow_window_share=1.0: .* not grow"),
        (
            {"study.arms": ("extended", "reply"), "study.extended": ("reply",)},
            "'extended' and 'reply' have the same settings here",
        ),
    ],
)
def test_arms_that_are_one_player_twice_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        study.validate(tiny(changes))


@pytest.mark.slow
def test_everything_is_there(finished: Path) -> None:
    (extended,) = check(finished, ["extended"])
    assert extended["new_share"] < 1


@pytest.mark.slow
def test_arms_beside_each_other(tmp_path: Path) -> None:
    study.run(tiny({"study.arms": ("baseline",)}), tmp_path)
    rows = (tmp_path / arms.ARMS / "baseline" / workdir.METRICS).read_bytes()
    study.run(tiny({"study.arms": ("baseline", "extended")}), tmp_path)  # an arm is added
    assert (tmp_path / arms.ARMS / "baseline" / workdir.METRICS).read_bytes() == rows
    baseline, extended = check(tmp_path, ["baseline", "extended"])
    assert baseline["new_share"] == 1
    assert extended["new_share"] < 1


@pytest.mark.slow
def test_arms_are_run_directories(finished: Path) -> None:
    opened = runs.open_run(finished / arms.ARMS / "extended")
    assert opened.iterations == (0, 1, 2)
    assert opened.spec.replay.duplicate_weight == 0.8
    assert opened.spec.network.squeeze_excite


@pytest.mark.slow
def test_an_arm_that_does_not_become_better_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In stretches, resumed in the middle, it is the same run as at once."""
    settings = {
        "study.arms": ("baseline",),
        "study.patience": 2,
        "study.seeds": 2,
        "train.iterations": 8,
        "execution.checkpoint_every": 2,
    }
    asked: list[int] = []
    real = solved_accuracy._measure

    def marked(opened: Any, iterations: list[int], test: Any) -> Any:
        asked.extend(iterations)
        found = real(opened, iterations, test)
        for i, members in found.items():  # seed 0 ends in iteration 3, seed 1 in iteration 5
            for j, member in enumerate(members):
                member["search"] = 0.5 if i > 1 + 2 * j else 0.5 + i / 100
        return found

    monkeypatch.setattr(solved_accuracy, "_measure", marked)
    study.run(tiny(settings), tmp_path / "run")
    [arm] = files.read_json(tmp_path / "run" / workdir.RESULTS)["arms"]
    assert [run["ended"] for run in arm["runs"]] == [3, 5]
    assert [len(run["points"]) for run in arm["runs"]] == [4, 6]
    assert asked == list(range(7))  # each network once; 6 is the first checkpoint after 5
    place = tmp_path / "run" / arms.ARMS / "baseline"
    assert runs.open_run(place).iterations == tuple(range(7))
    whole = tiny(settings | {"study.patience": 0, "train.iterations": 6})
    study.run(whole, tmp_path / "whole")
    other = tmp_path / "whole" / arms.ARMS / "baseline"
    losses = [
        [row["loss/policy"] for row in files.read_rows(at / workdir.METRICS)]
        for at in (place, other)
    ]
    assert losses[0] == losses[1]
    monkeypatch.setattr(solved_accuracy, "_measure", None)  # the same command again asks nothing
    study.run(tiny(settings), tmp_path / "run")


def test_more_iterations_reopen_an_arm_that_had_not_ended(tmp_path: Path) -> None:
    def described(*ended: int | None) -> None:
        files.write_json(tmp_path / arms.ACCURACY, {"runs": [{"ended": e} for e in ended]})

    saved = tmp_path / "checkpoints" / "2"
    saved.mkdir(parents=True)
    files.write_json(saved / checkpoints.DIGEST, {})
    assert not arms.is_done(tiny(), tmp_path)
    described(None, 2)
    assert arms.is_done(tiny(), tmp_path)
    assert not arms.is_done(tiny({"train.iterations": 3}), tmp_path)
    described(2, 2)
    assert arms.is_done(tiny({"train.iterations": 3}), tmp_path)


def test_a_measure_of_fewer_iterations_goes_before_more_are_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / arms.ARMS / "baseline" / arms.ACCURACY
    path.parent.mkdir(parents=True)
    files.write_json(path, {"runs": [{"ended": None}]})
    monkeypatch.setattr(solved_accuracy, "test_positions", lambda *_: None)
    monkeypatch.setattr(arms, "train", raises_stopped)
    with pytest.raises(Stopped):
        arms.measure(StudyRun(study.STUDY, tiny(), tmp_path), {"baseline": {}})
    assert not path.exists()


def raises_stopped(*_: object) -> None:
    raise Stopped("killed", 0)


@pytest.mark.slow
def test_a_finished_study_is_not_done_again(finished: Path) -> None:
    path = finished / arms.ARMS / "extended" / arms.ACCURACY
    before = path.stat().st_mtime_ns
    study.run(tiny(), finished)
    assert path.stat().st_mtime_ns == before


def test_the_papers_constants() -> None:
    """The authors' final settings, as the search and the learner get them."""
    spec = spec_lib.make_spec(arm_config(get_config("paper"), "baseline"))
    s = spec.search
    assert (s.unvisited_q, s.q_scale, s.renormalise_prior, s.ties) == (
        0.8545,
        "unit",
        False,
        "random",
    )
    # A draw is worth 0.6913 where a win is 1 and a loss 0: (-1 + 0 + (1 + d)) / 2 with v = 0.
    assert (1 + s.draw_value) / 2 == pytest.approx(0.6913)
    assert (s.dirichlet_fraction, s.dirichlet_alpha) == (0.25, 20.38)
    assert (spec.num_images, spec.train.batch_size, spec.train.epochs) == (1, 256, 1)
    train = spec.train
    assert (train.weight_decay, train.max_gradient_norm, train.momentum) == (1e-4, 1.0, 0.9)
    assert (spec.replay.window_positions, spec.replay.window_start) == (2_000_000, 0)
    extended = spec_lib.make_spec(arm_config(get_config("paper"), "extended"))
    window, train = extended.replay, extended.train
    assert (window.window_start, window.window_grows) == (500_000, (5, 15))
    assert (train.schedule, train.anneal_to) == ("cyclic", 0.4)
    assert (dict(extended.heads)["reply_head"], window.duplicate_weight) == (0.35, 0.8)


@pytest.mark.parametrize("preset", PRESETS)
def test_small_presets_keep_the_papers_ratios(preset: str) -> None:
    config = get_config(preset)
    caps = arm_config(config, "playout_caps")
    assert caps.selfplay.fast_simulations / caps.search.num_simulations == pytest.approx(
        30 / 343, rel=0.15
    )
    assert arm_config(config, "move_values").train.move_value_weight == config.train.value_weight


def test_a_search_that_measures_does_not_end_early() -> None:
    config = small.changed(get_config("paper"), {"study.marked_with": "selfplay"})
    selfplay = dataclasses.replace(spec_lib.make_spec(config).arena_search, kld_step=50)
    assert solved_accuracy.measuring_search(config, selfplay).kld_step == 0


def test_every_arm_is_known_and_possible() -> None:
    config = small.changed(get_config("paper"), {"study.extended": (*INGREDIENTS, "known_results")})
    possible = {f"without_{name}" for name in config.study.extended}
    assert possible < set(WITHOUT_ARMS)
    for arm in (*PAPER_ARMS, *possible, *OTHER_ARMS):
        spec_lib.make_spec(arm_config(config, arm))
    curves = (published.load(efficiency_report.PUBLISHED) or {})["curves"]
    assert set(curves) <= {*PAPER_ARMS, *OTHER_ARMS}


@pytest.mark.parametrize("name", [*INGREDIENTS, "mixed_values"])
def test_an_arm_without_an_ingredient_differs_in_its_keys_alone(name: str) -> None:
    assert set(baselines.ingredients(get_config("paper"))) == set(INGREDIENTS)
    changes = {"study.extended": (*INGREDIENTS, "mixed_values")}
    config = small.changed(get_config("paper"), changes)
    flat = {
        arm: config_lib.flatten(arm_config(config, arm))
        for arm in ("baseline", "extended", f"without_{name}")
    }
    own = baselines.ingredients(config)[name]
    without = flat[f"without_{name}"]
    differs = {key for key, value in flat["extended"].items() if without[key] != value}
    assert differs
    assert differs <= set(own)
    assert all(without[key] == flat["baseline"][key] for key in own)


def marks_of(*accuracies: float) -> solved_accuracy.Accuracies:
    """Accuracies of one member, by iteration."""
    return {i: [{"search": accuracy}] for i, accuracy in enumerate(accuracies)}


@pytest.mark.parametrize(
    ("accuracies", "end"),
    [
        ((0.1, 0.2, 0.3, 0.3, 0.29, 0.3), 5),  # equal is not better
        ((0.1, 0.2, 0.3, 0.3, 0.29), None),
        ((0.9, 0.2, 0.3, 0.4, 0.5, 0.6), None),  # the untrained network's luck does not count
        ((0.1, 0.2, 0.1, 0.1, 0.1, 0.9, 1.0), 4),  # what came after it had ended does not count
        ((0.1,), None),
    ],
)
def test_when_a_run_has_ended(accuracies: tuple[float, ...], end: int | None) -> None:
    assert solved_accuracy.ended(marks_of(*accuracies), 0, 3) == end
    assert solved_accuracy.ended(marks_of(*accuracies), 0, 0) is None


def test_stretches_of_training() -> None:
    config = tiny({"train.iterations": 12, "study.patience": 3, "execution.checkpoint_every": 5})
    assert arms.stretches(config, 0) == [5, 10, 12]
    assert arms.stretches(config, 10) == [10, 12]
    assert arms.stretches(config, 11) == arms.stretches(config, 12) == [12]
    assert arms.stretches(tiny({"train.iterations": 12}), 3) == [12]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"study.arms": ("baseline", "baseline")}, "each only once"),
        ({"study.arms": ("base",)}, "did you mean|choose"),
        ({"study.arms": ("extended", "without_known_results")}, "known_results: the arm extended"),
        ({"replay.window_positions": 0}, "window_positions=0"),
        ({"game": "othello_5x5"}, "config.game='othello_5x5': this study is about Connect Four"),
        ({"train.batch_size": 101}, "batch_size=101"),
    ],
)
def test_bad_settings_are_one_line(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=told):
        study.run(tiny(changes), tmp_path / "new")
    assert not (tmp_path / "new").exists()
