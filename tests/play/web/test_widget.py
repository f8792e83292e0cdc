"""The page as a widget: its frame in a browser, its answers from Python, nothing between them."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.play.board_players import Analysis
from jaxzero.play.display import session
from jaxzero.play.web import answers, widget
from jaxzero.play.web.server import Site
from tests.browser import watched

# What a notebook does: renders the module in a cell, and hands messages to Python and back.
CELL = """
window.heard = [];
const model = {
  get: name => name === "page" ? PAGE : 900,
  on: (name, handler) => heard.push(handler),
  off: () => {},
  send: async message => { const said = await python(message); heard.forEach(hear => hear(said)); },
};
const {default: module} = await import("data:text/javascript;base64," + MODULE);
module.render({model, el: document.body});
"""


def test_a_question_that_breaks_is_answered_and_shown(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = widget.PageWidget(site, 900)
    sent: list[Any] = []
    monkeypatch.setattr(shown, "send", sent.append)
    with pytest.raises(KeyError, match="fortune"):
        shown._answer(shown, {"id": 1, "question": "fortune", "given": {}}, [])
    assert sent == [{"id": 1, "said": {"error": "no answer: the notebook shows why"}}]


def test_an_analysis_is_told_from_the_side_that_is_to_move() -> None:
    now = session.replay(make_game("connect_four_5x5"), (2,) * 5)  # the column is full
    found = Analysis(
        action=3,
        value=0.31,
        network_value=-0.6,
        prior=np.array([0.1, 0.2, 0.4, 0.25, 0.05], np.float32),
        visits=np.array([1, 0, 0, 5, 3], np.int32),
        q=np.array([-0.5, 0.0, 0.0, 0.25, 0.0], np.float32),
        lines=np.array([[3, 1, -1], [4, -1, -1], [-1, -1, -1]], np.int32),
    )
    said = answers._in_words(now, found)
    assert (said["move"], said["toMove"], said["value"], said["first"]) == ("4", 1, 0.31, -0.31)
    assert (said["words"], said["visits"]) == ("+0.31, a little better", 9)
    rows = [(row["move"], row["visits"], row["value"]) for row in said["rows"]]
    assert rows == [("4", 5, 0.25), ("5", 3, 0.0), ("1", 1, -0.5), ("2", 0, None)]
    assert [row["prior"] for row in said["rows"]] == pytest.approx([0.25, 0.05, 0.1, 0.2])
    assert said["lines"] == [["4", "2"], ["5"]]
    assert said["network"] == {"move": "4", "words": "-0.60, clearly worse"}


@pytest.fixture
def cell(browser: Any, site: Site, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The frame of a cell, its faults in `faults`."""
    shown = widget.PageWidget(site, 900)
    sent: list[Any] = []
    monkeypatch.setattr(shown, "send", sent.append)

    def python(message: Any) -> Any:
        shown._handle_custom_msg(message, [])
        return sent.pop()

    faults: list[str] = []
    page = watched(browser, faults)
    page.expose_function("python", python)
    page.evaluate(
        f"async ([PAGE, MODULE]) => {{ {CELL} }}",
        [
            shown.page,
            base64.b64encode(Path(widget.__file__).with_name("widget.js").read_bytes()).decode(),
        ],
    )
    yield page.frames[1]
    page.context.close()
    assert not faults


def test_a_cell_of_a_notebook_plays(cell: Any, tmp_path: Path) -> None:
    cell.locator(".target[data-name='3']").click()
    cell.locator("#moves button").nth(1).wait_for()  # the network has answered
    cell.locator("#said", has_text="plays").wait_for()
    cell.fill("#move", "9")
    cell.press("#move", "Enter")
    cell.locator("#said", has_text="9 is not legal here").wait_for()
    assert not cell.locator("#copy").is_visible()
    with cell.page.expect_download() as download:
        cell.click("a[data-file='game.txt']")
    download.value.save_as(tmp_path / "game.txt")
    cell.click("#new")
    cell.locator("#moves button").first.wait_for(state="detached")
    cell.set_input_files("#open", tmp_path / "game.txt")
    cell.locator("#moves button").nth(1).wait_for()
    (tmp_path / "game.txt").write_text("nothing")
    cell.set_input_files("#open", tmp_path / "game.txt")
    cell.locator("#said.bad", has_text="the file").wait_for()
    cell.wait_for_function("waiting.size === 0")
