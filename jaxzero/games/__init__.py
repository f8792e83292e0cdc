"""Games: rules and nothing else. `make_game` makes one from its name."""

import difflib
import importlib
import os
import re
from collections.abc import Callable

from jaxzero.games.base import Game, State
from jaxzero.games.connect_four import ConnectFour
from jaxzero.games.gobang import Gobang
from jaxzero.games.othello import Othello, Reversi
from jaxzero.games.pgx_adapter import PREFIX as PGX_PREFIX
from jaxzero.games.pgx_adapter import make_pgx_game
from jaxzero.games.racing_kings import FAMILY as RACING_KINGS
from jaxzero.games.racing_kings import RacingKings, make_racing_kings

__all__ = [
    "GAME_EXAMPLES",
    "PGX_EXAMPLES",
    "RACING_KINGS_EXAMPLES",
    "ConnectFour",
    "Game",
    "Gobang",
    "Othello",
    "RacingKings",
    "Reversi",
    "State",
    "make_game",
    "register",
]

# Names that `make_game` accepts, one of each form; other sizes and lines work alike.
GAME_EXAMPLES = (
    "connect_four_6x7",
    "connect_four_7x8_line5",
    "gobang_5x5",
    "gobang_6x6_line5",
    "othello_6x6",
    "reversi_8x8",
)
# Of the one with chess pieces, whose names have no size.
RACING_KINGS_EXAMPLES = ("racing_kings", "racing_kings_standard", "racing_kings_200plies")
# Of the games that come from pgx (https://github.com/sotetsuk/pgx), an extra.
PGX_EXAMPLES = ("pgx:tic_tac_toe", "pgx:go_9x9", "pgx:hex")

OWN = "JAXZERO_GAMES"  # environment: modules, joined by commas, that register games of your own
_FAMILY = r"[a-z]+(?:_[a-z]+)*"
_NAME = re.compile(rf"({_FAMILY})_([1-9]\d*)x([1-9]\d*)(?:_line([1-9]\d*)|(_mirrored))?")

# (name, rows, columns, line or None, observation) -> the game; a ValueError in one line for a size,
# line or encoding that it does not have.
Factory = Callable[[str, int, int, int | None, str], Game]


def make_game(name: str, *, observation: str = "planes") -> Game:
    """Makes the game called `name`; `make_game(game.name)` makes it again.

    Args:
      name: `connect_four_6x7` (rows x columns), `gobang_5x5`, `othello_6x6`, `reversi_8x8`, one
        of a family that was registered (see `register`), or `pgx:<env_id>`. `_line5` after a board
        of Connect Four or Gobang sets the length of a line (4 otherwise). `racing_kings` begins as
        in West 2020, `racing_kings_standard` as usual, `racing_kings:FEN` (spaces as _) anywhere.
      observation: the encoding, "planes", "planes_ones", "signed" or "cells" (see
        `stones.StonesGame`); Racing Kings and games from pgx have their own and accept "planes"
        only.

    Raises:
      ValueError: in one line, for a name, size or encoding that does not exist.
      ImportError: in one line, for `pgx:` names where pgx is not installed, and for a module of
        `JAXZERO_GAMES` that is not found. They are imported for a name that nobody knows.
    """
    if name.startswith(PGX_PREFIX):
        return make_pgx_game(name.removeprefix(PGX_PREFIX), observation=observation)
    if name.startswith(RACING_KINGS):
        return make_racing_kings(name, observation)
    match = _NAME.fullmatch(name)
    if match is not None and match[1] not in _FAMILIES:
        _import_own()
    if match is None or match[1] not in _FAMILIES:
        remedy = f"{_suggestion(name)} (a game of your own: set {OWN}=MODULE, which registers it)"
        raise ValueError(f"unknown game {name!r}; {remedy}")
    rows, columns = int(match[2]), int(match[3])
    line = None if match[4] is None else int(match[4])
    if match[5] and match[1] != "reversi":
        raise ValueError(f"{name!r}: only reversi has a mirrored start")
    return _FAMILIES[match[1]](name, rows, columns, line, observation)


def register(family: str, factory: Factory) -> None:
    """Makes a family of games known by name, for the running program.

    From then on `<family>_<rows>x<columns>` (and `..._line<n>`) works wherever a game is named, as
    in `make_game` and `config.game`. docs/add_a_game.md has an example.

    Args:
      family: lower-case words joined by `_`, e.g. `"tic_tac_toe"`.
      factory: makes a game from a name's parts, see `Factory`; the game's `name` must be the name
        that made it.

    Raises:
      ValueError: in one line, for a family that cannot be a name, or that exists, as all do that
        begin with `racing_kings`.
    """
    if re.fullmatch(_FAMILY, family) is None:
        raise ValueError(
            f"a family of games is named by lower-case words joined by '_', as 'tic_tac_toe'; "
            f"got {family!r}"
        )
    if family in _FAMILIES or family.startswith(RACING_KINGS):
        raise ValueError(f"games called {family!r} exist already: choose another name")
    _FAMILIES[family] = factory


def _import_own() -> None:
    modules = os.environ.get(OWN, "")
    try:
        for module in filter(None, map(str.strip, modules.split(","))):
            importlib.import_module(module)
    except Exception as error:
        raise ImportError(f"{OWN}={modules!r}: {error}") from error


def _connect_four(name: str, rows: int, columns: int, line: int | None, observation: str) -> Game:
    return ConnectFour(rows, columns, **_given(line), observation=observation)


def _gobang(name: str, rows: int, columns: int, line: int | None, observation: str) -> Game:
    return Gobang(_side(name, rows, columns), **_given(line), observation=observation)


def _othello(name: str, rows: int, columns: int, line: int | None, observation: str) -> Game:
    _refuse_line(name, line)
    return Othello(_side(name, rows, columns), observation=observation)


def _reversi(name: str, rows: int, columns: int, line: int | None, observation: str) -> Game:
    _refuse_line(name, line)
    mirrored = name.endswith("_mirrored")
    return Reversi(_side(name, rows, columns), observation=observation, mirrored=mirrored)


_FAMILIES: dict[str, Factory] = {
    "connect_four": _connect_four,
    "gobang": _gobang,
    "othello": _othello,
    "reversi": _reversi,
}
_OUR_FAMILIES = frozenset(_FAMILIES)


def _given(line: int | None) -> dict[str, int]:
    return {} if line is None else {"line": line}


def _side(name: str, rows: int, columns: int) -> int:
    if rows != columns:
        nearest = name.replace(f"{rows}x{columns}", f"{rows}x{rows}")
        raise ValueError(f"{name!r} needs a square board, e.g. {nearest!r}")
    return rows


def _refuse_line(name: str, line: int | None) -> None:
    if line is not None:
        raise ValueError(f"{name!r}: only connect_four and gobang have a line to set")


def _suggestion(name: str) -> str:
    """The nearest name that exists, with the size that was asked for if it makes a game."""
    size = re.search(r"[1-9]\d*x[1-9]\d*", name)
    stem = name.replace(size[0], "").strip("_") if size else name
    family = difflib.get_close_matches(stem.lower(), _FAMILIES, n=1, cutoff=0.5)
    if family and size:
        nearest = f"{family[0]}_{size[0]}"
        try:
            make_game(nearest)
        except ValueError:
            pass
        else:
            return f"did you mean {nearest!r}?"
    registered = (f"{f}_ROWSxCOLUMNS" for f in _FAMILIES if f not in _OUR_FAMILIES)
    names = (*GAME_EXAMPLES, *RACING_KINGS_EXAMPLES, *PGX_EXAMPLES, *registered)
    close = difflib.get_close_matches(family[0] if family else name.lower(), names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"games are named like {', '.join(names)}"
