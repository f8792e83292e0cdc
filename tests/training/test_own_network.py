"""A network of one's own, as CONTRIBUTING.md has it: without convolutions or batch norm."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

from jaxzero import networks
from jaxzero.networks import NetworkOutput
from jaxzero.networks.output import head, outcome
from jaxzero.runs import memory
from jaxzero.training import learner
from tests import small


class Perceptron(nn.Module):
    num_actions: int
    channels: int = 8
    value_head: str = "scalar"
    dtype: Any = jnp.float32
    convolution: str = "patches"
    axis_name: Any = None

    @nn.compact
    def __call__(self, x: jax.Array, *, train: bool = False, dropout_rate: Any = 0.0) -> Any:
        x = nn.relu(nn.Dense(self.channels)(x.reshape(len(x), -1).astype(jnp.float32)))

        def last(name: str, features: int) -> nn.Dense:
            return head(name, features, nn.initializers.lecun_normal())

        policy = last("policy", self.num_actions)(x)
        return NetworkOutput(policy_logits=policy, **outcome(last, self.value_head, x))


def test_it_is_made_learns_and_is_forecast(monkeypatch: Any) -> None:
    monkeypatch.setitem(networks.NETWORKS, "perceptron", Perceptron)
    plain, hyper = small.small_spec(), small.small_hyper({"train.dropout_rate": 0.0})
    network = networks.make_network(
        "perceptron",
        num_actions=plain.game.num_actions,
        observation_shape=plain.game.observation_shape,
        convolution="auto",
    )
    spec = dataclasses.replace(plain, network=network)
    begun, examples = learner.init(spec, jax.random.key(0)), small.random_examples(spec.game, 16)
    step = jax.jit(lambda one: learner.train_step(spec, hyper, one, examples, jax.random.key(1)))
    state, losses = begun, []
    for _ in range(20):
        state, measured = step(state)
        losses.append(float(sum(measured)))
    assert losses[-1] < losses[0]
    assert np.isfinite(losses).all()
    answered = learner.acting(spec, state)(examples.observation)
    assert answered[0].shape == (16, spec.game.num_actions)
    for convolution in ("patches", "winograd"):
        own = dataclasses.replace(spec, network=network.clone(convolution=convolution))
        assert memory._inference_bytes(own, begun, 4, "cpu") > 0
