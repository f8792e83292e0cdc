"""Floating-point operations of a network, counted from the shapes of its matrix products.

Multiplications and additions both count: an [M, K] x [K, N] product is 2 M K N. Batch norm, ReLU,
softmax and the optimiser are left out (under one per cent at 64 channels). A training step is
three forward passes: forward, gradients of the inputs, gradients of the weights.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from jaxzero.training import learner
from jaxzero.training.spec import Spec

TRAINING = 3  # forward passes' worth of forward and backward


def count(fn: Callable, *args: Any) -> int:
    """FLOP of the matrix products and convolutions of one call, loops not multiplied out."""
    return sum(map(_of_equation, equations(jax.make_jaxpr(fn)(*args).jaxpr)))


def equations(program: Any) -> Iterator[Any]:
    """Of a program and of those inside it, each as often as it is written there."""
    for equation in program.eqns:
        inner = [p for p in equation.params.values() if hasattr(p, "jaxpr")]
        for each in inner:
            yield from equations(each.jaxpr)
        if not inner:
            yield equation


def _of_equation(equation: Any) -> int:
    out = equation.outvars[0].aval
    if equation.primitive.name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        left = equation.invars[0].aval.shape
        return 2 * out.size * math.prod(left[axis] for axis in contracted)
    if equation.primitive.name == "conv_general_dilated":
        kernel = equation.invars[1].aval
        features = kernel.shape[equation.params["dimension_numbers"].rhs_spec[0]]
        return 2 * out.size * (kernel.size // features)
    return 0


def forward(spec: Spec) -> int:
    """FLOP of evaluating one position; convolutions as their definition has them.

    Winograd's products count as the ones that they replace, so that rates compare between
    convolutions. A rate may then pass that of matrix products.
    """
    if spec.network.convolution == "winograd":
        spec = dataclasses.replace(spec, network=spec.network.clone(convolution="patches"))
    batch = 8  # of which one position is an eighth: a batch of 1 might be written differently
    state = jax.eval_shape(lambda: learner.init(spec, jax.random.key(0)))
    observation = jax.ShapeDtypeStruct((batch, *spec.game.observation_shape), jnp.int8)
    return count(lambda n, x: learner.infer(spec, n, x), state, observation) // batch
