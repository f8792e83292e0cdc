"""Self-play with a deterministic stub for a network, compiled once, shared by its tests."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxzero.games import Game, make_game
from jaxzero.search import Diagnostics, SearchOptions
from jaxzero.training import selfplay
from jaxzero.training.selfplay import Trajectory
from tests.oracles.stub_network import jax_stub_evaluate

LANES = 16
SIMULATIONS = 6
SEED = 5  # of the stub network
ALWAYS, NEVER = 1000, 0  # T': every move is sampled, or none
LINE = "connect_four_4x4"
Played = tuple[Trajectory, Diagnostics]


@functools.cache
def signed(name: str) -> Game:
    """The game with one plane of +1/-1/0."""
    return make_game(name, observation="signed")


@functools.cache
def program(name: str, options: SearchOptions, flags: tuple[str, ...]) -> Callable[..., Played]:
    """(keys, active, T') -> games."""
    game = signed(name)

    def run(keys: jax.Array, active: jax.Array, temperature_plies: Any) -> Played:
        return selfplay.play(
            game,
            jax_stub_evaluate(game.num_actions, SEED),
            keys,
            active,
            options=options,
            num_simulations=SIMULATIONS,
            c_puct=1.0,
            temperature_plies=temperature_plies,
            **dict.fromkeys(flags, True),
        )

    return jax.jit(run)


def play(
    name: str,
    temperature_plies: int = ALWAYS,
    *flags: str,
    active: np.ndarray | None = None,
    seed: int = 0,
    **options: Any,
) -> Played:
    """`LANES` games, as NumPy."""
    keys = jax.random.split(jax.random.key(seed), LANES)
    mask = np.ones(LANES, bool) if active is None else active
    settings = SearchOptions(**{"capacity": 4 * SIMULATIONS + 1, **options})
    return jax.device_get(program(name, settings, flags)(keys, mask, temperature_plies))


def moves(games: Trajectory, lane: int) -> list[int]:
    """The actions of one game."""
    return games.action[: games.plies[lane], lane].tolist()


def game_in(games: Trajectory, index: int) -> dict[str, np.ndarray]:
    """One game; what stands in its rows after the end means nothing."""
    fields = {name: np.asarray(x) for name, x in vars(games).items() if x is not None}
    ended = ~fields["valid"][:, index]
    game = {name: fields[name][index] for name in ("outcome", "plies", "active")}
    for name in fields.keys() - game.keys():
        game[name] = fields[name][:, index].copy()
        game[name][ended] = 0
    return game
