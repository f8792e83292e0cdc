"""Settings of the recipe's parts: `recipe.py:quick`, `:laptop`, `:connect_four_5x5`, ...

A part is some settings of `experiments.train`; left out, they are the package's defaults.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ml_collections import ConfigDict

from experiments.configs import train
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import Key, Preset, preset_getter

WHOLE = "recipe"
DEFAULTS = "defaults"  # everything left out
GUMBEL = ("gumbel", "gumbel_rescaled")


class Part(NamedTuple):
    """What is left out together: in a line what it is, and its dotted keys."""

    meaning: str
    keys: tuple[str, ...]


PARTS: dict[str, Part] = {
    "openings": Part("games begin with random moves", ("selfplay.opening_plies",)),
    "root_noise": Part("Dirichlet noise at the root", ("search.dirichlet_fraction",)),
    "random_ties": Part("random choice among equals", ("search.ties",)),
    "proven_results": Part(
        "wins and losses that a search has proven are carried up, end it and are learned",
        ("search.propagate_results", "search.stop_when_known", "selfplay.known_labels"),
    ),
    "known_labels": Part("only the last of these: they are learned", ("selfplay.known_labels",)),
    "improved_target": Part("a policy target made of Q, not of visits", ("search.puct_target",)),
    "plane_of_ones": Part("planes, one of them of ones, as input", ("observation",)),
    "draws": Part("three outcomes as the value", ("network.value_head",)),
    "resnet": Part("a residual network, not the papers' plain one", ("network.name",)),
    "passes": Part("few passes over an example", ("train.epochs", "train.passes")),
    "window": Part("another window than 20 iterations", ("replay.window",)),
    "search_value": Part("half of the target is the search's value", ("train.root_value_share",)),
    "discount": Part("a quick win is worth more than a slow one", ("search.discount",)),
    "average": Part("the average of the last steps' weights plays", ("train.average",)),
    "falling_rate": Part("a learning rate that falls at last", ("train.schedule",)),
    "weight_decay": Part("weight decay", ("train.weight_decay",)),
    "step_size": Part(
        "batch size 256 and learning rate 0.002, not 64 and 0.005",
        ("train.batch_size", "train.learning_rate"),
    ),
}
PREFIX = "without_"
ARMS = (WHOLE, *(PREFIX + name for name in PARTS), *GUMBEL, DEFAULTS)
_DEFAULT = config_lib.flatten(config_lib.default_config())
_GUMBEL: dict[str, Any] = {
    "search.algorithm": "gumbel",
    "search.dirichlet_fraction": 0.0,  # it has noise of its own
}


def own_parts(settings: Mapping[str, Any]) -> list[str]:
    """The parts that some settings have (dotted keys): they are not all the package's defaults."""
    return [
        name
        for name, part in PARTS.items()
        if any(settings.get(key, _DEFAULT[key]) != _DEFAULT[key] for key in part.keys)
    ]


def changes(config: ConfigDict, arm: str) -> Mapping[str, Any]:
    """What an arm does otherwise than the recipe, dotted keys."""
    if arm in GUMBEL:
        return _GUMBEL | {"search.gumbel_rescale": arm == "gumbel_rescaled"}
    if arm == WHOLE:
        return {}
    own = own_parts(config_lib.flatten(config))
    left_out = own if arm == DEFAULTS else [arm.removeprefix(PREFIX)]
    return {key: _DEFAULT[key] for name in left_out for key in PARTS[name].keys}


def meaning(arm: str) -> str:
    """An arm in a line."""
    return {
        WHOLE: "the recipe of experiments.train",
        DEFAULTS: "all parts left out: the package's defaults",
        "gumbel": "Gumbel search in place of PUCT, with proven results",
        "gumbel_rescaled": "the same with mctx's rescaling of Q",
    }.get(arm) or f"without: {PARTS[arm.removeprefix(PREFIX)].meaning}"


def _changes(game: str, smaller: dict[str, Any]) -> dict[str, Any]:
    recipe = {k: v for k, v in train.PRESETS[game].changes.items() if k in _DEFAULT}
    return {
        **recipe,
        "evaluation.learning_positions": 0,
        "execution.checkpoint_every": 4,
        "study.arms": (WHOLE, *(PREFIX + name for name in own_parts(recipe)), *GUMBEL, DEFAULTS),
        **smaller,
    }


_QUICK = {
    "network.blocks": 1,
    "network.channels": 16,
    "search.num_simulations": 16,
    "selfplay.episodes": 64,
    "train.iterations": 6,
    "train.schedule_steps": (5,),
    "execution.snapshot_every": 3,
    "study.arms": (WHOLE, "without_proven_results", "without_openings", DEFAULTS),
    "study.seeds": 2,
    "study.test_positions": 200,
}
PRESETS: dict[str, Preset] = {
    "quick": Preset(
        "Connect Four 5x5, 4 arms of 2 small runs: minutes", _changes("connect_four_5x5", _QUICK)
    ),
    "laptop": Preset(
        "Connect Four 6x7, 2 blocks of 16 channels, 25 simulations, 5 seeds of 16 iterations of "
        "128 games: two hours of a CPU core",
        _changes(
            "connect_four_6x7",
            {
                "network.blocks": 2,
                "network.channels": 16,
                "search.num_simulations": 25,
                "selfplay.episodes": 128,
                "train.iterations": 16,
                "train.schedule_steps": (13,),
                "execution.snapshot_every": 4,
            },
        ),
    ),
    "connect_four_5x5": Preset(
        "each part left out, 5 seeds of 16 iterations of 256 games: hours on two CPU cores",
        _changes(
            "connect_four_5x5",
            {
                "network.blocks": 2,
                "selfplay.episodes": 256,
                "train.iterations": 16,
                "train.schedule_steps": (13,),
                "execution.snapshot_every": 4,
            },
        ),
    ),
    "connect_four_6x7": Preset(
        "the same on the usual board, 24 iterations: a day on two CPU cores (predicted), or a GPU",
        _changes(
            "connect_four_6x7",
            {
                "selfplay.episodes": 256,
                "train.iterations": 24,
                "train.schedule_steps": (19,),
                "execution.snapshot_every": 6,
            },
        ),
    ),
}

KEYS: tuple[Key, ...] = (
    Key("preset", "quick", "what these settings began from", choices=tuple(PRESETS)),
    Key(
        "study.arms",
        (WHOLE, DEFAULTS),
        "the recipe, the recipe without a part, with Gumbel search, or the package's defaults",
        choices=ARMS,
    ),
    Key("study.seeds", 5, "runs of each arm; the fewest that can be decided on: 5", low=1),
    Key("study.test_positions", 1000, "solved positions that every network is asked for", low=20),
)

get_config = preset_getter(PRESETS, KEYS)
