"""Settings of networks that grow in training (Clausen 2021, section 4). By default none does."""

from collections.abc import Iterator
from typing import Any

from ml_collections import ConfigDict

from jaxzero.settings.keys import Key

GROWING: tuple[Key, ...] = (
    Key(
        "network.grow_at",
        (),
        "iterations after which the residual blocks get wider, ascending (Clausen 2021: 4, 8, 16, "
        "32); none: never",
        low=1,
        item=int,
        needs=("network.name", "resnet"),
    ),
    Key(
        "network.grow_to",
        (),
        "channels after each of them; before the first they are network.channels",
        low=1,
        high=4096,
        item=int,
        needs=("network.name", "resnet"),
    ),
    Key(
        "network.grow_by",
        "net2net",
        "random: the next iteration trains a wider network from random weights (Clausen 2021); "
        "net2net: channels are copied, so that no answer changes, optimiser and all; parallel: a "
        "wider network from random weights learns from the same minibatches until its loss is "
        "lower, and takes over",
        choices=("random", "net2net", "parallel"),
    ),
)


def conflicts(config: ConfigDict) -> Iterator[tuple[Any, str, str]]:
    """(whether it is so, key, remedy) of what does not go together."""
    own = config.network
    at, widths = list(own.grow_at), [own.channels, *own.grow_to]
    yield len(at) != len(own.grow_to), "network.grow_to", f"one for each of grow_at={own.grow_at}"
    yield at != sorted(set(at)), "network.grow_at", "count upwards"
    yield (
        widths != sorted(set(widths)),
        "network.grow_to",
        f"count upwards from config.network.channels={own.channels}",
    )
    yield (
        at and own.grow_by != "net2net" and config.arena.gate != "none",
        "network.grow_by",
        f"a network from random weights is not held to config.arena.gate={config.arena.gate!r}, "
        "set that to none or choose net2net",
    )
    yield (
        at and config.arena.gate != "none" and config.arena.continue_from != "best",
        "arena.continue_from",
        "of networks that grow there is only the best, choose best",
    )
