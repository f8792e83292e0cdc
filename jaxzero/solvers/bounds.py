"""What an alpha-beta search has learnt about positions: bounds of their scores."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

ILLEGAL = -(1 << 15)  # in place of a score, for an action that cannot be played; fits an int16
CAPACITY = 2_000_000  # positions of either kind of bound; about 200 MB


class Bounds(Generic[Key]):
    """Lower and upper bounds by position. Forgets everything when full: only time is lost."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lower: dict[Key, int] = {}
        self._upper: dict[Key, int] = {}

    def reaches(self, key: Key, goal: int) -> bool | None:
        """Whether a score is `goal` or more; None where that is not known."""
        bound = self._lower.get(key)
        if bound is not None and bound >= goal:
            return True
        bound = self._upper.get(key)
        if bound is not None and bound < goal:
            return False
        return None

    def at_least(self, key: Key, score: int) -> None:
        """Keeps a lower bound that is better than the one known."""
        if len(self._lower) >= self._capacity:
            self._lower.clear()
        self._lower[key] = score

    def at_most(self, key: Key, score: int) -> None:
        """Keeps an upper bound that is better than the one known."""
        if len(self._upper) >= self._capacity:
            self._upper.clear()
        self._upper[key] = score


def score_between(low: int, high: int, reaches: Callable[[int], bool]) -> int:
    """A score, narrowed down by asking whether it reaches one number after another."""
    goal = 1  # results first: they cut most
    while low < high:
        if reaches(goal):
            low = goal
        else:
            high = goal - 1
        goal = 0 if high == 0 and low < 0 else (low + high + 1) // 2
    return low


def sign_of_score(reaches: Callable[[int], bool]) -> int:
    """1, 0 or -1: the result, with less work than the score."""
    return 1 if reaches(1) else 0 if reaches(0) else -1
