"""The window: which games are learned from.

`Window` is the papers' own, the last rs iterations (Wang 2020). One that counts positions
(`PositionWindow`, Clausen 2021) or games (`GameWindow`, West 2020) does some steps otherwise.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from flax import struct

from jaxzero.training import replay
from jaxzero.training.past import Past
from jaxzero.training.replay import Examples, Source
from jaxzero.training.spec import Spec


class Held(NamedTuple):
    """What a window holds, the same on all devices."""

    examples: Any  # `replay.Replay`, or what a window has in its place
    filled: Any = ()  # what it remembers beside them; `()` for nothing


@struct.dataclass
class Batch:
    """One batch of games."""

    examples: Examples  # [P], packed to the front
    count: jax.Array  # int32, examples in use
    games: jax.Array  # int32, games that they are of
    progress: Past  # what is remembered of them and earlier ones
    metrics: dict[str, jax.Array]  # float32 scalars

    def with_metric(self, name: str, value: jax.Array) -> "Batch":
        """With one metric more."""
        return dataclasses.replace(self, metrics=self.metrics | {name: value.astype("float32")})


def room(spec: Spec, positions: int) -> Examples:
    """Empty examples [positions], with all that the spec's losses ask for."""
    game, learned = spec.game, spec.features
    observation = jax.eval_shape(lambda: game.observe(game.init()))
    layers = learned and learned.layers
    return Examples.zeros((positions,), observation, game.num_actions, spec.extras, layers)


Play = Callable[[Any, jax.Array], Batch]  # (what is remembered, key, consumed) -> games


@dataclasses.dataclass(frozen=True)
class Window:
    """The last rs iterations, a batch of games each."""

    spec: Spec

    def begin(self) -> Held:
        """Nothing is held yet."""
        return Held(replay.empty(self.spec.replay.window, self.room(self.spec.positions)))

    def room(self, positions: int) -> Examples:
        """Empty examples [positions]."""
        return room(self.spec, positions)

    def take_in(
        self, held: Held, play: Play, progress: Past, iteration: jax.Array, key: jax.Array
    ) -> tuple[Batch, Held]:
        """Has games played, as many batches as it wants, and takes them in.

        Args:
          progress: what is remembered of earlier games.
          iteration: int32, from 1.
          key: of self-play, consumed.

        Returns:
          The last batch (its `count/*` metrics are sums over all), and what is held now.
        """
        batch = play(progress, key)
        return batch, Held(replay.add(held.examples, batch.examples, batch.count, iteration))

    def source(self, held: Held, iteration: jax.Array, last: jax.Array) -> Source:
        """What training draws from in an iteration; `last`: rs, where iterations are counted."""
        return replay.source(held.examples, iteration, last)

    def forget(self, held: Held) -> Held:
        """What is left after training. Here the oldest leave when the next are taken in."""
        return held
