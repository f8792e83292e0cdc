"""Points of a curve: how far training was, and whose wins are counted."""

import collections
from contextlib import ExitStack, nullcontext
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from experiments.configs.curriculum import get_config
from experiments.endgame import reference
from jaxzero.games import make_game
from jaxzero.games.base import Game
from jaxzero.matches.engine_match import EngineMatch
from tests.small import changed


def test_a_point_has_the_minutes_steps_and_epochs_of_training_alone() -> None:
    run = {"run": "a", "starting_seconds": 30.0}
    metrics = [run | {"iteration": 0, "seconds": 45.0}]
    for i in (1, 2):
        losses = {"count/gradient_steps": 7.0, "loss_epochs/policy": [1.0, 1.0]}
        metrics.append(run | losses | {"iteration": i, "seconds": 30.0 + 60 * i})
    games = {"wins": 1, "draws": 0, "losses": 0}
    rows = [{"arm": "baseline", "run": "a", "seed": 0, "iteration": i} | games for i in (0, 2)]
    [start, end] = reference.points(rows, {"baseline": metrics})
    assert start.x == dict.fromkeys(start.x, 0.0)
    assert end.x == {"minutes": 2.0, "steps": 14.0, "epochs": 4.0}


def against(monkeypatch: pytest.MonkeyPatch, name: str, game: Game | None) -> Any:
    """Plays the networks of two runs, made up."""
    config = changed(get_config("quick"), {"study.reference": name})
    run = SimpleNamespace(members=[0, 1], iterations=(0,), spec=SimpleNamespace(game=game))
    monkeypatch.setattr(reference.contestants, "players_of", lambda *_: None)
    return reference._against(config, run, ExitStack(), collections.Counter())  # type: ignore[arg-type]


def test_wins_over_players_of_ours_are_the_networks_with_both_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Who moved first, who second (2: the reference), wins, draws and losses of the first.
    rows = [[0, 2, 3, 1, 0], [2, 0, 1, 0, 2], [1, 2, 0, 0, 4], [2, 1, 4, 0, 0]]
    ladder = SimpleNamespace(compile=lambda: None, play=lambda *_: np.array(rows))
    monkeypatch.setattr(reference, "Ladder", lambda *_, **__: ladder)
    monkeypatch.setattr(reference.opponents, "build", lambda *_: (None, [None]))
    play = against(monkeypatch, "random", None)
    assert play(None, None, None).tolist() == [[5, 1, 1], [0, 0, 8]]


def test_a_game_against_an_engine_counts_once_with_each_colour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of three wins by the same moves two had the same colour; the last game has no result."""
    outcome = np.array([1.0, 1.0, 1.0, 0.0, -1.0, np.nan])
    first = np.array([1, 1, 0, 1, 0, 0], bool)
    match = EngineMatch(outcome, first, np.array([[5, 5, 5, 6, 7, 8]], np.int16))
    engines = nullcontext(SimpleNamespace(problems={}))
    monkeypatch.setattr(reference, "Engines", lambda *_: engines)
    monkeypatch.setattr(reference, "compile_player", lambda *_: None)
    monkeypatch.setattr(reference, "play_match", lambda *_, **__: match)
    play = against(monkeypatch, "engine", make_game("racing_kings_12plies"))
    progress = SimpleNamespace(update=lambda _: None)
    assert play(np.zeros(2), jax.random.key(0), progress).tolist() == [[2, 1, 1]] * 2
