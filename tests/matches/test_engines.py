"""Engines as opponents, with one that dies, hangs and answers nonsense."""

import asyncio
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.games.racing_kings import MODIFIED
from jaxzero.matches import uci
from jaxzero.matches.engine_match import compile_player, play_match
from jaxzero.matches.uci import Engines, EngineSettings
from jaxzero.play.display import session
from jaxzero.players import random_players
from jaxzero.settings.config import ConfigError

chess = pytest.importorskip("chess.engine", reason="extra `engines`")
variant = pytest.importorskip("chess.variant", reason="extra `engines`")
FAKE = (sys.executable, str(Path(__file__).parent / "fake_engine.py"))
GAME = make_game("racing_kings_16plies")


def engines(*how: str, **given: object) -> Engines:
    settings = EngineSettings(command=(*FAKE, *how), seconds=1.0, processes=2, **given)
    return Engines(settings, "racingkings")


def test_positions_are_answered_by_several_processes() -> None:
    with engines() as opened:
        answers = [future.result() for future in opened.ask([MODIFIED] * 6)]
    first = min(move.uci() for move in variant.RacingKingsBoard(MODIFIED).legal_moves)
    assert answers == [first] * 6
    assert not opened.problems


def test_a_match_is_played_by_the_rules_in_both_colours() -> None:
    players = random_players(GAME)
    compiled, given = compile_player(GAME, players), {"pairs": 2, "opening_plies": 2}
    start, choose, push = compiled
    keys = []

    def with_key(params: object, memory: object, key: jax.Array, *rest: object) -> object:
        keys.append(tuple(jax.random.key_data(key).tolist()))
        return choose(params, memory, key, *rest)

    with engines() as opened:
        match, other = (
            play_match(
                GAME,
                players,
                players.params[0],
                opened,
                jax.random.key(seed),
                compiled=(start, with_key, push),
                **given,
            )
            for seed in (0, 1)
        )
    assert [program._cache_size() for program in compiled] == [1, 1, 1]  # compiled once
    assert len(set(keys)) == len(keys) > 8  # every turn draws its own moves
    assert (match.actions != other.actions).any()
    assert match.first.tolist() == [True, False, True, False]
    for game in range(4):
        moves = match.actions[match.actions[:, game] >= 0, game].tolist()
        end = session.replay(GAME, moves).now  # every move was legal
        assert end.is_terminal
        assert end.outcome[0 if match.first[game] else 1] == match.outcome[game]
    np.testing.assert_array_equal(match.actions[:2, 0], match.actions[:2, 1])  # one opening each


def test_engines_are_told_their_level_and_their_limits() -> None:
    with engines("told", skill=7, nodes=300, depth=4) as opened:
        [answer] = [future.result() for future in opened.ask([MODIFIED])]
    assert answer
    assert not opened.problems
    with engines("told", skill=7, nodes=4, depth=300) as opened:
        [answer] = [future.result() for future in opened.ask([MODIFIED])]
    assert answer is None


@pytest.mark.parametrize(
    ("how", "said"),
    [("die", "engine died"), ("illegal", "illegal or senseless answer")],
)
def test_faults_are_survived_and_told(how: str, said: str) -> None:
    with engines(how, "3") as opened:
        answers = [future.result() for future in opened.ask([MODIFIED] * 6)]
    assert all(answers)
    assert opened.problems[said] >= 1


def test_a_senseless_move_to_ponder_on_is_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with engines("ponder") as opened:
        answers = [future.result() for future in opened.ask([MODIFIED] * 3)]
    assert all(answers)
    assert not opened.problems
    assert not caplog.records  # a log would be a traceback a move


@pytest.mark.parametrize("how", ["illegal", "mute", "null"])
def test_an_engine_that_never_answers_ends_its_games_only(how: str) -> None:
    players = random_players(GAME)
    with engines(how) as opened:
        match = play_match(
            GAME, players, players.params[0], opened, jax.random.key(0), pairs=1, opening_plies=0
        )
    assert np.isnan(match.outcome).all()
    assert opened.problems["positions without an answer"] == 2


@pytest.mark.parametrize("how", ["hang", "flood", "line"])
def test_an_engine_without_an_answer_is_ended(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uci, "_GRACE", 1.0)
    settings = EngineSettings(command=(*FAKE, how, "2"), seconds=0.3, processes=1)
    with Engines(settings, "racingkings") as opened:
        answers = [future.result() for future in opened.ask([MODIFIED] * 2)]
    assert all(answers)
    assert opened.problems["no answer in time"] == 1


@pytest.mark.parametrize("ends", ["before", "unnoticed", "cancelling"])
def test_an_engine_that_dies_as_it_is_asked_is_not_waited_for(ends: str) -> None:
    loop = asyncio.new_event_loop()
    dying = SimpleNamespace(protocol=SimpleNamespace(loop=loop))

    def end() -> None:
        if ends == "cancelling":  # as asyncio.run does at its end
            loop.run_until_complete(asyncio.sleep(0.1))
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    if ends == "before":
        end()
    else:
        threading.Timer(1.0, end).start()
    with engines() as opened, pytest.raises(chess.EngineTerminatedError):
        opened._result(dying, asyncio.sleep(60), 30.0)


def test_an_engine_that_refuses_its_level_is_ended() -> None:
    with pytest.raises(ConfigError, match="does not start"):
        engines(skill=21).close()  # it takes at most 20
    until = time.monotonic() + 10
    while any(t.name.startswith("SimpleEngine") for t in threading.enumerate()):
        assert time.monotonic() < until  # its thread would keep the program from ending
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["orthodox", "atomic"])
def test_an_engine_of_other_variants_is_refused(how: str) -> None:
    with pytest.raises(ConfigError, match=r"does not know that variant\).*knows racingkings"):
        engines(how).close()


def test_leaving_answers_no_more_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def move(_: object, board: object) -> str:
        asked.append(board)
        time.sleep(0.2)
        return "a4a5"

    with engines() as opened:
        monkeypatch.setattr(opened, "_move", move)
        opened.ask([MODIFIED] * 20)
    assert len(asked) <= 4


def test_an_engine_is_found_where_debian_puts_games(monkeypatch: pytest.MonkeyPatch) -> None:
    def which(name: str, path: str = "") -> str | None:
        return f"/usr/games/{name}" if "/usr/games" in path.split(":") else None

    monkeypatch.setattr(uci.shutil, "which", which)
    assert uci.find(("fish", "--quiet")) == ("/usr/games/fish", "--quiet")
    with pytest.raises(ConfigError, match="no engine is named"):
        uci.find(())


def test_what_is_missing_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="apt-get install fairy-stockfish"):
        Engines(EngineSettings(command=("no-such-engine",)), "racingkings")
    with pytest.raises(ConfigError, match="does not start"):
        Engines(EngineSettings(command=(sys.executable, "-c", "pass")), "racingkings")
    monkeypatch.setitem(sys.modules, "chess", None)
    with pytest.raises(ConfigError, match=r"\.\[engines\]"):
        Engines(EngineSettings(command=FAKE), "racingkings")
