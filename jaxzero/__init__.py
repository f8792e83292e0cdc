"""AlphaZero-like self-play in small games: five papers' experiments, in JAX."""

__version__ = "0.1.0"

from pathlib import Path
from typing import TYPE_CHECKING

from jaxzero import ratings, search
from jaxzero.games import make_game

if TYPE_CHECKING:
    from jaxzero.players import Players

__all__ = ["load_player", "make_game", "player_directory", "ratings", "search"]


def player_directory(name: str) -> Path:
    """The run directory of a player that ships, e.g. `"connect_four_6x7"`.

    Raises:
      ConfigError: there is none of that name; says which there are.
    """
    from jaxzero import pretrained

    return pretrained.directory(name)


def load_player(name: str, *, simulations: int | None = None) -> "Players":
    """A player that ships, for matches (`jaxzero.matches.arena`).

    For one position at a time: `jaxzero.play.board_players.of_run`, as in the README.

    Args:
      name: e.g. `"connect_four_6x7"`.
      simulations: a move; those that it was trained with by default.

    Raises:
      ConfigError: as `player_directory`.
    """
    from jaxzero import runs

    return runs.player_of(runs.open_run(player_directory(name)), simulations)
