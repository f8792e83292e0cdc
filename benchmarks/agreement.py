"""How far this device and the CPU come apart, from the same network, examples and random keys.

One evaluation of the losses, and those of 20 minibatches of training, in the network's own number
format here and in float32 there. Rounding is small in the first and grows in the second.
"""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from benchmarks import setups, training
from benchmarks.cases import Case, Measured
from jaxzero.training import learner
from jaxzero.training.learner import Learner
from jaxzero.training.replay import Replay
from jaxzero.training.spec import Hyper, Spec

_STEPS = 20


class Point(NamedTuple):
    """A network: settings of `training.Point`, and its number format."""

    game: str = "connect_four_5x5"
    channels: int = 128
    dtype: str = "float32"
    batch: int = 64


def case(point: Point) -> Case:
    """Of a point."""
    name = f"agreement/{point.game} {point.channels}ch {point.dtype}"
    return Case(name, point._asdict(), functools.partial(_measure, point), guess=60.0)


def losses(
    spec: Spec, hyper: Hyper, network: Learner, window: Replay, key: jax.Array
) -> dict[str, jax.Array]:
    """float32 scalars: l_p and l_v of the network on the window's newest iteration, and the means
    of an epoch of training on it."""
    slot = 1 % spec.replay.window
    examples = jax.tree.map(lambda x: x[slot], window.examples)
    before = learner.evaluate_losses(spec, network, examples, jnp.ones((spec.positions,), bool))
    _, after = training.epoch(spec, hyper, network, window, key)
    return {
        **{f"evaluated {name}": before[name] for name in ("policy", "value")},
        **{f"trained {name}": after[f"loss/{name}"][-1] for name in ("policy", "value")},
    }


def _measure(point: Point) -> Mapping[str, Measured]:
    changes: dict[str, Any] = {
        **training.settings(
            training.Point(point.channels, _STEPS, game=point.game, batch=point.batch)
        ),
        "train.dropout_rate": 0.0,
    }
    there = setups.make({**changes, "network.dtype": "float32", "network.convolution": "lax"})
    here = setups.make({**changes, "network.dtype": point.dtype})
    spec = there[0]
    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        window = setups.window(spec, -(-_STEPS * point.batch // spec.num_images))
        given = (setups.network(spec), window, jax.random.key(0))
        expected = _on(cpu, *there, given)
    found = _on(jax.local_devices()[0], *here, given)
    return {
        name: Measured(
            value=abs(found[name] - expected[name]) / abs(expected[name]),
            unit="of the CPU's",
            details={"here": found[name], "cpu": expected[name], "steps": _STEPS},
        )
        for name in expected
    }


def _on(device: Any, spec: Spec, hyper: Hyper, given: tuple[Any, ...]) -> dict[str, float]:
    run = jax.jit(functools.partial(losses, spec, hyper))
    return {name: float(value) for name, value in run(*jax.device_put(given, device)).items()}
