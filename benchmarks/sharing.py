"""Shared searches: games of self-play per second with `selfplay.share=none`, `ply` and `cache`.

python -m benchmarks.sharing                         # 4,096 games, sampled to ply 30
python -m benchmarks.sharing --games=256 --spread=0  # an untrained network: games soon differ

The same games each time, from the start, by a network as sure of its moves as `--spread` says: the
standard deviation of its logits, 3 for a trained one. One line for each: games a second, against
those without sharing, searches made of those asked for, and how full the table was.
"""

import argparse
import functools
from collections.abc import Callable, Sequence

import jax

from benchmarks import setups
from benchmarks.timing import Effort, interleave
from jaxzero import arguments
from jaxzero.training import episodes

_WAYS = ("none", "ply", "cache")


def main(words: Sequence[str] | None = None) -> None:
    """Prints the figures."""
    parser = arguments.Parser(prog="python -m benchmarks.sharing", description=__doc__)
    for name, default in (("games", 4096), ("plies", 30), ("simulations", 50), ("channels", 32)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--spread", type=float, default=3.0)
    parser.add_argument("--game", default="connect_four_6x7")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse(words)
    programs = {share: _program(asked, share) for share in _WAYS}
    seen = {share: jax.device_get(program()) for share, program in programs.items()}
    times = interleave(programs, Effort(asked.rounds, 600.0))
    for share in _WAYS:
        metrics = seen[share]
        made, positions = metrics["count/searches"], metrics["selfplay/positions"]
        print(
            f"{share:6} {asked.games / times[share]:8.1f} games/s  "
            f"x{times['none'] / times[share]:.2f}  "
            f"{made:.0f} of {positions:.0f} searches ({made / positions:.2f})  "
            f"table {metrics.get('selfplay/table_use', 0.0):.2f} full"
        )


def _program(asked: argparse.Namespace, share: str) -> Callable[[], dict[str, jax.Array]]:
    spec, hyper = setups.make(
        {
            "game": asked.game,
            "network.channels": asked.channels,
            "network.hidden": (64, 32),
            "search.num_simulations": asked.simulations,
            "search.dirichlet_fraction": 0.25,
            "search.key": "position",
            "selfplay.share": share,
            "selfplay.episodes": asked.games,
            "selfplay.temperature_plies": asked.plies + 1,
        }
    )
    network = setups.network(spec)
    if asked.spread:
        positions = setups.observations(spec.game, 256, 1)[0]
        network = setups.sharpen(spec, network, positions, asked.spread)
    run = jax.jit(lambda network, key: episodes.self_play(spec, hyper, network, key)[1])
    return functools.partial(run, network, jax.random.key(5))


if __name__ == "__main__":
    arguments.run(main)
