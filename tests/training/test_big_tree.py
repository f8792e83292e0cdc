"""One big tree: every move of its games against the rule, position by position."""

import functools
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

from jaxzero.settings.config import ConfigError
from tests.training.stub_games import in_parts

C, PARTS, GAMES = 1.5, 6, 47
ONE_HOT = {"switches.one_hot_after_temperature": True}
LANES = 8  # of a part; the last has a game less


@functools.cache
def played() -> tuple[Any, dict[str, float]]:
    return in_parts(GAMES, PARTS, {"selfplay.tree_c": C})


def after(board: bytes, action: int) -> bytes:
    """The board for the next player; row 0 is on top."""
    cells = np.frombuffer(board, np.int8).reshape(3, 3).copy()
    row = np.flatnonzero(cells[:, action] == 0).max()
    cells[row, action] = 1
    return (-cells).astype(np.int8).tobytes()


def test_moves_follow_the_rule_and_games_without_a_new_position_are_not_learned_from() -> None:
    games, _ = played()
    boards = games.observation.astype(np.int8)
    visits: dict[tuple[bytes, int], float] = defaultdict(float)
    wins: dict[tuple[bytes, int], float] = defaultdict(float)
    seen: set[bytes] = set()
    guided = repeated = 0
    for part in range(PARTS):
        mine = range(part * LANES, min((part + 1) * LANES, GAMES))
        for t in range(len(games.valid)):
            passing: Counter[bytes] = Counter()
            for b in mine:
                if not games.valid[t, b]:
                    continue
                board = boards[t, b].tobytes()
                legal = np.flatnonzero(games.legal[t, b])
                behind = {a: passing[after(board, a)] for a in legal}
                count = {a: visits[board, a] + behind[a] for a in legal}
                root = np.sqrt(sum(count.values())) + 1e-5
                scores = {
                    a: (wins[board, a] / count[a] if count[a] else 0.0)
                    + C * games.policy[t, b, a] * root / (1 + count[a])
                    for a in legal
                }
                action = int(games.action[t, b])
                assert scores[action] > max(scores.values()) - 1e-5
                passing[after(board, action)] += 1
                guided += len(set(np.round(list(scores.values()), 4))) > 1
        for b in mine:
            rows = [(t, boards[t, b].tobytes()) for t in range(games.plies[b])]
            is_new = any(board not in seen for _, board in rows)
            seen |= {board for _, board in rows}
            assert (games.recorded[:, b] == (games.valid[:, b] & is_new)).all()
            repeated += not is_new
            for t, board in rows:
                edge = board, int(games.action[t, b])
                visits[edge] += 1
                wins[edge] += (1 + games.outcome[b, games.to_move[t, b]]) / 2
    assert guided > 30
    assert repeated > 0


def test_each_position_is_searched_once_in_all_parts() -> None:
    games, metrics = played()
    boards = games.observation.astype(np.int8)
    distinct = {boards[t, b].tobytes() for t, b in zip(*np.nonzero(games.valid), strict=True)}
    assert metrics["count/searches"] == len(distinct) < games.valid.sum()
    assert games.valid[0].sum() == GAMES
    np.testing.assert_array_equal(games.plies, games.valid.sum(0))
    assert len({tuple(actions) for actions in games.action.T}) > GAMES // 4


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("tree_c", {"selfplay.share": "ply"}),
        ("tree_c", {"selfplay.opening_plies": 2}),
        ("tree_c", {"selfplay.archive_share": 0.5}),
        ("tree_c", ONE_HOT),
        ("retry", {"selfplay.retry": True}),
        ("parts", {"selfplay.parts": 1}),
        ("parts", {"selfplay.tree_c": 0.0}),
        ("retry", {"selfplay.tree_c": 0.0, "selfplay.retry": True} | ONE_HOT),
    ],
)
def test_what_does_not_go_with_a_tree_is_refused(key: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"^config\.selfplay\.{key}=") as refusal:
        in_parts(GAMES, PARTS, {"selfplay.tree_c": C} | changes)
    assert "\n" not in str(refusal.value)
