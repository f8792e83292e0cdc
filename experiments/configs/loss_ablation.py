"""The loss ablation's settings: `loss_ablation.py:quick`, `:gpu`, `:paper`.

Papers 000 (section 6.3), 001 and 003 (section 6.3). Any board: `--config.game=othello_5x5`.
"""

from ml_collections import ConfigDict
from ml_collections.config_dict import placeholder

from jaxzero.config import ConfigError, default_config, nearest

PRESETS = ("quick", "gpu", "paper")


def get_config(preset: str = "quick") -> ConfigDict:
    """The settings of a preset.

    Raises:
      ConfigError: unknown preset.
    """
    if preset not in PRESETS:
        raise ConfigError(f"unknown preset {preset!r}: {nearest(preset, PRESETS)}")
    config = default_config()
    with config.unlocked():
        config.preset = preset
        config.study = ConfigDict()
        config.study.seeds = 8  # runs of each target
        config.study.targets = ("policy", "value", "sum", "product")  # minimised, one each
        config.study.tournament_games = 20  # of each pair of players
        config.study.tournament_simulations = 100  # m of the final tournament
        config.study.low_simulations = 5  # m of the second tournament, mostly network
        config.study.rollout_simulations = 50  # m of the plain MCTS opponent
        config.train.iterations = placeholder(int)  # None: as the papers, 200 on 5x5, else 100
    if preset == "quick":
        _quick(config)
    elif preset == "gpu":
        _gpu(config)
    config.lock()
    return config


def _quick(config: ConfigDict) -> None:
    """A few minutes on two CPU cores: Connect Four 5x5, small in everything."""
    config.game = "connect_four_5x5"
    config.study.seeds = 2
    config.study.tournament_games = 40
    config.study.tournament_simulations = 25
    config.network.channels = 32
    config.network.hidden = (256, 128)
    config.search.num_simulations = 25
    config.selfplay.episodes = 32
    config.replay.window = 5
    config.train.iterations = 15
    config.train.epochs = 5
    config.train.learning_rate = 0.002
    config.arena.games = 16


def _gpu(config: ConfigDict) -> None:
    """Eight seeds together on one large GPU."""
    config.game = "connect_four_5x5"
    config.study.tournament_simulations = 50
    config.network.channels = 128
    config.search.num_simulations = 50
    config.replay.window = 10
    config.train.iterations = 60
    config.train.epochs = 5
    config.train.learning_rate = 0.002
