"""A game in a notebook: what is played, said and drawn."""

import xml.etree.ElementTree as ElementTree
from typing import Any

import jax
import pytest

from jaxzero.games import make_game
from jaxzero.play.board_players import Analysis, BoardPlayer
from jaxzero.play.display import boards
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.session import Session
from jaxzero.play.notebook import BoardGame
from jaxzero.play.web.widget import play_page
from jaxzero.settings.config import ConfigError
from tests.games.sessions import find_game, passes

SVG = "{http://www.w3.org/2000/svg}"


def scripted(actions: list[int]) -> BoardPlayer:
    """A player whose moves are known."""
    left = list(actions)

    def of_position(key: jax.Array, state: Any) -> Analysis:
        return Analysis(left.pop(0), value=0.3)

    return BoardPlayer("script", "a script", of_position, searches=True)


def begin(replies: list[int], side: int = 0) -> BoardGame:
    """A game of Connect Four against known replies."""
    return BoardGame(make_game("connect_four_4x5"), scripted(replies), side=side)


def circles(match: BoardGame, name: str) -> int:
    """Discs of that class in the picture."""
    page = ElementTree.fromstring(match._repr_svg_() or "")
    groups = [g for g in page.iter(f"{SVG}g") if g.get("class") == name]
    return sum(1 for g in groups for _ in g.iter(f"{SVG}circle"))


def test_moves_are_answered_shown_and_taken_back() -> None:
    match = begin([1, 1])
    assert match.moves == ["1", "2", "3", "4", "5"]
    assert circles(match, "first") == circles(match, "marked") == 0
    assert match.play("3") is match
    assert match.session.actions == (2, 1)
    assert "script plays 2 (for itself: +0.30, a little better)" in repr(match)
    assert (circles(match, "first"), circles(match, "second")) == (1, 1)
    assert circles(match, "marked") == 1
    match.play("3")
    assert match.session.actions == (2, 1, 2, 1)
    assert match.undo().session.actions == (2, 1)
    assert match.undo().undo().session.actions == ()
    assert match.result is None


def test_the_end_is_said_from_your_side() -> None:
    won = begin([4, 4, 4]).play("1", "1", "1", "1")
    assert won.result == 1
    assert "you have won after 7 moves" in repr(won)
    assert won.moves == []
    assert won.hint() is won  # nothing to say
    lost = begin([4, 4, 4, 4], side=1).play("1", "1", "1")
    assert lost.result == -1
    assert "you have lost after 7 moves" in (lost._repr_svg_() or "")


def test_what_is_no_move_changes_nothing() -> None:
    match = begin([0] * 9)
    with pytest.raises(ValueError, match="'9' is no move, which is a column, 1 to 5; legal: 1 2"):
        match.play("9")
    match.play("1", "1")
    with pytest.raises(ValueError, match="1 is not legal here; legal: 2 3 4 5"):
        match.play("1")
    assert match.session.actions == (0, 0, 0, 0)


def test_there_are_two_sides() -> None:
    for begun in (lambda: begin([], side=2), lambda: play_page(side=2)):
        with pytest.raises(ConfigError, match="side=2: 0 moves first, 1 second"):
            begun()


def test_hints_come_from_the_opponent() -> None:
    assert "script: 4" in repr(begin([3]).hint())


def has_passes_of_both(played: Session) -> bool:
    return bool(passes(played, 0)) and bool(passes(played, 1))


@pytest.mark.parametrize("side", [0, 1])
def test_you_pass_where_nothing_else_is_legal(side: int) -> None:
    whole = find_game("othello_4x4", has_passes_of_both)
    names, forced = make_notation(whole.game).names, passes(whole, side)
    movers = [position.to_move for position in whole.positions[:-1]]
    replies = [a for a, mover in zip(whole.actions, movers, strict=True) if mover != side]
    match = BoardGame(whole.game, scripted(replies), side=side)
    for ply, action in enumerate(whole.actions):
        if movers[ply] == side and ply not in forced:
            match.play(names[action])
    assert match.session.actions == whole.actions
    assert match.result == whole.now.outcome[side]


def test_games_without_stones_are_shown_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    match = begin([1]).play("1")
    monkeypatch.setattr(boards, "stones", lambda game, state: None)
    assert match._repr_svg_() is None
    assert match.session.game.render(match.session.now.state) in repr(match)
