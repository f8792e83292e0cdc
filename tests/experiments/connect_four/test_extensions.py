"""The study of paper 002's section 4 from its settings to its report, tiny, on a small board."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from ml_collections import ConfigDict

from experiments import connect_four_extensions as study
from experiments.configs.connect_four_extensions import ARMS, POPULATIONS, PRESETS, get_config
from experiments.connect_four import extension_arms, solved_accuracy, solved_positions
from jaxzero import files, solvers, workdir
from jaxzero.games import make_game
from jaxzero.search import SearchOptions
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Labelled
from tests import small
from tests.experiments.connect_four.test_efficiency import TINY

# What an arm, a network that grows and a run that teaches another leave behind.
THREE = TINY | {
    "study.arms": ("growing", "teacher", "move1"),
    "study.grow_channels": (4, 6),
    "study.grow_at": (1,),
}


def tiny(changes: dict[str, Any] | None = None) -> ConfigDict:
    arms = {"study.arms": ARMS, "study.grow_channels": (4, 6), "study.grow_at": (1,)}
    arms |= {"study.population": 2, "study.generation": 1, "study.fitness_positions": 20}
    return small.changed(get_config("quick"), TINY | arms | (changes or {}))


@pytest.mark.parametrize("preset", PRESETS)
def test_every_arm_is_possible_in_every_preset(preset: str) -> None:
    config = get_config(preset)
    study.validate(config)
    arms = extension_arms.added(config)
    for name in ("blocks", "channels"):
        assert arms["move1"][f"train.teacher_{name}"] == arms["teacher"][f"network.{name}"]


def test_leagues_and_teacher_have_the_authors_numbers() -> None:
    arms = extension_arms.added(get_config("paper"))
    for name in ("evolve", "novelty", "novel_wins"):
        assert arms[name]["search.num_simulations"] == 350
    kld = (arms["kld"][key] for key in ("search.kld_step", "search.num_simulations"))
    assert (*kld, arms["kld"]["selfplay.clock"]) == (50, 2000, 4650)
    assert arms["novelty"]["selfplay.league_points"] == 90_000
    assert arms["teacher"]["train.batch_size"] == 1024


@pytest.mark.parametrize(
    ("arms", "changes", "allowed"),
    [
        (("extended",), {"study.patience": 3}, False),
        (("extended",), {"train.iterations": 9}, True),
        (("extended", "novelty"), {"train.iterations": 9}, False),
        (("teacher", "move1"), {"train.iterations": 9}, False),
    ],
)
def test_what_goes_by_the_iterations_is_not_trained_for_longer(
    arms: tuple[str, ...],
    changes: dict[str, Any],
    allowed: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def measure(*_: Any) -> Any:
        raise InterruptedError

    monkeypatch.setattr(study.arms, "measure", measure)
    with pytest.raises(InterruptedError):
        study.run(tiny({"study.arms": arms}), tmp_path)
    refused = None if allowed else next(iter(changes))
    with pytest.raises(InterruptedError if allowed else ConfigError, match=refused):
        study.run(tiny({"study.arms": arms} | changes), tmp_path)


def test_an_arm_may_reckon_with_a_setting() -> None:
    """`kld` sets the simulations to a multiple of the study's own."""
    study.validate(tiny({"search.num_simulations": 7}))


def test_features_are_learned_of_an_arm_before() -> None:
    study.validate(tiny({"study.arms": ("extended", "move1_random")}))
    for arms in (("extended", "move1"), ("extended", "win0", "teacher")):
        with pytest.raises(ConfigError, match=r"config\.study\.arms=.* name that before it"):
            study.validate(tiny({"study.arms": arms}))


@pytest.mark.parametrize("simulations", [0, 50])
def test_all_arms_are_measured_with_one_search(simulations: int) -> None:
    """Also `kld`, whose searches in self-play are longer."""
    config = small.changed(get_config("paper"), {"study.simulations": simulations})
    study.validate(config)
    own = [config_lib.changed(config, c) for c in extension_arms.changes(config).values()]
    assert {one.search.num_simulations for one in own} == {343, 350, 2000}  # leagues, kld
    words = {solved_accuracy.search_in_words(one) for one in own}
    assert words == {solved_accuracy.search_in_words(config)}


def test_no_position_both_chooses_and_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny({"study.test_positions": 20, "study.fitness_positions": 5})
    game = make_game(config.game)
    states = solvers.sample(game, positions=6, plies=range(14, 16), seed=0)
    some = Labelled(game, states, np.zeros((6, 5), np.int16), np.arange(6))
    monkeypatch.setattr(solved_accuracy, "_of_random_games", lambda *_, **__: some)
    monkeypatch.setattr(solved_accuracy, "_of_recipe", lambda _, chosen: chosen)
    found = solved_accuracy.fitness_positions(config, tmp_path, some.take(slice(2)))
    np.testing.assert_array_equal(found.plies, [2, 3, 4, 5])
    usual = small.changed(config, {"game": solved_positions.GAME})
    assert solved_accuracy.test_positions(usual, tmp_path) == slice(20)
    assert solved_accuracy.fitness_positions(usual, tmp_path, some) == slice(20, 25)


@pytest.mark.parametrize(("kind", "c"), [("puct", solved_accuracy.C_PUCT), ("selfplay", 7.0)])
def test_accuracies_are_those_of_the_iteration_and_the_member(
    kind: str, c: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny({"study.marked_with": kind, "search.c_puct": 7.0})
    opened: Any = SimpleNamespace(
        config=config,
        members=[SimpleNamespace(config=config)] * 2,
        spec=SimpleNamespace(arena_search=SearchOptions(capacity=9)),
    )

    def networks(_: Any, iteration: int) -> Any:
        return jnp.array([10.0 * iteration, 10.0 * iteration + 1])

    def answers_of(_: Any, networks: Any, *__: Any, c_puct: float, **___: Any) -> Any:
        assert c_puct == c
        return networks.tolist(), (networks + 0.5).tolist()

    def accuracy(_: Any, one: float) -> Any:
        return {"all": {"strong": one, "weak": one + 100, "result": -one}}

    monkeypatch.setattr(solved_accuracy.runs, "networks", networks)
    monkeypatch.setattr(solved_accuracy, "answers_of", answers_of)
    monkeypatch.setattr(solved_accuracy.solvers, "answer_accuracy", accuracy)
    positions: Any = None
    found = solved_accuracy._measure(opened, [1, 3], positions)
    assert list(found) == [1, 3]
    assert found[3] == [
        {"search": x + 0.5, "weak": x + 100.5, "network": x, "result": -x} for x in (30.0, 31.0)
    ]


@pytest.mark.slow
def test_every_arm_has_its_accuracies_and_its_costs(tmp_path: Path) -> None:
    study.run(tiny(), tmp_path)
    results = files.read_json(tmp_path / workdir.RESULTS)
    assert [arm["arm"] for arm in results["arms"]] == list(ARMS)
    for arm in results["arms"]:
        first, *points = arm["runs"][0]["points"]
        assert first["iteration"] == first["searches"] == 0
        for point in points:
            assert 0 < point["searches"] <= point["asked"]
            assert point["hours"] > 0
            assert 0 <= point["search"] <= point["weak"] <= 1
        cached = arm["changes"].get("selfplay.share") == "cache"
        assert (points[-1]["searches"] < points[-1]["asked"]) == cached
        assert len(arm["runs"]) == (2 if arm["arm"] in POPULATIONS else 1)
    first, *_ = results["arms"][-1]["generations"]
    assert first["donor"] == [0, 1]
    report = (tmp_path / "report.html").read_text()
    assert "extensions_cached" in report
    assert "extensions_population" in report


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study.marked_with": "selfplay"}, r"config\.study\.marked_with='selfplay': the runs of"),
        ({"search.key": "position"}, r"config\.study\.evolves: .*set config.search.key='game'"),
        ({"search.dirichlet_fraction": 0.0}, "there is no root noise"),
        ({"arena.gate": "threshold"}, r"config\.arena\.gate='threshold': .*have no ratings"),
    ],
)
def test_runs_of_a_population_differ_in_their_searches(
    changes: dict[str, Any], message: str
) -> None:
    arms = {"study.arms": ("extended", *POPULATIONS)}
    with pytest.raises(ConfigError, match=message):
        study.validate(tiny(arms | changes))


def test_a_setting_that_an_arm_would_change_back_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.selfplay.share='ply': the arm cached"):
        study.run(tiny({"selfplay.share": "ply", "search.key": "position"}), tmp_path / "new")
    assert not (tmp_path / "new").exists()
