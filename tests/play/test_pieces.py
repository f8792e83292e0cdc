"""Racing Kings in pictures and in characters."""

import xml.etree.ElementTree as ET

from jaxzero.games import make_game
from jaxzero.play.display import boards, drawing, pieces, session, svg
from jaxzero.play.display.notation import make_notation
from jaxzero.play.terminal import spectator

SVG = "{http://www.w3.org/2000/svg}"
MOVES = ("d4e6", "e4d6", "a4a5")


def played() -> session.Session:
    game = make_game("racing_kings")
    read = make_notation(game).read
    return session.replay(game, [a for a in map(read, MOVES) if a is not None])


def test_a_game_is_its_last_board_and_a_strip() -> None:
    now = played()
    page = ET.fromstring(svg.page([drawing.game_picture(now, ("one", "two"), "unfinished")]))
    glyphs = [
        text.text
        for group in page.iter(f"{SVG}g")
        if group.get("class") == "pieces"
        for text in group.iter(f"{SVG}text")
    ]
    boards_drawn = 1 + len(MOVES)
    assert len(glyphs) == 8 * boards_drawn
    assert glyphs.count("♔") == glyphs.count("♚") == boards_drawn
    words = [text.text for text in page.iter(f"{SVG}text")]
    assert "3. a4a5" in words


def test_pieces_stand_on_their_squares() -> None:
    now = played()
    start, cell = now.positions[0], 10
    picture = pieces.board_picture(now.game.letters(start.state), cell, moved=(0,))
    body = ET.fromstring(f"<svg>{picture.body}</svg>")
    found = {(t.get("x"), t.get("y")): t.text for t in body.iter("text")}
    assert found["5", "45"] == "♔"  # a4
    assert found["75", "45"] == "♚"  # h4
    frame = next(r for r in body.iter("rect") if r.get("stroke") == pieces.MOVED)
    assert (frame.get("x"), frame.get("y")) == ("1", "71")  # a1, lower left


def test_players_have_the_discs_of_their_colours() -> None:
    white, black = drawing.look_of(make_game("racing_kings")).discs
    moves_first = make_game("racing_kings:8/8/8/8/KRBNnbrk/8/8/8_b_-_-_0_1")
    assert drawing.look_of(moves_first).discs == (black, white)


def test_the_terminal_shows_it() -> None:
    lines = boards.board(played())
    assert lines[3] == "5  K . . . . . . ."
    assert lines[-1] == "Black to move"


def test_sides_with_pieces_are_called_by_their_colours() -> None:
    game = make_game("racing_kings")
    moves_first = make_game("racing_kings:8/8/8/8/KRBNnbrk/8/8/8_b_-_-_0_1")
    assert [boards.mark(player, game) for player in (0, 1)] == ["White", "Black"]
    assert [boards.mark(player, moves_first) for player in (0, 1)] == ["Black", "White"]
    assert spectator.seats(game, ("Ann", "Bob")) == "White is Ann, Black is Bob"
    assert boards.mark(1, make_game("connect_four_4x4")) == "O"
