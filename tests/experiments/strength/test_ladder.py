"""Strength against fixed opponents: one scale, from the right games, in the right files."""

import collections
import dataclasses
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tqdm import tqdm

from experiments import absolute_strength, ladder
from experiments.pages.wording import NONE
from experiments.strength import contestants, fixed_opponents
from experiments.strength import ladder_figures as pictures
from experiments.strength.fixed_opponents import LadderSettings
from jaxzero import arguments, runs
from jaxzero.games import make_game
from jaxzero.matches.ladder import Ladder, above
from jaxzero.players import random_players
from jaxzero.ratings import Ratings, bayes_elo
from jaxzero.settings.config import ConfigError, changed
from jaxzero.training import spec as spec_lib
from tests.saved_runs import save_run
from tests.small import assert_equal

SETTINGS = LadderSettings(games=2, opponents=("random", "greedy", "mcts_3"), points=3)
NAME = "connect_four_4x4"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs whose networks one program plays, but for a member that failed."""
    root = tmp_path_factory.mktemp("runs")
    save_run(
        root / "first",
        targets=("sum", "policy", "value"),
        iterations=(1, 4, 6, 7, 9),
        failed=("policy_seed0",),
    )
    save_run(root / "second", targets=("sum", "policy"), seeds=(3,), iterations=(2,))
    save_run(root / "other", changes={"game": "othello_6x6"})
    save_run(root / "lost", failed=("sum_seed0",))
    return root


@pytest.fixture(scope="module")
def measured(saved: Path) -> tuple[list[dict[str, Any]], np.ndarray]:
    """The ladders of both runs, and all rows that they were rated by."""
    rows = []
    patch = pytest.MonkeyPatch()
    rate = fixed_opponents.tournament.fit
    patch.setattr(
        fixed_opponents.tournament,
        "fit",
        lambda found, count: rows.append(found) or rate(found, count),
    )
    found = ladder.climb([saved / "first", saved / "second"], SETTINGS)
    patch.undo()
    assert len(rows) == 1  # one pool
    return found, rows[0]


def test_a_pool_counts_a_game_once(saved: Path) -> None:
    run = runs.open_run(saved / "second")
    settings = LadderSettings(games=2, opponents=("random",))
    _, references = fixed_opponents.opponents.build(run.spec.game, settings.opponents)
    [task] = fixed_opponents._tasks([run], [[0, 2]], references, settings)
    who, earlier = np.array([1, 2, 0]), collections.defaultdict(set)
    with tqdm(disable=True) as bar:
        first, again = (
            fixed_opponents._play(task, 2, who, settings, bar, earlier) for _ in range(2)
        )
    assert (first[:, 2:].sum(axis=1) == 1).all()
    assert not again[:, 2:].any()


def test_a_ladder_is_rated_in_one_pool_with_random_at_0(
    measured: tuple[list[dict[str, Any]], np.ndarray],
) -> None:
    (first, second), rows = measured
    assert first["anchors"] == second["anchors"]
    names = [anchor["name"] for anchor in first["anchors"]]
    assert names == ["mcts_3", "greedy", "random"]
    # Numbers: the opponents, then first: untrained, 2 at 4, 2 at 9; second: untrained, 2 at 2.
    assert rows[:, :2].max() == 3 + 1 + 2 + 2 + 1 + 2 - 1
    assert (rows[:, :2].min(axis=1) < 3).all()  # no two networks met
    ratings = bayes_elo(rows, advantage="fit", draw_elo="fit")
    elo = ratings.elo - ratings.elo[2]
    np.testing.assert_allclose([a["elo"] for a in first["anchors"]], elo[:3], atol=1e-6)
    assert first["anchors"][2] == {"name": "random", "elo": 0.0, "stderr": 0.0}
    curves = first["runs"]
    assert list(curves) == ["sum_seed0", "value_seed0"]
    assert curves["sum_seed0"]["iterations"] == curves["value_seed0"]["iterations"] == [0, 4, 9]
    np.testing.assert_allclose(curves["sum_seed0"]["elo"], elo[[3, 4, 6]], atol=1e-6)
    np.testing.assert_allclose(curves["value_seed0"]["elo"], elo[[3, 5, 7]], atol=1e-6)
    np.testing.assert_allclose(second["runs"]["policy_seed3"]["elo"], elo[[8, 10]], atol=1e-6)
    errors = [ratings.difference(i, 2)[1] for i in (3, 4, 6)]
    np.testing.assert_allclose(curves["sum_seed0"]["stderr"], errors, atol=1e-6)


def test_every_game_was_played(measured: tuple[list[dict[str, Any]], np.ndarray]) -> None:
    (first, second), rows = measured
    calls, each = 3 + 2, 2 * 2 * 3 + 3 * 2  # of two candidates with three opponents
    assert first["games"] == second["games"] == calls * each
    assert rows[:, 2:].sum() == first["distinct_games"] <= first["games"]
    # Twins play apart, and count as one player before training.
    untrained = [row for row in rows.tolist() if 3 in row[:2] and min(row[:2]) < 3]
    assert sum(sum(row[2:]) for row in untrained) > 2 * 3  # more than one of them could play


def test_every_directory_gets_its_ladder(
    measured: tuple[list[dict[str, Any]], np.ndarray],
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found, _ = measured
    for name, own in zip(("first", "second"), found, strict=True):
        assert json.loads((saved / name / ladder.FILE).read_text()) == own
        for stem in ("ladder", "ladder_compared"):
            for suffix in ("svg", "png"):
                assert (saved / name / "figures" / f"{stem}.{suffix}").stat().st_size > 3000
    text = (saved / "first" / "figures" / "ladder_compared.svg").read_text()
    for told in ("first: sum", "second: policy", "greedy", "mcts_3", "Elo above the random player"):
        assert told in text

    def refuse(*args: Any) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(fixed_opponents, "measure", refuse)
    figures = [saved / name / "figures" / f"{stem}.svg" for name, stem in
               (("first", "ladder"), ("second", "ladder_compared"))]  # fmt: skip
    drawn = [figure.read_text() for figure in figures]
    for figure in figures:
        figure.write_text("as a kill may leave it")
    again = ladder.climb([saved / "first", saved / "second"], SETTINGS)
    assert again == found
    assert [figure.read_text() for figure in figures] == drawn
    shown = capsys.readouterr()
    assert "already measured" in shown.err
    assert "iterations 0 4 9, without policy_seed0" in found[0]["settings"]["pool"][0]
    assert "second: policy" in shown.out
    with pytest.raises(AssertionError):
        ladder.climb([saved / "first"], SETTINGS)  # another pool


def test_a_member_that_failed_is_named_and_left_out(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runs.open_run(saved / "first")
    assert contestants.finite_members(run) == [0, 2]
    contestants.say_who_failed([run, runs.open_run(saved / "second"), run])
    assert capsys.readouterr().err == f"{saved / 'first'}: left out, failed: policy_seed0\n"
    whole, kept = runs.networks(run, 4), contestants.networks_of(run, [0, 2], 4)
    assert_equal(kept, jax.tree.map(lambda x: jnp.stack([x[0], x[2]]), whole))


def test_few_iterations_are_chosen_and_both_ends(saved: Path) -> None:
    run = runs.open_run(saved / "first")
    for points, expected in ((2, [0, 9]), (3, [0, 4, 9]), (6, [0, 1, 4, 6, 7, 9]), (99, None)):
        chosen = fixed_opponents.choose_points(run, LadderSettings(points=points))
        assert chosen == (expected or list(run.iterations))
    assert fixed_opponents.choose_points(run, LadderSettings(iterations="last")) == [9]
    assert fixed_opponents.choose_points(run, LadderSettings(iterations="4,1")) == [1, 4]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "required: RUN"),
        (("first", "--games=3"), "--games=3: both colours need an even number, e.g. 4"),
        (("first", "--opponents=greedy"), "--opponents=greedy: random is missing"),
        (("first", "--opponents=random,mcst_50"), "--opponents='mcst_50': did you mean 'mcts_50'?"),
        (("first", "--points=1"), "--points=1: at least 2 is needed"),
        (("first", "--iterations=5"), "keeps no networks of iteration 5"),
        (("first", "other"), "first plays connect_four_5x5 and other plays othello_6x6"),
        (("nowhere",), "nowhere is no run directory"),
        (("first", "first"), "first is named twice"),
        (("lost",), "lost: every run has failed, see failed.json"),
        (("first", "--seeds=3"), "did you mean --seed?"),
    ],
)
def test_refusals_are_one_line(
    words: tuple[str, ...],
    told: str,
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(saved)
    with pytest.raises(SystemExit) as stopped:
        arguments.run(lambda: ladder.main(words))
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert told in error
    assert error.count("\n") == 1


def made_up(seeds: int) -> dict[str, Any]:
    """A ladder of `seeds` runs of one target."""
    curve = {"iterations": [0, 10], "stderr": [30.0, 40.0]}
    return {
        "runs": {f"sum_seed{s}": {**curve, "elo": [100.0, 300.0 + 60 * s]} for s in range(seeds)},
        "anchors": [{"name": "random", "elo": 0.0, "stderr": 0.0}],
    }


def test_groups_have_the_larger_of_two_errors() -> None:
    targets = {f"sum_seed{s}": "sum" for s in range(2)}
    [group] = pictures.groups_of(made_up(2), targets).values()
    np.testing.assert_allclose(group.band.mean, [100, 330])
    assert group.error_of_mean(0) == pytest.approx(30 / np.sqrt(2))  # equal: the ratings' own
    assert group.error_of_mean(1) == pytest.approx(60 / np.sqrt(2) / np.sqrt(2))
    [alone] = pictures.groups_of(made_up(1), targets).values()
    assert alone.error_of_mean(1) == 40
    rows = pictures.strengths({"sum": group}).rows
    assert [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in rows[0][1:]] == [
        "2", "100 ± 21", "10", "330 ± 30", "230",
    ]  # fmt: skip
    assert len(pictures.groups_of(made_up(2), {})) == 2  # of no known target: each its own


def test_what_all_errors_share_stays_in_the_mean() -> None:
    own, zero = 40.0, 30.0  # standard errors of each network, and of the random player's place
    covariance = np.diag([zero**2, *[own**2] * 4])
    ratings = Ratings(np.zeros(5), covariance, 0.0, 97.3)
    shared = fixed_opponents._shared_error(ratings, [1, 2, 3, 4], ["random"])
    assert shared == pytest.approx(zero)
    _, stderr = above(ratings, 0)
    curve = {"iterations": [0], "elo": [100.0], "stderr": [stderr[1]], "shared_stderr": [shared]}
    ladder_of_four = {"runs": {f"sum_seed{seed}": curve for seed in range(4)}}
    group = pictures.groups_of(ladder_of_four, {f"sum_seed{s}": "sum" for s in range(4)})["sum"]
    assert group.error_of_mean(0) == pytest.approx(np.hypot(own / 2, zero))


def test_runs_of_other_settings_are_groups_of_their_own(saved: Path) -> None:
    run = runs.open_run(saved / "first")
    assert set(contestants.label_members(run).values()) == {"sum", "policy", "value"}
    alike = [dataclasses.replace(member, target="sum") for member in run.members]
    names = contestants.label_members(dataclasses.replace(run, members=alike))
    assert set(names.values()) == {"sum", "policy", "value"}  # their names without the seed


def test_a_ladder_with_another_runs_search_is_not_its_own(saved: Path) -> None:
    run = runs.open_run(saved / "second")
    other = changed(run.config, {"search.c_puct": 3.0, "search.algorithm": "gumbel"})
    judged = dataclasses.replace(run, spec=spec_lib.make_spec(other))
    own, foreign = (fixed_opponents.described([one], SETTINGS)["pool"][0] for one in (run, judged))
    assert foreign == f"{own}, with another run's search"


def test_a_ladder_that_begins_later_has_no_untrained_network() -> None:
    curve = {"iterations": [10, 20], "elo": [300.0, 400.0], "stderr": [20.0, 20.0]}
    groups = pictures.groups_of({"runs": {"sum_seed0": curve}}, {"sum_seed0": "sum"})
    row = dict(zip((table := pictures.strengths(groups)).headers, table.rows[0], strict=True))
    assert row["untrained"] == row["gain"] == NONE
    assert row["Elo above random"].startswith("400")
    assert pictures.groups_of({}, {}) == {}


def test_nothing_is_written_into_a_player_that_ships() -> None:
    name = "pretrained:connect_four_5x5"
    with pytest.raises(ConfigError, match=f"{name} ships.*copy it, cp -r"):
        ladder.climb([Path(name)], SETTINGS)
    with pytest.raises(ConfigError, match=f"{name} ships"):
        absolute_strength.main([name])


def test_references_may_be_kept_from_meeting_each_other() -> None:
    game = make_game("connect_four_4x4")
    kinds = random_players(game, 1), [random_players(game, 2)]
    sizes = {"games_per_direction": 1, "opening_plies": 0, "at_once": 1}
    one = Ladder(game, *kinds, **sizes, references_meet=False)
    assert one.pairs.tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]
