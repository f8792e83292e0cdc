"""Games between two players, and records of games, as somebody watches them."""

from collections.abc import Sequence

import numpy as np

from jaxzero.games import Game
from jaxzero.play.board_players import BoardPlayer, analyse
from jaxzero.play.display import boards, session
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.records import Record
from jaxzero.play.display.session import Session
from jaxzero.play.terminal.analysis_text import in_words
from jaxzero.play.terminal.console import Console


def play_out(
    start: Session,
    players: tuple[BoardPlayer, BoardPlayer],
    seed: int,
    console: Console,
    *,
    show: bool,
) -> Session:
    """Plays a game to its end and prints every move, with `show` the board too.

    `players`: who moves first, who second; `seed`: of their random choices.
    """
    now, names = start, make_notation(start.game).names
    while not now.now.is_terminal:
        mover, number = now.now.to_move, len(now.actions) + 1
        analysis = analyse(players[mover], now, seed)
        value = "" if analysis.value is None else f"  ({in_words(analysis.value)})"
        console.say(f"{number:>3}. {boards.mark(mover, now.game)} {names[analysis.action]}{value}")
        now = session.play(now, analysis.action)
        if show and not now.now.is_terminal:
            console.say(*boards.board(now), "")
    return now


def watch(
    game: Game,
    players: tuple[BoardPlayer, BoardPlayer],
    console: Console,
    played: list[Record],
    *,
    games: int,
    first: int,
    opening: int,
    seed: int,
) -> None:
    """Plays and prints games of two players, who change sides after each; adds them to `played`.

    `first`: 0 or 1, which of the two moves first in the first game; `opening`: random moves at the
    start, the same in two games in a row; `seed`: of the openings and of the players' choices.
    """
    scores: list[float] = []
    for number in range(games):
        own = (first + number) % 2  # the side of players[0]
        sides = (players[own], players[1 - own])
        start = session.random_opening(game, opening, (seed, number // 2))
        record_of = (sides[0].title, sides[1].title)
        heading = f"game {number + 1} of {games}, " if games > 1 else ""
        console.say(f"{heading}{game.name}: {seats(game, record_of)}")
        if start.opening:
            console.say("random opening:", *boards.move_lines(start))
        end = play_out(start, sides, seed + number, console, show=games == 1)
        console.say(*boards.board(end), "")
        scores.append(end.now.outcome[own])
        played.append(Record(end, record_of))
    if games > 1:
        won, drawn, lost = (int((np.array(scores) == result).sum()) for result in (1, 0, -1))
        console.say(f"{players[0].title}: {won} won, {drawn} drawn, {lost} lost")


def seats(game: Game, players: tuple[str, str]) -> str:
    """Who plays which side."""
    return ", ".join(f"{boards.mark(i, game)} is {name}" for i, name in enumerate(players))


def show_records(recorded: Sequence[Record], console: Console) -> None:
    """Prints recorded games, position by position."""
    for number, record in enumerate(recorded, 1):
        game, names = record.session.game, make_notation(record.session.game).names
        heading = f"game {number} of {len(recorded)}, " if len(recorded) > 1 else ""
        console.say(f"{heading}{game.name}: {seats(game, record.players)}")
        now = session.begin(game)
        console.say(*boards.board(now))
        for ply, action in enumerate(record.session.actions, 1):
            by_lot = "  (random)" if ply <= record.session.opening else ""
            mover = boards.mark(now.now.to_move, game)
            console.say("", f"{ply:>3}. {mover} {names[action]}{by_lot}")
            now = session.play(now, action)
            console.say(*boards.board(now))
        console.say("")
