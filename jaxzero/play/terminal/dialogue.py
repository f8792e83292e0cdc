"""A game between a person and a player, in lines of text.

What happens is pure but for `save`: a line that was typed takes a `Talk` to the next one and to
lines to print. Reading and printing are `Console`'s, and `converse` is the only loop.
"""

import dataclasses
import difflib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jaxzero.games import Game
from jaxzero.games.base import State
from jaxzero.play.board_players import Analysis, BoardPlayer, analyse
from jaxzero.play.display import boards, records, session
from jaxzero.play.display.boards import mark
from jaxzero.play.display.notation import Notation, make_notation
from jaxzero.play.display.records import Record
from jaxzero.play.display.session import Session
from jaxzero.play.terminal import analysis_text, solutions
from jaxzero.play.terminal.console import Console
from jaxzero.settings.config import ConfigError

Adviser = Callable[[State], Sequence[str]]  # what it has to say of a position, in lines

_PERSON = "person"


@dataclasses.dataclass(frozen=True)
class Table:
    """What does not change while people sit at it."""

    game: Game  # the rules
    opponent: BoardPlayer  # plays against the person
    # a searching player, for `hint`, `policy` and `show`; the opponent where it searches
    counsel: BoardPlayer
    side: int | None = 0  # the person's at the start of a game: 0, 1, or None for at random
    seed: int = 0  # of everything random
    opening: int = 0  # random moves at the start of every game
    advisers: tuple[Adviser, ...] = ()  # asked by `hint`, after `counsel`

    @property
    def notation(self) -> Notation:
        """Names of the moves."""
        return make_notation(self.game)


class Talk(NamedTuple):
    """Where the talk stands."""

    session: Session  # the game
    person: int  # the person's side, 0 or 1
    games: int = 0  # games begun before this one
    is_over: bool = False  # the person has left


Reply = tuple[Talk, list[str]]


def converse(table: Table, console: Console) -> None:
    """Plays games with the person until they leave."""
    talk, lines = start(table)
    console.say(*lines)
    while not talk.is_over:
        text = console.ask(_prompt(talk))
        if text is None:
            return
        talk, lines = respond(table, talk, text)
        console.say(*lines)


def start(table: Table) -> Reply:
    """The first game."""
    return _new(table, None)


def respond(table: Table, talk: Talk, text: str) -> Reply:
    """What a typed line does: a move, a command, or neither."""
    words = text.strip().split(maxsplit=1)
    if not words:
        return talk, []
    action = table.notation.read(text)
    if action is not None:
        return _move(table, talk, action)
    name, rest = words[0].lower(), "".join(words[1:])
    if name in COMMANDS:
        return COMMANDS[name].act(table, talk, rest)
    close = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean {close[0]}?" if close else "help lists the commands"
    why = f"{text.strip()!r} is no move ({table.notation.form}) and no command: {hint}"
    return talk, [why, *_legal(table, talk)]


def _prompt(talk: Talk) -> str:
    over = talk.session.now.is_terminal
    return "game over> " if over else f"{mark(talk.person, talk.session.game)}> "


def _legal(table: Table, talk: Talk) -> list[str]:
    now = talk.session.now
    if now.is_terminal:
        return ["the game is over: new, undo, save FILE, or quit"]
    return [f"legal: {table.notation.list_legal(now.legal)}"]


def _game_seed(table: Table, talk: Talk) -> int:
    return table.seed + talk.games


def _move(table: Table, talk: Talk, action: int) -> Reply:
    try:
        moved = session.play(talk.session, action)
    except ValueError:
        name = table.notation.names[action]
        why = [] if talk.session.now.is_terminal else [f"{name} is not legal here"]
        return talk, why + _legal(table, talk)
    return _until_the_person_chooses(table, talk._replace(session=moved), [])


def _until_the_person_chooses(table: Table, talk: Talk, lines: list[str]) -> Reply:
    """Plays the opponent's moves, and the passes of a person who can do nothing else."""
    names, now = table.notation.names, talk.session
    sides = [mark(player, table.game) for player in (0, 1)]
    while not now.now.is_terminal:
        mover = now.now.to_move
        if now.actions and now.positions[-2].to_move == mover:
            lines.append(f"{sides[1 - mover]} has no move: {sides[mover]} plays again")
        if mover != talk.person:
            analysis = analyse(table.opponent, now, _game_seed(table, talk))
            value = _value(sides[mover], analysis)
            lines.append(f"{sides[mover]} plays {names[analysis.action]}{value}")
            now = session.play(now, analysis.action)
        elif session.must_pass(now):
            lines.append(f"{sides[mover]}: you have no move and pass")
            now = session.play(now, int(np.flatnonzero(now.now.legal)[0]))
        else:
            break
    talk = talk._replace(session=now)
    lines += ["", *boards.board(now)]
    if now.now.is_terminal:
        drawn = not now.now.outcome[talk.person]  # which the board says
        lines += [*([] if drawn else [ending(talk)]), "new, undo, save FILE, or quit"]
    return talk, lines


def _value(mover: str, analysis: Analysis) -> str:
    if analysis.value is None:
        return ""
    return f" (for {mover}: {analysis_text.in_words(analysis.value)})"


def ending(talk: Talk) -> str:
    """How a finished game ended for the person."""
    result = talk.session.now.outcome[talk.person]
    return "a draw" if result == 0 else "you have won" if result > 0 else "you have lost"


def _new(table: Table, talk: Talk | None, rest: str = "") -> Reply:
    games = 0 if talk is None else talk.games + 1
    if table.side is None:
        person = int(np.random.default_rng((table.seed, games)).integers(2))
    else:
        person = table.side if talk is None else talk.person
    begun = session.random_opening(table.game, table.opening, table.seed + games)
    titles = {person: "you", 1 - person: table.opponent.title}
    first, second = (mark(player, table.game) for player in (0, 1))
    seats = f"{first} is {titles[0]}, {second} is {titles[1]}; {first} moves first"
    lines = [f"{table.game.name}: {seats}"]
    if begun.opening:
        names = [table.notation.names[action] for action in begun.actions]
        lines.append(f"random opening: {' '.join(names)}")
    lines.append(f"type {table.notation.form}, or help")
    return _until_the_person_chooses(table, Talk(begun, person, games), lines)


def _undo(table: Table, talk: Talk, rest: str) -> Reply:
    earlier = session.undo(talk.session, talk.person)
    if earlier is None:
        return talk, ["there is no move of yours to take back"]
    count = len(talk.session.actions) - len(earlier.actions)
    return talk._replace(session=earlier), [f"{count} taken back", "", *boards.board(earlier)]


def _swap(table: Table, talk: Talk, rest: str) -> Reply:
    talk = talk._replace(person=1 - talk.person)
    lines = [f"you are {mark(talk.person, table.game)} now"]
    if talk.session.now.is_terminal:
        return talk, lines
    return _until_the_person_chooses(table, talk, lines)


def _moves(table: Table, talk: Talk, rest: str) -> Reply:
    played = boards.move_lines(talk.session) or ["no move yet"]
    return talk, [*played, *_legal(table, talk)]


def _board(table: Table, talk: Talk, rest: str) -> Reply:
    return talk, boards.board(talk.session)


def _hint(table: Table, talk: Talk, rest: str) -> Reply:
    if talk.session.now.is_terminal:
        return talk, _legal(table, talk)
    line = analysis_text.hint(table.counsel, talk.session, _counsel(table, talk))
    state = talk.session.now.state
    return talk, [line, *(line for adviser in table.advisers for line in adviser(state))]


def _policy(table: Table, talk: Talk, rest: str) -> Reply:
    if talk.session.now.is_terminal:
        return talk, _legal(table, talk)
    return talk, analysis_text.policy(table.counsel, talk.session, _counsel(table, talk))


def _show(table: Table, talk: Talk, rest: str) -> Reply:
    if talk.session.now.is_terminal or not table.notation.rows:
        return _policy(table, talk, rest)
    marks = analysis_text.shares(talk.session, _counsel(table, talk))
    lines = boards.board(talk.session, marks)
    return talk, [*lines, f"numbers: visits of {table.counsel.name} in percent"]


def _solve(table: Table, talk: Talk, rest: str) -> Reply:
    if talk.session.now.is_terminal:
        return talk, _legal(table, talk)
    try:
        return talk, solutions.lines(talk.session)
    except ConfigError as error:
        return talk, [str(error)]


def _counsel(table: Table, talk: Talk) -> Analysis:
    return analyse(table.counsel, talk.session, _game_seed(table, talk))


def _save(table: Table, talk: Talk, rest: str) -> Reply:
    if not rest.strip():
        return talk, ["save where? e.g. save game.txt or save game.svg"]
    names = {talk.person: _PERSON, 1 - talk.person: table.opponent.title}
    try:
        records.write(rest.strip(), [Record(talk.session, (names[0], names[1]))])
    except ConfigError as error:
        return talk, [str(error)]
    return talk, [f"saved: {rest.strip()}"]


def _help(table: Table, talk: Talk, rest: str) -> Reply:
    lines = [f"a move is {table.notation.form}; {mark(0, table.game)} moves first"]
    return talk, lines + [f"{c.usage or name:<10} {c.meaning}" for name, c in COMMANDS.items()]


def _quit(table: Table, talk: Talk, rest: str) -> Reply:
    return talk._replace(is_over=True), []


class Command(NamedTuple):
    """Something that can be typed beside moves."""

    act: Callable[[Table, Talk, str], Reply]
    meaning: str
    usage: str = ""


COMMANDS: dict[str, Command] = {
    "hint": Command(_hint, "what the search recommends to you"),
    "policy": Command(_policy, "prior, visits and value of every move"),
    "show": Command(_show, "the visits on the board"),
    "solve": Command(_solve, "how each move ends under perfect play, where a solver knows"),
    "moves": Command(_moves, "the moves so far, and the legal ones"),
    "board": Command(_board, "the board again"),
    "undo": Command(_undo, "takes back your last move and the reply"),
    "swap": Command(_swap, "you take the other side, from here"),
    "new": Command(_new, "a new game"),
    "save": Command(_save, "writes the game to a file: .txt, .svg or .play.svg", "save FILE"),
    "help": Command(_help, "this list"),
    "quit": Command(_quit, "ends it (so does the end of the input)"),
}
