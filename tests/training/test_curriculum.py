"""The end of games first: schedules, the horizon, trimmed and dropped games."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.settings.config import ConfigError, default_config, section
from jaxzero.training import curriculum, episodes, game_window, learner
from jaxzero.training.curriculum import Lesson, Progress
from jaxzero.training.past import Past
from jaxzero.training.spec import SelfPlaySettings, make_spec
from jaxzero.training.trajectory import Trajectory
from tests import small

RACING_KINGS = section(  # 004's schedule, the default
    SelfPlaySettings, default_config().selfplay, curriculum="schedule"
)


@pytest.mark.parametrize(
    ("epochs", "fraction"),
    [(0, 0.1), (1, 0.33), (99, 0.33), (100, 0.5), (500, 0.66), (999, 0.8), (10_000, 1.0)],
)
def test_the_schedule_of_equation_5(epochs, fraction):
    assert float(curriculum.scheduled(RACING_KINGS, jnp.int32(epochs))) == np.float32(fraction)
    lesson = curriculum.next_lesson(
        RACING_KINGS, Progress(jnp.float32(60), jnp.float32(0)), jnp.int32(epochs), 300
    )
    assert int(lesson.random_plies) == int((1 - fraction) * 60 + 1e-6)


def test_random_plies_leave_one_to_play():
    progress = Progress(jnp.float32(500), jnp.float32(0))
    assert int(curriculum.next_lesson(RACING_KINGS, progress, jnp.int32(0), 42).random_plies) == 41


# ---- in self-play ----


@functools.cache
def spec():
    return small.small_spec({"selfplay.curriculum": "schedule"})


@functools.cache
def games(lesson):
    """Games of a small network: (trajectory, metrics) of a lesson (fraction, plies), or None."""
    spec()  # counts random plies, which a traced program cannot

    def run(seed, given):
        network = learner.init(spec(), jax.random.key(seed))
        hyper = dataclasses.replace(small.small_hyper(), temperature_plies=jnp.int32(12))
        asked = curriculum.WHOLE if given is None else Lesson(*given)
        return episodes.self_play(spec(), hyper, network, jax.random.key(7), asked)

    given = None if lesson is None else (jnp.float32(lesson[0]), jnp.int32(lesson[1]))
    return jax.device_get(_program(lesson is None, run)(0, given))


_PROGRAMS = {}


def _program(key, run):
    return _PROGRAMS.setdefault(key, jax.jit(run))


def test_without_random_plies_nothing_changes():
    (off, off_metrics), (on, on_metrics) = games(None), games((1.0, 0))
    assert (on.start == 0).all()
    assert not on.rolled_back.any()
    small.assert_equal(on.replace(start=None, rolled_back=None, begun=None), off)
    small.assert_equal(on_metrics, off_metrics)


def test_search_takes_over_where_random_play_stops():
    found, metrics = games((0.4, 11))
    assert found.rolled_back.any()
    assert (found.start[~found.rolled_back] == 11).all()
    assert (found.start[found.rolled_back] < 11).all()
    stones = (found.observation[0] != 0).sum((1, 2, 3))
    np.testing.assert_array_equal(stones, found.start)
    assert found.valid[0].all()
    np.testing.assert_array_equal(found.to_move[0], found.start % 2)
    np.testing.assert_array_equal(curriculum.lengths(found), found.start + found.plies)
    assert metrics["selfplay/plies"] == np.mean(found.start + found.plies)
    # Plies are counted from the game's start: 11 of them are sampled, later ones are greedy.
    for lane in np.flatnonzero(~found.rolled_back):
        for row in range(found.plies[lane]):
            assert found.action[row, lane] == found.policy[row, lane].argmax()
    # Every label is the result, seen by who is to move.
    sign = 1 - 2 * found.to_move
    expected = sign * found.outcome[None, :, 0]
    np.testing.assert_array_equal(found.value[found.valid], expected[found.valid])


# ---- made-up games ----

horizon, trim = jax.jit(curriculum.horizon), jax.jit(curriculum.trim)
learn = jax.jit(curriculum.learn, static_argnums=0)


def made_up(plies, *, sees, seed=0, start=None):
    """Games whose root value is the label in the last `sees` plies and noise before."""
    rng = np.random.default_rng(seed)
    rows, batch = max(plies), len(plies)
    left = np.array(plies)[None] - 1 - np.arange(rows)[:, None]
    value = np.where(rng.random(batch) < 0.5, 1, -1)[None] * (-1.0) ** np.arange(rows)[:, None]
    noise = rng.normal(size=(rows, batch))
    root = np.where(left < sees, 0.7 * value + 0.1 * noise, 0.3 * noise)
    zeros = np.zeros((rows, batch), np.float32)
    return Trajectory(
        observation=zeros, policy=zeros, legal=zeros, to_move=zeros, action=zeros,
        root_value=np.float32(root), value=np.float32(value),
        drawn=zeros, valid=left >= 0, recorded=left >= 0,
        outcome=np.zeros((batch, 2), np.float32),
        plies=np.array(plies, np.int32), active=np.ones(batch, bool),
        start=None if start is None else np.full(batch, start, np.int32),
    )  # fmt: skip


@pytest.mark.parametrize("sees", [0, 6, 20])
def test_the_horizon_is_how_far_from_the_end_values_tell_the_result(sees):
    rng = np.random.default_rng(1)
    found = horizon(made_up(rng.integers(22, 40, 200).tolist(), sees=sees), 0.6)
    assert float(found) == sees


def test_constant_values_see_nothing():
    blind = made_up([10] * 50, sees=10)
    blind = blind.replace(root_value=np.ones_like(blind.root_value))
    assert float(horizon(blind, 0.1)) == 0
    assert float(horizon(made_up([10] * 3, sees=10), 0.1)) == 0  # too few games
    games = made_up([30] * 200, sees=20)  # a horizon ends at the first gap
    gap = np.isin(29 - np.arange(30)[:, None], [6, 7])
    blind = games.replace(root_value=np.where(gap, np.float32(0), games.root_value))
    assert float(horizon(blind, 0.6)) == 6


def test_the_average_length_runs_with_the_games():
    progress = Progress(jnp.float32(40), jnp.float32(0))
    after = learn(RACING_KINGS, progress, made_up([10, 20, 30], sees=0, start=7))
    assert float(after.mean_plies) == pytest.approx(40 + 0.5 * (27 - 40))
    seen = learn(RACING_KINGS, progress, made_up([25] * 100, sees=10)).horizon
    assert float(seen) == 5  # half of nothing and of what these games show
    whole = dataclasses.replace(RACING_KINGS, curriculum_averaging=1.0)
    assert float(learn(whole, progress, made_up([10, 20], sees=0)).mean_plies) == 15


def test_the_curriculum_follows_the_horizon():
    plan = dataclasses.replace(RACING_KINGS, curriculum="horizon")

    def fraction(seen, mean=50.0):
        progress = Progress(jnp.float32(mean), jnp.float32(seen))
        return float(curriculum.next_lesson(plan, progress, jnp.int32(0), 300).fraction)

    assert fraction(0) == pytest.approx(0.1)  # the least
    assert fraction(16) == pytest.approx(20 / 50)
    assert fraction(80) == 1.0


def test_trimming_drops_the_early_plies_of_each_game():
    games = made_up([10, 7, 20], sees=0)
    kept = trim(games, jnp.float32(0.25))
    np.testing.assert_array_equal(kept.recorded.sum(0), [10 - 7, 7 - 5, 20 - 15])
    assert (np.asarray(kept.recorded) <= np.asarray(games.valid)).all()
    assert bool(kept.recorded[9, 0])
    most = trim(games, jnp.float32(0.8))  # 0.2 x 10 is below 2 in float32
    np.testing.assert_array_equal(most.recorded.sum(0), [8, 6, 16])
    np.testing.assert_array_equal(trim(games, jnp.float32(1.0)).recorded, games.valid)


def test_trimmed_games_without_draws_are_learned_from(monkeypatch):
    games, lessons, learned = made_up([10, 10, 10], sees=0), [], []
    games = games.replace(outcome=jnp.array([[1.0, -1.0], [0.0, 0.0], [-1.0, 1.0]]))
    changes = {"selfplay.curriculum_drop": "trim", "selfplay.drop_draws": 1.0}
    chosen = small.small_spec({"selfplay.curriculum": "schedule"} | changes)

    def play(*given):
        lessons.append(given[4])
        return games, {}

    def stop(given, *_, **__):
        learned.append(given)
        raise StopIteration

    monkeypatch.setattr(episodes, "self_play", play)
    monkeypatch.setattr(episodes.replay, "from_trajectory", stop)
    kept = Past(curriculum.begin(chosen.selfplay))
    with pytest.raises(StopIteration):  # zeta is 0.5 after 100 epochs
        episodes.play_batch(
            chosen, small.small_hyper(), None, kept, jnp.int32(100), jax.random.key(0)
        )
    assert lessons[0].random_plies is None
    late = np.arange(10) >= 5
    np.testing.assert_array_equal(learned[0].recorded.T, [late, np.zeros(10), late])


@pytest.mark.parametrize(("share", "kept"), [(1.0, 0), (0.0, 400), (0.5, 200)])
def test_drawn_games_are_dropped_by_lot_and_others_never(share, kept):
    games = made_up([3] * 600, sees=0)
    won = np.arange(600) < 200
    outcome = np.where(won[:, None], np.float32([[1.0, -1.0]]), np.float32(0))
    left = curriculum.drop_draws(games.replace(outcome=outcome), share, jax.random.key(0))
    whole = np.asarray(left.recorded).all(0)
    assert (whole == np.asarray(left.recorded).any(0)).all()  # games, not plies
    assert whole[:200].all()
    assert abs(whole[200:].sum() - kept) <= (60 if share == 0.5 else 0)


# Everything of 004: curriculum, filled window, Wilson's gate, no images.
EVERYTHING = {
    "selfplay.curriculum": "schedule",
    "selfplay.curriculum_epochs": (0, 1, 3),
    "selfplay.curriculum_fractions": (0.25, 0.5, 1.0),
    "selfplay.curriculum_initial_plies": 12.0,
    "selfplay.drop_draws": 0.5,
    "replay.minimum_games": (12, 20),
    "replay.leaving": 0.5,
    "replay.window": 6,
    "train.sampling": "epoch",
    "replay.images": "none",
    "arena.gate": "wilson",
    "arena.continue_from": "latest",
    "arena.games": 8,
    "arena.batch": 2,
    "arena.confidence": 0.6,
    "arena.width": 0.5,
}


@functools.cache
def whole_run():
    """A run with everything."""
    spec, hyper = small.small_spec(EVERYTHING), small.small_hyper(EVERYTHING)
    return small.run_alone(spec, hyper, seed=0, iterations=3)


@pytest.mark.slow
def test_a_whole_run_with_everything_of_paper_004():
    history = whole_run()
    metrics = [m for _, m in history]
    states = [s for s, _ in history]
    assert [float(m["curriculum/fraction"]) for m in metrics] == [0.25, 0.5, 1.0]
    assert float(metrics[2]["curriculum/random_plies"]) == 0
    for m, goal in zip(metrics, (12, 20, 20), strict=True):
        assert m["count/window_games"] >= goal
        assert m["count/games"] % small.SETTINGS["selfplay.episodes"] == 0
        played = m["arena/wins"] + m["arena/draws"] + m["arena/losses"]
        assert 2 <= played <= 8
        assert all(np.isfinite(np.asarray(m[f"loss/{x}"])).all() for x in ("policy", "value"))
        # full passes over the positions themselves, without images
        steps = max(int(m["count/examples"]) // small.SETTINGS["train.batch_size"], 1)
        assert m["count/gradient_steps"] == steps * small.SETTINGS["train.epochs"]
    assert metrics[0]["count/games"] >= 16  # more than one batch
    assert 0 < float(states[-1].progress.curriculum.mean_plies) <= 25
    assert int(game_window.games_in(states[0].filled)) < metrics[0]["count/window_games"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"selfplay.curriculum_fractions": (0.1, 1.0)}, "one for each"),
        ({"selfplay.curriculum_epochs": (1, 2, 3, 4, 5, 6)}, "begin with 0"),
        ({"selfplay.curriculum_epochs": (0, 2, 2, 4, 5, 6)}, "count upwards"),
        ({"replay.minimum_games": (100,)}, "config.replay.window"),
        ({"selfplay.curriculum": "sometimes"}, "schedule"),
        ({"arena.gate": "wilsn"}, "wilson"),
        ({"arena.gate": "wilson", "arena.opening_plies": 0}, "games that differ"),
        ({"arena.gate": "wilson", "switches.arena_random_openings": False}, "games that differ"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(changes, says):
    with pytest.raises(ConfigError, match=says) as error:
        make_spec(small.small_config(changes))
    assert "\n" not in str(error.value)
