"""The board games for many games at once, in NumPy: boards as arrays, walked by shifting them.

Independent of the compiled rules (no bit boards) and of the plain ones in `boards`, and fast enough
for millions of positions.
"""

import numpy as np

DIRECTIONS = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if (r, c) != (0, 0)]


def shifted(cells, step):
    """bool[B, R, C] whose cell (r, c) is that of (r - step[0], c - step[1]); False from outside."""
    rows, columns = cells.shape[1:]
    padded = np.pad(cells, ((0, 0), (1, 1), (1, 1)))
    r, c = 1 - step[0], 1 - step[1]
    return padded[:, r : r + rows, c : c + columns]


class Batch:
    """Games side by side, changed in place by `step`.

    Attributes:
      own: bool[2, B, R, C], stones of player 0 and of player 1.
      player: int[B], whose turn it is.
      over: bool[B].
      result: float[B], of player 0.
    """

    def __init__(self, rows, columns, num_games):
        self.own = np.zeros((2, num_games, rows, columns), bool)
        self.player = np.zeros(num_games, int)
        self.over = np.zeros(num_games, bool)
        self.result = np.zeros(num_games)
        self.games = np.arange(num_games)

    def sides(self):
        """Stones of whoever is to move, and of the other."""
        return self.own[self.player, self.games], self.own[1 - self.player, self.games]

    def put(self, mine, other, going):
        """Stones of whoever has just moved and of the other, in games that go on."""
        old = self.sides()
        self.own[self.player, self.games] = np.where(going[:, None, None], mine, old[0])
        self.own[1 - self.player, self.games] = np.where(going[:, None, None], other, old[1])


class LineBatch(Batch):
    """Connect Four (`drops`, actions are columns) or Gobang (actions are squares)."""

    def __init__(self, rows, columns, line, num_games, *, drops):
        super().__init__(rows, columns, num_games)
        self.line, self.drops = line, drops

    def legal(self):
        """bool[B, A]."""
        empty = ~self.own.any(0)
        open_ = empty[:, 0] if self.drops else empty.reshape(len(empty), -1)
        return open_ & ~self.over[:, None]

    def step(self, actions):
        """Plays int[B] legal actions; finished games stay."""
        going = ~self.over
        mine, other = (side.copy() for side in self.sides())
        columns = mine.shape[2]
        if self.drops:
            column = actions % columns
            row = (~(mine | other))[self.games, :, column].sum(1) - 1
        else:
            row, column = np.divmod(actions, columns)
        mine[self.games[going], row[going], column[going]] = True
        self.put(mine, other, going)
        won = going & self._has_line(mine)
        self.result[won] = 1 - 2 * self.player[won]
        self.over |= won | (mine | other).all((1, 2))
        self.player[going] = 1 - self.player[going]

    def _has_line(self, mine):
        found = np.zeros(len(mine), bool)
        for step in DIRECTIONS[:4]:
            run = mine
            for _ in range(self.line - 1):
                run = mine & shifted(run, step)
            found |= run.any((1, 2))
        return found


class TurningBatch(Batch):
    """Othello with a pass as its last action, or (`passes=False`) Reversi, which has none."""

    def __init__(self, size, num_games, *, passes):
        super().__init__(size, size, num_games)
        low, high = size // 2 - 1, size // 2
        self.own[0, :, low, high] = self.own[0, :, high, low] = True
        self.own[1, :, low, low] = self.own[1, :, high, high] = True
        self.passes = passes
        self.moves = self.open(*self.sides())

    @staticmethod
    def open(mine, other):
        """bool[B, R, C]: empty squares that a run of the other's stones separates from mine."""
        found = np.zeros_like(mine)
        for step in DIRECTIONS:
            run = shifted(mine, step) & other
            for _ in range(mine.shape[1] - 2):
                run = run | (shifted(run, step) & other)
            found |= shifted(run, step)
        return found & ~mine & ~other

    def legal(self):
        """bool[B, A]."""
        moves = (self.moves & ~self.over[:, None, None]).reshape(len(self.over), -1)
        if not self.passes:
            return moves
        return np.concatenate([moves, (~moves.any(1) & ~self.over)[:, None]], 1)

    def step(self, actions):
        """Plays int[B] legal actions; finished games stay."""
        going, (mine, other) = ~self.over, self.sides()
        stone = np.zeros((len(mine), mine[0].size + 1), bool)
        stone[self.games, actions] = True
        stone = stone[:, :-1].reshape(mine.shape)  # none where one passes
        turned = np.zeros_like(mine)
        for step in DIRECTIONS:
            run = np.zeros_like(mine)
            head = shifted(stone, step) & other
            while head.any():
                run |= head
                end = shifted(head, step)
                closed = (end & mine).any((1, 2))
                turned |= run & closed[:, None, None]
                head = end & other
        self.put(mine | stone | turned, other & ~turned, going)
        mine, other = self.sides()
        forth, back = self.open(other, mine), self.open(mine, other)
        can, could = forth.any((1, 2)), back.any((1, 2))
        change = going & (can if not self.passes else np.ones_like(can))
        ended = going & ~can & ~could
        lead = self.own[0].sum((1, 2)) - self.own[1].sum((1, 2))
        self.result[ended] = np.sign(lead[ended])
        self.over |= ended
        self.player[change] = 1 - self.player[change]
        self.moves = np.where(change[:, None, None], forth, back)


def batch_of(name, game, num_games):
    """The oracle's games of that name."""
    if name.startswith("connect_four"):
        return LineBatch(game.rows, game.columns, game.line, num_games, drops=True)
    if name.startswith("gobang"):
        return LineBatch(game.size, game.size, game.line, num_games, drops=False)
    return TurningBatch(game.size, num_games, passes=name.startswith("othello"))


def check_batch(name, game, playout):
    """Plays the games of a `Playout` again and compares every position.

    Returns:
      how many positions were compared, those at the end included.

    Raises:
      AssertionError: at the first ply at which something differs.
    """
    view = playout.views
    games = batch_of(name, game, view.terminal.shape[1])
    positions, fresh = 0, np.ones(view.terminal.shape[1], bool)
    for ply in range(len(view.terminal)):
        stones = unpacked(game, playout.states.stones[ply])
        for what, ours, theirs in (
            ("legal actions", view.legal[ply], games.legal()),
            ("end", view.terminal[ply], games.over),
            ("outcome", view.outcome[ply], np.stack([games.result, -games.result], 1)),
            ("player to move", view.to_move[ply][~games.over], games.player[~games.over]),
            ("board", stones, games.own.swapaxes(0, 1)),
        ):
            wrong = np.argwhere(ours != theirs)
            assert not len(wrong), f"{name}: ply {ply}, game {wrong[0][0]}: {what} differs"
        positions += int(fresh.sum())
        fresh &= ~view.terminal[ply]
        if fresh.any() and ply < len(playout.actions):
            games.step(playout.actions[ply])
    return positions


def unpacked(game, words):
    """bool[B, 2, R, C] of uint32[B, 2, words] bit boards."""
    bits = np.unpackbits(
        np.ascontiguousarray(words).astype("<u4").view(np.uint8), axis=-1, bitorder="little"
    )
    shape = (*words.shape[:2], game.rows, game.columns)
    return bits[..., : game.rows * game.columns].reshape(shape).astype(bool)
