"""Games for the tests of boards, records and dialogues: random ones, and ones with a pass."""

import functools
from collections.abc import Callable

import numpy as np

from jaxzero.games import make_game
from jaxzero.play.display import session
from jaxzero.play.display.session import Session


@functools.cache
def random_game(name: str, seed: int = 0) -> Session:
    """A finished game of random moves."""
    rng, now = np.random.default_rng(seed), session.begin(make_game(name))
    while not now.now.is_terminal:
        now = session.play(now, int(rng.choice(np.flatnonzero(now.now.legal))))
    return now


def find_game(name: str, wanted: Callable[[Session], bool]) -> Session:
    """The first of many random games that is as wanted."""
    return next(game for seed in range(500) if wanted(game := random_game(name, seed)))


def until(whole: Session, ply: int) -> Session:
    """The game after its first `ply` moves."""
    return session.replay(whole.game, whole.actions[:ply])


def passes(whole: Session, player: int) -> list[int]:
    """Plies at which `player` can only pass."""
    plies = range(len(whole.actions))
    return [
        ply
        for ply in plies
        if whole.positions[ply].to_move == player and session.must_pass(until(whole, ply))
    ]
