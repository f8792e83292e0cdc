"""Records of games: text that can be played again, and pictures, in files."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from jaxzero import files
from jaxzero.games import Game, make_game
from jaxzero.play.display import drawing, film, svg
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.session import Session, replay
from jaxzero.settings.config import ConfigError

HEADER = "jaxzero record 1"
SUFFIXES = (".txt", ".svg")
FILM = ".play.svg"  # a picture that moves
_KEYS = ("game", "first", "second", "opening", "result", "moves")
_NUMBER = re.compile(r"\d+\.")  # of a move: left out when read


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
    """A game, finished or not, and who played it."""

    session: Session  # its positions and moves
    players: tuple[str, str]  # who moved first, who second


def result(session: Session) -> str:
    """`"first won"`, `"second won"`, `"draw"` or `"unfinished"`."""
    if not session.now.is_terminal:
        return "unfinished"
    first, _ = session.now.outcome
    return "draw" if first == 0 else "first won" if first > 0 else "second won"


def to_text(records: Sequence[Record]) -> str:
    """The games one after another, as `parse` reads them."""
    return "\n".join(map(_one_text, records))


def _one_text(record: Record) -> str:
    session, notation = record.session, make_notation(record.session.game)
    first, second = (" ".join(name.split()) for name in record.players)
    names = [notation.names[action] for action in session.actions]
    lines = [
        HEADER,
        f"game: {session.game.name}",
        f"first: {first}",
        f"second: {second}",
        f"opening: {session.opening}",
        f"result: {result(session)}",
        "moves:",
    ]
    for start in range(0, len(names), 10):
        lines.append(f"{start + 1:>4}. {' '.join(names[start : start + 10])}")
    return "\n".join(lines) + "\n"


def parse(text: str, source: str, make: Callable[[str], Game] = make_game) -> list[Record]:
    """The games of a text, each played again by the rules; numbers of moves may be left out.

    `source`: where it comes from, for messages; `make`: the rules of a board by its name.
    ConfigError: it is no record, or its moves or its result are impossible.
    """
    lines = [line.strip() for line in text.removeprefix("\ufeff").splitlines()]
    starts = [i for i, line in enumerate(lines) if line == HEADER]
    if not starts or any(lines[: starts[0]]):
        raise ConfigError(f"{source} is no record of a game: its first line must be {HEADER!r}")
    ends = [*starts[1:], len(lines)]
    return [
        _parse_one(lines[start + 1 : end], f"{source}, game {place}", make)
        for place, (start, end) in enumerate(zip(starts, ends, strict=True), 1)
    ]


def _parse_one(lines: list[str], source: str, make: Callable[[str], Game]) -> Record:
    fields, moves = _fields(lines, source)
    try:
        game = make(fields["game"])
    except (ValueError, ImportError) as error:
        raise ConfigError(f"{source}: {error}") from error
    notation = make_notation(game)
    actions = []
    for place, name in enumerate(moves, 1):
        action = notation.read(name)
        if action is None:
            raise ConfigError(f"{source}: move {place} is {name!r}, not {notation.form}")
        actions.append(action)
    opening = number(fields["opening"], len(actions), f"{source}: opening")
    try:
        session = replay(game, actions, opening=opening)
    except ValueError as error:
        raise ConfigError(f"{source}: {error}") from error
    if result(session) != fields["result"]:
        raise ConfigError(
            f"{source}: its moves end with {result(session)!r}, it says {fields['result']!r}"
        )
    return Record(session, (fields["first"], fields["second"]))


def number(text: str, most: int, name: str) -> int:
    """A number of moves. ConfigError: it is none, or above `most`."""
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) > most:
        raise ConfigError(f"{name}: {text[:20]!r} is no number of moves, 0 to {most}")
    return int(text)


def _fields(lines: list[str], source: str) -> tuple[dict[str, str], list[str]]:
    """The lines `key: text` before the moves, and the moves."""
    fields: dict[str, str] = {}
    for i, line in enumerate(lines):
        key, colon, value = line.partition(":")
        if not line:
            continue
        if not colon or key not in _KEYS:
            raise ConfigError(f"{source}: {line!r} is no line of a record ({', '.join(_KEYS)})")
        if key in fields:
            raise ConfigError(f"{source}: there are two lines '{key}: ...'")
        shown = "".join(c if c.isprintable() else " " for c in value)  # a terminal obeys the others
        fields[key] = " ".join(shown.split())
        if key == "moves":
            missing = [k for k in _KEYS if k not in fields]
            if missing:
                raise ConfigError(f"{source}: the line '{missing[0]}: ...' is missing")
            words = " ".join([fields.pop("moves"), *lines[i + 1 :]]).split()
            return fields, [word for word in words if not _NUMBER.fullmatch(word)]
    raise ConfigError(f"{source}: the line 'moves: ...' is missing")


def check_target(path: str | Path) -> Path:
    """A file that `write` may make.

    ConfigError: the name's end is unknown, it exists, or its folder does not.
    """
    path = files.from_home(path)
    if path.suffix not in SUFFIXES:
        raise ConfigError(f"{path}: a record ends in {' (text) or '.join(SUFFIXES)} (picture)")
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # too long, or with a zero byte
        raise ConfigError(f"{path.name[:40]!r} can't be the name of a file") from error
    else:
        raise ConfigError(f"{path} exists already: choose another name")
    if not path.parent.is_dir():
        raise ConfigError(f"{path}: there is no folder {path.parent}")
    return path


def write(path: str | Path, records: Sequence[Record]) -> None:
    """Writes games to a new file, as text, as a picture, or as one that moves (`FILM`).

    ConfigError: see `check_target`; or it can't be written.
    """
    path = check_target(path)
    draw = path.suffix == ".svg"
    picture = film.game_film if path.name.endswith(FILM) else drawing.game_picture
    pictures = [picture(r.session, r.players, result(r.session)) for r in records if draw]
    content = svg.page(pictures) if draw else to_text(records)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(content)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}") from error


def read(path: str | Path) -> list[Record]:
    """The games of a text file. ConfigError: it can't be read, or see `parse`."""
    try:
        text = files.from_home(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError(f"{path} can't be read: {reason}") from error
    return parse(text, str(path))
