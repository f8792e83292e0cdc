"""The extensions of Clausen 2021's section 3.3, and what its extended baseline is made of."""

from collections.abc import Sequence
from typing import Any, Final

from ml_collections import ConfigDict

EXTENDED: Final = "extended"  # arm of all of them together


def extensions(
    config: ConfigDict, *, grows: Sequence[float], anneal_to: float, anneal_iterations: int
) -> dict[str, dict[str, Any]]:
    """Dotted keys by extension of the plain baseline (002, sections 3.3 and 2.4).

    `grows`: how the slow window does; `anneal_...`: of the cyclic learning rate.
    """
    start = slow_window_start(config)
    return {
        "dedupe": {"replay.duplicate_weight": 0.8},
        "cyclic": {
            "train.schedule": "cyclic",
            "train.anneal_to": anneal_to,
            "train.anneal_iterations": anneal_iterations,
        },
        "slow_window": {"replay.window_start": start, "replay.window_grows": tuple(grows)},
        "reply": {"train.reply_weight": 0.35},
        "squeeze_excite": {"network.squeeze_excite": True},
        # Those that the paper's extended baseline does not have.
        "playout_caps": {
            "selfplay.fast_share": 0.75,
            # 30 of 343, smaller presets keep the ratio; the published program's first counts not
            "selfplay.fast_simulations": max(2, round(config.search.num_simulations * 30 / 343)),
        },
        "move_values": {"train.move_value_weight": config.train.value_weight},
        "mixed_values": {"train.root_value_share": 0.5},
        "forced_playouts": {"search.forced_playouts": 2.0},
        "known_results": {"search.propagate_results": True},
        "few_head_filters": {"network.head_filters": 3},  # before Young 2019: the others have 32
        "symmetric_images": {"replay.images": "all"},
    }


def slow_window_start(config: ConfigDict) -> int:
    """Positions that the slow window begins with."""
    return round(config.study.slow_window_share * config.replay.window_positions)


def ingredients(config: ConfigDict) -> dict[str, dict[str, Any]]:
    """What the extended baseline is made of: dotted keys by ingredient (002, section 3.3).

    As they are there: the cycle annealed, the slow window growing for longer than alone.
    """
    s = config.study
    grows, to = s.extended_window_grows, s.extended_anneal_to
    possible = extensions(config, grows=grows, anneal_to=to, anneal_iterations=20)
    return {name: possible[name] for name in s.extended}


def extended(config: ConfigDict, *, without: str = "") -> dict[str, Any]:
    """Dotted keys of the extended baseline, or of all of it but one ingredient."""
    made_of = ingredients(config).items()
    return {k: v for name, changes in made_of if name != without for k, v in changes.items()}
