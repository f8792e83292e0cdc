"""The board games in plain Python: a dictionary of stones, walked square by square.

Each class is a game in progress with the methods of `jaxzero.games.conformance.Reference`.
"""

DIRECTIONS = [(0, 1), (1, 0), (1, 1), (1, -1)]
ALL_DIRECTIONS = DIRECTIONS + [(-row, -column) for row, column in DIRECTIONS]


class _Board:
    """Stones of player 0 and player 1, whose turn it is, and the winner."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.stones = {}  # (row, column) -> player
        self.player = 0
        self.finished = False
        self.winner = None

    def squares(self):
        return [(row, column) for row in range(self.rows) for column in range(self.columns)]

    def to_move(self):
        return self.player

    def is_terminal(self):
        return self.finished

    def outcome(self):
        if self.winner is None:
            return (0.0, 0.0)
        return (1.0, -1.0) if self.winner == 0 else (-1.0, 1.0)

    def text(self):
        """Rows of X (player 0), O (player 1) and dots."""
        marks = {0: "X", 1: "O", None: "."}
        return [
            "".join(marks[self.stones.get((row, column))] for column in range(self.columns))
            for row in range(self.rows)
        ]


class _LineGame(_Board):
    """Whoever gets `line` stones in a row wins; a full board is a draw."""

    def __init__(self, rows, columns, line):
        super().__init__(rows, columns)
        self.line = line

    def place(self, square):
        assert square not in self.stones
        assert not self.finished
        self.stones[square] = self.player
        if any(self.run_through(square, step) >= self.line for step in DIRECTIONS):
            self.winner = self.player
        self.finished = self.winner is not None or len(self.stones) == self.rows * self.columns
        self.player = 1 - self.player

    def run_through(self, square, step):
        """Length of the mover's unbroken chain through `square`, both ways along `step`."""
        length = 1
        for sign in (1, -1):
            row, column = square
            while True:
                row, column = row + sign * step[0], column + sign * step[1]
                if self.stones.get((row, column)) != self.player:
                    break
                length += 1
        return length


class PlainConnectFour(_LineGame):
    """Actions are columns; row 0 is on top."""

    def legal_actions(self):
        return [
            not self.finished and (0, column) not in self.stones for column in range(self.columns)
        ]

    def step(self, action):
        empty = [row for row in range(self.rows) if (row, action) not in self.stones]
        self.place((max(empty), action))


class PlainGobang(_LineGame):
    """Actions are squares, row by row."""

    def __init__(self, size, line):
        super().__init__(size, size, line)

    def legal_actions(self):
        return [not self.finished and square not in self.stones for square in self.squares()]

    def step(self, action):
        self.place(divmod(action, self.columns))


class PlainOthello(_Board):
    """Othello with a pass as its last action, or (`passes=False`) Reversi, which has none."""

    def __init__(self, size, passes=True):
        super().__init__(size, size)
        self.passes = passes
        low, high = size // 2 - 1, size // 2
        self.stones = {(low, high): 0, (high, low): 0, (low, low): 1, (high, high): 1}

    def enclosed(self, square, player):
        """The opponent's stones that a stone of `player` on `square` turns over."""
        if square in self.stones:
            return []
        turned = []
        for step in ALL_DIRECTIONS:
            run = []
            row, column = square[0] + step[0], square[1] + step[1]
            while self.stones.get((row, column)) == 1 - player:
                run.append((row, column))
                row, column = row + step[0], column + step[1]
            if self.stones.get((row, column)) == player:
                turned += run
        return turned

    def can_move(self, player):
        return any(self.enclosed(square, player) for square in self.squares())

    def legal_actions(self):
        placings = [
            not self.finished and bool(self.enclosed(square, self.player))
            for square in self.squares()
        ]
        if not self.passes:
            return placings
        return [*placings, not self.finished and not any(placings)]

    def step(self, action):
        assert self.legal_actions()[action]
        if action < self.rows * self.columns:
            square = divmod(action, self.columns)
            for turned in self.enclosed(square, self.player):
                self.stones[turned] = self.player
            self.stones[square] = self.player
        if self.passes or self.can_move(1 - self.player):
            self.player = 1 - self.player
        if not self.can_move(0) and not self.can_move(1):
            self.finished = True
            lead = sum(1 if owner == 0 else -1 for owner in self.stones.values())
            self.winner = None if lead == 0 else 0 if lead > 0 else 1
