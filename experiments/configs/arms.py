"""The arms' settings: `arms.py:quick`, `:gpu`, `:paper`; all keys of the loss ablation and its own.

An arm changes settings of the loss ablation; `ARMS` says which, and why one would.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ml_collections import ConfigDict

from experiments.configs import loss_ablation
from jaxzero.settings.config import Key, Preset, flatten, preset_config
from jaxzero.settings.keys import table


class Arm(NamedTuple):
    """One change of all runs.

    Attributes:
      meaning: in a line.
      changes: study's settings -> dotted keys of the loss ablation.
    """

    meaning: str
    changes: Callable[[ConfigDict], Mapping[str, Any]]


PLAIN = "plain"  # the papers' own search, what the others are held against
ARMS: dict[str, Arm] = {
    PLAIN: Arm("the papers' search: no noise", lambda config: {}),
    "dirichlet": Arm(
        "Dirichlet noise at the root in self-play, as AlphaZero has it and the papers do not",
        lambda config: {
            "search.dirichlet_fraction": config.study.noise_fraction,
            "search.dirichlet_alpha": config.study.noise_alpha,
            "search.dirichlet_scaling": "per_legal_move",
        },
    ),
    "few": Arm(
        "the papers' search with few simulations, what `gumbel` is to be held against",
        lambda config: {"search.num_simulations": config.study.few_simulations},
    ),
    "gumbel": Arm(
        "Gumbel search with as few simulations",
        lambda config: {
            "search.algorithm": "gumbel",
            "search.num_simulations": config.study.few_simulations,
        },
    ),
}

OWN: tuple[Key, ...] = (
    Key(
        "study.arms",
        tuple(ARMS),
        "each trains all targets and seeds: "
        + "; ".join(f"{n}: {a.meaning}" for n, a in ARMS.items()),
        choices=tuple(ARMS),
    ),
    Key(
        "study.noise_fraction",
        0.25,
        "share of the noise in arm dirichlet; AlphaZero's",
        low=0,
        high=1,
    ),
    Key(
        "study.noise_alpha",
        10.0,
        "of arm dirichlet, divided by the number of legal moves; AlphaZero's rule of thumb",
        low=1e-6,
        high=1_000_000,
    ),
    Key("study.few_simulations", 16, "m of arms few and gumbel", low=2, high=100_000),
)
_LAMBDAS: dict[str, Any] = {"study.lambdas": (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)}
_SMALLER: dict[str, Any] = {
    "study.lambdas": (0.25, 0.75),
    "study.few_simulations": 8,
    "study.tournament_games": 10,
    "train.iterations": 10,
}


def _preset(name: str, meaning: str, changes: Mapping[str, Any]) -> Preset:
    return Preset(meaning, {**loss_ablation.PRESETS[name].changes, **changes})


PRESETS: dict[str, Preset] = {
    "quick": _preset("quick", "Connect Four 5x5, 4 arms of 6 losses x 2 seeds, small", _SMALLER),
    "gpu": _preset("gpu", "Connect Four 5x5, 4 arms of 10 losses x 8 seeds: one GPU", _LAMBDAS),
    "paper": _preset("paper", "Othello 6x6, Table 1, 4 arms of 10 losses x 8 seeds", _LAMBDAS),
}
_MEANINGS = {
    "study.ladder_games": "games of each kept network of every arm against each fixed opponent; "
    "0: no ladder, and no comparison",
}
KEYS: tuple[Key, ...] = (
    *(
        dataclasses.replace(key, meaning=_MEANINGS.get(key.name, key.meaning))
        for key in loss_ablation.KEYS
    ),
    *OWN,
)


def get_config(preset: str = "quick") -> ConfigDict:
    """The settings of a preset, or of a preset on one of the papers' boards.

    Raises:
      ConfigError: unknown preset, unknown board.
    """
    name, dot, board = preset.partition(".")
    config = preset_config(name, PRESETS, KEYS)
    if dot:
        config.game = loss_ablation.get_config(f"{name}.{board}").game
    return config


def arm_config(config: ConfigDict, arm: str) -> ConfigDict:
    """The loss ablation's settings of one arm, without a ladder of its own."""
    made = loss_ablation.get_config(config.preset)
    shared = {name: v for name, v in flatten(config).items() if name not in table(OWN)}
    made.update_from_flattened_dict(
        {**shared, **ARMS[arm].changes(config), "study.ladder_games": 0}
    )
    return made
