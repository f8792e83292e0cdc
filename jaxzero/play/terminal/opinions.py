"""What players think of a position, in lines of text. Values are for the player to move."""

import numpy as np

from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.session import Session
from jaxzero.play.terminal.thinkers import Thinker, Thought

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
    return f"{value:+.2f}, {next(words for least, words in _WORDS if value >= least)}"


def hint(thinker: Thinker, now: Session, thought: Thought) -> str:
    """The move that is recommended, and why, in one line."""
    action, visits, q = thought.action, thought.visits, thought.q
    line = f"{thinker.name}: {make_notation(now.game).names[action]}"
    if visits is None or q is None:
        return line
    return f"{line} ({visits[action]} of {visits.sum()} visits, for you {in_words(q[action])})"


def policy(thinker: Thinker, now: Session, thought: Thought) -> list[str]:
    """Prior, visits and value of the legal moves, most visited first, and what they come to."""
    names, legal = make_notation(now.game).names, np.flatnonzero(now.now.legal)
    nothing = np.zeros(len(now.now.legal))
    prior = nothing if thought.prior is None else thought.prior
    visits = nothing if thought.visits is None else thought.visits
    order = legal[np.lexsort((-prior[legal], -visits[legal]))].tolist()
    lines = [f"{'move':<6}{'prior':>8}{'visits':>8}{'value':>8}"]
    for action in order[:_ROWS]:
        share = "-" if thought.prior is None else f"{prior[action]:.1%}"
        count = "-" if thought.visits is None else str(int(visits[action]))
        value = f"{thought.q[action]:+.2f}" if visits[action] and thought.q is not None else "-"
        arrow = "   <" if action == thought.action else ""
        lines.append(f"{names[action]:<6}{share:>8}{count:>8}{value:>8}{arrow}")
    if len(order) > _ROWS:
        rest = order[_ROWS:]
        lines.append(f"and {len(rest)} more with {int(visits[rest].sum())} visits")
    if thought.value is not None:
        lines.append(f"{thinker.name}, for the player to move: {in_words(thought.value)}")
    if thought.network_value is not None:
        lines.append(f"the network alone: {in_words(thought.network_value)}")
    return lines


def shares(now: Session, thought: Thought) -> dict[int, str]:
    """The visits of every legal move in percent, to stand on a board."""
    visits = np.zeros(len(now.now.legal)) if thought.visits is None else thought.visits
    percent = 100 * visits / max(visits.sum(), 1)
    return {int(action): f"{percent[action]:.0f}" for action in np.flatnonzero(now.now.legal)}
