"""How well moves and values agree with the truth about positions."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.games import Game
from jaxzero.games.base import State
from jaxzero.loops import in_chunks
from jaxzero.players import Players
from jaxzero.search.evaluation import Evaluate
from jaxzero.solvers.labels import Labelled

STAGES = ("early", "middle", "late")
_IMPOSSIBLE = -1e9  # finite: a row of -inf would be NaN
_AT_ONCE = 2048  # positions that are looked at together: a search has a tree for each


def chosen_moves(players: Players, states: State, key: jax.Array) -> np.ndarray:
    """What players choose, compiled as one program; nothing is remembered between positions.

    Args:
      players: P of them.
      states: unfinished, leaves [N, ...].
      key: consumed; all players get the same ones.

    Returns:
      int32[P, N], actions.
    """
    count = _count(states)

    @jax.jit
    def choose(params: Any, states: State, keys: jax.Array) -> jax.Array:
        def one(params: Any) -> jax.Array:
            def part(states: State, keys: jax.Array) -> jax.Array:
                size = _count(states)
                live = jnp.ones((size,), bool)
                return players.choose(params, players.remember(size), keys, states, live).action

            return in_chunks(part, _AT_ONCE, states, keys)

        return jax.lax.map(one, params)  # not vmap: a search is slow below one

    return np.asarray(choose(players.params, states, jax.random.split(key, count)))


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

    @jax.jit
    def ask(variables: Any, states: State) -> tuple[jax.Array, jax.Array]:
        def one(variables: Any) -> tuple[jax.Array, jax.Array]:
            def part(states: State) -> tuple[jax.Array, jax.Array]:
                logits, value = evaluate_with(variables)(jax.vmap(game.observe)(states))[:2]
                return likeliest_action(game, states, logits), value.astype(jnp.float32)

            return in_chunks(part, _AT_ONCE, states)

        return jax.lax.map(one, variables)

    actions, values = ask(variables, states)
    return np.asarray(actions), np.asarray(values)


def likeliest_action(game: Game, states: State, logits: jax.Array) -> jax.Array:
    """int32[B]: the legal action of the highest logit, [B, A]."""
    legal = jax.vmap(game.legal_actions)(states)
    best = jnp.where(legal, logits.astype(jnp.float32), _IMPOSSIBLE).argmax(-1)
    return best.astype(jnp.int32)


def certain(labelled: Labelled, actions: np.ndarray) -> np.ndarray:
    """float64[N, A]: the policy that plays these actions, int[N]."""
    return np.eye(labelled.scores.shape[1])[actions]


def uniform(labelled: Labelled) -> np.ndarray:
    """float64[N, A]: the policy of a random player."""
    legal = labelled.legal
    return legal / legal.sum(axis=1, keepdims=True)


def stages(plies: Any) -> dict[str, Any]:
    """bool[N] for each of `STAGES`: thirds of the plies int[N] that the positions span."""
    first, last = plies.min(), plies.max()
    third = (plies - first) * len(STAGES) // (last - first + 1)
    return {name: third == i for i, name in enumerate(STAGES)}


def move_accuracy(labelled: Labelled, policy: np.ndarray) -> dict[str, dict[str, float]]:
    """How often a policy plays an optimal move, in expectation.

    Args:
      policy: float[N, A], probabilities; of `certain` or `uniform`.

    Returns:
      For `all` positions, the `contested` ones (some legal move gives away result) and those by
      stage: `positions`, `weak` (share of moves that keep the result) and `strong` (that reach the
      best score). NaN where there are no positions.
    """
    every = np.ones_like(labelled.contested)
    contested = {
        f"contested_{n}": s & labelled.contested for n, s in stages(labelled.plies).items()
    }
    return means_of(
        {"all": every, "contested": labelled.contested} | contested,
        weak=(policy * labelled.weak).sum(axis=1),
        strong=(policy * labelled.strong).sum(axis=1),
    )


def means_of(groups: dict[str, np.ndarray], **values: np.ndarray) -> dict[str, dict[str, float]]:
    """For each group, bool[N]: its `positions` and the means of values [N], NaN if it is empty."""
    return {
        name: {"positions": int(group.sum())} | {k: _mean(v[group]) for k, v in values.items()}
        for name, group in groups.items()
    }


def value_accuracy(
    labelled: Labelled, values: np.ndarray, *, bins: int = 10
) -> dict[str, dict[str, Any]]:
    """How far predicted values are from the exact ones.

    Args:
      values: float[N], predicted for the player to move, in [-1, 1].
      bins: of equal width.

    Returns:
      For `all` positions and by stage: `positions`, `mse` (mean squared error), `constant_mse`
      (that of the best constant) and `bins`, each with its edges `low` and `high`, `positions`,
      the mean `predicted` and the mean `exact` value.
    """
    exact = labelled.value.astype(float)
    predicted = np.asarray(values, float)
    groups = {"all": np.ones(len(exact), bool)} | stages(labelled.plies)
    edges = np.linspace(-1.0, 1.0, bins + 1)
    place = np.clip(np.digitize(predicted, edges) - 1, 0, bins - 1)
    accuracy: dict[str, dict[str, Any]] = {}
    for name, group in groups.items():
        constant = _mean(exact[group])
        errors = {"mse": (predicted - exact) ** 2, "constant_mse": (exact - constant) ** 2}
        accuracy |= means_of({name: group}, **errors)
        accuracy[name]["bins"] = [
            {"low": float(edges[i]), "high": float(edges[i + 1])}
            | means_of({"": group & (place == i)}, predicted=predicted, exact=exact)[""]
            for i in range(bins)
        ]
    return accuracy


def _count(states: State) -> int:
    return jax.tree.leaves(states)[0].shape[0]


def _mean(x: np.ndarray) -> float:
    return float(x.mean()) if x.size else float("nan")
