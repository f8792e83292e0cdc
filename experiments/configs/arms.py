"""The arms' settings, a loss ablation's and its own: presets quick, laptop, gpu, paper, defects.

An arm changes settings of the loss ablation; `ARMS` says which, and why one would. `:defects` asks
which of the published programs' defects turns the order of the losses: each alone, each left out.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ml_collections import ConfigDict

from experiments.configs import loss_ablation
from jaxzero.settings.config import Key, Preset, flatten, preset_config
from jaxzero.settings.keys import table
from jaxzero.settings.switches import SWITCHES, Switch, game_family


class Arm(NamedTuple):
    """One change of all runs."""

    meaning: str  # in a line
    # study's settings -> dotted keys of the loss ablation
    changes: Callable[[ConfigDict], Mapping[str, Any]]
    reference: str = "plain"  # the arm that it is compared with


PLAIN = "plain"  # the papers' own search, the baseline of the others
PUBLISHED = "published"
GATE_TREES = "published_gate_trees"
EXPLORED = "published_dirichlet"
_JUDGING = ("tournament_one_model_per_target", "elo_first_listed_advantage")  # train nothing
DEFECTS: dict[str, Switch] = {n: s for n, s in SWITCHES.items() if n not in _JUDGING}
# Switches that act together. Neither of the gate's opens it alone: from random openings hardly any
# gate is all drawn. Dropout may keep a policy from learning one-hot targets, the chosen moves, by
# heart.
TOGETHER: dict[str, tuple[str, ...]] = {
    "gate": ("arena_random_openings", "accept_all_drawn"),
    "one_hot_and_dropout": ("one_hot_after_temperature", "dropout_inactive"),
}
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
        "the papers' search with few simulations, the baseline of `gumbel`",
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
_SEARCHES = tuple(ARMS)


def _semantics(meaning: str, changes: Mapping[str, Any], reference: str = PLAIN) -> Arm:
    return Arm(meaning, lambda config: changes, reference)


ARMS[PUBLISHED] = _semantics("all that the published programs did", {"semantics": "published"})
ARMS[GATE_TREES] = _semantics(
    "all that they did, and search trees grow over all games of a gate, as theirs did",
    {"semantics": "published", "arena.trees": "gate"},
    PUBLISHED,
)
for _name, _switches in ({n: (n,) for n in DEFECTS} | TOGETHER).items():
    _meaning = "; ".join(DEFECTS[n].meaning for n in _switches)
    ARMS[f"only_{_name}"] = _semantics(
        f"of all that the published programs did only: {_meaning}",
        {"semantics": "corrected"} | {f"switches.{n}": DEFECTS[n].published for n in _switches},
    )
    ARMS[f"without_{_name}"] = _semantics(
        f"all that the published programs did but: {_meaning}",
        {"semantics": "published"} | {f"switches.{n}": DEFECTS[n].corrected for n in _switches},
        PUBLISHED,
    )
ARMS[EXPLORED] = Arm(
    "all that the published programs did, with Dirichlet noise at the root in self-play added",
    lambda config: {"semantics": "published"} | dict(ARMS["dirichlet"].changes(config)),
    PUBLISHED,
)
_WHOLE = (PUBLISHED, GATE_TREES, EXPLORED)  # with all defects
DEFECT_ARMS = tuple(name for name in ARMS if name not in _SEARCHES)


def defect_arms(game: str) -> tuple[str, ...]:
    """Corrected, published (also with the authors' gate, and with noise), each defect and those
    that act together alone and left out.
    """
    family = game_family(game)
    names = [n for n, s in DEFECTS.items() if not s.families or family in s.families]
    names += TOGETHER
    each = (f"{prefix}_{name}" for prefix in ("only", "without") for name in names)
    return (PLAIN, *_WHOLE, *each)


OWN: tuple[Key, ...] = (
    Key(
        "study.arms",
        _SEARCHES,
        "each trains all targets and seeds: "
        + "; ".join(f"{n}: {ARMS[n].meaning}" for n in (*_SEARCHES, *_WHOLE))
        + "; only_SWITCH, without_SWITCH: of that only one of config.switches, or all but it"
        + "; only_gate, without_gate: of that only both switches of the gate, or all but them"
        + "; ..._one_hot_and_dropout: the same of these two",
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
_LAPTOP: dict[str, Any] = {
    "study.lambdas": (0.25, 0.75),
    "study.few_simulations": 8,
    "study.tournament_games": 10,  # of each arm by itself; the arms meet on the ladder
    "study.ladder_games": 160,
    "evaluation.learning_positions": 0,
    "execution.snapshot_every": 30,
}
# As the loss ablation's `long`, whose order it explains (docs/results/losses.md).
_DEFECTS: dict[str, Any] = {
    **loss_ablation.LONG,
    "study.arms": defect_arms("connect_four_5x5"),
    "study.targets": ("value", "sum"),
    "study.seeds": 5,
    "study.tournament_games": 2,  # of each arm by itself; the arms meet on the ladder
    "study.ladder_games": 320,  # with 40 the games, not the seeds, made most of the error bars
    "evaluation.learning_positions": 0,
    "execution.snapshot_every": 80,
}


def _preset(name: str, meaning: str, changes: Mapping[str, Any]) -> Preset:
    return Preset(meaning, {**loss_ablation.PRESETS[name].changes, **changes})


PRESETS: dict[str, Preset] = {
    "quick": _preset("quick", "Connect Four 5x5, 4 arms of 6 losses x 2 seeds, small", _SMALLER),
    "laptop": _preset(
        "laptop",
        "Connect Four 5x5, 4 arms of 6 losses x 5 seeds: 3 hours of a shared CPU core",
        _LAPTOP,
    ),
    "gpu": _preset("gpu", "Connect Four 5x5, 4 arms of 10 losses x 8 seeds: one GPU", _LAMBDAS),
    "paper": _preset("paper", "Othello 6x6, Table 1, 4 arms of 10 losses x 8 seeds", _LAMBDAS),
    "defects": _preset(
        "quick", "which defect turns the order? 24 arms of 2 losses x 5 seeds", _DEFECTS
    ),
}
_BASE = {"defects": "quick"}  # of the loss ablation, where the names differ
_OTHERWISE: dict[str, dict[str, Any]] = {
    "preset": {"choices": tuple(PRESETS)},
    "study.ladder_games": {
        "meaning": "games of each kept network of every arm against each fixed opponent; "
        "0: no ladder, and no comparison"
    },
}
KEYS: tuple[Key, ...] = (
    *(dataclasses.replace(key, **_OTHERWISE.get(key.name, {})) for key in loss_ablation.KEYS),
    *OWN,
)


def get_config(preset: str = "quick") -> ConfigDict:
    """The settings of a preset, or of a preset on one of the papers' boards.

    ConfigError: unknown preset, unknown board.
    """
    name, dot, board = preset.partition(".")
    config = preset_config(name, PRESETS, KEYS)
    if dot:
        config.game = loss_ablation.get_config(f"{_BASE.get(name, name)}.{board}").game
    if name == "defects":
        config.study.arms = defect_arms(config.game)
    return config


def arm_config(config: ConfigDict, arm: str) -> ConfigDict:
    """The loss ablation's settings of one arm, without a ladder of its own."""
    made = loss_ablation.get_config(_BASE.get(config.preset, config.preset))
    own = {"preset", *table(OWN)}
    shared = {name: v for name, v in flatten(config).items() if name not in own}
    made.update_from_flattened_dict(
        {**shared, **ARMS[arm].changes(config), "study.ladder_games": 0}
    )
    return made
