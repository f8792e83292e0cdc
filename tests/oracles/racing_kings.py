"""Racing Kings by python-chess: positions, legal moves and results in the conventions of ours."""

import functools

import chess
import chess.variant
import jax
import jax.numpy as jnp
import numpy as np

CLOCK, DRAW = 150, (0.0, 0.0)


class ChessRacingKings:
    """One game, changed in place; see `jaxzero.games.conformance.Reference`."""

    def __init__(self, fen: str, max_plies: int) -> None:
        self.board = chess.variant.RacingKingsBoard(fen)
        self.first, self.max_plies, self.plies = self.board.turn, max_plies, 0
        self._look()

    def _look(self) -> None:
        self.moves = {64 * m.from_square + m.to_square for m in self.board.legal_moves}
        raced = self.board.is_variant_end()
        drawn = not self.moves or self.board.halfmove_clock >= CLOCK or self.plies >= self.max_plies
        self.over = raced or drawn
        self.result = DRAW
        if raced and not self.board.is_variant_draw():
            white_won = self.board.turn == (
                chess.WHITE if self.board.is_variant_win() else chess.BLACK
            )
            won_by_first = white_won == (self.first == chess.WHITE)
            self.result = (1.0, -1.0) if won_by_first else (-1.0, 1.0)

    def legal(self) -> set[int]:
        """Actions that may be played; none at the end."""
        return set() if self.over else self.moves

    def step(self, action: int) -> None:
        """Plays a legal action."""
        self.board.push(chess.Move(action // 64, action % 64))
        self.plies += 1
        self._look()

    def to_move(self) -> int:
        """0: whoever moved first."""
        return int(self.board.turn != self.first)


def leaves(fen: str, depth: int) -> int:
    """Positions after `depth` plies; games that ended before are none."""
    board = chess.variant.RacingKingsBoard(fen)

    def count(left: int) -> int:
        if board.is_variant_end():
            return 0
        if left == 1:
            return board.legal_moves.count()
        total = 0
        for move in list(board.legal_moves):
            board.push(move)
            total += count(left - 1)
            board.pop()
        return total

    return count(depth)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _random_games(game, count, key):
    def play(states, key):
        legal = jax.vmap(game.legal_actions)(states)
        logits = jnp.where(legal, 0.0, -1e9)
        actions = jax.random.categorical(key, logits).astype(jnp.int32)
        seen = (
            jnp.packbits(legal, axis=-1),
            jax.vmap(game.to_move)(states),
            jax.vmap(game.is_terminal)(states),
            jax.vmap(game.outcome)(states),
            jax.vmap(game.observe)(states),
            actions,
        )
        return jax.vmap(game.step)(states, actions), seen

    start = game.init()
    states = jax.tree.map(lambda x: jnp.stack([jnp.asarray(x)] * count), start)
    return jax.lax.scan(play, states, jax.random.split(key, game.max_plies + 1))[1]


def same_games(game, count, seed):
    """Plays random games on both; returns how they ended, and how many positions they had."""
    legal, to_move, over, outcome, seen, actions = map(
        np.asarray, _random_games(game, count, jax.random.key(seed))
    )
    endings = {"won": 0, "lost": 0, "drawn": 0, "stuck": 0, "clock": 0, "limit": 0}
    endings["positions"] = 0
    for i in range(count):
        theirs = ChessRacingKings(game.fen, game.max_plies)
        for ply in range(game.max_plies + 1):
            where = f"game {i}, ply {ply}: {theirs.board.fen()}"
            ours = np.flatnonzero(np.unpackbits(legal[ply, i], count=game.num_actions))
            assert set(ours.tolist()) == theirs.legal(), where
            assert bool(over[ply, i]) == theirs.over, where
            assert tuple(outcome[ply, i].tolist()) == theirs.result, where
            endings["positions"] += 1
            if theirs.over:
                break
            assert to_move[ply, i] == theirs.to_move(), where
            if ply % 7 == 0:
                np.testing.assert_array_equal(seen[ply, i], _planes(theirs.board), where)
            theirs.step(int(actions[ply, i]))
        raced = theirs.board.is_variant_end()
        how = {(1.0, -1.0): "won", (-1.0, 1.0): "lost"}.get(theirs.result, "drawn")
        endings[how] += raced
        endings["stuck"] += not raced and not theirs.moves
        endings["clock"] += not raced and theirs.board.halfmove_clock >= CLOCK
        endings["limit"] += not raced and theirs.plies >= game.max_plies
    return endings


def _planes(board):
    planes = np.zeros((8, 8, 12), np.int8)
    for square, piece in board.piece_map().items():
        kind = piece.piece_type - 1 + 6 * (piece.color != board.turn)
        planes[7 - square // 8, square % 8, kind] = 1
    return planes
