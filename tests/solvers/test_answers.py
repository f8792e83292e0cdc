"""Marks on labelled positions: a perfect player has all, a random one what counting says."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero import solvers
from jaxzero.networks import likeliest_result
from jaxzero.search import SearchOptions, core
from jaxzero.solvers import Answers, Labelled
from tests.solvers.made_up import GAME, TRUTH


@pytest.fixture(scope="module")
def labelled() -> Labelled:
    states = solvers.sample(GAME, positions=40, plies=range(14, 18), seed=1)
    return solvers.label(GAME, states)


def test_a_perfect_player_has_every_mark(labelled: Labelled) -> None:
    best = labelled.strong.argmax(axis=1)
    marks = solvers.answer_accuracy(labelled, Answers(best, labelled.value))
    for name in ("all", "early", "middle", "late", "one_best"):
        own = marks[name]
        assert own["positions"] > 0
        assert (own["strong"], own["weak"], own["result"]) == (1.0, 1.0, 1.0), name
    assert solvers.mistakes(labelled, best, most=5) == []


def test_a_random_player_has_what_counting_says() -> None:
    marks = solvers.policy_accuracy(TRUTH, solvers.uniform(TRUTH))
    assert marks["all"]["strong"] == pytest.approx((1 / 3 + 1 / 2 + 1 / 2) / 3)
    assert marks["all"]["weak"] == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)
    assert np.isnan(marks["all"]["result"])
    assert marks["one_best"]["positions"] == 2
    assert marks["two_best"]["strong"] == pytest.approx(1 / 2)
    assert marks["more_best"]["positions"] == 0


def test_strong_weak_and_results_are_different_things() -> None:
    # A slower win (weak only), a draw kept (both), a quicker loss (weak only); one result wrong.
    answers = Answers(np.array([1, 0, 0]), np.array([1.0, -1.0, -1.0]))
    marks = solvers.answer_accuracy(TRUTH, answers)["all"]
    assert marks["strong"] == pytest.approx(1 / 3)
    assert marks["weak"] == 1.0
    assert marks["result"] == pytest.approx(2 / 3)


def test_mistakes_are_told_with_their_boards(labelled: Labelled) -> None:
    worst = np.where(labelled.legal, labelled.scores, 1 << 14).argmin(axis=1)
    found = solvers.mistakes(labelled, worst, most=3)
    assert [m.loss for m in found] == sorted((m.loss for m in found), reverse=True)
    first = found[0]
    assert first.loss == 2
    assert first.played == worst[first.number]
    assert first.board.count("X") + first.board.count("O") == first.ply + 1  # and who is to move
    assert first.scores[first.played] < 0 < first.scores[first.best[0]]
    every = [(m.loss, m.ply) for m in solvers.mistakes(labelled, worst, most=40)]
    assert every == sorted(every, reverse=True)
    assert len({ply for _, ply in every}) > 1


def test_a_networks_answers_are_read_from_its_heads(labelled: Labelled) -> None:
    """In parts that do not divide the number of positions; illegal columns are not chosen."""
    favourite = 2

    def evaluate(observation: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        batch = observation.shape[0]
        logits = jnp.broadcast_to(jax.nn.one_hot(favourite, 5), (batch, 5))
        own = (observation[..., 0] > 0).sum((1, 2)).astype(jnp.float32)  # planes: own stones
        return logits, jnp.where(own > 7, 0.1, -0.6), jnp.where(own > 7, 0.8, 0.1)

    def respond_with(variables: jax.Array) -> solvers.Respond:
        del variables
        return solvers.network_alone(GAME, evaluate)

    networks = jnp.zeros((2,))
    given = solvers.ask(respond_with, networks, labelled.states, jax.random.key(0), at_once=16)
    assert len(given) == 2
    answers = given[1]
    open_ = labelled.legal[:, favourite]
    assert (answers.actions[open_] == favourite).all()
    assert labelled.legal[np.arange(len(answers.actions)), answers.actions].all()
    own = labelled.plies // 2
    np.testing.assert_array_equal(answers.results, np.where(own > 7, 0.0, -1.0))


@pytest.mark.parametrize("head", ["scalar", "wdl"])
def test_a_scalar_value_trained_with_a_discount_says_no_result(head: str) -> None:
    """A win in 40 plies at 0.95 is worth 0.13, which is no draw; three chances still tell."""

    def evaluate(observation: jax.Array) -> tuple[jax.Array, ...]:
        batch = observation.shape[0]
        draws = () if head == "scalar" else (jnp.zeros(batch),)
        return jnp.zeros((batch, 5)), jnp.full((batch,), 0.13), *draws

    states = jax.vmap(lambda _: GAME.init())(jnp.arange(3))
    keys = jax.random.split(jax.random.key(0), 3)
    _, results = solvers.network_alone(GAME, evaluate, discount=0.95)(states, keys)
    np.testing.assert_array_equal(results, [np.nan if head == "scalar" else 1.0] * 3)


def test_a_searchs_value_is_rounded_to_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def run(*_: Any, **options: Any) -> Any:
        asked.update(options)
        return SimpleNamespace(action=jnp.array([3, 1, 0]), value=jnp.array([0.7, -0.6, 0.4]))

    monkeypatch.setattr(core, "run", run)
    said, unsaid = [1, -1, 0], [np.nan] * 3
    for draw, discount, expected in ((0.0, 1.0, said), (0.5, 1.0, unsaid), (0.0, 0.9, unsaid)):
        options = SearchOptions(capacity=9, draw_value=draw, discount=discount)
        respond = solvers.with_search(GAME, run, options, num_simulations=20, c_puct=2.0)
        actions, results = respond(None, jnp.zeros(3))
        np.testing.assert_array_equal(actions, [3, 1, 0])
        np.testing.assert_array_equal(results, expected)
    assert (asked["options"].capacity, asked["num_simulations"]) == (21, 20)
    assert (asked["c_puct"], asked["noise_scale"]) == (2.0, 0.0)


@pytest.mark.parametrize(
    ("value", "draw", "result"), [(0.5, 0.2, 1), (0.1, 0.5, 0), (-0.4, 0.3, -1), (0.0, 0.2, -1)]
)
def test_the_likeliest_of_three_results(value: float, draw: float, result: int) -> None:
    # (0.0, 0.2): win and loss are as likely, 0.4 each, and likelier than a draw.
    found = likeliest_result(jnp.array([value]), jnp.array([draw]))
    assert int(found[0]) == result
