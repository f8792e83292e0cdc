"""Runs that train together: who copies whom, and what fitness is."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.configs.connect_four_extensions import POPULATIONS
from experiments.connect_four import populations, solved_accuracy
from jaxzero.runs import generations
from jaxzero.search import SearchOptions
from tests.experiments.connect_four.test_extensions import tiny


def test_the_population_copies_and_the_one_beside_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tiny()
    monkeypatch.setattr(solved_accuracy, "fitness_positions", lambda *_: None)
    monkeypatch.setattr(populations, "fitness", lambda *_: lambda networks: [0.9, 0.1])
    nothing: Any = None  # neither positions nor networks
    donors = []
    for arm in POPULATIONS:
        (tmp_path / arm).mkdir()
        group = populations.group_of(arm, own, tmp_path / arm, nothing)
        assert group is not None
        group[1].look(1, nothing)
        donors.append(generations.read(tmp_path / arm)[-1]["donor"])
    assert donors == [[0, 0], [0, 1]]


def test_fitness_is_the_share_of_best_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = {"all": {"strong": 0.25, "weak": 0.75, "result": 0.5}}
    monkeypatch.setattr(populations.solvers, "asker", lambda *_, **__: list)
    monkeypatch.setattr(populations.solvers, "answer_accuracy", lambda *_: shares)
    spec: Any = SimpleNamespace(arena_search=SearchOptions(capacity=9))
    positions: Any = SimpleNamespace(states=None)
    assert populations.fitness(tiny(), spec, positions)([1, 2]) == [0.25, 0.25]
