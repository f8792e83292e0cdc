"""The loss ablation from its settings to its report, with everything tiny."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ml_collections import ConfigDict

from experiments import loss_ablation, loss_report
from experiments.configs.loss_ablation import PRESETS, get_config
from experiments.strength import pool
from jaxzero import files, workdir
from jaxzero.matches import tournament as tournaments
from jaxzero.ratings import bayes_elo
from jaxzero.runs import players as network_players
from jaxzero.runs import population, training_elo
from jaxzero.runs.runner import Trained
from jaxzero.settings.config import ConfigError, validate
from tests import small
from tests.runs.trained import rows_of

TARGETS = ("sum", "value")  # two runs share the program with the tests of populations


def tiny(changes: dict[str, Any] | None = None) -> ConfigDict:
    """The quick preset, smaller still."""
    return small.changed(
        get_config("quick"),
        {
            **small.SETTINGS,
            "train.learning_rate": 0.005,
            "replay.window": 2,
            "train.iterations": 2,
            "study.seeds": 1,
            "study.targets": TARGETS,
            "study.tournament_games": 4,
            "study.tournament_simulations": 6,
            "study.low_simulations": 2,
            "study.rollout_simulations": 3,
            "study.ladder_games": 2,
            "study.ladder_opponents": ("random", "mcts_3"),
            **(changes or {}),
        },
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two iterations, done."""
    directory = tmp_path_factory.mktemp("study") / "new" / "deep"
    loss_ablation.run(tiny(), directory)
    return directory


def test_everything_is_there(finished: Path) -> None:
    for name in ("config.json", "environment.json", "metrics.jsonl", "results.json", "report.html"):
        assert (finished / name).stat().st_size > 0, name
    assert list((finished / "figures").glob("*.png"))
    assert list((finished / "checkpoints").iterdir())
    assert sorted(path.name for path in (finished / "games").iterdir()) == ["final.npz", "low.npz"]


def test_every_run_has_a_row_from_iteration_0(finished: Path) -> None:
    rows = rows_of(finished)
    for target in TARGETS:
        own = [row for row in rows if row["run"] == f"{target}_seed0"]
        assert [row["iteration"] for row in own] == [0, 1, 2]
        assert {row["target"] for row in own} == {target}
    # Runs of one seed start from the same weights and games.
    first = [row for row in rows if row["iteration"] == 0]
    assert first[0]["loss/policy"] == first[1]["loss/policy"]


def test_results_have_their_shape(finished: Path) -> None:
    results = workdir.read_results(finished)
    assert results["study"] == "loss_ablation"
    assert results["config"]["train"]["iterations"] == 2
    assert results["switches"]["arena_random_openings"] is True
    assert results["environment"]["commit"]
    runs = [f"{target}_seed0" for target in TARGETS]
    assert [run["name"] for run in results["runs"]] == runs
    players = [*runs, "untrained_seed0", "mcts_3", "random"]
    for tournament, m in zip(results["tournaments"], (6, 2), strict=True):
        assert [player["name"] for player in tournament["players"]] == players
        assert tournament["num_simulations"] == m
        assert len(tournament["elo"]) == len(tournament["stderr"]) == 5
        assert np.isfinite(tournament["elo"]).all()
        rows = np.array(tournament["results"])
        assert rows.shape == (20, 5)
        assert rows[:, 2:].sum() == tournament["distinct_games"] <= tournament["games"] == 40
    for run in runs:
        elo = results["training_elo"][run]
        assert elo["iterations"] == [0, 1, 2]
        assert len(elo["elo"]) == len(elo["stderr"]) == 3
        counted = results["cost"]["runs"][run]
        own = [row for row in rows_of(finished) if row["run"] == run and row["iteration"]]
        assert counted["gradient_steps"] == sum(row["count/gradient_steps"] for row in own)
        assert counted["games"] == 16
    assert {check["name"] for check in results["checks"]} >= {"above_untrained", "sum_falls"}
    ladder = results["ladder"]
    assert ladder == json.loads((finished / "ladder.json").read_text())
    assert [anchor["name"] for anchor in ladder["anchors"]] == ["mcts_3", "random"]
    assert sorted(ladder["runs"]) == sorted(runs)
    assert all(curve["iterations"] == [0, 2] for curve in ladder["runs"].values())
    assert results["cost"]["phases"]["ladder"] > 0
    assert "Strength against fixed opponents" in (finished / "report.html").read_text()


def test_saved_games_are_those_that_were_counted(finished: Path) -> None:
    saved = np.load(finished / "games" / "final.npz")
    assert saved["actions"].shape == (25, 20, 2)
    assert saved["actions"].dtype == np.int16
    assert saved["pairs"].shape == (20, 2)
    assert len(saved["names"]) == 5


@pytest.mark.usefixtures("undrawn")
def test_the_same_command_does_nothing_more_or_goes_on(finished: Path, tmp_path: Path) -> None:
    directory = tmp_path / "copy"
    shutil.copytree(finished, directory)
    metrics, results = (directory / workdir.METRICS).read_bytes(), workdir.read_results(directory)
    loss_ablation.run(tiny(), directory)
    assert (directory / workdir.METRICS).read_bytes() == metrics
    for key in ("tournaments", "training_elo", "checks", "runs"):
        assert workdir.read_results(directory)[key] == results[key], key
    loss_ablation.run(tiny({"train.iterations": 3}), directory)
    rows = rows_of(directory)
    assert rows[: len(rows_of(finished))] == rows_of(finished)
    assert [row["iteration"] for row in rows] == [0, 1, 0, 1, 2, 2, 3, 3]
    elo = workdir.read_results(directory)["training_elo"]
    assert elo["sum_seed0"]["iterations"] == [0, 1, 2, 3]


def test_a_workdir_of_other_settings_is_refused_and_untouched(finished: Path) -> None:
    def contents() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}

    before = contents()
    with pytest.raises(ConfigError) as caught:
        loss_ablation.run(tiny({"train.learning_rate": 0.01, "search.c_puct": 2.0}), finished)
    assert "search.c_puct: 1.0 -> 2.0; train.learning_rate: 0.005 -> 0.01" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert contents() == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study.targets": ("sum", "valu")}, "config.study.targets='valu': did you mean 'value'?"),
        (
            {"train.loss": "value"},
            "config.train.loss='value': this study trains each of config.stu",
        ),
        ({"train.loss_weight": 0.9}, "config.train.loss_weight=0.9: no run has that loss"),
        ({"study.seeds": 0}, "config.study.seeds=0: at least 1 is needed"),
        ({"study.tournament_games": 5}, "e.g. 6"),
        ({"study.ladder_games": 3}, "config.study.ladder_games=3: both colours need"),
        ({"study.ladder_opponents": ("mcts_50",)}, "config.study.ladder_opponents=mcts_50: random"),
        ({"study.ladder_opponents": ("random", "gredy")}, "did you mean 'greedy'?"),
        (
            {"study.ladder_opponents": ("random", "pretrained:connect_four_6x7")},
            "config.study.ladder_opponents='pretrained:connect_four_6x7': it plays",
        ),
        ({"arena.games": 3}, "config.arena.games=3"),
        ({"game": "connect_four_3x3_line3"}, "convnet needs boards of at least 5x5"),
    ],
)
def test_impossible_studies_leave_nothing_behind(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        loss_ablation.run(tiny(changes), tmp_path / "never")
    assert message in str(caught.value)
    assert not (tmp_path / "never").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_run_without_metrics_is_named_and_the_others_are_reported(
    finished: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "copy"
    shutil.copytree(finished, directory)
    kept = [row for row in files.read_rows(directory / workdir.METRICS)
            if row["run"] != "value_seed0"]  # fmt: skip
    (directory / workdir.METRICS).write_text("".join(json.dumps(row) + "\n" for row in kept))
    (directory / workdir.RESULTS).unlink()
    loss_ablation.run(tiny(), directory)
    results = workdir.read_results(directory)
    assert list(results["training_elo"]) == ["sum_seed0"]
    assert {check["name"] for check in results["checks"]} >= {"above_untrained", "sum_falls"}
    assert "value_falls" not in {check["name"] for check in results["checks"]}
    text = (directory / "report.html").read_text()
    assert "No metrics of 1 of 2 runs: value_seed0" in text
    assert "value_seed0 of copy: no training_elo_gain" in text
    loss_report.main([str(directory), f"--out={tmp_path / 'joint'}"])
    assert "No metrics of 1 of 2 runs: value_seed0" in (tmp_path / "joint/report.html").read_text()


def test_a_failed_run_is_in_no_tournament() -> None:
    members = loss_ablation.make_members(tiny({"study.seeds": 2}))
    states = [small.compiled_init(small.small_spec())(number) for number in range(4)]
    stacked = population.stack(states)
    failed = {"sum_seed1": "loss/policy is nan in epoch 1 of iteration 2"}
    trained = Trained(small.small_spec(), stacked, 0.0, 0.0, failed=failed)
    entries, networks = pool.final_networks(trained, members)
    names = ["sum_seed0", "value_seed0", "value_seed1", "untrained_seed0", "untrained_seed1"]
    assert [entry.name for entry in entries] == names
    for place, number in enumerate((0, 2, 3)):
        np.testing.assert_array_equal(
            networks.params["policy"]["kernel"][place],
            states[number].learner.params["policy"]["kernel"],
        )


def test_points_and_leads_are_those_of_the_given_players() -> None:
    rows = np.array([[0, 1, 3, 1, 0], [1, 0, 0, 2, 1], [2, 1, 9, 0, 0]])
    points = np.array([1, 1, 1, 1, 0.5, 0.5, 0.5])  # of 0 against 1, whoever moved first
    found = pool.score(rows, [0], [1])
    assert found == pytest.approx((points.mean(), points.std() / 7**0.5))
    rated: Any = SimpleNamespace(ratings=bayes_elo(rows))
    assert pool.contrast(rated, [2], [0]) == pytest.approx(rated.ratings.difference(2, 0))


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset: str) -> None:
    config = loss_ablation.resolve(get_config(preset))
    validate(config)
    loss_ablation.validate(config)
    assert config.semantics == "corrected"
    assert config.preset == preset
    members = loss_ablation.make_members(config)
    assert len(members) == config.study.seeds * 4
    assert len({member.name for member in members}) == len(members)
    assert all(member.config.train.loss == member.target for member in members)
    assert all(member.config.seed == member.seed for member in members)


def test_the_papers_iterations_depend_on_the_board() -> None:
    for game, iterations in (("othello_6x6", 100), ("othello_5x5", 200), ("gobang_5x5", 200)):
        config = small.changed(get_config("paper"), {"game": game})
        assert loss_ablation.resolve(config).train.iterations == iterations


@pytest.mark.parametrize("algorithm", ["puct", "gumbel"])
def test_both_tournaments_search_as_much_as_they_say(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PUCT shares one program with room for the larger m; Gumbel is compiled for each."""
    changes = {"search.algorithm": algorithm}
    config = tiny({**changes, "study.low_simulations": 9})  # more than the final one's 6
    members = loss_ablation.make_members(config)
    spec = small.small_spec(changes)
    start = small.compiled_init(small.small_spec())  # weights do not depend on the search
    states = [start(number) for number in range(len(members))]
    made: list[Any] = []

    def note(game: Any, kinds: Any, **options: Any) -> Any:
        made.append(kinds)
        return lambda params, key, title: params

    monkeypatch.setattr(pool, "compile_round_robin", note)
    capacities: list[int] = []
    search_players = network_players.search_players

    def look(game: Any, evaluate: Any, searchers: Any, options: Any, **more: Any) -> Any:
        capacities.append(options.capacity)
        assert more["fixed_simulations"] in (None, int(searchers.num_simulations[0]))
        assert (more["fixed_simulations"] is None) == (algorithm == "puct")
        return search_players(game, evaluate, searchers, options, **more)

    monkeypatch.setattr(network_players, "search_players", look)
    players = pool.of_trained(config, Trained(spec, population.stack(states), 0.0, 0.0), members)
    for m in (6, 9, 6):
        networks, rollouts, _ = players.match([m] * 3, None)
        assert networks.num_simulations.tolist() == [m] * 3
        assert rollouts.num_simulations.tolist() == [3]
    assert len(made) == (1 if algorithm == "puct" else 2)
    assert set(capacities) == {10}


@pytest.mark.parametrize("published", [False, True])
def test_training_elo_gives_the_advantage_to_the_newer_or_to_the_mover(published: bool) -> None:
    # Every game is won by whoever moves first: the candidate is as good as its opponent.
    config = tiny({"arena.games": 20})
    members = loss_ablation.make_members(config)[:1]
    rows = [
        {
            "run": "sum_seed0",
            "iteration": number,
            "arena/opponent": 0.0,
            "arena/wins": 10.0,
            "arena/draws": 0.0,
            "arena/losses": 10.0,
            "arena/wins_moving_first": 10.0,
            "arena/draws_moving_first": 0.0,
            "arena/losses_moving_first": 0.0,
        }
        for number in (1, 2)
    ]
    elo = loss_ablation.training_elo(config, members, rows, published=published)["sum_seed0"]["elo"]
    if published:
        assert elo[0] - elo[1] > 5  # the newer is thought to have had the advantage
    else:
        np.testing.assert_allclose(elo, 0, atol=1e-6)


def test_training_elo_is_on_the_scale_of_a_tournament_of_the_same_games() -> None:
    """Few games are drawn: with the draw rate of chess each candidate would seem stronger."""
    results = {"wins": 14.0, "draws": 1.0, "losses": 5.0}
    first = {"wins": 8.0, "draws": 1.0, "losses": 1.0}
    rows = [
        {"iteration": number, "arena/opponent": number - 1.0}
        | {f"arena/{name}": count for name, count in results.items()}
        | {f"arena/{name}_moving_first": count for name, count in first.items()}
        for number in (1, 2, 3)
    ]
    games = [[[n, n - 1, 8, 1, 1], [n - 1, n, 4, 0, 6]] for n in (1, 2, 3)]
    own = training_elo.rate(rows, published=False)
    assert own is not None
    fitted = tournaments.fit(np.concatenate(games), 4)
    assert fitted.draw_elo < 90  # 97.3 is that of chess
    np.testing.assert_allclose(own["elo"], fitted.elo)
