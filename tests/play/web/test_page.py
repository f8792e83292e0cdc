"""The page in a browser: what people press, and what they see then."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jaxzero.games import make_game
from jaxzero.play.display import records, session
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.records import Record
from tests.browser import too_wide, watched
from tests.games.sessions import find_game, passes
from tests.play.web.conftest import SHIPS

GAME = "connect_four_5x5"
TWO = "first=you&second=you"  # people
Open = Callable[..., Any]


REFUSED = "Failed to load resource: the server responded with a status of 400 (BAD REQUEST)"


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Open]:
    """Opens tabs; at the end nothing may have gone wrong in any but what was refused."""
    faults: list[str] = []
    pages: list[Any] = []

    def opened(fragment: str = "", size: str = "desktop", scheme: str = "light") -> Any:
        page = watched(browser, faults, size, scheme)
        pages.append(page)
        page.goto(f"{address}#{fragment}")
        page.wait_for_selector("#board svg, #board pre")
        return page

    yield opened
    for page in pages:
        page.context.close()
    assert not [fault for fault in faults if fault.lower() != REFUSED.lower()]


def moves(page: Any) -> list[str]:
    """Those that the page lists."""
    return [text.partition(".")[2] for text in page.locator("#moves button").all_inner_texts()]


def wait_for_moves(page: Any, count: int) -> None:
    """Until the page lists so many moves and the board shows the newest: the list comes first."""
    page.locator("#moves button").nth(count - 1).wait_for()
    page.evaluate("() => ready.then(() => null)")


def said(page: Any, text: str) -> None:
    """Waits until the line below the board has it."""
    page.locator("#said", has_text=text).wait_for()


def press(page: Any, name: str) -> None:
    page.locator(f'.target[data-name="{name}"]').click()


def is_over(page: Any) -> bool:
    return bool(page.locator("#board svg").get_attribute("aria-label").endswith(("won", "draw")))


def test_a_whole_game_against_a_network(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    count = 0
    while True:
        press(page, page.locator(".can").first.get_attribute("data-name"))
        wait_for_moves(page, count := count + 1)
        said(page, "plays" if count % 2 else "")
        if is_over(page):
            break
        wait_for_moves(page, count := count + 1)
        if is_over(page):
            break
        said(page, "Your move, first player")
        answer = rf"plays {moves(page)[-1]} \(value for itself: [+\u2212]\d\.\d\d, "
        assert re.search(answer, page.locator("#said").inner_text())
    notation = make_notation(make_game(GAME))
    end = session.replay(make_game(GAME), [notation.names.index(m) for m in moves(page)])
    assert end.now.is_terminal
    won = end.now.outcome[0]
    said(page, "A draw" if not won else "You have won" if won > 0 else "You have lost")
    page.locator("#value", has_text="over").wait_for()
    page.screenshot(path=tmp_path / "game.png", full_page=True)
    before = moves(page)
    page.reload()
    page.wait_for_selector("#board svg")
    assert moves(page) == before
    page.click("#undo")
    page.wait_for_selector(".can")
    assert moves(page) == before[: len(before) - (2 if len(before) % 2 == 0 else 1)]


def test_two_people_take_back_a_forced_pass_and_the_move_before_it(open_page: Open) -> None:
    whole = find_game("othello_6x6", lambda game: bool(passes(game, 0) or passes(game, 1)))
    ply = min(passes(whole, 0) + passes(whole, 1))
    names = [make_notation(whole.game).names[action] for action in whole.actions[:ply]]
    page = open_page(f"game=othello_6x6&moves={'.'.join(names)}&{TWO}&hints=0")
    wait_for_moves(page, ply + 1)  # the page passes
    page.click("#undo")
    page.wait_for_selector(".can")
    page.locator("#moves button").nth(ply - 1).wait_for(state="detached")
    assert moves(page) == names[:-1]


def test_what_is_not_legal_changes_nothing(open_page: Open) -> None:
    page = open_page(f"moves=1.1.1.1.1&{TWO}&hints=0")
    press(page, "1")
    said(page, "1 is not legal here; play 2 3 4 5")
    page.fill("#move", "<b>x</b>")
    page.press("#move", "Enter")
    said(page, "<b>x</b> is not legal here")
    assert moves(page) == ["1"] * 5
    page.fill("#move", "2")
    page.press("#move", "Enter")
    wait_for_moves(page, 6)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("5")
    wait_for_moves(page, 7)
    assert moves(page) == [*["1"] * 5, "2", "5"]


def test_a_broken_address_is_said(open_page: Open) -> None:
    page = open_page(f"moves=1&{TWO}&hints=0")
    page.evaluate("location.hash = 'moves=1.9'")
    said(page, "move 2 is '9', not a column, 1 to 5")
    page.evaluate("location.hash = 'moves=1.2&first=you&second=you&hints=0'")
    wait_for_moves(page, 2)


def test_two_tabs_do_not_know_each_other(open_page: Open) -> None:
    one, two = open_page(f"{TWO}&hints=0"), open_page(f"{TWO}&hints=0")
    press(one, "3")
    wait_for_moves(one, 1)
    for name in ("2", "4"):
        press(two, name)
    wait_for_moves(two, 2)
    press(one, "5")
    wait_for_moves(one, 2)
    assert (moves(one), moves(two)) == (["3", "5"], ["2", "4"])
    one.reload()
    wait_for_moves(one, 2)
    assert moves(one) == ["3", "5"]
    one.click("#undo")
    one.locator("#moves button").nth(1).wait_for(state="detached")
    assert (moves(one), moves(two)) == (["3"], ["2", "4"])


def test_sides_players_and_simulations_change_while_playing(open_page: Open) -> None:
    page = open_page("moves=3&hints=0")
    wait_for_moves(page, 2)  # the network has answered
    page.click("#swap")
    wait_for_moves(page, 3)  # and now plays the other side
    page.get_by_label("Simulations of the first player", exact=True).fill("9")
    page.press("#move", "Tab")
    page.get_by_label("First player", exact=True).select_option("greedy")
    page.locator(".can").first.press("Enter")
    wait_for_moves(page, 5)
    page.get_by_label("Second player", exact=True).select_option("random")
    wait_for_moves(page, 7)  # two players by themselves
    page.click("#pause")
    page.locator("#pause", has_text="Resume").wait_for()
    assert "second=random" in page.evaluate("location.hash")
    page.click("#new")
    wait_for_moves(page, 1)


def test_the_analysis_says_what_the_search_found(open_page: Open, tmp_path: Path) -> None:
    page = open_page(f"moves=1.2.1.2.1.2&{TWO}&analysis={SHIPS}~16&notes=solved")
    page.locator("#solved", has_text="win in 1").wait_for()
    best = page.locator("#table tr.best")
    assert best.locator("td").first.inner_text() == "1"
    assert best.locator("td").last.inner_text() == "win in 1"
    assert page.locator(".target[data-name='1'] text").inner_html() == "+1"
    page.locator("#chart path[stroke-width]").wait_for(state="attached")
    assert page.locator("#chart").get_attribute("aria-label").count(".") == 7
    page.screenshot(path=tmp_path / "analysis.png", full_page=True)
    with page.expect_download() as download:
        page.click("a[data-file='game.txt']")
    record = tmp_path / "game.txt"
    download.value.save_as(record)
    page.click("#new")
    page.locator("#moves button").first.wait_for(state="detached")
    page.set_input_files("#open", record)
    wait_for_moves(page, 6)
    assert moves(page) == list("121212")
    page.click("#end")
    page.locator("#moves button[aria-current]", has_text="6.").wait_for()
    page.locator("#table button", has_text="1").first.click()
    said(page, "The first player has won")


def test_a_second_press_does_not_play_the_opponents_move(open_page: Open) -> None:
    page = open_page(f"first=you&second={SHIPS}~4&hints=0")
    page.locator(".can").first.wait_for()
    held: list[Any] = []

    def hold(route: Any) -> None:
        after_reply = len(route.request.post_data_json["moves"]) == 2 and not held
        held.append(route) if after_reply else route.continue_()

    page.route("**/position", hold)
    press(page, "3")
    page.locator("#moves button").nth(1).wait_for()  # the reply, whose board is on its way
    for name in ("1", "2"):
        press(page, name)
    held[0].continue_()
    wait_for_moves(page, 4)
    said(page, "plays")
    assert (moves(page)[0], moves(page)[2]) == ("3", "1")
    assert len(moves(page)) == 4


def test_nothing_is_played_while_the_program_does_not_answer(open_page: Open) -> None:
    page = open_page(f"{TWO}&hints=0")
    page.locator(".can").first.wait_for()
    page.route("**/position", lambda route: route.fulfill(status=400, json={"error": "away"}))
    for name in ("1", "2", "3"):
        press(page, name)
        said(page, "away")
    assert moves(page) == ["1"]
    page.unroute("**/position")
    press(page, "2")  # asks again
    said(page, "Your move, second player")
    press(page, "2")
    wait_for_moves(page, 2)
    assert moves(page) == ["1", "2"]


def test_a_game_that_is_not_offered_is_said(open_page: Open) -> None:
    page = open_page("game=othello_4x4&moves=a2")
    said(page, "The page was started without othello_4x4: add --game=othello_4x4")
    assert moves(page) == []
    assert page.locator("#board .can").count() == 5


def test_a_record_that_was_opened_is_kept_as_it_was(open_page: Open, tmp_path: Path) -> None:
    game = make_game(GAME)
    played = session.replay(game, [0, 1, 0, 1, 0, 1, 0], opening=2)
    anna = Record(played, ("Anna", "Bert"))
    many = records.to_text([anna] * 700)  # more than a question may hold
    (tmp_path / "in.txt").write_text(many)
    page = open_page(f"{TWO}&hints=0")
    page.set_input_files("#open", tmp_path / "in.txt")
    wait_for_moves(page, 7)
    for name in ("out", "again"):
        with page.expect_download() as download:
            page.click("a[data-file='game.txt']")
        download.value.save_as(tmp_path / f"{name}.txt")
        assert (tmp_path / f"{name}.txt").read_text() == records.to_text([anna])
        page.reload()  # the address holds it
        wait_for_moves(page, 7)


def test_what_is_typed_and_focused_stays(open_page: Open) -> None:
    page = open_page(f"moves=3&{TWO}&analysis={SHIPS}~4")
    field = page.get_by_label("Simulations of the analysis", exact=True)
    field.fill("99999")
    field.press("Enter")
    page.wait_for_function("() => state.seats[2].simulations === 1600")
    assert field.input_value() == "1600"
    page.evaluate("location.hash = 'moves=3&first=you&second=you'")
    button = page.locator("#table button", has_text="2").first
    button.focus()
    button.press("Enter")
    wait_for_moves(page, 2)
    assert page.evaluate("document.activeElement.tagName") != "BODY"


BOARDS = {
    "othello_6x6": ["b3", "b2"],
    "reversi_6x6": ["b3", "b2"],
    "gobang_5x5": ["c3", "d4"],
    "racing_kings": ["d4e6", "e4d6"],
    "connect_four_6x7": ["4", "4"],
}


@pytest.mark.parametrize("game", BOARDS)
def test_every_board_is_played_by_pressing_it(open_page: Open, game: str, tmp_path: Path) -> None:
    scheme = "dark" if "o" in game[:2] else "light"
    page = open_page(f"game={game}&{TWO}&hints=0", "phone", scheme)
    for number, move in enumerate(BOARDS[game], 1):
        for name in [move[:2], move[2:]] if game == "racing_kings" else [move]:
            press(page, name)
        wait_for_moves(page, number)
    assert moves(page) == BOARDS[game]
    assert not too_wide(page)
    page.screenshot(path=tmp_path / f"{game}_phone.png", full_page=True)
    page.set_viewport_size({"width": 1300, "height": 900})
    assert not too_wide(page)
    page.screenshot(path=tmp_path / f"{game}_desktop.png")
    assert page.locator("svg:not([aria-hidden]):not([aria-label])").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("game", [*BOARDS, "pgx:tic_tac_toe", "pgx:hex"])
def test_a_whole_game_on_each_board(open_page: Open, game: str) -> None:
    if game.startswith("pgx:"):
        pytest.importorskip("pgx")
    page = open_page(f"game={game.replace(':', '%3A')}&first=greedy~0&second=random~0&hints=0")
    ended = page.locator("#said", has_text=re.compile("has won|A draw"))
    ended.wait_for(timeout=500_000)
    assert page.locator("#board .can").count() == 0
