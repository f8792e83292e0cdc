"""The round robin of a hyper-parameter study: the networks of all settings, and a random player."""

from collections.abc import Mapping, Sequence

from ml_collections import ConfigDict

from experiments.hyperparameters import group_training
from experiments.hyperparameters.group_training import Place
from experiments.hyperparameters.setting_study import Player
from experiments.strength import pool
from experiments.strength.opponents import Entry
from experiments.strength.pool import Pool
from jaxzero.training import spec as spec_lib


def make_pool(
    config: ConfigDict,
    players: Sequence[Player],
    found: Mapping[str, Place],
    *,
    untrained: Sequence[int] = (),
    most: int,
) -> Pool:
    """Loads the networks: those of the players in the order given, then untrained ones.

    Args:
      untrained: seeds whose untrained networks play too.
      most: the largest number of simulations.
    """
    spec = spec_lib.make_spec(config)
    networks = group_training.networks([(p.training, p.iterations) for p in players], found)
    entries = [Entry(p.name, "trained", p.setting, p.seed, iteration=p.iterations) for p in players]
    if untrained:
        entries, networks = pool.with_untrained(spec, entries, networks, untrained)
    return Pool(config, spec, entries, networks, ("random",), most=most)
