"""Asking networks about labelled positions: moves and results, alone and with search, in parts.

Clausen 2021 counts a move as correct if it leads to the quickest win or the slowest loss
("strong"), and a result as known if the likeliest of win, draw and loss is the true one.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.games import Game
from jaxzero.games.base import State
from jaxzero.loops import in_chunks
from jaxzero.networks import likeliest_result
from jaxzero.search import core
from jaxzero.search.evaluation import Evaluate
from jaxzero.search.options import SearchOptions
from jaxzero.solvers.accuracy import certain, likeliest_action, means_of, stages
from jaxzero.solvers.bounds import ILLEGAL
from jaxzero.solvers.labels import Labelled

DIFFICULTIES = ("one_best", "two_best", "more_best")  # by the number of best moves

# (states [B], keys [B]) -> int32[B] actions, float32[B] results -1, 0, 1 (NaN: not asked)
Respond = Callable[[State, jax.Array], tuple[jax.Array, jax.Array]]


class Answers(NamedTuple):
    """What somebody answered about N positions.

    Attributes:
      actions: int[N], legal.
      results: float[N], expected result for the player to move, -1, 0 or 1; NaN: not asked.
    """

    actions: np.ndarray
    results: np.ndarray


class Mistake(NamedTuple):
    """A position and what was played wrongly there.

    Attributes:
      number: of the position in the set.
      ply: stones on its board.
      board: as text.
      played, best: actions.
      loss: 2 a win given away for a loss, 1 half of that, 0 a slower win or a quicker loss.
      scores: of all actions, None where illegal.
    """

    number: int
    ply: int
    board: str
    played: int
    best: tuple[int, ...]
    loss: int
    scores: tuple[int | None, ...]


def network_alone(game: Game, evaluate: Evaluate) -> Respond:
    """The legal move of the highest logit, and the likeliest result."""

    def respond(states: State, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
        del keys
        logits, value, *rest = evaluate(jax.vmap(game.observe)(states))
        result = likeliest_result(value, rest[0] if rest else None)
        return likeliest_action(game, states, logits), result

    return respond


def with_search(
    game: Game,
    evaluate: Evaluate,
    options: SearchOptions,
    *,
    num_simulations: int,
    c_puct: float,
) -> Respond:
    """The most visited move of a search without noise, and its value rounded to a result.

    No result (NaN) where draws are worth something, because the value then tells two things.
    """

    def respond(states: State, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
        searched = core.run(
            game,
            evaluate,
            keys,
            states,
            options=dataclasses.replace(options, capacity=num_simulations + 1),
            num_simulations=num_simulations,
            c_puct=c_puct,
            noise_scale=0.0,
        )
        known = jnp.nan if options.draw_value else 1.0
        return searched.action, known * jnp.round(searched.value)

    return respond


def ask(
    respond_with: Callable[[Any], Respond],
    variables: Any,
    states: State,
    key: jax.Array,
    *,
    at_once: int = 512,
) -> list[Answers]:
    """What P networks answer about all positions: `asker`, for variables with leaves [P, ...]."""
    return asker(respond_with, states, key, at_once=at_once)(variables)


def asker(
    respond_with: Callable[[Any], Respond],
    states: State,
    key: jax.Array,
    *,
    at_once: int = 512,
) -> Callable[[Any], list[Answers]]:
    """Asks networks about all positions, compiled as one program, a part at a time.

    Args:
      respond_with: variables of one network -> what answers, see `Respond`.
      states: unfinished, leaves [N, ...].
      key: consumed; all networks get the same ones.
      at_once: positions evaluated together.

    Returns:
      Variables of P networks, leaves [P, ...] -> P times `Answers` [N].
    """
    keys = jax.random.split(key, jax.tree.leaves(states)[0].shape[0])

    @jax.jit
    def everything(variables: Any, states: State, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
        def one(variables: Any) -> tuple[jax.Array, jax.Array]:
            return in_chunks(respond_with(variables), at_once, states, keys)

        return jax.lax.map(one, variables)  # not vmap: a search is slow below one

    def ask_all(variables: Any) -> list[Answers]:
        actions, results = map(np.asarray, everything(variables, states, keys))
        return [Answers(a, r) for a, r in zip(actions, results, strict=True)]

    return ask_all


def answer_accuracy(labelled: Labelled, answers: Answers) -> dict[str, dict[str, float]]:
    """How often answers are right.

    Returns:
      For `all` positions, by stage of the game (thirds of the plies) and by difficulty (number of
      best moves): `positions`; `strong`, share of moves that are best; `weak`, share that keep the
      result; `result`, share of results that are right (NaN if not asked, or no positions).
    """
    return policy_accuracy(labelled, certain(labelled, answers.actions), answers.results)


def policy_accuracy(
    labelled: Labelled, policy: np.ndarray, results: np.ndarray | None = None
) -> dict[str, dict[str, float]]:
    """The same of move probabilities float[N, A], in expectation: of `solvers.uniform`, say."""
    strong = (policy * labelled.strong).sum(axis=1)
    weak = (policy * labelled.weak).sum(axis=1)
    right = np.full(len(strong), np.nan)
    if results is not None:
        right = np.where(np.isnan(results), np.nan, results == labelled.value)
    return means_of(groups(labelled), strong=strong, weak=weak, result=right)


def groups(labelled: Labelled) -> dict[str, np.ndarray]:
    """bool[N] for `all`, every stage and every difficulty."""
    best = np.minimum(labelled.strong.sum(axis=1), len(DIFFICULTIES))
    every = {"all": np.ones(len(best), bool)}
    return (
        every
        | stages(labelled.plies)
        | {name: best == i + 1 for i, name in enumerate(DIFFICULTIES)}
    )


def mistakes(
    labelled: Labelled, actions: Sequence[int] | np.ndarray, *, most: int
) -> list[Mistake]:
    """Wrong moves, those that give away most first, then those of late positions.

    Args:
      actions: int[N], played.
    """
    played = np.asarray(actions)
    rows = np.arange(len(played))
    wrong = np.flatnonzero(~labelled.strong[rows, played])
    lost = (labelled.value - np.sign(labelled.scores[rows, played])).astype(int)
    order = sorted(wrong.tolist(), key=lambda i: (-lost[i], -labelled.plies[i]))
    chosen = []
    for i in order[:most]:
        state = jax.tree.map(lambda x, i=i: jnp.asarray(x[i]), labelled.states)
        chosen.append(
            Mistake(
                number=i,
                ply=int(labelled.plies[i]),
                board=labelled.game.render(state),
                played=int(played[i]),
                best=tuple(np.flatnonzero(labelled.strong[i]).tolist()),
                loss=int(lost[i]),
                scores=tuple(None if s == ILLEGAL else int(s) for s in labelled.scores[i]),
            )
        )
    return chosen
