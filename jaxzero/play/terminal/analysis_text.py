"""A player's analysis of a position, in lines of text. Values are for the player to move."""

import numpy as np

from jaxzero.play.board_players import Analysis, BoardPlayer
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.session import Session

_ROWS = 15  # moves in a table
_WORDS = (
    (0.9, "almost certainly won"),
    (0.5, "clearly better"),
    (0.15, "a little better"),
    (-0.15, "about even"),
    (-0.5, "a little worse"),
    (-0.9, "clearly worse"),
    (-np.inf, "almost certainly lost"),
)


def in_words(value: float) -> str:
    """`+0.31, a little better`, for whom the value is."""
    if np.isnan(value):
        return "no number"
    words = next(words for least, words in _WORDS if value >= least)
    return f"{round(value, 2) + 0.0:+.2f}, {words}"


def hint(player: BoardPlayer, now: Session, analysis: Analysis) -> str:
    """The move that is recommended, and why, in one line."""
    action, visits, q = analysis.action, analysis.visits, analysis.q
    line = f"{player.name}: {make_notation(now.game).names[action]}"
    if visits is None or q is None:
        return line
    return f"{line} ({visits[action]} of {visits.sum()} visits, for you {in_words(q[action])})"


def policy(player: BoardPlayer, now: Session, analysis: Analysis) -> list[str]:
    """Prior, visits and value of the legal moves, most visited first, and what they come to."""
    names, legal = make_notation(now.game).names, np.flatnonzero(now.now.legal)
    nothing = np.zeros(len(now.now.legal))
    prior = nothing if analysis.prior is None else analysis.prior
    visits = nothing if analysis.visits is None else analysis.visits
    order = legal[np.lexsort((-prior[legal], -visits[legal]))].tolist()
    lines = [f"{'move':<6}{'prior':>8}{'visits':>8}{'value':>8}"]
    for action in order[:_ROWS]:
        share = "-" if analysis.prior is None else f"{prior[action]:.1%}"
        count = "-" if analysis.visits is None else str(int(visits[action]))
        value = f"{analysis.q[action]:+.2f}" if visits[action] and analysis.q is not None else "-"
        arrow = "   <" if action == analysis.action else ""
        lines.append(f"{names[action]:<6}{share:>8}{count:>8}{value:>8}{arrow}")
    if len(order) > _ROWS:
        rest = order[_ROWS:]
        lines.append(f"and {len(rest)} more with {int(visits[rest].sum())} visits")
    if analysis.value is not None:
        lines.append(f"{player.name}, for the player to move: {in_words(analysis.value)}")
    if analysis.network_value is not None:
        lines.append(f"the network alone: {in_words(analysis.network_value)}")
    return lines


def shares(now: Session, analysis: Analysis) -> dict[int, str]:
    """The visits of every legal move in percent, to stand on a board."""
    visits = np.zeros(len(now.now.legal)) if analysis.visits is None else analysis.visits
    percent = 100 * visits / max(visits.sum(), 1)
    return {int(action): f"{percent[action]:.0f}" for action in np.flatnonzero(now.now.legal)}
