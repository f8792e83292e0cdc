"""Lost games tried again at once: what each begins with, and what is reported of it."""

import functools
import itertools
from typing import Any

import jax.numpy as jnp
import numpy as np

from tests.training.stub_games import LINE3, in_parts, signed

PARTS, GAMES = 4, 24
LANES = GAMES // PARTS
GAME = signed(LINE3)


@functools.cache
def played() -> tuple[Any, dict[str, float]]:
    return in_parts(GAMES, PARTS, {"selfplay.retry": True})


def board(games: Any, t: int, b: int) -> bytes:
    return games.observation[t, b].astype(np.int8).tobytes()


def ends_at_once(actions: list[int]) -> bool:
    state = GAME.init()
    for action in actions:
        state = GAME.step(state, jnp.int32(action))
    return bool(GAME.is_terminal(state))


def again(games: Any, b: int, tried: set[tuple[bytes, int]]) -> list[int] | None:
    """The moves that the game after this one begins with; None: it begins at the start."""
    first, second = games.outcome[b]
    loser = 1 if first > second else 0  # of a draw the first player, player 1 of the program
    own = [t for t in range(games.plies[b]) if games.to_move[t, b] == loser]
    candidates = []
    for t, later in itertools.pairwise(own):
        legal = np.flatnonzero(games.legal[t, b]).tolist()
        moves = [a for a in legal if (board(games, t, b), a) not in tried]
        if moves:
            best = max(moves, key=lambda a, t=t: (games.policy[t, b, a], -a))
            candidates.append((games.root_value[t, b] - games.root_value[later, b], -t, best))
    if not candidates:
        return None
    _, t, best = max(candidates)
    begun = [*games.action[:-t, b].tolist(), best]
    return None if ends_at_once(begun) else begun


def test_each_game_of_a_part_begins_where_the_one_before_went_wrong() -> None:
    games, _ = played()
    tried: set[tuple[bytes, int]] = set()
    retried = drawn = 0
    for part in range(PARTS):
        mine = range(part * LANES, (part + 1) * LANES)
        tried |= {
            (board(games, t, b), int(games.action[t, b]))
            for b in mine
            for t in range(games.plies[b])
        }
        if part + 1 == PARTS:
            break
        for b in mine:
            begun = again(games, b, tried)
            if begun is not None:
                assert games.action[: len(begun), b + LANES].tolist() == begun
                retried += 1
                drawn += int(games.outcome[b, 0] == games.outcome[b, 1])
    assert retried > LANES
    assert drawn


def test_what_was_played_before_is_reported_again_with_the_new_result() -> None:
    games, metrics = played()
    distinct = set()
    for b in range(GAMES):
        state = GAME.init()
        for t in range(games.plies[b]):
            assert games.valid[t, b]
            assert games.recorded[t, b]
            assert board(games, t, b) == np.asarray(GAME.observe(state), np.int8).tobytes()
            assert games.value[t, b] == games.outcome[b, games.to_move[t, b]]
            assert games.drawn[t, b] == (games.outcome[b, 0] == games.outcome[b, 1])
            distinct.add(board(games, t, b))
            state = GAME.step(state, jnp.int32(games.action[t, b]))
        assert GAME.is_terminal(state)
        np.testing.assert_array_equal(GAME.outcome(state), games.outcome[b])
        assert not games.valid[games.plies[b] :, b].any()
    assert metrics["count/searches"] == len(distinct)
    assert metrics["selfplay/positions"] == games.valid.sum() > len(distinct)
