"""The notebook that adds a game: its rules are Breakthrough's, and its network learns."""

import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

from jaxzero import files, workdir
from jaxzero.games import conformance
from tests.colab.executing import execute, kinds_of_display, printed, read, tagged
from tests.small import SETTINGS

# Small to compile: no arena, losses measured where they are minimised.
TINY = {k: v for k, v in SETTINGS.items() if k not in ("game", "train.iterations")} | {
    "arena.gate": "none",
    "train.measure": "in_step",
}


class Plain:
    """Breakthrough on a 5x5 or 6x4 board, written without looking at the notebook's.

    Pawns are sets of (row, column) seen from above, player 0 starts at the bottom and moves up.
    An action's square and direction are seen by the mover, for whom the board is turned upside
    down (not left to right) if it is player 1.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns, self.turn, self.won = rows, columns, 0, -1
        bottom = {(r, c) for r in (rows - 2, rows - 1) for c in range(columns)}
        self.pawns = [bottom, {(r, c) for r in (0, 1) for c in range(columns)}]

    def _move(self, action: int) -> tuple[tuple[int, int], tuple[int, int]]:
        square, direction = divmod(action, 3)
        row, column = divmod(square, self.columns)
        up = -1
        if self.turn == 1:
            row, up = self.rows - 1 - row, 1
        return (row, column), (row + up, column + direction - 1)

    def _allowed(self, action: int) -> bool:
        (row, column), (to_row, to_column) = self._move(action)
        on_board = 0 <= to_row < self.rows and 0 <= to_column < self.columns
        own, other = self.pawns[self.turn], self.pawns[1 - self.turn]
        if self.won >= 0 or (row, column) not in own or not on_board:
            return False
        is_straight = column == to_column
        target = (to_row, to_column)
        return target not in own and not (is_straight and target in other)

    def legal_actions(self) -> list[bool]:
        return [self._allowed(a) for a in range(self.rows * self.columns * 3)]

    def step(self, action: int) -> None:
        start, target = self._move(action)
        self.pawns[self.turn] ^= {start, target}
        self.pawns[1 - self.turn] -= {target}
        goal = 0 if self.turn == 0 else self.rows - 1
        if target[0] == goal or not self.pawns[1 - self.turn]:
            self.won = self.turn
        self.turn = 1 - self.turn

    def to_move(self) -> int:
        return self.turn

    def is_terminal(self) -> bool:
        return self.won >= 0

    def outcome(self) -> tuple[float, float]:
        if self.won < 0:
            return 0.0, 0.0
        return (1.0, -1.0) if self.won == 0 else (-1.0, 1.0)


def own_game(rows: int, columns: int) -> Any:
    """The notebook's class, from the source of its cell."""
    notebook = read("your_own_game")
    module = types.ModuleType("cell")
    sys.modules["cell"] = module  # dataclasses look their module up
    try:
        exec(notebook.cells[tagged(notebook, "game")].source, vars(module))
    finally:
        del sys.modules["cell"]
    return module.Breakthrough(rows, columns)


@pytest.mark.parametrize(("rows", "columns"), [(5, 5), (6, 4)])
def test_the_rules_are_those_of_another_implementation(rows: int, columns: int) -> None:
    game = own_game(rows, columns)
    conformance.check_game(game)
    conformance.check_against_reference(game, lambda: Plain(rows, columns), num_games=64)


def test_the_game_takes_less_than_a_hundred_lines() -> None:
    notebook = read("your_own_game")
    assert len(notebook.cells[tagged(notebook, "game")].source.splitlines()) < 100


def test_everything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = os.environ.get("XLA_FLAGS", "")  # what is compiled here runs for milliseconds
    monkeypatch.setenv("XLA_FLAGS", f"{flags} --xla_backend_optimization_level=0".strip())
    done = execute(
        "your_own_game",
        {
            "FOLDER": str(tmp_path),
            "ITERATIONS": 1,
            "CHANGES": TINY,
            "GAMES": 4,
            "OPPONENTS": ("random",),
        },
    )
    shown = "".join(map(printed, done.cells))
    assert "Report(passed=" in shown
    assert "against the untrained network with the same search" in shown
    assert "image/svg+xml" in kinds_of_display(done)
    rows = files.read_rows(tmp_path / "your_own_game" / workdir.METRICS)
    assert [row["iteration"] for row in rows] == [0, 1]


@pytest.mark.slow
def test_the_trained_network_beats_the_untrained_one(tmp_path: Path) -> None:
    execute("your_own_game", {"FOLDER": str(tmp_path)}, minutes=30)
    (path,) = tmp_path.glob("your_own_game_tournament_*/results.json")
    played = json.loads(path.read_text())["tournaments"][0]
    kinds = [player["kind"] for player in played["players"]]
    trained, untrained = kinds.index("trained"), kinds.index("untrained")
    wins, games = 0, 0
    for first, second, won, drawn, lost in played["results"]:
        if {first, second} == {trained, untrained}:
            wins += won if first == trained else lost
            games += won + drawn + lost
    assert games >= 100
    assert binomtest(wins, games).proportion_ci(0.99, "wilson").low > 0.6
    elo = dict(zip(kinds, played["elo"], strict=True))
    assert elo["trained"] > elo["rollouts"] > elo["random"]
