"""Tournaments between run directories: who plays, what is said of it, and what is refused."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from experiments import tournament
from experiments.strength import (
    contestants,
    run_means,
    tournament_figures,
    tournament_report,
)
from experiments.tournament import TournamentSettings
from jaxzero import arguments, runs, workdir
from jaxzero.matches import round_robin
from jaxzero.play.display import tournament_games
from jaxzero.ratings import bayes_elo
from jaxzero.ratings.triples import find
from tests.experiments.strength.test_run_means import SPREAD, made_up
from tests.saved_runs import save_run
from tests.small import assert_equal

OPPONENTS = ("random", "greedy", "mcts_3")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on one board, of one program but for m, one on another board, and lost ones."""
    root = tmp_path_factory.mktemp("runs")
    save_run(root / "some_lost", targets=("sum", "value", "product"), failed=("value_seed0",))
    save_run(root / "all_lost", failed=("sum_seed0",))
    save_run(root / "first", targets=("sum", "value"), iterations=(1, 4))
    save_run(root / "second", seeds=(3,), iterations=(2,), changes={"search.num_simulations": 3})
    save_run(root / "other", changes={"game": "othello_6x6"})
    return root


@pytest.fixture(scope="module")
def played(saved: Path) -> Path:
    """A finished tournament."""
    settings = TournamentSettings(
        runs=(saved / "first", saved / "second"), games=4, opponents=OPPONENTS, iterations="all"
    )
    return tournament.play(settings, saved / "played")


def test_its_games_can_be_watched_again(played: Path) -> None:
    entry = workdir.read_results(played)["tournaments"][0]
    names = [player["name"] for player in entry["players"]]
    two = (names.index("greedy"), names.index("random"))
    found = tournament_games.read(played / "games" / "tournament.npz", ("greedy", "random"))
    [counted] = [row[2:] for row in entry["results"] if tuple(row[:2]) == two]
    ends = [record.session.now.outcome[0] for record in found if record.players[0] == "greedy"]
    assert [ends.count(result) for result in (1, 0, -1)] == counted
    assert all(record.session.now.is_terminal for record in found)
    assert len(found) == entry["games_per_pair"]


def test_everyone_plays_under_its_name(played: Path) -> None:
    entry = workdir.read_results(played)["tournaments"][0]
    assert [(p["name"], p["kind"], p["simulations"]) for p in entry["players"]] == [
        ("first/untrained_seed0", "untrained", 8),  # both runs of the seed start from it
        ("first/sum_seed0@1", "trained", 8),
        ("first/value_seed0@1", "trained", 8),
        ("first/sum_seed0@4", "trained", 8),
        ("first/value_seed0@4", "trained", 8),
        ("second/untrained_seed3", "untrained", 3),
        ("second/sum_seed3@2", "trained", 3),
        ("mcts_3", "rollouts", 3),
        ("greedy", "greedy", None),
        ("random", "random", None),
    ]
    assert entry["games"] == 10 * 9 * 2
    assert entry["games_per_pair"] == 4


def test_the_files_say_the_same(played: Path) -> None:
    entry = workdir.read_results(played)["tournaments"][0]
    rows = np.array(entry["results"])
    assert rows.shape == (90, 5)
    assert rows[:, 2:].sum() == entry["distinct_games"] <= entry["games"]
    rated = bayes_elo(rows, advantage="fit", draw_elo="fit")
    np.testing.assert_allclose(entry["elo"], rated.elo)
    np.testing.assert_allclose(entry["stderr"], rated.stderr)
    np.testing.assert_allclose(entry["superiority"], rated.superiority)
    assert entry["advantage"] == pytest.approx(rated.advantage)
    circles = entry["intransitive"]
    assert circles["count"] == len(circles["triples"]) == len(find(rows, 10))
    assert circles["of"] == 120
    games = np.load(played / "games" / "tournament.npz")
    assert games["actions"].shape == (25, 90, 2)
    assert games["names"].tolist() == [p["name"] for p in entry["players"]]
    np.testing.assert_array_equal(games["pairs"], rows[:, :2])
    text = (played / "report.html").read_text()
    for told in (*games["names"].tolist(), "Cross table", "Likelihood of superiority", "Circles"):
        assert told in text
    assert {path.stem for path in (played / "figures").glob("*.png")} == {"ratings", "training"}


def test_the_page_begins_with_runs_compared_if_they_can_be(
    played: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (played / "report.html").read_text()  # one seed each: nothing is compared
    assert 'id="section-ratings"' in text
    assert 'id="section-runs"' not in text
    raised = made_up({"a/sum": SPREAD, "b/sum": tuple(100 + elo for elo in SPREAD)})
    compared = run_means.means_table(raised)
    monkeypatch.setattr(run_means, "means_table", lambda played: compared)
    runs, ratings, *_ = tournament_report.build(played).sections
    assert (runs.title, runs.tables, ratings.title) == ("Runs", (compared,), "Ratings")


def test_untrained_networks_begin_their_runs_curves(played: Path) -> None:
    curves = tournament_report.training_curves(workdir.read_results(played)["tournaments"][0])
    assert curves == {
        "first/sum_seed0": [0, 1, 3],
        "first/value_seed0": [0, 2, 4],
        "second/sum_seed3": [5, 6],
    }


def test_ranking_keeps_what_belongs_together(played: Path) -> None:
    entry = workdir.read_results(played)["tournaments"][0]
    ranked = tournament_figures.by_rating(entry)
    assert ranked["elo"] == sorted(entry["elo"], reverse=True)
    place = {p["name"]: i for i, p in enumerate(ranked["players"])}
    names = [p["name"] for p in entry["players"]]
    for (first, second, *counts), row in zip(entry["results"], ranked["results"], strict=True):
        assert row == [place[names[first]], place[names[second]], *counts]
    for i, name in enumerate(names):
        for j, other in enumerate(names):
            found = ranked["superiority"][place[name]][place[other]]
            assert found == entry["superiority"][i][j]
    assert [len(row) for row in tournament_figures.ratings(ranked).rows] == [8] * len(names)


def test_the_same_command_does_nothing_more(
    played: Path, saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("played again")

    before = {p: p.read_bytes() for p in played.rglob("*") if p.is_file()}
    settings = TournamentSettings(
        runs=(saved / "first", saved / "second"), games=4, opponents=OPPONENTS, iterations="all"
    )
    monkeypatch.setattr(round_robin, "compile_round_robin", refuse)
    tournament.play(settings, played)
    assert {p: p.read_bytes() for p in played.rglob("*") if p.is_file()} == before
    shown = capsys.readouterr()
    assert "already played" in shown.err
    assert "first/sum_seed0@4" in shown.out


@pytest.mark.parametrize(
    ("changes", "same"),
    [({"execution.checkpoint_every": 7}, True), ({"train.learning_rate": 0.125}, False)],
)
def test_a_run_trained_again_with_other_settings_plays_again(
    tmp_path: Path, changes: dict[str, Any], same: bool
) -> None:
    def told(changes: dict[str, Any]) -> dict[str, Any]:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        save_run(tmp_path / "run", changes=changes)
        settings = TournamentSettings(runs=(tmp_path / "run",))
        opened = [runs.open_run(tmp_path / "run")]
        return tournament.describe(settings, opened, tournament.field(settings, opened))

    assert (told({}) == told(changes)) == same


def test_a_network_against_itself_is_even(saved: Path) -> None:
    run = saved / "first"
    settings = TournamentSettings(runs=(run, run), games=6, opponents=(), members=("sum_seed0",))
    directory = tournament.play(settings, saved / "itself")
    entry = workdir.read_results(directory)["tournaments"][0]
    names = ["first/sum_seed0@4", "first#2/sum_seed0@4"]
    assert [p["name"] for p in entry["players"]] == names
    ours, theirs = (row[2:] for row in entry["results"])
    assert ours == theirs  # the same games with exchanged colours
    np.testing.assert_allclose(entry["elo"], 0, atol=1e-9)
    np.testing.assert_allclose(entry["superiority"], 0.5)
    # An interrupted one starts again, and ends alike.
    (directory / "results.json").unlink()
    tournament.play(settings, directory)
    assert workdir.read_results(directory)["tournaments"] == [entry]


def test_runs_of_one_program_are_one_kind(saved: Path) -> None:
    opened = [runs.open_run(saved / name) for name in ("first", "second")]
    fielded = [
        one
        for run, label in zip(opened, ("a", "b"), strict=True)
        for one in contestants.field_run(
            run, label, iterations=run.iterations, members=range(len(run.members)), asked=None
        )
    ]
    entries, [players] = contestants.build(fielded)
    assert players.params.num_simulations.tolist() == [8] * 5 + [3] * 2
    networks = [runs.networks(opened[0], at) for at in (0, 1, 4)] + [
        runs.networks(opened[1], at) for at in (0, 2)
    ]
    kernels = [np.asarray(n.params["policy"]["kernel"]) for n in networks]
    expected = [kernels[0][0], *kernels[1], *kernels[2], *kernels[3], *kernels[4]]
    assert_equal(players.params.variables.params["policy"]["kernel"], np.stack(expected))
    _, kinds = contestants.build(
        [one._replace(simulations=5) if i else one for i, one in enumerate(fielded)]
    )
    assert kinds[0].params.num_simulations.tolist() == [8] + [5] * 6
    assert [e.name for e in entries] == [one.entry.name for one in fielded]


def test_members_that_failed_take_no_part(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = TournamentSettings(runs=(saved / "some_lost",))
    opened = [runs.open_run(path) for path in settings.runs]
    assert contestants.choose_members(opened[0], ()) == [0, 2]
    fielded = tournament.field(settings, opened)
    assert (
        "members sum_seed0 product_seed0"
        in tournament.describe(settings, opened, fielded)["runs"][0]
    )
    assert capsys.readouterr().err == f"{saved / 'some_lost'}: left out, failed: value_seed0\n"


def test_labels_tell_directories_apart(tmp_path: Path) -> None:
    a, b = tmp_path / "a" / "quick", tmp_path / "b" / "quick"
    assert contestants.label_runs([a]) == ["quick"]
    assert contestants.label_runs([a, b]) == [str(a), str(b)]
    assert contestants.label_runs([a, tmp_path / "long", a]) == ["quick", "long", "quick#2"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "required: RUN"),
        (("first", "--games=5"), "--games=5: both colours need an even number, e.g. 6"),
        (("first", "--games=0"), "--games=0: both colours need an even number, e.g. 2"),
        (("first", "--games=x"), "--games: invalid int value: 'x'"),
        (("first", "--gmes=4"), "unknown argument '--gmes=4': did you mean --games?"),
        (("first", "--opponents=random,gredy"), "--opponents='gredy': did you mean 'greedy'?"),
        (("first", "--opponents=mcts_0"), "--opponents='mcts_0': did you mean 'mcts_"),
        (("first", "--opponents=random,random"), "'random' is named twice"),
        (("first", "--opponents=pretrained:gobang_6x6"), "it plays gobang_6x6, not connect"),
        (("first", "--simulations=0"), "--simulations=0: at least 1 is needed"),
        (("first", "--openings=-1"), "--openings=-1: at least 0 is needed"),
        (("first", f"--seed={2**31}"), f"--seed={2**31}: 0 to {2**31 - 1} can be used"),
        (("first", "--members=sum_sed0"), "--members='sum_sed0': did you mean 'sum_seed0'?"),
        (("first", "--iterations=0,3"), "keeps no networks of iteration 3, choose one of 0, 1, 4"),
        (("first", "--iterations=newest"), "give last, all, or numbers like 0,10,20"),
        (("first", "other"), "other plays othello_6x6: runs of one board only can meet"),
        (("nowhere",), "nowhere is no run directory"),
        (("first", "second", "--members=value_seed0"), "second has none of them, leave it out"),
        (("second", "--opponents="), "second/sum_seed3@2 would play alone"),
        (("first", "--workdir=second"), "second holds a run of its own"),
        (("first", "--workdir=played"), "holds another run"),
        (
            ("first", "some_lost", "--members=value_seed0"),
            "some_lost has only value_seed0, which failed, leave it out",
        ),
        (("some_lost", "--members=value_seed0"), "--members='value_seed0': it failed, see failed"),
        (("first", "all_lost"), "all_lost: every run has failed"),
    ],
)
def test_refusals_are_one_line_and_leave_nothing(
    words: tuple[str, ...],
    told: str,
    saved: Path,
    played: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(saved)
    before = sorted(saved.rglob("*"))
    given = words if any("--workdir" in w for w in words) else (*words, "--workdir=never")
    with pytest.raises(SystemExit) as stopped:
        arguments.run(lambda: tournament.main(given))
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert told in error
    assert error.count("\n") == 1
    assert sorted(saved.rglob("*")) == before


def test_without_a_workdir_its_name_is_made_of_the_settings(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(saved)
    monkeypatch.setattr(tournament, "_play", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
    made = set()
    for games in (2, 4, 2):
        with pytest.raises(KeyboardInterrupt):
            tournament.main(["first", f"--games={games}"])
        made.add(len(list((saved / "runs").iterdir())))
    assert made == {1, 2}


def test_the_published_programs_first_simulation_visits_nothing(tmp_path: Path) -> None:
    published = {"switches.root_expansion_counts": True}
    run = runs.open_run(save_run(tmp_path / "run", changes=published))
    assert contestants.simulations_of(run, 0, 2) == 2
    with pytest.raises(contestants.ConfigError, match=r"--simulations=1: .* choose at least 2"):
        contestants.simulations_of(run, 0, 1)


def test_help_names_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        tournament.main(["--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    for flag in ("games", "simulations", "opponents", "iterations", "members", "openings", "seed",
                 "workdir"):  # fmt: skip
        assert f"--{flag}" in shown


def test_an_interrupted_program_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as stopped:
        arguments.run(stop)
    assert stopped.value.code == 130
    assert "starts again" in capsys.readouterr().err


def test_every_members_curve_begins_untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twins share one network, unless a third run of their seed plays apart from them."""
    run: Any = SimpleNamespace(members=[SimpleNamespace(seed=0)] * 3)
    monkeypatch.setattr(contestants, "simulations_of", lambda *_: 5)
    for twins, begin in (({0: 0, 1: 0, 2: 0}, [0]), ({0: 0, 1: 0, 2: 2}, [0, 1, 2])):
        monkeypatch.setattr(contestants, "twins", lambda *_, twins=twins: twins)
        found = contestants.field_run(run, "r", iterations=(0, 9), members=range(3), asked=None)
        assert [one.member for one in found if one.iteration == 0] == begin
        assert [one.member for one in found if one.iteration == 9] == [0, 1, 2]
