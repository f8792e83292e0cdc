"""A plain-Python AlphaZero tree search, written for reading, to test the compiled one against.

Nodes are Python objects, one per path from the root (no transpositions). Every edge (node, action)
holds a visit count `n`, the mean zero-sum value `z` and the mean draw probability `d`, both as the
player to move in that node sees them. One simulation goes down by

    argmax over legal a of  Q(a) + c_puct * P(a) * sqrt(N + 1e-8) / (1 + n(a)),    N = sum of n,

the lowest index winning ties, until it reaches a child that is not stored or a finished position,
and backs the result up. `Q = z + draw_value * d`; `z` changes sign wherever the other player is to
move, `d` never does.

    tree = search(TicTacToe(), TicTacToe().init(), num_simulations=100, c_puct=1.0)
    tree = search(JaxGame(game, evaluate), game.init(), num_simulations=100)
    tree.visits(), tree.q(), tree.value()
    tree.advance(action)  # keeps the subtree
    tree.run(100)

Arithmetic is done in `dtype`, operation by operation in the order of the formulas, so that
`np.float32` stays within rounding of a float32 program. What remains is `exp` in the softmax, and
products and sums that a compiler fuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.oracles.mcts_games import OracleGame, State
from tests.oracles.mcts_node import Node

TerminalValue = Callable[[tuple[float, float], int], float]


def own_result(outcome: tuple[float, float], to_move: int) -> float:
    """A finished game is worth its result to the player to move."""
    return outcome[to_move]


class Tree:
    """A search tree over `game`, rooted at `state`. The root is evaluated at once; see `run`.

    Args:
      game: rules and network.
      state: position of the root.
      c_puct: weight of the exploration term.
      unvisited_q: Q of an edge without visits, on the scale of `q_scale`; None is 0.
      q_scale: `"signed"`, Q in [-1, 1], or `"unit"`, (Q + 1) / 2.
      renormalise: True, the prior is a softmax over the legal moves; False, a softmax over all
        actions of which only the legal entries are used.
      sqrt_form: `"inside"`, c * P * sqrt(N + 1e-8) / (1 + n), or `"plus"`,
        c * P * (sqrt(N) + 1e-5) / (1 + n).
      draw_value: worth of a draw, in [-1, 1], to whoever is to move.
      terminal_value: (outcome, player to move) -> zero-sum value of a finished position to that
        player. The draw probability of a drawn position is 1 - |that value|: who has lost it, has
        not drawn.
      noise: vector over the actions; the root's prior is (1 - f) * prior + f * noise.
      noise_fraction: f.
      capacity: how many nodes, root and finished ones included, are stored. In a full tree a new
        leaf is evaluated and backed up but not stored; its edge leads to a leaf again next time.
      count_finished: False, finished positions take none of the `capacity`.
      discount: of a value per ply between it and the edge that it is backed up to.
      propagate_results: what is proven is played accordingly, see `proven`.
      dtype: of all arithmetic.
    """

    def __init__(
        self,
        game: OracleGame,
        state: State,
        *,
        c_puct: float = 1.0,
        unvisited_q: float | None = None,
        q_scale: Literal["signed", "unit"] = "signed",
        renormalise: bool = True,
        sqrt_form: Literal["inside", "plus"] = "inside",
        draw_value: float = 0.0,
        terminal_value: TerminalValue = own_result,
        noise: ArrayLike | None = None,
        noise_fraction: float = 0.0,
        capacity: int | None = None,
        count_finished: bool = True,
        discount: float = 1.0,
        propagate_results: bool = False,
        dtype: Any = np.float64,
    ) -> None:
        if q_scale not in ("signed", "unit"):
            raise ValueError(f"q_scale is {q_scale!r}, expected 'signed' or 'unit'")
        if sqrt_form not in ("inside", "plus"):
            raise ValueError(f"sqrt_form is {sqrt_form!r}, expected 'inside' or 'plus'")
        if capacity is not None and capacity < 1:
            raise ValueError(f"capacity is {capacity}, but the root needs a node")
        self.game = game
        self.dtype = dtype
        self.c_puct = dtype(c_puct)
        self.unvisited_q = dtype(0.0 if unvisited_q is None else unvisited_q)
        self.q_scale = q_scale
        self.renormalise = renormalise
        self.sqrt_form = sqrt_form
        self.draw_value = dtype(draw_value)
        self.terminal_value = terminal_value
        self.noise_fraction = dtype(noise_fraction)
        self.capacity = capacity
        self.count_finished = count_finished
        self.discount = dtype(discount)
        self.propagate_results = propagate_results
        self.size = 1  # stored nodes
        self.paths: list[tuple[int, ...]] = []  # actions of each simulation since `advance`
        self._created = 0
        self.root = self._new_node(state)
        self._set_noise(noise)

    # What a search is asked for.

    def run(self, num_simulations: int) -> Tree:
        """Adds simulations; each is one visit to a child of the root. Returns the tree."""
        if num_simulations and self.root.finished:
            raise ValueError("the root is a finished position")
        for _ in range(num_simulations):
            self._simulate()
        return self

    def visits(self) -> NDArray[np.int64]:
        """Visit counts of the root's actions."""
        return self.root.n.copy()

    def q(self) -> NDArray[Any]:
        """Q of the root's actions as selection sees it: scaled, `unvisited_q` without visits."""
        return self._q(self.root)

    def zero_sum(self) -> NDArray[Any]:
        """Mean zero-sum value in [-1, 1] of the root's actions, 0 without visits."""
        return self.root.z.copy()

    def draw(self) -> NDArray[Any]:
        """Mean draw probability of the root's actions, 0 without visits."""
        return self.root.d.copy()

    def prior(self) -> NDArray[Any]:
        """The root's prior, with noise."""
        return self._root_prior.copy()

    def value(self, include_root: bool = True) -> float:
        """Mean value of the root in [-1, 1] to its player to move, draws counted by `draw_value`.

        The mean runs over the simulations in the tree and, with `include_root` or in a tree without
        simulations, the root's own evaluation. What is proven is worth its result.
        """
        root = self.root
        result = self._result(root) if self.propagate_results else None
        if result is not None:
            return float(result + self.draw_value * (result == 0))
        own = self.dtype(include_root or not root.n.any())
        n = root.n.astype(self.dtype)
        total = own + n.sum()
        z = (own * root.value + (n * root.z).sum()) / total
        d = (own * root.draw + (n * root.d).sum()) / total
        return float(z + self.draw_value * d)

    def proven(self, node: Node, action: int) -> float | None:
        """The result of an edge for the player to move at `node`, None where it is not proven.

        Worked out afresh from the stored positions: a finished position has its result, another
        one is won by a won edge, else it has the best of its edges once all of them are proven.
        """
        child = node.children.get(action)
        result = None if child is None else self._result(child)
        if child is None or result is None:
            return None
        return result if child.to_move == node.to_move else -result

    def _result(self, node: Node) -> float | None:
        if node.finished:
            return float(np.sign(node.value))
        edges = [self.proven(node, int(a)) for a in np.flatnonzero(node.legal)]
        if 1.0 in edges:
            return 1.0
        return None if None in edges else max(e for e in edges if e is not None)

    def choice(self) -> int:
        """The most visited action; with `propagate_results` a won one, no lost one."""
        actions = [int(a) for a in np.flatnonzero(self.root.legal)]
        return max(self._allowed(self.root, actions), key=lambda a: (self.root.n[a], -a))

    def _allowed(self, node: Node, actions: list[int]) -> list[int]:
        if not self.propagate_results:
            return actions
        results = {a: self.proven(node, a) for a in actions}
        won = [a for a in actions if results[a] == 1.0]
        return won or [a for a in actions if results[a] != -1.0] or actions

    def advance(
        self, action: int, *, noise: ArrayLike | None = None, keep: int | None = None
    ) -> Tree:
        """Makes the root's child by `action` the root, with all that is below it.

        A child that is not stored is evaluated afresh and starts without visits. With `keep`, only
        the `keep` nodes created first stay; the edges to the others stay with their statistics.
        """
        if not self.root.legal[action]:
            raise ValueError(f"action {action} is not legal")
        child = self.root.children.get(action)
        if child is None:
            child = self._new_node(self.game.step(self.root.state, action))
        self.root = child
        if keep is not None:
            if keep < 1:
                raise ValueError(f"keep is {keep}, but the root needs a node")
            nodes = child.subtree()
            last = sorted(node.serial for node in nodes if self._counts(node))[:keep][-1]
            for node in nodes:
                node.children = {a: c for a, c in node.children.items() if c.serial <= last}
        self.size = sum(map(self._counts, child.subtree()))
        self.paths = []
        self._set_noise(noise)
        return self

    # How it is done.

    def _counts(self, node: Node) -> bool:
        return self.count_finished or node is self.root or not node.finished

    def _set_noise(self, noise: ArrayLike | None) -> None:
        prior = self.root.prior
        if noise is not None:
            f = self.noise_fraction
            mixed = (self.dtype(1) - f) * prior + f * np.asarray(noise, self.dtype)
            prior = np.where(self.root.legal, mixed, self.dtype(0))
        self._root_prior = prior

    def _new_node(self, state: State) -> Node:
        """Looks a position up and evaluates it; storing it is the caller's business."""
        dtype = self.dtype
        to_move = int(self.game.to_move(state))
        legal = np.array(self.game.legal(state), bool)
        finished = bool(self.game.terminal(state))
        if finished:
            outcome = self.game.outcome(state)
            value = dtype(self.terminal_value(outcome, to_move))
            draw = dtype(1) - abs(value) if outcome[0] == outcome[1] else dtype(0)
            legal = np.zeros_like(legal)
            prior = np.zeros(legal.size, dtype)
        else:
            if not legal.any():
                raise ValueError("an unfinished position without a legal move")
            logits, raw_value, raw_draw = self.game.evaluate(state)
            value, draw = dtype(raw_value), dtype(raw_draw)
            prior = self._prior(np.asarray(logits, dtype), legal)
        self._created += 1
        return Node(
            state=state,
            serial=self._created,
            to_move=to_move,
            finished=finished,
            value=value,
            draw=draw,
            legal=legal,
            prior=prior,
            n=np.zeros(legal.size, np.int64),
            z=np.zeros(legal.size, dtype),
            d=np.zeros(legal.size, dtype),
            children={},
        )

    def _prior(self, logits: NDArray[Any], legal: NDArray[np.bool_]) -> NDArray[Any]:
        if self.renormalise:
            logits = np.where(legal, logits, self.dtype(-np.inf))
        weights = np.exp(logits - logits.max())
        return np.where(legal, weights / weights.sum(), self.dtype(0))

    def _q(self, node: Node) -> NDArray[Any]:
        q = node.z + self.draw_value * node.d
        if self.q_scale == "unit":
            q = (q + self.dtype(1)) / self.dtype(2)
        return np.where(node.n > 0, q, self.unvisited_q)

    def _select(self, node: Node) -> int:
        dtype = self.dtype
        prior = self._root_prior if node is self.root else node.prior
        total = dtype(node.n.sum())
        if self.sqrt_form == "inside":
            root = np.sqrt(total + dtype(1e-8))
        else:
            root = np.sqrt(total) + dtype(1e-5)
        score = self._q(node) + self.c_puct * prior * root / (dtype(1) + node.n.astype(dtype))
        allowed = self._allowed(node, [int(a) for a in np.flatnonzero(node.legal)])
        return max(allowed, key=lambda a: (score[a], -a))

    def _simulate(self) -> None:
        node = self.root
        path: list[tuple[Node, int]] = []
        while not node.finished:
            action = self._select(node)
            path.append((node, action))
            child = node.children.get(action)
            if child is not None and self._is_proven(node, action):
                node = child
                break
            if child is None:
                child = self._new_node(self.game.step(node.state, action))
                has_room = self.capacity is None or self.size < self.capacity
                if has_room or not self._counts(child):
                    node.children[action] = child
                    self.size += self._counts(child)
                node = child
                break
            node = child
        self._backup(path, node)
        self.paths.append(tuple(action for _, action in path))

    def _is_proven(self, node: Node, action: int) -> bool:
        return self.propagate_results and self.proven(node, action) is not None

    def _backup(self, path: list[tuple[Node, int]], leaf: Node) -> None:
        told, value, draw = leaf.to_move, leaf.value, leaf.draw
        for node, a in reversed(path):
            value = self.discount * value
            own = value if node.to_move == told else -value
            k = self.dtype(node.n[a])
            above = k + self.dtype(1)
            result = self.proven(node, a) if self.propagate_results else None
            if result is None:
                node.z[a] = (k * node.z[a] + own) / above
                node.d[a] = (k * node.d[a] + draw) / above
            else:
                told, value, draw = node.to_move, self.dtype(result), self.dtype(result == 0)
                node.z[a], node.d[a] = value, draw
            node.n[a] += 1


def search(game: OracleGame, state: State, *, num_simulations: int, **options: Any) -> Tree:
    """A tree with `num_simulations` visits to the root's children; options as in `Tree`."""
    return Tree(game, state, **options).run(num_simulations)
