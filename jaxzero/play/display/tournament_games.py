"""Games of a tournament, which a study keeps in `games/*.npz`, as records."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jaxzero import files, workdir
from jaxzero.games import make_game
from jaxzero.play.display.records import Record
from jaxzero.play.display.session import replay
from jaxzero.settings.config import ConfigError, nearest

SUFFIX = ".npz"
_FORMS: dict[str, files.Form] = {
    "actions": ("i", ("plies", "pairs", "games")),
    "pairs": ("iuf", ("pairs", 2)),
    "names": ("U", ("players",)),
}


def read(path: str | Path, between: Sequence[str]) -> list[Record]:
    """The games of two players, by who moved first in the order that they are named in.

    Args:
      path: `games/NAME.npz` of a run directory, whose settings name the board.
      between: names of the two. Their random opening is not marked: it was not kept.

    Raises:
      ConfigError: the file or the run directory is none or damaged, or the two are not two of its
        players, or a move is impossible.
    """
    path = files.from_home(path)
    remedy = "give games/NAME.npz of a run directory"
    stored = files.read_arrays(path, _FORMS, remedy)
    files.check_arrays(path, stored, _FORMS, remedy)
    names = [str(name) for name in stored["names"]]
    wanted = _numbers(path, names, between)
    try:
        game = make_game(workdir.read_config(path.absolute().parent.parent)["game"])
    except (OSError, KeyError, ValueError, ImportError) as error:
        raise ConfigError(f"{path} lies in no run directory that names a game: {error}") from error
    found = []
    for pair in (wanted, wanted[::-1]):
        first, second = names[pair[0]], names[pair[1]]
        [places] = np.nonzero((stored["pairs"] == pair).all(-1))
        games = stored["actions"][:, places].reshape(len(stored["actions"]), -1).T
        for number, moves in enumerate(games, 1):
            try:
                session = replay(game, moves[moves >= 0].tolist())
            except (IndexError, ValueError) as error:
                raise ConfigError(
                    f"{path}, {first} against {second}, game {number}: {error}"
                ) from error
            found.append(Record(session, (first, second)))
    if not found:
        raise ConfigError(f"--between={','.join(between)}: {path} has no games of these two")
    return found


def _numbers(path: Path, names: list[str], between: Sequence[str]) -> list[int]:
    """Of two different players."""
    if len(set(between)) != 2 or len(between) != 2:
        raise ConfigError(
            f"--between={','.join(between)}: name two players of {path}, of {', '.join(names)}"
        )
    for name in between:
        if name not in names:
            hint = nearest(name, names)
            raise ConfigError(f"--between={name}: {path} has no such player, {hint}")
    return [names.index(name) for name in between]
