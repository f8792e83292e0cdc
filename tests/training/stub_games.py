"""Self-play on tiny boards, compiled once: by a deterministic stub, or a run's games in parts."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxzero.games import Game, make_game
from jaxzero.search import Diagnostics, SearchOptions
from jaxzero.training import episodes, learner, selfplay
from jaxzero.training.trajectory import Trajectory
from tests import small
from tests.oracles.stub_network import jax_stub_evaluate

LANES = 16
SIMULATIONS = 6
SEED = 5  # of the stub network
ALWAYS, NEVER = 1000, 0  # T': every move is sampled, or none
LINE = "connect_four_4x4"
LINE3 = "connect_four_3x3_line3"
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


def in_parts(
    games: int, parts: int, changes: dict[str, Any]
) -> tuple[Trajectory, dict[str, float]]:
    """A run's games of one iteration by an untrained network, and their metrics, as NumPy."""
    settings: dict[str, Any] = {
        "game": LINE3,
        "network.name": "resnet",
        "network.blocks": 1,
        "search.num_simulations": SIMULATIONS,
        "search.key": "position",
        "search.ties": "random",
        "selfplay.episodes": games,
        "selfplay.share": "cache",
        "selfplay.parts": parts,
        **changes,
    }
    spec, hyper = small.small_spec(settings), small.small_hyper(settings)

    def run(key: jax.Array) -> Any:
        return episodes.self_play(spec, hyper, learner.init(spec, key), key)

    return jax.device_get(jax.jit(run)(jax.random.key(4)))
