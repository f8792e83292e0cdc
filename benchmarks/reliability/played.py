"""What must be true of any batch of games, and of the examples that are drawn from its window."""

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.training import episodes, learner, losses
from jaxzero.training.replay import Examples, Source
from jaxzero.training.spec import Spec
from jaxzero.training.trajectory import Trajectory

_CLOSE = 1e-5


def wrong(spec: Spec, games: Trajectory, examples: Examples) -> list[str]:
    """What is wrong with games and examples, both as NumPy arrays; examples [N], all in use.

    Moves are legal, targets of policies are shares of legal moves, labels of a game are zero-sum,
    shares of wins, draws and losses are not negative.
    """
    policies = np.concatenate([games.policy[games.recorded], examples.policy])
    legal = np.concatenate([games.legal[games.recorded], examples.legal])
    chosen = np.take_along_axis(games.legal, np.maximum(games.action, 0)[..., None], -1)[..., 0]
    draw = examples.draw
    if draw is None:  # the result is read from the value
        draw = np.where(np.abs(examples.value) < 0.5, 1 - np.abs(examples.value), 0)
    found = {
        "illegal moves": not chosen[games.valid].all() or (games.action[games.valid] < 0).any(),
        "policies of illegal moves": bool((policies * ~legal).any()),
        "policies below 0": bool((policies < 0).any()),
        "policies that are no shares": not np.allclose(policies.sum(-1), 1, atol=_CLOSE),
        "labels that are not zero-sum": not _zero_sum(spec, games),
        "shares of games": not _shares(games.value[games.valid], games.drawn[games.valid]),
        "shares of examples": not _shares(examples.value, draw),
    }
    return [what for what, is_so in found.items() if is_so]


def _zero_sum(spec: Spec, games: Trajectory) -> bool:
    """Whether the label of a game is one number, with the sign of whoever is to move.

    Known labels are excepted: a game has several, each of what was proved by then.
    """
    if spec.selfplay.known_labels:
        return True
    left = games.plies - np.arange(len(games.valid))[:, None]
    label = games.value * np.where(games.to_move == 0, 1, -1)
    last = np.where(left == 1, label, 0).sum(0)  # after that ply the game has ended
    expected = last * float(spec.search.discount) ** np.maximum(left - 1, 0)
    return np.allclose(label[games.valid], expected[games.valid], atol=_CLOSE)


def _shares(value: Any, draw: Any) -> bool:
    shares = np.asarray(losses.outcome_shares(jnp.asarray(value), jnp.asarray(draw)))
    ones = np.allclose(shares.sum(-1), 1, atol=_CLOSE)
    return bool(ones and shares.min(initial=0) > -_CLOSE)


@contextlib.contextmanager
def watched(spec: Spec) -> Iterator[list[str]]:
    """A list that receives what is wrong with the games and examples of iterations.

    They must be traced, compiled and computed within this.
    """
    found: list[str] = []
    games: list[Trajectory] = []
    self_play, fit = episodes.self_play, learner.fit

    def judge(examples: Examples, count: Any) -> None:
        used = jax.tree.map(lambda x: np.asarray(x)[: int(count)], examples)
        for batch in games:
            found.extend(wrong(spec, jax.tree.map(np.asarray, batch), used))
        if not games:
            found.append("no games")
        games.clear()

    def seen_self_play(*given: Any, **named: Any) -> tuple[Trajectory, dict[str, jax.Array]]:
        played = self_play(*given, **named)
        jax.debug.callback(games.append, played[0], ordered=True)
        return played

    def seen_fit(spec: Spec, hyper: Any, trained: Any, source: Source, *given: Any) -> Any:
        drawn = source.take(jnp.arange(spec.window_capacity))
        jax.debug.callback(judge, drawn, source.count, ordered=True)
        return fit(spec, hyper, trained, source, *given)

    with (
        mock.patch.object(episodes, "self_play", seen_self_play),
        mock.patch.object(learner, "fit", seen_fit),
    ):
        yield found
        jax.effects_barrier()
