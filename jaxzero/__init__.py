"""AlphaZero-like self-play in small games: five papers' experiments, in JAX."""

__version__ = "0.1.0"

from jaxzero import ratings, search
from jaxzero.games import make_game

__all__ = ["make_game", "ratings", "search"]
