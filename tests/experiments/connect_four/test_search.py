"""The search for 002's constants: trials survive a stop, constants reach the search."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
from ml_collections import ConfigDict

from experiments import connect_four_search as study
from experiments import published
from experiments.configs.connect_four_search import PRESETS, get_config
from experiments.connect_four import search_report as report
from experiments.connect_four import solved_accuracy
from experiments.hyperparameters import trials
from jaxzero import files, runs, workdir
from jaxzero.runs.stopping import Stopped
from jaxzero.search import SearchOptions
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.training import spec as spec_lib
from tests import small
from tests.experiments.connect_four.test_efficiency import TINY as EFFICIENCY

pytest.importorskip("optuna")


TINY = {k: v for k, v in EFFICIENCY.items() if k != "study.arms"} | {
    "train.learning_rate": 0.02,
    "study.trials": 4,
    "study.random_trials": 2,
}


def tiny(changes: dict[str, Any] | None = None) -> ConfigDict:
    return small.changed(get_config("quick"), TINY | (changes or {}))


class FakeTraining:
    """In place of training and marking: the closer c is to 2, the better, whatever the seed."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        *,
        stops_at: int | None = None,
        fails_at: int | None = None,
    ) -> None:
        self.trained: list[str] = []
        self._stops_at, self._fails_at = stops_at, fails_at
        monkeypatch.setattr(study.shell.runner, "train", self.train)
        monkeypatch.setattr(solved_accuracy, "update", self.update)

    def train(self, config: ConfigDict, members: Any, directory: Path, tracker: Any) -> None:
        self.trained.append(directory.name)
        if len(self.trained) == self._stops_at:
            raise Stopped("stopped", 0)
        if len(self.trained) == self._fails_at:
            raise FloatingPointError("loss is not finite")

    def update(self, directory: Path, test: Any) -> solved_accuracy.Accuracies:
        c = files.read_json(directory / workdir.CONFIG)["search.c_puct"]
        worth = 1 - abs(c - 2) / 10
        return {i: [{"search": v}] for i, v in ((0, 1.0), (1, worth / 2), (2, worth))}


def trials_of(directory: Path) -> list[dict[str, Any]]:
    return files.read_json(directory / workdir.RESULTS)["trials"]


def test_a_search_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny({"search.c_puct": 5.5})
    stopped = FakeTraining(monkeypatch, stops_at=2)
    with pytest.raises(Stopped):
        study.run(config, tmp_path)
    again = FakeTraining(monkeypatch)
    study.run(config, tmp_path)
    assert stopped.trained + again.trained == [
        "trial_0", "trial_1", "trial_1", "trial_2", "trial_3",
    ]  # fmt: skip
    found = trials_of(tmp_path)
    assert found[0]["constants"] == pytest.approx(study.constants(config))
    assert found[0]["constants"]["c_puct"] == 5.5
    for trial in found:
        values = trial["constants"]
        assert trial["accuracy"] == pytest.approx(1 - abs(values["c_puct"] - 2) / 10)
        assert (trial["iterations"], trial["untrained"]) == ([2], 1.0)
        stored = files.read_json(tmp_path / study.TRIALS / trial["name"] / workdir.CONFIG)
        assert stored["search.draw_value"] == pytest.approx(2 * values["draw"] - 1)
        for name in study.PARAMETERS:
            low, high = config.study[name]
            assert low <= values[name] <= high
    assert len({t["constants"]["c_puct"] for t in found}) == 4
    page = (tmp_path / "report.html").read_text()
    best = max(found, key=lambda t: t["accuracy"])
    assert f"Best: {best['name']} with" in page
    assert "rank " in page
    assert (tmp_path / trials.JOURNAL).is_file()
    study.run(config, tmp_path)
    assert len(again.trained) == 3  # nothing more is trained


def test_a_search_that_was_stopped_proposes_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny({"study.sampler": "random", "study.trials": 6})
    for _ in range(3):  # stopped in the second training, one more each time
        FakeTraining(monkeypatch, stops_at=2)
        with pytest.raises(Stopped):
            study.run(config, tmp_path)
    FakeTraining(monkeypatch)
    study.run(config, tmp_path)
    found = trials_of(tmp_path)
    assert len({t["constants"]["c_puct"] for t in found}) == len(found) == 6


@pytest.mark.parametrize("number", [1, 2])
def test_as_many_random_trials_as_were_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    optuna = pytest.importorskip("optuna")
    asked = []
    real = optuna.samplers.RandomSampler.sample_independent

    def counted(self: Any, of: Any, trial: Any, name: str, distribution: Any) -> Any:
        asked.append(trial.number)
        return real(self, of, trial, name, distribution)

    monkeypatch.setattr(optuna.samplers.RandomSampler, "sample_independent", counted)
    FakeTraining(monkeypatch)
    study.run(tiny({"study.random_trials": number, "study.trials": 5}), tmp_path)
    assert set(asked) == set(range(1, 1 + number))


def test_a_trial_that_was_cut_short_is_not_the_first(tmp_path: Path) -> None:
    """A process that died while it was proposed leaves a trial without constants."""
    config = tiny()
    opened = trials.open_study(tmp_path, "x", directions=("maximize",))
    opened.enqueue_trial(study.constants(config))
    opened.ask()

    def suggest(trial: Any) -> None:
        for name in study.PARAMETERS:
            trial.suggest_float(name, *config.study[name])

    [trial] = trials.next_batch(
        opened,
        total=3,
        at_once=1,
        parameters=len(study.PARAMETERS),
        sampler_after=lambda begun: trials.sampler("tpe", seed=0, begun=begun, startup=1),
        suggest=suggest,
        first=study.constants(config),
    )
    assert trial.params == study.constants(config)


def test_all_trials_have_the_same_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeTraining(monkeypatch, stops_at=2)
    with pytest.raises(Stopped):
        study.run(tiny(), tmp_path)
    with pytest.raises(ConfigError, match=r"train\.iterations: 2 -> 5"):
        study.run(tiny({"train.iterations": 5}), tmp_path)


def update_marks(config: ConfigDict, directory: Path, held: dict[str, Any]) -> Any:
    """The marks of a run with these settings, whose marks until now are `held`."""
    test = solved_accuracy.test_positions(config, directory)
    held = {"positions": solved_accuracy._digest(test)} | held
    files.write_json(directory / solved_accuracy.ACCURACIES, held)
    run = type("Run", (), {"iterations": (0,), "config": config})()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solved_accuracy.runs, "open_run", lambda _: run)
        return solved_accuracy.update(directory, test)


MARK = {"search": 0.5, "weak": 0.5, "network": 0.5, "result": 0.5}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"positions": "others"}, "positions"),
        ({"search": "PUCT, a draw worth 0.38"}, "search"),
    ],
)
def test_marks_given_otherwise_are_refused(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    config = tiny({"study.marked_with": "puct"})
    held = {"search": solved_accuracy.search_in_words(config), "marks": {"0": [MARK]}}
    assert update_marks(config, tmp_path, held) == {0: [MARK]}
    with pytest.raises(ConfigError, match=f"accuracies with other {told} than now"):
        update_marks(config, tmp_path, held | changes)


def test_networks_are_marked_with_one_search() -> None:
    """Whatever the search of self-play is, unless that is asked for."""
    selfplay = SearchOptions(algorithm="gumbel", capacity=9, unvisited_q=0.5)
    other = SearchOptions(capacity=9, draw_value=0.4, draw_for_asked=-1.0)
    plain = tiny({"study.simulations": 20, "study.marked_with": "puct"})
    one = solved_accuracy.measuring_search(plain, selfplay)
    assert one == solved_accuracy.measuring_search(plain, other)
    assert (one.algorithm, one.draw_value, one.draw_for_asked, one.capacity) == ("puct", 0, 0, 21)
    known = tiny({"study.simulations": 20, "study.marked_with": "puct_known_results"})
    found = solved_accuracy.measuring_search(known, other)
    assert found == dataclasses.replace(one, propagate_results=True)
    own = tiny({"study.simulations": 20, "study.marked_with": "selfplay"})
    assert solved_accuracy.measuring_search(own, other) == dataclasses.replace(other, capacity=21)
    words = {solved_accuracy.search_in_words(config) for config in (plain, known, own)}
    assert len(words) == 3
    assert [w for w in words if "searches differ" in w] == [solved_accuracy.search_in_words(own)]


def test_positions_that_cannot_be_made_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bitbully", None)
    settings = {"game": "connect_four_6x7", "study.data": str(tmp_path / "none")}
    with pytest.raises(ConfigError, match=r"\.\[solver\]"):
        study.run(tiny(settings), tmp_path / "new")
    held = {"positions": 5, "recipe": solved_accuracy.RECIPE._asdict()}
    monkeypatch.setattr(solved_accuracy.solved_positions, "describe", lambda _: held)
    with pytest.raises(ConfigError, match=r"study\.test_positions=\d+: .* holds 5"):
        study.run(tiny(settings), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_trial_that_breaks_down_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeTraining(monkeypatch, fails_at=2)
    study.run(tiny(), tmp_path)
    assert fake.trained == [f"trial_{i}" for i in range(4)]
    assert [t["name"] for t in trials_of(tmp_path)] == ["trial_0", "trial_2", "trial_3"]
    assert "trial_1 failed: loss is not finite" in (tmp_path / "report.html").read_text()


def test_constants_reach_the_search() -> None:
    config = get_config("paper")
    own = study.constants(config)
    theirs = (published.load(report.PUBLISHED) or {})["sets"]
    assert own == pytest.approx(theirs[0]["constants"])  # what 002 used
    changed = study.with_constants(config, theirs[1]["constants"])
    assert study.constants(changed) == pytest.approx(theirs[1]["constants"])
    flat, before = config_lib.flatten(changed), config_lib.flatten(config)
    assert {key for key, value in flat.items() if value != before[key]} == {
        "search.c_puct",
        "search.unvisited_q",
        "search.dirichlet_alpha",
        "search.draw_value",
    }
    search = spec_lib.make_spec(changed).search
    assert (search.unvisited_q, search.dirichlet_alpha) == (0.91, 12.5)
    assert (1 + search.draw_value) / 2 == pytest.approx(0.4815)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset: str) -> None:
    study.validate(get_config(preset))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"study.draw": (0.5,)}, r"study\.draw=\(0\.5,\): give the smallest and the largest"),
        ({"study.c_puct": (3.0, 2.0)}, r"study\.c_puct=\(3\.0, 2\.0\)"),
        ({"study.c_puct": (3.0, 4.0)}, "own 1.545, which lies outside"),
        ({"study.draw": (0.0, 2.0)}, "choose from 0 to 1"),
        ({"study.sampler": "tp"}, "did you mean 'tpe'"),
        ({"search.dirichlet_fraction": 0.0}, "dirichlet_fraction above 0"),
        ({"game": "othello_5x5"}, "config.game='othello_5x5': this study is about Connect Four"),
    ],
)
def test_bad_settings_are_one_line(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=told) as error:
        study.run(tiny(changes), tmp_path / "new")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_from_settings_to_report(tmp_path: Path) -> None:
    study.run(tiny({"study.trials": 2, "study.seeds": 2}), tmp_path)
    first, second = trials_of(tmp_path)
    assert len(first["seeds"]) == len(second["seeds"]) == 2
    for trial in (first, second):
        place = tmp_path / study.TRIALS / trial["name"]
        opened = runs.open_run(place)
        assert opened.spec.search.unvisited_q == trial["constants"]["unvisited_q"]
        marks = files.read_json(place / solved_accuracy.ACCURACIES)["marks"]
        assert [len(members) for members in marks.values()] == [2, 2, 2]
        assert trial["accuracy"] == pytest.approx(sum(trial["seeds"]) / 2)
    assert "Constants of the search" in (tmp_path / "report.html").read_text()
