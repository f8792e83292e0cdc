"""The search: trials survive a stop, the objective is the correlation's, the grid is checked."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ml_collections import ConfigDict

from experiments import hyperparameter_search
from experiments.configs.hyperparameter_search import PRESETS, REPLACED, get_config
from experiments.costs import clock
from experiments.hyperparameters import group_training, search_grid, trials
from experiments.hyperparameters.group_training import Place
from experiments.strength import fixed_opponents
from jaxzero import files, workdir
from jaxzero.runs.stopping import Stopped
from jaxzero.settings.config import ConfigError
from jaxzero.training import spec as spec_lib
from tests import small
from tests.experiments.hyperparameters.test_groups import PARTS

pytest.importorskip("optuna")


# Without what each trial sets itself, and without a gate.
_SMALL = {
    key: value
    for key, value in small.SETTINGS.items()
    if key not in REPLACED and not key.startswith("arena.")
}
TINY = _SMALL | {
    "study.trials": 7,
    "study.batch": 3,
    "study.iterations": (1, 3),
    "study.iterations_step": 1,
    "study.episodes": (4, 8),
    "study.num_simulations": (4, 8),
    "study.epochs": (1, 2),
    "study.tournament_games": 2,
    "study.tournament_simulations": 4,
    "study.opponents": ("random",),
}


def tiny(changes: dict[str, Any] | None = None) -> ConfigDict:
    return small.changed(get_config("quick"), TINY | (changes or {}))


class FakeTraining:
    """In place of training and of matches: Elo is 100 I + m, a run costs E seconds an iteration."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, stops_at: int = 99) -> None:
        self.batches: list[list[str]] = []
        self._configs: dict[str, ConfigDict] = {}
        self._directories: dict[str, Path] = {}
        self._stops_at = stops_at
        monkeypatch.setattr(group_training, "train_all", self.train_all)
        monkeypatch.setattr(group_training, "places", self.places)
        monkeypatch.setattr(hyperparameter_search.runs, "open_run", lambda at: at)
        monkeypatch.setattr(fixed_opponents, "measure", self.measure)

    def train_all(self, groups: Any, directory: Path, *_: Any, **__: Any) -> None:
        [group] = groups
        self.batches.append([t.name for t in group.trainings])
        if len(self.batches) == self._stops_at:
            raise Stopped("stopped", 0)
        at = directory / "groups" / group.name
        at.mkdir(parents=True, exist_ok=True)
        files.write_json(at / "done.json", {"failed": {}})
        for t in group.trainings:
            spec_lib.make_spec(spec_lib.with_capacity(t.config, group.config))  # it fits
            if t.name == "trial_1":
                continue  # it failed
            self._configs[t.name], self._directories[t.name] = t.config, at
            for i in range(1, group.config.train.iterations + 1):
                row = {
                    "iteration": i,
                    "run": t.name,
                    "count/gradient_steps": t.config.selfplay.episodes,
                }
                files.append_rows(at / workdir.METRICS, [row])

    def places(self, _: Path) -> dict[str, Place]:
        return {name: Place(at, 0) for name, at in self._directories.items()}

    def measure(self, opened: Any, settings: fixed_opponents.LadderSettings) -> Any:
        iterations = [int(x) for x in settings.iterations.split(",")]
        [at] = opened
        curves = {
            name: {
                "iterations": iterations,
                "elo": [100.0 * i + c.search.num_simulations for i in iterations],
            }
            for name, c in self._configs.items()
            if self._directories[name] == at
        }
        return [{"runs": curves}]


def prepared(directory: Path) -> Path:
    directory.mkdir(parents=True)
    files.write_json(directory / clock.CALIBRATION, {"middle": [0, 0, 1]})
    return directory


def test_a_search_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = prepared(tmp_path / "search")
    stopped = FakeTraining(monkeypatch, stops_at=2)
    with pytest.raises(Stopped):
        hyperparameter_search.run(tiny(), directory)
    again = FakeTraining(monkeypatch)
    again._configs, again._directories = stopped._configs, stopped._directories
    hyperparameter_search.run(tiny(), directory)
    assert stopped.batches + again.batches == [
        ["trial_0", "trial_1", "trial_2"],
        ["trial_3", "trial_4", "trial_5"],
        ["trial_3", "trial_4", "trial_5"],  # proposed before the stop, trained after it
        ["trial_6"],
    ]
    results = workdir.read_results(directory)
    own_seeds = {name: config.seed for name, config in again._configs.items()}
    assert {run["name"]: run["seed"] for run in results["runs"]} == own_seeds
    tried = results["search"]["trials"]
    assert [t["name"] for t in tried] == [f"trial_{i}" for i in (0, 2, 3, 4, 5, 6)]
    for trial in tried:
        values = trial["values"]
        assert 1 <= values["I"] <= 3
        assert trial["elo"] == 100 * values["I"] + values["m"]
        assert trial["seconds"] == values["I"] * values["E"]
    on_front = [t for t in tried if t["on_front"]]
    cheapest = min(tried, key=lambda t: (t["seconds"], -t["elo"]))
    strongest = max(tried, key=lambda t: (t["elo"], -t["seconds"]))
    assert cheapest in on_front
    assert strongest in on_front
    assert "<title>trial_6: I " in (directory / "report.html").read_text()
    before = len(again.batches)
    hyperparameter_search.run(tiny(), directory)
    assert len(again.batches) == before  # nothing more is trained
    FakeTraining(monkeypatch)
    hyperparameter_search.run(tiny(), prepared(tmp_path / "whole"))
    assert workdir.read_results(tmp_path / "whole")["search"]["trials"] == tried


def test_the_minutes_are_of_the_whole_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch gets what those before it have left."""
    left: list[float] = []

    def train_all(groups: Any, *_: Any, **__: Any) -> None:
        left.extend(group.config.execution.max_minutes for group in groups)
        raise Stopped("stopped", 0)

    FakeTraining(monkeypatch)
    monkeypatch.setattr(group_training, "train_all", train_all)
    directory = prepared(tmp_path / "search")
    config = tiny({"execution.max_minutes": 1.0})
    with pytest.raises(Stopped, match="stopped"):
        hyperparameter_search.run(config, directory)
    assert 0 < left[0] < 1.0


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset: str) -> None:
    hyperparameter_search.validate(get_config(preset))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study.epochs": (2,)}, "config.study.epochs=(2,): give the smallest and the largest"),
        ({"study.epochs": (2, 1)}, "config.study.epochs=(2, 1)"),
        ({"study.iterations_step": 3}, "config.study.iterations_step=3: 2 iterations"),
        ({"study.opponents": ("greedy",)}, "random is missing"),
        ({"study.sampler": "tp"}, "did you mean 'tpe'?"),
        ({"study.grid": "nowhere"}, "config.study.grid='nowhere': holds no results.json"),
        ({"search.algorithm": "gumbel"}, "config.search.algorithm='gumbel'"),
        (
            {"switches.keep_tree": True},
            "config.study.num_simulations=(4, 8): all trials share one program",
        ),
        ({**PARTS}, "config.study.episodes=(4, 8): all trials share one program"),
        (  # the largest trial could do it
            {"selfplay.fast_share": 0.5, "selfplay.fast_simulations": 6},
            "config.selfplay.fast_simulations=6: a full search makes 4",
        ),
    ],
)
def test_impossible_searches_leave_nothing_behind(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        hyperparameter_search.run(tiny(changes), tmp_path / "never")
    assert message in str(caught.value)
    assert not (tmp_path / "never").exists()


def test_another_boards_grid_is_refused_and_one_without_networks(tmp_path: Path) -> None:
    config = tiny({"study.grid": str(tmp_path)})
    for game, told in (
        ("othello_6x6", "its game is othello_6x6, not connect_four_5x5"),
        (config.game, "its networks are gone, give a study with its groups"),
    ):
        stored = config.to_dict() | {"game": game}
        del stored["network"]["grow_by"]  # younger than the grid: it had the default in it
        results = {"study": "hyperparameter_correlation", "config": stored}
        results |= {"correlation": {"players": [{"training": "t0_seed0"}]}}
        files.write_json(tmp_path / workdir.RESULTS, results)
        with pytest.raises(ConfigError, match=told):
            hyperparameter_search.validate(config)


def test_fronts_are_measured_from_the_same_corner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    players = [
        {"name": f"g{i}", "training": f"t{i}", "seed": 0, "iterations": 2, "seconds": {"total": s}}
        for i, s in enumerate((10.0, 20.0, 30.0))
    ]
    rated = {"name": "same_simulations", "players": players, "elo": [0.0, 100.0, 50.0]}
    theirs = {"study": "hyperparameter_correlation", "tournaments": [rated]}
    theirs |= {"correlation": {"players": players}}
    files.write_json(tmp_path / workdir.RESULTS, theirs)
    elo = {"search/a": 150.0, "search/b": 400.0, "grid/g0": 100.0, "grid/g1": 300.0}

    def pool(_: Any, listed: Any, *__: Any, **___: Any) -> Any:
        found = [elo[player.name] for player in listed]
        played = SimpleNamespace(ratings=SimpleNamespace(elo=[*found, -500.0]))  # random, last
        return SimpleNamespace(play=lambda *_: played, entry=lambda *_: {})

    monkeypatch.setattr(search_grid, "make_pool", pool)
    front = [
        {"name": "a", "seed": 0, "values": {"I": 1}, "seconds": 5.0},
        {"name": "b", "seed": 1, "values": {"I": 3}, "seconds": 40.0},
    ]
    _, found = search_grid.against_grid(tiny({"study.grid": str(tmp_path)}), tmp_path, front, None)
    assert [one["name"] for one in found["players"]] == list(elo)  # g2 is beaten twice
    assert found["area"] == {"search": (40 - 5) * (150 - 100), "grid": (40 - 20) * (300 - 100)}


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "optuna", raising=False)
    monkeypatch.setattr(trials.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r'pip install -e "\.\[search\]"'):
        hyperparameter_search.validate(tiny())
