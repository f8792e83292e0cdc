"""How much is examined, within what training took: positions, iterations and runs."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from jaxzero import files, workdir
from jaxzero.runs import Member, generations, learning
from jaxzero.runs.checkpoints import DIGEST
from jaxzero.training.spec import make_spec
from tests import small

KEPT = [0, 10, 20, 30, 40]


def planned(budget: float, *, labelling: int = 0) -> tuple[int, list[int]]:
    return learning.plan(200, KEPT, fewest=50, each=100, labelling=labelling, budget=budget)


def test_everything_is_examined_where_there_is_room() -> None:
    assert planned(200 * 5 * 100) == (200, KEPT)
    assert planned(1e9) == (200, KEPT)
    assert planned(200 * (5 * 100 + 300), labelling=300) == (200, KEPT)


def test_positions_go_before_iterations_and_iterations_before_everything() -> None:
    assert planned(80 * 5 * 100) == (80, KEPT)
    assert planned(50 * 3 * 100) == (50, [0, 20, 40])
    assert planned(50 * 2 * 100) == (50, [0, 40])
    assert planned(50 * 1 * 100) == (50, [40])
    assert planned(50 * 1 * 100 - 1) == (50, [])
    assert planned(50 * 100, labelling=1) == (50, [])


def test_what_is_planned_takes_no_more_than_the_budget() -> None:
    for budget in range(0, 150_000, 7_001):
        for labelling in (0, 512):
            count, chosen = planned(budget, labelling=labelling)
            assert not chosen or count * (len(chosen) * 100 + labelling) <= budget


def test_gradient_steps_count_as_the_evaluations_that_they_are_worth() -> None:
    rows = [
        {"run": "a", "iteration": 0},
        {"run": "a", "iteration": 1, "count/evaluations": 100.0, "count/gradient_steps": 4.0},
    ]
    assert learning.work(rows, batch_size=8) == 100 + 3 * 4 * 8


def test_networks_that_come_later_are_examined_with_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in (1, 2, 3):
        (tmp_path / "snapshots" / str(i)).mkdir(parents=True)
        files.write_json(tmp_path / "snapshots" / str(i) / DIGEST, {})
    held = {"positions": 100, "seconds": 5.0, "iterations": {"0": {}, "1": {}}}
    files.write_json(tmp_path / learning.FILE, held)
    config = small.small_config({"evaluation.learning_positions": 200})
    members = [Member("a", "sum", 0, config)]
    spec = small.small_spec()
    each = learning.examination.SIMULATIONS + spec.num_simulations
    room = 3.5 * 100 * each / learning.SHARE  # of three networks, of which two are done
    row = {"run": "a", "iteration": 1, "count/evaluations": room}
    files.append_rows(tmp_path / workdir.METRICS, [row])
    monkeypatch.setattr(learning.examined_positions, "load", lambda *_: None)
    monkeypatch.setattr(learning, "examine", lambda run, at, *_: {"a": {"x": at}})
    assert learning.update(tmp_path, config, members, spec) >= 0
    found = files.read_json(tmp_path / learning.FILE)
    assert found["iterations"] == {"0": {}, "1": {}, "3": {"a": {"x": 3}}}
    assert found["seconds"] >= 5.0


def run_of_two(directory: Path, changes: dict[str, Any] | None = None) -> Any:
    config = small.small_config(changes or {})
    members = [Member(name, "sum", 0, config) for name in "ab"]
    spec = make_spec(config)
    return SimpleNamespace(members=members, spec=spec, config=config, directory=directory)


def test_a_run_that_had_failed_is_not_examined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of_two(tmp_path)
    measured = {"x": np.array([1.0, 2.0])}
    monkeypatch.setattr(learning, "_program", lambda *_: lambda *_: measured)
    monkeypatch.setattr(learning.runs, "networks", lambda *_: None)
    rows = [{"run": name, "iteration": i} for i, names in ((0, "ab"), (4, "a")) for name in names]
    positions: Any = None
    assert learning.examine(run, 4, positions, rows) == {"a": {"x": 1.0}}
    assert list(learning.examine(run, 0, positions, rows)) == ["a", "b"]


def test_a_target_of_constants_that_have_changed_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = {name: np.array([1.0, 2.0]) for name in ("network", "target", "target_mean")}
    monkeypatch.setattr(learning, "_program", lambda *_: lambda *_: measured)
    monkeypatch.setattr(learning.runs, "networks", lambda *_: None)
    rows, positions = [{"run": "a", "iteration": 4}], cast(Any, None)

    def measures(run: Any) -> list[str]:
        return list(learning.examine(run, 4, positions, rows)["a"])

    assert measures(run_of_two(tmp_path)) == ["network", "target", "target_mean"]
    league = {"selfplay.league": "wins", "selfplay.league_evolves": ("c_puct",)}
    assert measures(run_of_two(tmp_path, league)) == ["network"]
    (tmp_path / generations.FILE).write_text("[]")
    assert measures(run_of_two(tmp_path)) == ["network"]
