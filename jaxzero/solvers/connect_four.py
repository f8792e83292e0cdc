"""Connect Four solved exactly: alpha-beta on bitboards that are Python integers.

The board is stored by columns of `rows + 1` bits, the lowest square of a column in its lowest bit,
and the bit above each column always 0, so that no shift carries a line into the next column. A
position is the stones of the player to move and those of both.

A *score* says who wins and how soon, for the player to move: 0 is a draw; a player who wins with
the k-th last of all the stones that they could place scores k, and the loser -k. A quicker win is
a higher score, a slower loss too.
"""

import functools

from jaxzero.solvers.bounds import ILLEGAL, Bounds, score_between, sign_of_score

LINE = 4  # stones
_MIRRORED = 10  # empty squares; with fewer, mirror images meet too rarely to be looked for


class ConnectFourSolver:
    """Solves positions of one board; what it learns of one helps with the next.

    Attributes:
      rows, columns: of the board; a line has four stones.
      nodes: positions looked at so far.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.nodes = 0
        self._squares = rows * columns
        height = rows + 1
        self._bottom = sum(1 << (height * column) for column in range(columns))
        self._board = self._bottom * ((1 << rows) - 1)
        self._column = [((1 << rows) - 1) << (height * column) for column in range(columns)]
        centre = (columns - 1) / 2
        nearest = sorted(range(columns), key=lambda column: abs(column - centre))
        self._from_centre = tuple(self._column[column] for column in nearest)
        self._directions = (height, height - 1, height + 1)  # besides the vertical
        self._bounds: Bounds[int] = Bounds()

    def pack(self, squares: int) -> int:
        """Row-major bits (row 0 on top, as `jaxzero.games` has them) as the solver's bits."""
        packed = 0
        for row in range(self.rows):
            for column in range(self.columns):
                if squares >> (row * self.columns + column) & 1:
                    packed |= 1 << (column * (self.rows + 1) + self.rows - 1 - row)
        return packed

    def action_scores(self, own: int, other: int) -> list[int]:
        """As `boards.Solver`, of a position without a line; `ILLEGAL` where a column is full."""
        own, mask = self.pack(own), self.pack(own) | self.pack(other)
        moves = self._playable(mask)
        scores = []
        for column in self._column:
            move = moves & column
            if not move:
                scores.append(ILLEGAL)
            elif move & self._winning(own, mask):
                scores.append(self._win_now(mask))
            else:
                scores.append(-self._score(own ^ mask, mask | move))
        return scores

    def score(self, own: int, other: int) -> int:
        """The score of a position for the player to move; arguments as in `action_scores`."""
        return self._score(self.pack(own), self.pack(own) | self.pack(other))

    def result(self, own: int, other: int) -> int:
        """1 won, 0 drawn, -1 lost for the player to move: less work than `score`."""
        own, mask = self.pack(own), self.pack(own) | self.pack(other)
        if self._playable(mask) & self._winning(own, mask):
            return 1
        stones = mask.bit_count()
        return sign_of_score(lambda goal: self._reaches(own, mask, stones, goal))

    def last_stone(self, score: int, stones: int) -> int:
        """How many stones lie on the board when the game ends, of a position's score and stones."""
        if score == 0:
            return self._squares
        winner_moves_at = (stones + (score > 0)) % 2  # parity of the stone that makes the line
        last = self._squares + 2 - 2 * abs(score)
        return last if last % 2 == winner_moves_at else last - 1

    def _win_now(self, mask: int) -> int:
        return (self._squares + 1 - mask.bit_count()) // 2

    def _playable(self, mask: int) -> int:
        """The lowest empty square of every column that has one."""
        return (mask + self._bottom) & self._board

    def _winning(self, own: int, mask: int) -> int:
        """Empty squares, playable now or not, on which a stone of `own` completes a line."""
        completing = (own << 1) & (own << 2) & (own << 3)
        for step in self._directions:
            up, down = own << step, own >> step
            pair = up & (own << 2 * step)
            completing |= pair & ((own << 3 * step) | down)
            pair = down & (own >> 2 * step)
            completing |= pair & ((own >> 3 * step) | up)
        return completing & self._board & ~mask

    def _score(self, own: int, mask: int) -> int:
        if self._playable(mask) & self._winning(own, mask):
            return self._win_now(mask)
        stones = mask.bit_count()
        low, high = -((self._squares - stones) // 2), (self._squares - 1 - stones) // 2
        return score_between(low, high, lambda goal: self._reaches(own, mask, stones, goal))

    def _reaches(self, own: int, mask: int, stones: int, goal: int) -> bool:
        """Whether the score is `goal` or more, where no column wins at once."""
        self.nodes += 1
        left = self._squares - stones
        if left == 0:
            return goal <= 0
        if goal > (left - 1) // 2:  # a win takes two more own stones
            return False
        if goal <= -(left // 2):  # nobody loses sooner than by the next stone
            return True
        threats = self._winning(own ^ mask, mask)
        moves = (mask + self._bottom) & self._board
        forced = moves & threats
        if forced:
            if forced & (forced - 1):
                return False
            moves = forced
        moves &= ~(threats >> 1)  # nor play right below a square on which the opponent wins
        if not moves:
            return False
        if left <= 2:
            return goal <= 0
        key = own + mask + self._bottom
        if left >= _MIRRORED:
            key = min(key, self._mirror(key))
        known = self._bounds.reaches(key, goal)
        if known is not None:
            return known
        for move in self._ordered(own, mask, moves):
            if not self._reaches(own ^ mask, mask | move, stones + 1, 1 - goal):
                self._bounds.at_least(key, goal)
                return True
        self._bounds.at_most(key, goal - 1)
        return False

    def _mirror(self, key: int) -> int:
        """The key of the left-right mirror image, which has the same score."""
        height, mirrored = self.rows + 1, 0
        column = (1 << height) - 1
        for _ in range(self.columns):
            mirrored = mirrored << height | key & column
            key >>= height
        return mirrored

    def _ordered(self, own: int, mask: int, moves: int) -> list[int]:
        """Moves that make most threats first, then those nearest the centre."""
        if not moves & (moves - 1):
            return [moves]
        ordered = [moves & column for column in self._from_centre if moves & column]
        winning = self._winning
        ordered.sort(key=lambda move: -winning(own | move, mask | move).bit_count())
        return ordered


@functools.cache
def connect_four_solver(rows: int, columns: int) -> ConnectFourSolver:
    """The solver of a board, made once: it keeps what it has learnt."""
    return ConnectFourSolver(rows, columns)
