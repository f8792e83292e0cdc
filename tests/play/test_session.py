"""Games as they are played: back and forth, and how their boards look in characters."""

import dataclasses

import jax
import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.play.display import boards, session
from tests.games.sessions import find_game, passes, random_game, until
from tests.small import assert_equal

CONNECT_FOUR = "connect_four_4x5"


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").split("\n")]


@pytest.mark.parametrize("name", [CONNECT_FOUR, "othello_4x4", "reversi_4x4"])
def test_undo_is_the_position_before_the_players_last_choice(name: str) -> None:
    whole = random_game(name, 1)
    for player in (0, 1):
        choices = [
            ply
            for ply in range(len(whole.actions))
            if whole.positions[ply].to_move == player and ply not in passes(whole, player)
        ]
        now = whole
        for ply in reversed(choices):
            now = session.undo(now, player)
            assert now.actions == whole.actions[:ply]
            assert_equal(now.now, whole.positions[ply])
            # What is played from there is what was played before.
            again = session.play(now, whole.actions[ply])
            assert_equal(again.now, whole.positions[ply + 1])
        assert session.undo(now, player) is None


def test_undo_passes_over_a_forced_pass() -> None:
    whole = find_game("othello_4x4", lambda game: bool(passes(game, 1)))
    ply = passes(whole, 1)[0]
    after_pass = until(whole, ply + 2)
    back = session.undo(after_pass, 1)
    assert back is not None
    assert len(back.actions) < ply


def test_an_opening_is_never_taken_back_and_never_ends_the_game() -> None:
    game = make_game("connect_four_3x3_line3")
    for seed in range(10):
        opened = session.random_opening(game, 20, seed)
        assert not opened.now.is_terminal
        assert 2 <= opened.opening == len(opened.actions) <= 20
        assert session.undo(opened, 0) is session.undo(opened, 1) is None
        moved = session.play(opened, int(np.flatnonzero(opened.now.legal)[0]))
        assert session.undo(moved, opened.now.to_move).actions == opened.actions
    assert session.random_opening(game, 0, 0).actions == ()
    assert len(session.random_opening(game, 10**9, 0).actions) <= game.max_plies
    one, two = (session.random_opening(make_game(CONNECT_FOUR), 4, 7).actions for _ in range(2))
    assert one == two


def test_illegal_moves_are_refused_with_the_legal_ones() -> None:
    start = session.begin(make_game("othello_4x4"))
    with pytest.raises(ValueError, match=r"^a1 is not legal here; legal: b1 a2 d3 c4$"):
        session.play(start, 0)
    whole = random_game(CONNECT_FOUR)
    with pytest.raises(ValueError, match=r"1 is not legal here; legal: the game is over"):
        session.play(whole, 0)
    with pytest.raises(ValueError, match=r"^move 5: 1 is not legal here; legal: 2 3 4 5$"):
        session.replay(make_game(CONNECT_FOUR), [0] * 5)


def test_positions_say_what_the_rules_say() -> None:
    whole = random_game(CONNECT_FOUR, 2)
    game = whole.game
    for position in whole.positions:
        state = jax.tree.map(jax.numpy.asarray, position.state)
        np.testing.assert_array_equal(position.legal, game.legal_actions(state))
        assert position.to_move == game.to_move(state)
        assert position.is_terminal == game.is_terminal(state)
        np.testing.assert_array_equal(position.outcome, game.outcome(state))


def test_a_board_of_columns() -> None:
    now = session.replay(make_game(CONNECT_FOUR), [2, 2, 0])
    assert boards.board(now) == lines(
        """
  1   2   3   4   5
  .   .   .   .   .
  .   .   .   .   .
  .   .   O   .   .
 [X]  .   X   .   .
O to move"""
    )
    assert boards.board(now, {0: "7", 2: "100", 4: "53"}) == lines(
        """
  1   2   3   4   5
  .   .   .   .   .
  .   .  100  .   .
  7   .   O   .   .
 [X]  .   X   .  53
O to move"""
    )


def test_a_board_of_squares_shows_where_one_can_play() -> None:
    now = session.replay(make_game("othello_4x4"), [1])
    assert boards.board(now) == lines(
        """
   a   b   c   d
1  +  [X]  +   .
2  .   X   X   .
3  +   X   O   .
4  .   .   .   .
O to move (X 4, O 1), to one of the squares +"""
    )


def test_a_game_of_pgx_shows_its_stones() -> None:
    pytest.importorskip("pgx")
    now = session.replay(make_game("pgx:tic_tac_toe"), [4, 0])
    np.testing.assert_array_equal(
        boards.stones(now.game, now.now.state), [[2, 0, 0], [0, 1, 0], [0, 0, 0]]
    )
    assert boards.board(now) == lines(
        """
   a   b   c
1 [O]  .   .
2  .   X   .
3  .   .   .
X to move"""
    )


def test_a_game_without_a_board_shows_what_it_renders() -> None:
    class Plain:
        """Neither stones nor squares."""

        name = "plain"
        num_actions = 3

        def render(self, state: object) -> str:
            return text

    text = "two\nlines"
    start = dataclasses.replace(session.begin(make_game(CONNECT_FOUR)), game=Plain())
    assert boards.board(start) == ["two", "lines", "X to move"]
    text = "two\nplain: X to move"
    assert boards.board(start) == ["two", "plain: X to move"]


@pytest.mark.parametrize("name", [CONNECT_FOUR, "othello_4x4"])
def test_captions_tell_the_result(name: str) -> None:
    for seed in range(5):
        whole = random_game(name, seed)
        first, _ = whole.now.outcome
        caption = boards.caption(whole.game, whole.now)
        assert caption.startswith({1: "X has won", 0: "a draw", -1: "O has won"}[int(first)])


def test_moves_are_numbered_and_wrapped() -> None:
    whole = random_game("othello_4x4", 1)
    text = boards.move_lines(whole, 30)
    assert max(map(len, text)) <= 30
    words = " ".join(text).split()
    assert words[::2] == [f"{n}." for n in range(1, len(whole.actions) + 1)]
