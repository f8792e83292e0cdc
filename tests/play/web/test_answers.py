"""What the page's server answers, and whom it refuses."""

import dataclasses
import io
import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from werkzeug.test import Client

from jaxzero import runs, workdir
from jaxzero.games import make_game
from jaxzero.play import command
from jaxzero.play.board_players import Analysis
from jaxzero.play.display import boards, position, records, session
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.records import Record
from jaxzero.play.web import answers, begin
from jaxzero.play.web.catalogue import Catalogue
from jaxzero.play.web.server import Site, bind
from jaxzero.settings.config import ConfigError
from tests import small
from tests.games.sessions import find_game, passes, random_game, until
from tests.play.web.conftest import SHIPS

BASE = "http://127.0.0.1:8000"
SVG = "{http://www.w3.org/2000/svg}"
GAME = "connect_four_5x5"
SHIPS_8X8 = "pretrained:othello_8x8"


def ask(site: Site, question: str, given: Any, **options: Any) -> tuple[int, Any]:
    response = Client(site).post(question, base_url=BASE, json=given, **options)
    return response.status_code, response.json


def answer(site: Site, question: str, **given: Any) -> Any:
    status, said = ask(site, question, {"game": GAME, "moves": [], "seed": 0} | given)
    assert status == 200, said
    return said


def moves_of(played: session.Session) -> list[str]:
    return [make_notation(played.game).names[action] for action in played.actions]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8000"}, 200),
        ({"Host": "evil.example:8000"}, 403),
        ({"Host": "127.0.0.1:8001"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Origin": BASE}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:8001"}, 403),
    ],
)
def test_only_the_page_itself_may_ask(site: Site, headers: dict[str, str], status: int) -> None:
    given = {"game": GAME, "moves": []}
    assert ask(site, "position", given, headers=headers)[0] == status
    assert Client(site).get("/", base_url=BASE, headers=headers).status_code == status


def test_other_pages_get_no_picture_and_port_80_has_no_number(site: Site) -> None:
    query = {"game": GAME, "moves": "1", "first": "a", "second": "b"}
    for where, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200)):
        headers = {"Sec-Fetch-Site": where}
        got = Client(site).get("game.svg", base_url=BASE, query_string=query, headers=headers)
        assert got.status_code == status
        assert Client(site).get("/", base_url=BASE, headers=headers).status_code == 200  # a link
    assert Client(site).get("/", base_url="http://127.0.0.1").status_code == 200
    assert Client(site).get("/", base_url="http://evil.example").status_code == 403


def test_what_fails_is_json(site: Site, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setitem(site.answers.by_name, "position", lambda given: 1 / 0)
    status, said = ask(site, "position", {})
    assert (status, said["error"]) == (500, "the program failed, its terminal says where")
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_longer_game_goes_on_from_the_shorter_one(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, steps = session.play, []

    def play(now: session.Session, action: int) -> session.Session:
        steps.append(action)
        return step(now, action)

    monkeypatch.setattr(session, "play", play)
    fresh = Site(Catalogue(), {})
    for moves in (["5", "4", "3"], ["5", "4", "3", "2"], ["5", "4"]):
        answer(fresh, "position", moves=moves)
    assert steps == [4, 3, 2, 1]
    monkeypatch.setattr(session, "play", lambda now, action: now)
    fresh.answers._replay(GAME, (0,) * 2000)  # longer than Python nests calls


def test_what_another_page_can_send_unasked_is_refused(site: Site) -> None:
    text = json.dumps({"game": GAME, "moves": []})
    plain = Client(site).post("position", base_url=BASE, data=text, content_type="text/plain")
    assert plain.status_code == 415
    assert Client(site).get("position", base_url=BASE).status_code == 404
    big = Client(site).post("position", base_url=BASE, json={"moves": "1" * 100_000})
    assert big.status_code == 413
    deep = Client(site).post(
        "position", base_url=BASE, data="[" * 60_000, content_type="application/json"
    )
    assert deep.status_code == 400


def test_the_page_brings_all_that_it_needs(site: Site) -> None:
    response = Client(site).get("/", base_url=BASE)
    text = response.text.replace("http://www.w3.org/2000/svg", "")
    assert "//" not in "".join(part for part in text.split() if "http" in part)
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert "unsafe-inline" not in response.headers["Content-Security-Policy"].split("style-src")[0]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ([], "send an object"),
        ({"moves": []}, "game is missing, or no text"),
        ({"game": "chess_8x8", "moves": []}, "the page was started without chess_8x8"),
        ({"game": GAME, "moves": None}, "moves: send at most 25"),
        ({"game": GAME, "moves": ["1"] * 26}, "moves: send at most 25"),
        ({"game": GAME, "moves": [1]}, "move 1 is 1, not a column, 1 to 5"),
        ({"game": GAME, "moves": ["1", "<b>"]}, "move 2 is '<b>', not a column"),
        ({"game": GAME, "moves": ["1"] * 6}, "move 6: 1 is not legal here; legal: 2 3 4 5"),
    ],
)
def test_what_is_no_game_is_one_line(site: Site, given: Any, line: str) -> None:
    status, said = ask(site, "position", given)
    assert status == 400
    assert line in said["error"]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"player": "pretrained:othello_6x6"}, "does not play connect_four_5x5"),
        ({"player": "/etc/passwd"}, "does not play"),
        ({"player": SHIPS, "simulations": 0}, "simulations=0: choose from 1 to 1600"),
        ({"player": SHIPS, "simulations": 1601}, "choose from 1 to 1600"),
        ({"player": SHIPS, "simulations": "9"}, "simulations='9'"),
        ({"player": SHIPS, "seed": -1}, "seed=-1"),
    ],
)
def test_players_who_were_not_offered_are_refused(
    site: Site, given: dict[str, Any], line: str
) -> None:
    asked = {"game": GAME, "moves": [], "seed": 0, "simulations": 4} | given
    status, said = ask(site, "analysis", asked)
    assert status == 400
    assert line in said["error"]


def test_an_analysis_is_of_whoever_is_to_move(site: Site) -> None:
    for moves in ([], ["3"]):
        said = answer(site, "analysis", moves=moves, player=SHIPS, simulations=12)
        assert said["toMove"] == len(moves)
        assert said["first"] == pytest.approx(said["value"] * (-1) ** len(moves))
        assert {row["move"] for row in said["rows"]} == set("12345")
        visits = [row["visits"] for row in said["rows"]]
        assert sum(visits) == said["visits"] == 12
        assert visits == sorted(visits, reverse=True)
        assert said["rows"][0]["move"] == said["move"] == said["lines"][0][0]
        assert sum(row["prior"] for row in said["rows"]) == pytest.approx(1, abs=1e-3)
        session.replay(make_game(GAME), [int(move) - 1 for move in [*moves, *said["lines"][0]]])
    again = answer(site, "analysis", moves=["3"], player=SHIPS, simulations=12)
    assert again == said
    plain = answer(site, "analysis", player="random", simulations=0)
    assert set(plain) == {"move", "toMove"}


@pytest.mark.parametrize("first", [(), (0,)])
def test_a_value_that_is_no_number_is_none_whoever_is_to_move(first: tuple[int, ...]) -> None:
    now = session.replay(make_game(GAME), first)
    legal = np.ones(5)
    found = Analysis(action=0, value=math.nan, visits=legal, q=legal)
    said = answers._in_words(now, found)
    assert (said["value"], said["first"], said["visits"]) == (None, None, 5)


@pytest.mark.parametrize("name", [GAME, "othello_6x6", "reversi_6x6", "racing_kings"])
def test_targets_stand_where_moves_are(name: str) -> None:
    played = until(random_game(name), 6)
    legal = {make_notation(played.game).names[a] for a in np.flatnonzero(played.now.legal)}
    found = {target.name: target for target in position.targets(played, 60)}
    if name == "racing_kings":
        assert {move[:2] for move in legal} | {move[2:] for move in legal} <= set(found)
        return
    assert legal <= {*found, "pass"}
    picture = position.picture(played, 60)
    assert picture is not None
    root = ElementTree.fromstring(f"<svg>{picture.body}</svg>")
    discs = {
        (float(c.get("cx", 0)), float(c.get("cy", 0)))
        for group in root.iter("g")
        if group.get("class") in ("first", "second")
        for c in group.iter("circle")
    }
    assert len(discs) == (boards.stones(played.game, played.now.state) != 0).sum()
    assert not discs & {found[move].spot for move in legal if move in found}


def test_perfect_play_where_a_solver_knows_it(site: Site) -> None:
    moves = ["1", "2", "1", "2", "1", "2"]
    said = answer(site, "verdicts", moves=moves)
    assert (said["best"], said["moves"]["1"]) == ("win in 1", {"words": "win in 1", "sign": 1})
    assert answer(site, "verdicts", moves=[*moves, "1"]) == {"why": "the game is over"}
    for game in ("gobang_5x5", "racing_kings"):
        assert answer(site, "verdicts", game=game)["why"].startswith(f"{game} has no solver")


def test_a_finished_game_has_its_result(site: Site) -> None:
    moves = list("1212121")
    said = answer(site, "position", moves=moves)
    assert (said["terminal"], said["result"], said["legal"]) == (True, "first won", [])
    assert answer(site, "analysis", moves=moves, player=SHIPS, simulations=4) == {"first": 1.0}


def test_passes_and_discs_are_said(site: Site) -> None:
    both = find_game("othello_6x6", lambda game: bool(passes(game, 0)))
    before = until(both, passes(both, 0)[0])
    said = answer(site, "position", game="othello_6x6", moves=moves_of(before))
    assert said["mustPass"]
    assert said["legal"] == ["pass"]
    grid = boards.stones(before.game, before.now.state)
    assert said["discs"] == [(grid == 1).sum(), (grid == 2).sum()]


def test_files_are_the_records(site: Site) -> None:
    query = {"game": GAME, "moves": "1.2.1", "first": "<script>", "second": 'a"b'}
    for opening in ("4", "x", "-1"):
        wrong = query | {"opening": opening}
        got_none = Client(site).get("game.txt", base_url=BASE, query_string=wrong)
        assert got_none.json["error"] == f"opening: '{opening}' is no number of moves, 0 to 3"
    got = {
        name: Client(site).get(name, base_url=BASE, query_string=query)
        for name in ("game.txt", "game.svg", "game.play.svg")
    }
    assert {response.status_code for response in got.values()} == {200}
    [record] = records.parse(got["game.txt"].text, "test")
    assert record.session.actions == (0, 1, 0)
    said = answer(site, "record", text=got["game.txt"].text)
    assert said["moves"] == ["1", "2", "1"]
    for name in ("game.svg", "game.play.svg"):
        texts = {text.text for text in ElementTree.fromstring(got[name].text).iter(f"{SVG}text")}
        assert {"<script>", 'a"b'} <= texts
    assert ask(site, "record", {"text": "no record"})[0] == 400
    other = got["game.txt"].text.replace(f"game: {GAME}", "game: gobang_7x7")
    status, said = ask(site, "record", {"text": other})
    assert status == 400
    assert "the page was started without gobang_7x7" in said["error"]


def test_what_is_asked_for_begins(tmp_path: Path) -> None:
    _, shown = begin.choose(None)
    assert shown == ("connect_four_6x7", "pretrained:connect_four_6x7", 64, None)
    _, plain = begin.choose(None, game="othello_6x6", opponent="mcts_7")
    assert plain == ("othello_6x6", "mcts", 7, None)
    with pytest.raises(ConfigError, match="'stockfish' does not play othello_6x6"):
        begin.choose(None, game="othello_6x6", opponent="stockfish")
    assert "connect_four_4x5" in Catalogue(game="connect_four_4x5").games
    _, counted = begin.choose(None, game="othello_8x8", simulations=7)
    assert counted == ("othello_8x8", SHIPS_8X8, 7, None)


@pytest.mark.parametrize(
    ("choices", "line"),
    [
        ({"game": "othello_6x6", "run": SHIPS}, "game=othello_6x6: pretrained:connect_four_5x5 pl"),
        ({"opponent": "mcts_7", "simulations": 50}, "simulations=50 belongs to a network"),
        ({"opponent": "greedy", "run": SHIPS, "at": 0}, "at=0 belongs to a network"),
        ({"game": "othello_8x8", "member": "sum_seed0"}, "member=sum_seed0 belongs to a network"),
        ({"run": SHIPS, "at": 3}, "pretrained:connect_four_5x5 keeps no networks of iteration 3"),
    ],
)
def test_what_could_not_be_used_is_refused(choices: dict[str, Any], line: str) -> None:
    run = runs.open_run(choices.pop("run")) if "run" in choices else None
    with pytest.raises(ConfigError, match=line):
        begin.choose(run, **choices)


def test_the_networks_of_a_run_are_offered(tmp_path: Path) -> None:
    config = small.small_config()
    workdir.claim(tmp_path, config, "test")
    members = [runs.Member(f"sum_seed{seed}", "sum", seed, config) for seed in (0, 1)]
    runs.write_members(tmp_path, config, members)
    run = dataclasses.replace(runs.open_run(tmp_path), iterations=(0, 3, 6))
    names = [offer.name for offer in Catalogue(run, 1).offers(GAME)]
    own = ["run:sum_seed1@6", "run:sum_seed0@6", "run:sum_seed1@3", "run:sum_seed1@0"]
    assert names == [*own, SHIPS, "mcts", "greedy", "random"]
    assert Catalogue(run).games[0] == GAME
    _, untrained = begin.choose(runs.open_run(tmp_path), member="sum_seed1")
    assert untrained == (GAME, "run:sum_seed1@0", config.search.num_simulations, None)
    with pytest.raises(ConfigError, match="no networks of iteration 9: choose one of 0, 3, 6"):
        begin.choose(run, at=9)
    with pytest.raises(ConfigError, match="simulations=0: choose from 1"):
        begin.choose(run, at=0, simulations=0)


def test_of_several_recorded_games_the_first_is_shown_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = [Record(random_game("connect_four_4x5", seed), ("a", "b")) for seed in (0, 1)]
    shown: list[begin.Choice] = []
    monkeypatch.setattr(begin, "serve", lambda site, choice, **_: shown.append(choice))
    second = f"of 2 games in {tmp_path}/2.txt the page shows the first"
    for count, line in ((1, ""), (2, second)):
        records.write(tmp_path / f"{count}.txt", games[:count])
        target = io.StringIO()
        assert command.main(["--web", f"--replay={tmp_path}/{count}.txt"], None, target) == 0
        assert target.getvalue().strip() == line
        assert shown[-1].recorded is not None
        assert shown[-1].recorded.session.actions == games[0].session.actions
        assert shown[-1].recorded.players == games[0].players


def test_a_port_that_is_taken_is_one_line(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = bind(site, 0)
    assert server.socket.getsockname()[0] == "127.0.0.1"  # nobody else's machine
    with pytest.raises(ConfigError, match=f"--port={server.port} can't be had"):
        bind(site, server.port)
    server.server_close()
    for flags, line in (
        (["--port=9", "--player=connect_four_5x5"], "--port=9 is for --web"),
        (["--web", "--versus=random"], "--versus=random does not go with --web"),
        (["--web", "--game=othello_5x6"], "--game=othello_5x6: "),
    ):
        assert command.main(flags) == 2
        assert line in capsys.readouterr().err
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert command.main(["--web"]) == 2
    assert 'pip install -e ".[web]"' in capsys.readouterr().err
