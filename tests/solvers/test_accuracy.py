"""Positions with labels, what is counted on them, and the command that does it for a run."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments import absolute_strength
from experiments.pages.study import Study
from experiments.strength import absolute_section
from jaxzero import arguments, runs, solvers
from jaxzero.games import Game, make_game
from jaxzero.players import Players, Turn, no_cost
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Labelled, accuracy, position_files
from tests.saved_runs import save_run
from tests.small import assert_equal
from tests.solvers.made_up import GAME, TRUTH

PLIES = range(12, 18)


@pytest.fixture(scope="module")
def labelled() -> Labelled:
    states = solvers.sample(GAME, positions=60, plies=PLIES, seed=0)
    return solvers.label(GAME, states)


def test_labels_of_a_table() -> None:
    np.testing.assert_array_equal(TRUTH.value, [1, 0, -1])
    np.testing.assert_array_equal(TRUTH.weak, [[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]])
    np.testing.assert_array_equal(TRUTH.strong, [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0]])
    np.testing.assert_array_equal(TRUTH.contested, [True, True, False])


def test_a_random_player_is_counted_from_the_masks() -> None:
    found = solvers.move_accuracy(TRUTH, solvers.uniform(TRUTH))
    assert found["all"] == pytest.approx(
        {"positions": 3, "weak": (2 / 3 + 1 / 2 + 1) / 3, "strong": (1 / 3 + 1 / 2 + 1 / 2) / 3}
    )
    assert found["contested"]["weak"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert [found[f"contested_{s}"]["positions"] for s in ("early", "middle", "late")] == [1, 1, 0]
    assert np.isnan(found["contested_late"]["weak"])


def test_moves_are_counted() -> None:
    found = solvers.move_accuracy(TRUTH, solvers.certain(TRUTH, np.array([1, 1, 3])))
    assert found["all"] == {"positions": 3, "weak": 2 / 3, "strong": 0.0}
    assert found["contested"] == {"positions": 2, "weak": 0.5, "strong": 0.0}


def test_values_are_compared_with_the_truth() -> None:
    by_stage = solvers.value_accuracy(TRUTH, np.array([1.0, 0.5, -0.9]), bins=4)
    assert by_stage["early"]["constant_mse"] == 0  # one position: a constant can be right
    found = by_stage["all"]
    assert found["mse"] == pytest.approx((0 + 0.25 + 0.01) / 3)
    assert found["constant_mse"] == pytest.approx(2 / 3)
    assert [b["positions"] for b in found["bins"]] == [1, 0, 0, 2]
    assert found["bins"][3]["predicted"] == pytest.approx(0.75)
    assert found["bins"][3]["exact"] == pytest.approx(0.5)


def of_values(values: np.ndarray) -> Labelled:
    """Positions of these exact values, with one move."""
    return Labelled(GAME, None, values[:, None].astype(np.int16), np.arange(len(values)))


def test_a_value_knows_the_same_however_sure_it_is() -> None:
    """Half of the positions have the sign that the value has, and the others any."""
    rng = np.random.default_rng(0)
    sign, any_sign = rng.choice([-1, 1], (2, 4000))
    truth = of_values(np.where(rng.random(4000) < 0.5, sign, any_sign))
    for sure in (0.05, 0.5, 1.0, -1.0):
        found = solvers.value_accuracy(truth, sure * sign)["all"]
        assert found["recalibrated"] == pytest.approx(1 - 0.5**2, abs=0.03)
    assert found["mse"] > 2 * found["constant_mse"]  # the last says the opposite
    for nothing in (rng.uniform(-1, 1, 4000), np.zeros(4000)):
        found = solvers.value_accuracy(truth, nothing)["all"]
        assert found["recalibrated"] == pytest.approx(found["constant_mse"], rel=0.01)


def test_the_best_value_of_each_bin_is_unbiased() -> None:
    """Of few positions a value that knows nothing has the constant's error, not less."""
    rng = np.random.default_rng(1)
    errors = [
        solvers.value_accuracy(of_values(rng.choice([-1, 1], 30)), rng.uniform(-1, 1, 30))["all"]
        for _ in range(400)
    ]
    assert np.mean([one["recalibrated"] for one in errors]) == pytest.approx(1, abs=0.01)
    one = solvers.value_accuracy(of_values(np.ones(1)), np.ones(1))["all"]
    assert np.isnan(one["recalibrated"])  # the bin is right by that position alone


def test_every_position_is_of_one_stage() -> None:
    for plies in ([2, 5, 10], [14, 15, 16, 17], [3], [1, 2]):
        stages = accuracy.stages(np.array(plies))
        np.testing.assert_array_equal(np.sum([*stages.values()], axis=0), np.ones(len(plies)))
        assert np.flatnonzero(stages["early"])[0] == 0
    assert {name: own.tolist() for name, own in accuracy.stages(np.array([2, 5, 10])).items()} == {
        "early": [True, False, False],
        "middle": [False, True, False],
        "late": [False, False, True],
    }


def test_samples_are_different_unfinished_positions_of_the_plies_asked_for(
    labelled: Labelled,
) -> None:
    states = labelled.states
    rows = np.concatenate([states.stones.reshape(60, -1), states.to_move[:, None]], axis=1)
    assert len(np.unique(rows, axis=0)) == 60
    assert not np.asarray(jax.vmap(GAME.is_terminal)(states)).any()
    np.testing.assert_array_equal(np.bincount(labelled.plies)[PLIES.start :], [10] * len(PLIES))
    again = solvers.sample(GAME, positions=60, plies=PLIES, seed=0)
    assert_equal(again, states)
    other = solvers.sample(GAME, positions=60, plies=PLIES, seed=1)
    assert (np.asarray(other.stones) != states.stones).any()


def test_rare_plies_are_short_of_positions() -> None:
    states = solvers.sample(GAME, positions=50, plies=range(1, 3), seed=0)
    np.testing.assert_array_equal(np.bincount(solvers.stones_placed(states)), [0, 5, 25])


def test_what_does_not_divide_by_the_plies_goes_to_the_first() -> None:
    states = solvers.sample(GAME, positions=8, plies=range(2, 5), seed=0)
    np.testing.assert_array_equal(np.bincount(solvers.stones_placed(states)), [0, 0, 3, 3, 2])


def test_plies_are_counted_from_the_start_though_stones_lie_there() -> None:
    othello = make_game("othello_4x4")
    states = solvers.sample(othello, positions=4, plies=range(8, 10), seed=0)
    np.testing.assert_array_equal(solvers.label(othello, states).plies, [8, 8, 9, 9])
    assert solvers.default_plies(make_game("othello_6x6")) == range(20, 29)
    assert solvers.default_plies(GAME) == range(1, 22)


def test_a_perfect_player_makes_no_mistake(labelled: Labelled) -> None:
    best = jnp.asarray(labelled.scores.argmax(axis=1), jnp.int32)

    def choose(shift: Any, memory: Any, keys: Any, states: Any, live: Any) -> Turn:
        return Turn((best + shift) % GAME.num_actions, memory, no_cost())

    players = Players(params=jnp.array([0, 1]), choose=choose)
    perfect, shifted = solvers.chosen_moves(players, labelled.states, jax.random.key(0))
    found = solvers.move_accuracy(labelled, solvers.certain(labelled, perfect))
    assert all(g["weak"] == g["strong"] == 1.0 for g in found.values())
    np.testing.assert_array_equal(shifted, (perfect + 1) % GAME.num_actions)


def test_a_network_alone_plays_its_best_legal_move(labelled: Labelled) -> None:
    """Two made-up networks: one likes the left columns, one the right."""

    def evaluate_with(slope: jax.Array) -> Any:
        def evaluate(observation: jax.Array) -> tuple:
            batch = observation.shape[0]
            logits = jnp.broadcast_to(slope * jnp.arange(GAME.num_actions), (batch, 5))
            return logits, jnp.broadcast_to(slope / 10, (batch,)), None

        return evaluate

    slopes = jnp.array([-1.0, 1.0])
    actions, values = solvers.network_choices(GAME, evaluate_with, slopes, labelled.states)
    np.testing.assert_array_equal(actions[0], labelled.legal.argmax(axis=1))
    np.testing.assert_array_equal(actions[1], 4 - labelled.legal[:, ::-1].argmax(axis=1))
    assert (labelled.legal.sum(axis=1) < 5).any(), "a full column is needed to show anything"
    np.testing.assert_allclose(values[:, 0], [-0.1, 0.1], rtol=1e-6)


def test_kept_positions_are_made_again_for_another_game_or_other_settings(
    labelled: Labelled, tmp_path: Path
) -> None:
    made: list[Game] = []

    def keep(game: Game, **settings: int) -> Labelled:
        def make() -> Labelled:
            made.append(game)
            return dataclasses.replace(labelled, game=game)

        return solvers.kept(tmp_path / "kept.npz", game, settings, make)

    assert_equal(keep(GAME, seed=0).states, labelled.states)
    signed = make_game(GAME.name, observation="signed")
    assert keep(signed, seed=0).game == signed  # the same positions, observed otherwise
    assert made == [GAME]
    keep(GAME, seed=1)
    other = make_game("connect_four_5x5_line3")
    assert keep(other, seed=1).game == other
    assert made == [GAME, GAME, other]


def test_a_file_of_labels_comes_back_or_is_refused(labelled: Labelled, tmp_path: Path) -> None:
    path = tmp_path / "labels.npz"
    solvers.save(path, labelled, {"seed": 0})
    found, settings = solvers.load(path)
    assert settings == {"seed": 0}
    assert found.game == labelled.game
    assert_equal(
        (found.states, found.scores, found.plies),
        (labelled.states, labelled.scores, labelled.plies),
    )
    assert [p.name for p in tmp_path.iterdir()] == ["labels.npz"]
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    for damaged in (whole[: len(whole) // 2], bytes(flipped)):
        path.write_bytes(damaged)
        with pytest.raises(ConfigError, match="is damaged"):
            solvers.load(path)
    arrays = {"game": GAME.name, "settings": "{}", "scores": found.scores, "plies": found.plies}
    for other in (arrays, arrays | {"state_0": found.plies, "settings": "{"}):  # other versions'
        np.savez(path, **other)
        with pytest.raises(ConfigError, match=r"is damaged .*: delete it"):
            solvers.load(path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = save_run(
        tmp_path / "run",
        targets=("sum", "policy", "value"),
        seeds=(0, 1),
        iterations=(2,),
        failed=("policy_seed0", "policy_seed1"),
    )
    words = [str(run), "--positions=40", "--plies=14-18", "--opponents=greedy", "--simulations=4"]
    absolute_strength.main(words)
    said = capsys.readouterr()
    assert f"{run}: left out, failed: policy_seed0, policy_seed1\n" in said.err
    printed = said.out
    found = json.loads((run / absolute_strength.FILE).read_text())
    assert list(found["players"]) == ["random", "greedy"]
    assert [n["name"] for n in found["networks"]] == [
        "sum_seed0",
        "sum_seed1",
        "value_seed0",
        "value_seed1",
    ]
    for network in found["networks"]:
        assert f"{network['name']}@2" in printed
        assert network["simulations"] == 4
        assert network["search"]["all"]["positions"] == found["positions"]["found"] == 40
        assert 0 <= network["network"]["contested"]["weak"] <= 1
    sums = found["targets"][0]
    assert (sums["target"], sums["seeds"]) == ("sum", 2)
    pair = [n["search"]["contested"]["weak"] for n in found["networks"][:2]]
    told = sums["search"]["contested"]["weak"]
    assert told["mean"] == pytest.approx(np.mean(pair))
    assert told["stderr"] == pytest.approx(abs(pair[0] - pair[1]) / 2)


def test_positions_of_the_same_settings_are_solved_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runs.open_run(save_run(tmp_path / "run"))
    settings = absolute_strength.AbsoluteSettings(positions=40, plies="14-18")
    first = absolute_strength.labelled_positions(run, settings)

    def solve_again(*_: Any, **__: Any) -> None:
        raise AssertionError("solved again")

    monkeypatch.setattr(solvers, "label", solve_again)
    again = absolute_strength.labelled_positions(run, dataclasses.replace(settings, simulations=3))
    assert_equal((again.states, again.scores), (first.states, first.scores))
    for other in ({"seed": 1}, {"positions": 41}, {"plies": "14-17"}):
        with pytest.raises(AssertionError, match="solved again"):
            absolute_strength.labelled_positions(run, dataclasses.replace(settings, **other))


def test_a_file_whose_moves_nobody_solves_measures_values_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(position_files, "solver_from", lambda game, ply: None)
    (tmp_path / "positions.txt").write_text("1233 -2\n12 3\n")
    run = runs.open_run(save_run(tmp_path / "run", iterations=(2,)))
    settings = absolute_strength.AbsoluteSettings(file=str(tmp_path / "positions.txt"))
    found = absolute_strength.measure(run, settings)
    assert found["positions"]["results"] == {"won": 1, "drawn": 0, "lost": 1}
    assert found["players"] == found["networks"][0]["search"] == {}
    assert found["networks"][0]["value"]["all"]["positions"] == 2
    assert "sum_seed0@2" in absolute_strength.table(found)
    assert absolute_section.section_of(Study("run", {"absolute_strength": found}, {})).tables
    with pytest.raises(ConfigError, match=r"--positions=7: --file=.* has its own, leave out one"):
        absolute_strength.check(run, dataclasses.replace(settings, positions=7))


@pytest.mark.parametrize(
    ("game", "flag", "message"),
    [
        ("connect_four_5x5", "--file=none.txt", "none.txt can't be read as text"),
        ("gobang_5x5", "", "gobang_5x5 has no solver: choose connect_four"),
        ("connect_four_5x5", "--plies=7", "--plies=7: give LOW-HIGH"),
        ("connect_four_5x5", "--plies=5-25", "HIGH at most 24"),
        ("connect_four_5x5", "--positions=0", "--positions=0: at least 1"),
        ("connect_four_5x5", "--iterations=7", "keeps no networks of iteration 7"),
        ("connect_four_5x5", "--opponents=stockfish", "--opponents='stockfish'"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    game: str, flag: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = save_run(tmp_path / "run", changes={"game": game})
    words = [str(run), *([flag] if flag else [])]
    with pytest.raises(SystemExit) as stopped:
        arguments.run(lambda: absolute_strength.main(words))
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
    assert not (run / absolute_strength.FILE).exists()
