"""Pictures: well-formed, with every stone and every move where it was played."""

import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.play.display import boards, drawing, film, records, session, svg
from jaxzero.play.display.session import Session
from tests.games.sessions import find_game, random_game

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("person", "<b> & co")


def picture_of(*played: Session) -> ElementTree.Element:
    """The parsed page of some games."""
    pictures = [drawing.game_picture(s, NAMES, records.result(s)) for s in played]
    return ElementTree.fromstring(svg.page(pictures))


def discs(page: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    """Circles in the groups of that class."""
    return [
        c for g in page.iter(f"{SVG}g") if g.get("class") == name for c in g.iter(f"{SVG}circle")
    ]


def texts(page: ElementTree.Element, name: str | None = None) -> list[str]:
    """Texts, or those in the groups of that class."""
    if name is None:
        return [t.text or "" for t in page.iter(f"{SVG}text")]
    groups = [g for g in page.iter(f"{SVG}g") if g.get("class") == name]
    return [t.text or "" for g in groups for t in g.iter(f"{SVG}text")]


def stones_of(played: Session) -> list[np.ndarray]:
    return [boards.stones(played.game, p.state) for p in played.positions]


@pytest.mark.parametrize("name", ["connect_four_4x5", "gobang_5x5"])
def test_stones_that_stay_are_one_board_with_numbers(name: str) -> None:
    played = find_game(name, lambda s: s.now.outcome[0] != 0)
    page, final = picture_of(played), stones_of(played)[-1]
    assert len(discs(page, "first")) == (final == 1).sum()
    assert len(discs(page, "second")) == (final == 2).sum()
    count = len(played.actions)
    assert sorted(map(int, texts(page, "numbers"))) == list(range(1, count + 1))
    winner = 1 if played.now.outcome[0] > 0 else 2
    places = {(c.get("cx"), c.get("cy")) for c in discs(page, "marked")}
    own = {(c.get("cx"), c.get("cy")) for c in discs(page, ("first", "second")[winner - 1])}
    assert len(places) >= played.game.line
    assert places <= own
    assert len(own - places) == (final == winner).sum() - len(places)


def test_numbers_stand_on_the_stones_that_they_played() -> None:
    played = session.replay(make_game("connect_four_4x5"), [2, 2, 4])
    page = picture_of(played)
    cell = drawing.MAX_CELL
    numbers = [
        (t.text, float(t.get("x", "nan")), float(t.get("y", "nan")))
        for g in page.iter(f"{SVG}g")
        if g.get("class") == "numbers"
        for t in g.iter(f"{SVG}text")
    ]
    found = {n: (x, y) for n, x, y in numbers}
    assert found["2"] == (found["1"][0], found["1"][1] - cell)  # on top of the first
    assert found["3"] == (found["1"][0] + 2 * cell, found["1"][1])


@pytest.mark.parametrize("name", ["othello_4x4", "reversi_4x4"])
def test_stones_that_change_are_two_boards_and_a_strip(name: str) -> None:
    played = random_game(name, 1)
    history = stones_of(played)
    page = picture_of(played)
    placed = [boards.placed(a, b) for a, b in itertools.pairwise(history)]
    movers = [p.to_move for p in played.positions[:-1]]
    for player, group in enumerate(("first", "second")):
        who = 2 + sum(m == player and p is not None for m, p in zip(movers, placed, strict=True))
        drawn = [history[-1], *history[1:]]
        expected = who + sum(int((stones == 1 + player).sum()) for stones in drawn)
        assert len(discs(page, group)) == expected
    numbers = [n for n, p in enumerate(placed, 1) if p is not None]
    assert sorted(map(int, texts(page, "numbers"))) == numbers
    assert len(discs(page, "marked")) == len(numbers)
    captions = [text for text in texts(page) if ". " in text]
    assert len(captions) == len(played.actions)


def test_headings_name_the_players_and_the_result() -> None:
    played = random_game("othello_4x4", 1)
    words = texts(picture_of(played))
    final = stones_of(played)[-1]
    ending = {1: "the first player won", 0: "draw", -1: "the second player won"}
    how = f"{ending[int(played.now.outcome[0])]} after {len(played.actions)} moves"
    assert words[:4] == [
        "Othello 4x4",
        *NAMES,
        f"{how}, {(final == 1).sum()} to {(final == 2).sum()}",
    ]
    opened = session.random_opening(make_game("connect_four_4x5"), 3, 0)
    assert texts(picture_of(opened))[3] == "unfinished after 3 moves, the first 3 at random"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("connect_four_7x8_line5", "Connect Four 7x8 Line5"),
        ("pgx:tic_tac_toe", "Tic Tac Toe"),
        ("racing_kings_40plies", "Racing Kings 40plies"),
        (
            "racing_kings:8/8/8/8/KRBNnbrk/8/8/8_w_-_-_0_1",  # capitals are White's pieces
            "Racing Kings: 8/8/8/8/KRBNnbrk/8/8/8 w - - 0 1",
        ),
    ],
)
def test_titles_of_games(name: str, title: str) -> None:
    assert drawing.title_of(name) == title


def test_several_games_are_on_one_page() -> None:
    played = [random_game("connect_four_4x5"), random_game("othello_4x4")]
    both = picture_of(*played)
    single = [picture_of(s) for s in played]
    for name in ("first", "second", "marked"):
        assert len(discs(both, name)) == sum(len(discs(page, name)) for page in single)
    assert float(both.get("height", 0)) > sum(float(page.get("height", 0)) for page in single)


def test_a_game_that_has_not_begun_can_be_drawn() -> None:
    for name in ("connect_four_4x5", "othello_4x4"):
        page = picture_of(session.begin(make_game(name)))
        assert texts(page, "numbers") == []


def test_games_without_stones_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    played = random_game("connect_four_4x5")
    monkeypatch.setattr(boards, "stones", lambda game, state: None)
    page = picture_of(played)
    assert not discs(page, "first")
    words = texts(page)
    assert played.game.render(played.now.state).split("\n")[-1] in words
    assert any(word.startswith("1. ") for word in words)


def test_winning_lines() -> None:
    stones = np.array([[1, 1, 1, 2], [0, 2, 2, 2], [0, 0, 1, 2], [1, 0, 0, 0]])
    assert drawing.winning_squares(stones, 3) == {
        (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 3), (0, 3), (2, 3)
    }  # fmt: skip
    assert drawing.winning_squares(stones, 4) == set()


@pytest.mark.parametrize("name", ["connect_four_4x5", "othello_4x4", "racing_kings_20plies"])
def test_a_film_shows_every_position_in_its_turn(name: str) -> None:
    played = random_game(name)
    page = ElementTree.fromstring(svg.page([film.game_film(played, NAMES, "unfinished")]))
    frames = [g for g in page.iter(f"{SVG}g") if g.find(f"{SVG}animate") is not None]
    assert len(frames) == len(played.positions)
    assert [f.get("visibility") for f in frames] == [*["hidden"] * len(played.actions), "visible"]
    times = [f.find(f"{SVG}animate").get("keyTimes").split(";") for f in frames]  # type: ignore[union-attr]
    assert [start for _, start, _ in times[1:]] == [end for *_, end in times[:-1]]
    if name == "racing_kings_20plies":
        assert texts(frames[0], "pieces")
        return
    for frame, stones in zip(frames, stones_of(played), strict=True):
        assert len(discs(frame, "first")) == (stones == 1).sum()
        assert len(discs(frame, "second")) == (stones == 2).sum()
