"""Results of games -> Elo ratings with error bars. float64 NumPy on the host."""

from jaxzero.ratings.bayes_elo import (
    DEFAULT_ADVANTAGE,
    DEFAULT_DRAW_ELO,
    Ratings,
    bayes_elo,
    displayed_scale,
)
from jaxzero.ratings.incremental import expected_score, incremental_elo
from jaxzero.ratings.whole_history import whole_history_ratings

__all__ = [
    "DEFAULT_ADVANTAGE",
    "DEFAULT_DRAW_ELO",
    "Ratings",
    "bayes_elo",
    "displayed_scale",
    "expected_score",
    "incremental_elo",
    "whole_history_ratings",
]
