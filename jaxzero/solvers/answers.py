"""Asking players and networks about positions: moves, values and results, in parts.

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
from jaxzero.players import Players
from jaxzero.search import core
from jaxzero.search.evaluation import Evaluate
from jaxzero.search.options import SearchOptions
from jaxzero.solvers.accuracy import certain, policy_accuracy
from jaxzero.solvers.bounds import ILLEGAL
from jaxzero.solvers.labels import Labelled

_AT_ONCE = 2048  # positions that are looked at together: a search has a tree for each
_IMPOSSIBLE = -1e9  # finite: a row of -inf would be NaN

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


def network_alone(game: Game, evaluate: Evaluate, *, discount: float = 1.0) -> Respond:
    """The legal move of the highest logit, and the likeliest result.

    No result (NaN) of a scalar head that was trained with a discount, because rounding it would
    make a draw of a late win.
    """

    def respond(states: State, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
        del keys
        logits, value, *rest = evaluate(jax.vmap(game.observe)(states))
        result = likeliest_result(value, rest[0] if rest else None)
        if discount < 1 and not rest:
            result *= jnp.nan
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

    No result (NaN) where draws are worth something, or a late win less than a quick one, because
    the value then tells two things.
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
        known = jnp.nan if options.draw_value or options.discount < 1 else 1.0
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
    keys, everything = _keys(key, states), _of_each(respond_with, at_once)

    def ask_all(variables: Any) -> list[Answers]:
        actions, results = map(np.asarray, everything(variables, states, keys))
        return [Answers(a, r) for a, r in zip(actions, results, strict=True)]

    return ask_all


def chosen_moves(players: Players, states: State, key: jax.Array) -> np.ndarray:
    """What players choose, compiled as one program; nothing is remembered between positions.

    Args:
      players: P of them.
      states: unfinished, leaves [N, ...].
      key: consumed; all players get the same ones.

    Returns:
      int32[P, N], actions.
    """

    def respond_with(params: Any) -> Callable[[State, jax.Array], jax.Array]:
        def respond(states: State, keys: jax.Array) -> jax.Array:
            live = jnp.ones(keys.shape[:1], bool)
            return players.choose(params, players.remember(len(live)), keys, states, live).action

        return respond

    choose = _of_each(respond_with, _AT_ONCE)
    return np.asarray(choose(players.params, states, _keys(key, states)))


def network_choices(
    game: Game, evaluate_with: Callable[[Any], Evaluate], variables: Any, states: State
) -> tuple[np.ndarray, np.ndarray]:
    """What networks alone say, compiled as one program.

    Args:
      evaluate_with: variables of one network -> evaluate.
      variables: of P networks, leaves [P, ...].
      states: unfinished, leaves [N, ...].

    Returns:
      int32[P, N], the legal action of the highest logit, and float32[P, N], the value for the
      player to move.
    """

    def respond_with(variables: Any) -> Callable[[State], tuple[jax.Array, jax.Array]]:
        def respond(states: State) -> tuple[jax.Array, jax.Array]:
            logits, value = evaluate_with(variables)(jax.vmap(game.observe)(states))[:2]
            return likeliest_action(game, states, logits), value.astype(jnp.float32)

        return respond

    actions, values = _of_each(respond_with, _AT_ONCE)(variables, states)
    return np.asarray(actions), np.asarray(values)


def likeliest_action(game: Game, states: State, logits: jax.Array) -> jax.Array:
    """int32[B]: the legal action of the highest logit, [B, A]."""
    legal = jax.vmap(game.legal_actions)(states)
    best = jnp.where(legal, logits.astype(jnp.float32), _IMPOSSIBLE).argmax(-1)
    return best.astype(jnp.int32)


def _of_each(respond_with: Callable[[Any], Callable[..., Any]], at_once: int) -> Callable[..., Any]:
    """What each of P says of all positions, compiled: (variables [P, ...], [N, ...]) -> [P, N]."""

    @jax.jit
    def everything(variables: Any, *given: Any) -> Any:
        def one(variables: Any) -> Any:
            return in_chunks(respond_with(variables), at_once, *given)

        return jax.lax.map(one, variables)  # not vmap: a search is slow below one

    return everything


def _keys(key: jax.Array, states: State) -> jax.Array:
    """One for each of the states [N]."""
    return jax.random.split(key, jax.tree.leaves(states)[0].shape[0])


def answer_accuracy(labelled: Labelled, answers: Answers) -> dict[str, dict[str, float]]:
    """How often answers are right, see `policy_accuracy`."""
    return policy_accuracy(labelled, certain(labelled, answers.actions), answers.results)


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
