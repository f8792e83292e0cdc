"""Settings of features that are learned of a small network (Clausen 2021, section 4.2).

Part of `jaxzero.settings.table`. By default none are.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from ml_collections import ConfigDict

from jaxzero.settings.keys import Key


class Features(NamedTuple):
    """What is learned of a teacher (Clausen 2021, section 4.2).

    Attributes:
      moves, results: layers, of its two heads: 0 is of the position, 1 and 2 of those one and two
        moves of the same player later.
      at: where: in the heads' convolutions, in the last residual block, or in an output of its own.
      trained: the teacher; else it is as it began.
    """

    moves: tuple[int, ...]
    results: tuple[int, ...]
    at: Literal["head", "last_block", "own"] = "head"
    trained: bool = True

    @property
    def later(self) -> bool:
        """Whether later positions are needed."""
        return max(self.moves + self.results) > 0


class Learned(NamedTuple):
    """Which features are learned, the weight of their loss, and the teacher's size."""

    wanted: Features
    weight: float
    blocks: int = 3  # the authors'
    channels: int = 32

    @property
    def size(self) -> tuple[int, int]:
        """Of the teacher: its residual blocks and channels."""
        return self.blocks, self.channels

    @property
    def layers(self) -> tuple[int, int]:
        """How many: of moves, of results."""
        return len(self.wanted.moves), len(self.wanted.results)


_MOVE1 = ((0, 1), ())
FEATURES: dict[str, Features] = {
    "move0": Features((0,), ()),
    "win0": Features((), (0,)),
    "move0_win0": Features((0,), (0,)),
    "move1": Features(*_MOVE1),
    "win1": Features((), (0, 1)),
    "move2": Features((0, 1, 2), ()),
    "win2": Features((), (0, 1, 2)),
    "only_move1_win1": Features((1,), (1,)),
    "only_move2": Features((2,), ()),
    "only_win2": Features((), (2,)),
    "move0_win0_random": Features((0,), (0,), trained=False),
    "move0_win0_last_block": Features((0,), (0,), "last_block"),
    "move0_win0_own": Features((0,), (0,), "own"),
    "move1_random": Features(*_MOVE1, trained=False),
    "move1_last_block": Features(*_MOVE1, "last_block"),
    "move1_own": Features(*_MOVE1, "own"),
    "win1_last_block": Features((), (0, 1), "last_block"),
}

LEARNED_FEATURES: tuple[Key, ...] = (
    Key(
        "train.feature_weight",
        0.0,
        "weight of the squared error of a small network's features (Clausen 2021, section 4.2: 1); "
        "0: none are learned",
        low=0,
        high=1e6,
        needs=("network.name", "resnet"),
    ),
    Key(
        "train.features",
        "move0_win0",
        "which: of the moves or results of the position (0), and of one or two moves of the player "
        "later (1, 2); only: without those before; in the heads' convolutions, the last block, or "
        "an output of their own; random: of an untrained network",
        choices=tuple(FEATURES),
    ),
    Key(
        "train.teacher",
        None,
        "run directory of the small network, relative to this run's (runs/mine beside runs/small: "
        "../small); unset: none, for random features",
        kind=str,
    ),
    Key("train.teacher_blocks", 3, "its network.blocks", low=1, high=100),
    Key(
        "train.teacher_channels",
        32,
        "its network.channels; network.stem_filters is four times as many",
        low=1,
        high=1024,
    ),
)


def conflicts(config: ConfigDict) -> Iterator[tuple[Any, str, str]]:
    """(whether it is so, key, remedy) of what does not go together."""
    train, network = config.train, config.network
    if not train.feature_weight:
        yield train.teacher, "train.teacher", "nothing is learned of it, set train.feature_weight"
        return
    wanted = FEATURES[train.features]
    yield (
        wanted.trained and not train.teacher,
        "train.features",
        "name the small network's run directory in config.train.teacher, or choose random ones",
    )
    yield (
        train.teacher and not wanted.trained,
        "train.teacher",
        f"config.train.features={train.features!r} are of an untrained network, leave it out",
    )
    yield (
        network.style != "efficiency",
        "network.style",
        "its heads have no convolutions of their own to learn features in, choose efficiency",
    )
    layers, key, room = len(wanted.moves + wanted.results), "channels", network.channels
    if wanted.at == "head":
        layers, key = max(len(wanted.moves), len(wanted.results)), "head_filters"
        room = network.head_filters
    yield (
        wanted.at != "own" and room < layers,
        f"network.{key}",
        f"config.train.features={train.features!r} are learned in {layers} of them, choose more",
    )
    yield (
        wanted.at != "head" and network.grow_at,
        "network.grow_at",
        f"the channels that learn config.train.features={train.features!r} would move, leave one "
        "of the two out",
    )
