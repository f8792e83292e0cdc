"""Sets of solved Connect Four positions: the generator, the file, the splits, the command."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments import connect_four_data
from experiments.configs.connect_four_efficiency import get_config
from experiments.connect_four import solved_accuracy, solved_games, solved_positions, solved_set
from experiments.connect_four.solved_games import NO_MOVE, Recipe, Solved
from jaxzero import files
from jaxzero.games import make_game
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import ILLEGAL
from tests import small

HARD = Recipe(best_move_probability=0.5, one_per_game=True, seed=1)
ALL = HARD._replace(one_per_game=False)
GAME = make_game("connect_four_6x7")


@pytest.fixture(scope="module")
def part() -> Solved:
    pytest.importorskip("bitbully")
    return solved_games.play_part(HARD, 0)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("bitbully")
    made = tmp_path_factory.mktemp("positions")
    solved_positions.check_recipe(made, ALL)
    solved_positions.save_part(made, 0, solved_games.play_part(ALL, 0))
    solved_set.make(ALL, 150, made)  # finds the part, plays no more
    return made


def test_states_are_those_of_the_rules(part: Solved) -> None:
    states = solved_positions.states_of(part.moves)
    for i in range(0, len(part.moves), 7):
        state = GAME.init()
        for column in part.moves[i][part.moves[i] != NO_MOVE].tolist():
            state = GAME.step(state, jnp.int32(column))
        for ours, theirs in zip(
            jax.tree.leaves(jax.tree.map(lambda x, i=i: x[i], states)),
            jax.tree.leaves(state),
            strict=True,
        ):
            np.testing.assert_array_equal(ours, theirs)


def test_one_position_of_each_game_with_a_wrong_move(part: Solved) -> None:
    assert len(np.unique(part.game)) == len(part.game) > 80
    best = part.scores == part.scores.max(axis=1, keepdims=True)
    legal = part.scores != ILLEGAL
    assert (legal & ~best).any(axis=1).all()


def test_a_part_does_not_depend_on_what_was_played_before(
    part: Solved, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solved_games, "_known", {})
    monkeypatch.setattr(Recipe, "games_per_part", 6)  # the first of the part
    solved_games.play_part(ALL, 3)
    again, first = solved_games.play_part(HARD, 0), part.game < 6
    assert first.sum() > 3
    np.testing.assert_array_equal(again.moves, part.moves[first])
    np.testing.assert_array_equal(again.scores, part.scores[first])


def test_the_sets_statistics_are_the_papers(part: Solved) -> None:
    """The authors' hard set: 1.69 best moves, 61 % won; from ply 12 on a mean ply of 17.46.

    Its mean of all plies, 12.4, is that of 10,000 different positions, among which the first plies
    run out; a small set has more of them.
    """
    more = [part, *(solved_games.play_part(HARD, i) for i in (1, 2))]
    moves, scores, *_ = (np.concatenate(arrays) for arrays in zip(*more, strict=True))
    plies = (moves != NO_MOVE).sum(axis=1)
    late = plies[plies >= 12]
    assert late.mean() == pytest.approx(17.463, abs=4 * 5.158 / np.sqrt(len(late)))
    best = (scores == scores.max(axis=1, keepdims=True)).sum(axis=1)
    root = np.sqrt(len(best))
    assert best.mean() == pytest.approx(1.6895, abs=4 * 1.1 / root)
    assert (scores.max(axis=1) > 0).mean() == pytest.approx(0.6136, abs=4 * 0.49 / root)


def test_a_set_is_made_once_and_grows(directory: Path) -> None:
    found = solved_positions.load(directory)
    assert len(found) == 150
    states = found.labelled.states.stones.reshape(150, -1)
    assert len(np.unique(states, axis=0)) == 150
    record = solved_positions.describe(directory)
    assert record is not None
    assert record["statistics"]["best_moves"] > 1
    before = (directory / solved_positions.POSITIONS).stat().st_mtime_ns
    solved_set.make(ALL, 150, directory)
    assert (directory / solved_positions.POSITIONS).stat().st_mtime_ns == before
    solved_set.make(ALL, 160, directory)
    grown = solved_positions.load(directory)
    np.testing.assert_array_equal(grown.labelled.scores[:150], found.labelled.scores)
    with pytest.raises(ConfigError, match=r"holds 160 positions, 150 are wanted: .*not become"):
        solved_set.make(ALL, 150, directory)


def test_a_set_without_its_positions_is_made_again_by_the_command_that_is_named(
    directory: Path, tmp_path: Path
) -> None:
    shutil.copytree(directory, tmp_path / "set")
    held = tmp_path / "set" / solved_positions.POSITIONS
    before = held.read_bytes()
    held.unlink()
    with pytest.raises(ConfigError, match=r"holds no positions.npz: make it with python ") as told:
        solved_positions.load(tmp_path / "set")
    words = str(told.value).split("connect_four_data ")[1].split()
    connect_four_data.main(words)
    assert held.read_bytes() == before


def test_positions_of_another_recipe_are_no_test_set(directory: Path) -> None:
    config = small.changed(get_config("quick"), {"study.data": str(directory)})
    with pytest.raises(
        ConfigError, match=r"with --best-move-probability=0.5 --seed=1, the test"
    ) as e:
        solved_accuracy.check(config)
    assert "--best-move-probability=0.5 --one-per-game --seed=0" in str(e.value)


MAKE = """
import pathlib, sys
from experiments.connect_four import solved_games, solved_set
recipe = solved_games.Recipe(best_move_probability=0.0, one_per_game=True, seed=1)
solved_set.make(recipe, 10**6, pathlib.Path(sys.argv[1]), processes=1)
"""


def test_a_maker_that_is_killed_leaves_no_processes(tmp_path: Path) -> None:
    pytest.importorskip("bitbully")
    maker = subprocess.Popen(
        [sys.executable, "-c", MAKE, tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        while maker.poll() is None and not solved_positions.part_path(tmp_path, 0).exists():
            time.sleep(0.05)
        assert maker.poll() is None, maker.communicate()
        maker.terminate()
        maker.communicate(timeout=60)  # until nobody holds its output
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(maker.pid, signal.SIGKILL)


def test_splits(directory: Path) -> None:
    found = solved_positions.load(directory)
    for by in ("position", "game"):
        parts = solved_positions.split(found, by)
        everything = np.concatenate(list(parts.values()))
        np.testing.assert_array_equal(np.sort(everything), np.arange(len(found)))
    games = {name: set(found.game[index]) for name, index in parts.items()}
    assert not games["train"] & games["test"]
    assert not games["train"] & games["validation"]
    by_position = solved_positions.split(found, "position")
    assert len(by_position["train"]) == round(0.8 * len(found))
    assert set(found.game[by_position["train"]]) & set(found.game[by_position["test"]])  # leaks


def test_a_damaged_set_is_refused(directory: Path, tmp_path: Path) -> None:
    copied = tmp_path / "set"
    shutil.copytree(directory, copied)
    path = copied / solved_positions.POSITIONS
    path.write_bytes(path.read_bytes()[:-3] + b"abc")
    with pytest.raises(ConfigError, match="SHA-256"):
        solved_positions.load(copied)


def test_who_reads_waits_for_a_set_that_is_being_made_larger(
    directory: Path, tmp_path: Path
) -> None:
    copied = tmp_path / "set"
    shutil.copytree(directory, copied)
    small = solved_positions.load(copied)
    record = (copied / solved_positions.SET).read_text()
    solved_positions.merge(copied, 1, 100, ALL)
    new = solved_positions.describe(copied)
    (copied / solved_positions.SET).write_text(record)  # of the moment between the two files

    def written() -> None:
        time.sleep(0.2)
        files.write_json(copied / solved_positions.SET, new)

    thread = threading.Thread(target=written)
    thread.start()
    assert len(solved_positions.load(copied)) == 100 != len(small)
    thread.join()


def test_another_recipe_is_refused(directory: Path) -> None:
    with pytest.raises(ConfigError, match="made otherwise"):
        solved_set.make(HARD, 10, directory)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--positions=0"], "--positions=0"),
        (["--best-move-probability=1.5"], "--best-move-probability=1.5"),
        (["--one-pergame"], "did you mean --one-per-game"),
    ],
)
def test_bad_words_are_one_line(words: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        connect_four_data.main(words)


def test_a_missing_package_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bitbully", None)
    with pytest.raises(ConfigError, match=r"\.\[solver\]"):
        solved_set.make(HARD, 10, tmp_path)
    assert not list(tmp_path.iterdir())
