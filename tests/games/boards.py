"""What the tests of the games share: compiled batches, games from lists of actions, counting."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.games import make_game
from tests.oracles.boards import PlainConnectFour, PlainGobang, PlainOthello

CHUNK = 4096  # positions that one call of the compiled step advances


def plain_game(name):
    """The oracle's game of that name."""
    game = make_game(name)
    if name.startswith("connect_four"):
        return PlainConnectFour(game.rows, game.columns, game.line)
    if name.startswith("gobang"):
        return PlainGobang(game.size, game.line)
    return PlainOthello(game.size, passes=name.startswith("othello"))


@functools.cache
def compiled(game):
    """(step, legal_actions, is_terminal) of batches."""
    return tuple(jax.jit(jax.vmap(f)) for f in (game.step, game.legal_actions, game.is_terminal))


def play(game, actions):
    """The position after these actions, each of which must be legal."""
    step, legal_actions, _ = compiled(game)
    states = jax.tree.map(lambda x: jnp.asarray(x)[None], game.init())
    for action in actions:
        assert legal_actions(states)[0, action], f"{action} is not legal"
        states = step(states, jnp.asarray([action], jnp.int32))
    return jax.tree.map(lambda x: x[0], states)


def board(game, state):
    """Rows of X (player 0), O (player 1) and dots, as the oracle writes them."""
    words = np.ascontiguousarray(np.asarray(state.stones)).astype("<u4")
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    first, second = bits[:, : game.rows * game.columns].reshape(2, game.rows, game.columns)
    marks = np.where(first, "X", np.where(second, "O", "."))
    return ["".join(row) for row in marks]


def legal(game, state):
    """Numbers of the legal actions."""
    return np.flatnonzero(np.asarray(game.legal_actions(state))).tolist()


def leaves(game, depth):
    """Leaves of the game tree at depths 1, 2, ..., depth; a finished game counts as one."""
    step, legal_actions, is_terminal = compiled(game)
    states = jax.tree.map(lambda x: np.asarray(x)[None], game.init())
    finished, counts = 0, []
    for level in range(depth):
        masks = _in_chunks(legal_actions, states)
        parents, actions = np.nonzero(masks)
        counts.append(finished + len(parents))
        if level + 1 == depth:
            return counts
        parent_states = jax.tree.map(lambda x, rows=parents: x[rows], states)
        states = _in_chunks(step, parent_states, actions.astype(np.int32))
        going_on = ~_in_chunks(is_terminal, states)
        finished += int((~going_on).sum())
        states = jax.tree.map(lambda x, rows=going_on: x[rows], states)
    return counts


def _in_chunks(function, *arguments):
    """`function` of batches of any size, with one compiled size."""
    size = len(jax.tree.leaves(arguments)[0])
    results = []
    for begin in range(0, size, CHUNK):
        rows = np.minimum(np.arange(begin, begin + CHUNK), size - 1)
        chunk = jax.tree.map(lambda x, rows=rows: x[rows], arguments)
        results.append(jax.device_get(function(*chunk)))
    return jax.tree.map(lambda *x: np.concatenate(x)[:size], *results)
