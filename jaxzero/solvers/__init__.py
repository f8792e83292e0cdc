"""Exact values of positions on small boards, and how well players know them."""

from jaxzero.solvers.accuracy import (
    certain,
    move_accuracy,
    policy_accuracy,
    uniform,
    value_accuracy,
)
from jaxzero.solvers.answers import (
    Answers,
    Respond,
    answer_accuracy,
    ask,
    asker,
    chosen_moves,
    mistakes,
    network_alone,
    network_choices,
    with_search,
)
from jaxzero.solvers.boards import Solver, own_and_other, solver_of, stones_placed
from jaxzero.solvers.bounds import ILLEGAL
from jaxzero.solvers.labels import (
    Labelled,
    default_plies,
    kept,
    label,
    load,
    sample,
    save,
    solver_from,
)
from jaxzero.solvers.position_files import read as read_positions

__all__ = [
    "ILLEGAL",
    "Answers",
    "Labelled",
    "Respond",
    "Solver",
    "answer_accuracy",
    "ask",
    "asker",
    "certain",
    "chosen_moves",
    "default_plies",
    "kept",
    "label",
    "load",
    "mistakes",
    "move_accuracy",
    "network_alone",
    "network_choices",
    "own_and_other",
    "policy_accuracy",
    "read_positions",
    "sample",
    "save",
    "solver_from",
    "solver_of",
    "stones_placed",
    "uniform",
    "value_accuracy",
    "with_search",
]
