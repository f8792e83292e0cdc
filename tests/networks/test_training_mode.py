"""Batch statistics and dropout: what `train=True` switches on."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh
from jax.sharding import PartitionSpec as P

from jaxzero.networks import init_variables, make_network
from jaxzero.runs.flops import equations

SHAPE = (5, 5, 1)
SMALL = {
    "convnet": {"channels": 6, "hidden": (12, 10)},
    "resnet": {"blocks": 1, "filters": 6, "stem_filters": 4, "head_filters": 2},
}


@cache
def _small(name, **settings):
    network = make_network(name, num_actions=5, observation_shape=SHAPE, **(SMALL[name] | settings))
    return network, jax.jit(init_variables, static_argnums=(0, 2))(
        network, jax.random.key(0), SHAPE
    )


@partial(jax.jit, static_argnames=("network", "train"))
def _apply(network, variables, boards, train=True):
    """(output, updated batch statistics), without dropout."""
    return network.apply(variables, boards, train=train, mutable=["batch_stats"])


def _boards(count, seed=0):
    return jax.random.randint(jax.random.key(seed), (count, *SHAPE), -1, 2).astype(jnp.int8)


def _first_convolution(name, variables, boards):
    layer = {"convnet": "conv_0", "resnet": "stem_conv"}[name]
    kernel, bias = (np.asarray(variables["params"][layer][leaf]) for leaf in ("kernel", "bias"))
    padded = np.pad(np.asarray(boards, np.float32), ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return np.einsum("bhwirc,rcio->bhwo", windows, kernel) + bias


@pytest.mark.parametrize(("name", "norm"), [("convnet", "conv_norm_0"), ("resnet", "stem_norm")])
def test_running_averages_follow_the_closed_form(name, norm):
    network, variables = _small(name)
    start = variables["batch_stats"][norm]
    np.testing.assert_array_equal(start["mean"], 0)
    np.testing.assert_array_equal(start["var"], 1)
    boards = _boards(8)
    _, updates = _apply(network, variables, boards)
    y = _first_convolution(name, variables, boards)
    old = {"convnet": 0.99, "resnet": 0.9}[name]
    stats = updates["batch_stats"][norm]
    np.testing.assert_allclose(stats["mean"], (1 - old) * y.mean((0, 1, 2)), atol=1e-5)
    np.testing.assert_allclose(stats["var"], old + (1 - old) * y.var((0, 1, 2)), atol=1e-5)


@pytest.mark.parametrize("name", ["convnet", "resnet"])
def test_momentum_is_a_setting(name):
    network, variables = _small(name, batch_norm_momentum=0.0)
    boards = _boards(8)
    trained, updates = _apply(network, variables, boards)
    # With no memory the running averages are the minibatch's, so play now agrees with training.
    played, _ = _apply(network, variables | updates, boards, train=False)
    np.testing.assert_allclose(played.policy_logits, trained.policy_logits, atol=1e-4)
    np.testing.assert_allclose(played.value, trained.value, atol=1e-4)


@pytest.mark.parametrize("name", ["convnet", "resnet"])
def test_train_uses_the_minibatch_and_play_the_running_averages(name):
    network, variables = _small(name)
    boards = _boards(8)

    def logits(variables, boards, train):
        return _apply(network, variables, boards, train)[0].policy_logits

    shifted = variables | {"batch_stats": jax.tree.map(lambda x: x + 0.5, variables["batch_stats"])}
    np.testing.assert_array_equal(logits(variables, boards, True), logits(shifted, boards, True))
    assert not np.allclose(logits(variables, boards, False), logits(shifted, boards, False))
    # In training a position's output depends on its companions, in play it doesn't.
    others = jnp.concatenate([boards[:4], _boards(8, seed=1)[4:]])
    assert not np.allclose(logits(variables, boards, True)[:4], logits(variables, others, True)[:4])
    np.testing.assert_allclose(
        logits(variables, boards, False)[:4], logits(variables, others, False)[:4], atol=1e-5
    )


def test_play_changes_no_running_average():
    network, variables = _small("convnet")
    _, updates = _apply(network, variables, _boards(8), train=False)
    jax.tree.map(np.testing.assert_array_equal, updates, {"batch_stats": variables["batch_stats"]})


def test_bias_before_norm_changes_nothing_in_training():
    network, variables = _small("convnet")
    boards = _boards(8)

    def logits(params):
        return _apply(network, variables | {"params": params}, boards)[0].policy_logits

    params = variables["params"]
    moved = params | {"conv_1": params["conv_1"] | {"bias": jnp.linspace(-1.0, 1.0, 6)}}
    np.testing.assert_allclose(logits(moved), logits(params), atol=1e-4)


def _loss(network, variables):
    def loss(params):
        output, _ = _apply(network, variables | {"params": params}, _boards(8))
        return output.policy_logits.sum() + output.value.sum()

    return loss


@pytest.mark.parametrize("asked", ["float32", "tensorfloat32"])
@pytest.mark.parametrize("name", ["convnet", "resnet"])
def test_all_products_say_how_precise_they_are(name, asked):
    """On a GPU those that say nothing are TF32."""
    wide = {"channels": 64} if name == "convnet" else {"filters": 64}
    network, variables = _small(name, convolution="winograd", matmul_precision=asked, **wide)
    program = jax.make_jaxpr(jax.grad(_loss(network, variables)))(variables["params"])
    products = [e for e in equations(program.jaxpr) if e.primitive.name == "dot_general"]
    assert len(products) > 3 * 16  # of a Winograd convolution and its gradient
    said = {"float32": jax.lax.Precision.HIGHEST, "tensorfloat32": jax.lax.Precision.HIGH}[asked]
    assert {e.params["precision"] for e in products} == {(said, said)}


@pytest.mark.parametrize("name", ["convnet", "resnet"])
def test_biases_before_norm_are_not_learned(name):
    network, variables = _small(name, dtype=jnp.bfloat16)
    gradient = jax.jit(jax.grad(_loss(network, variables)))(variables["params"])
    moved = {layer for layer, own in gradient.items() if own.get("bias", jnp.zeros(1)).any()}
    normed = {"conv_0", "conv_3", "hidden_0", "stem_conv", "block_0_conv_0", "block_0_conv_1"}
    assert not moved & normed
    assert moved >= {"policy"}
    assert any("bias" in gradient[layer] for layer in normed & set(gradient))


@partial(jax.jit, static_argnames=("network", "train"))
def _dropped(network, variables, rate, seed, train=True):
    output, _ = network.apply(
        variables,
        _boards(8),
        train=train,
        dropout_rate=rate,
        rngs={"dropout": jax.random.key(seed)},
        mutable=["batch_stats"],
    )
    return output.policy_logits


def test_dropout_acts_in_training_only():
    network, variables = _small("convnet")
    rate, seed = 0.5, 1
    active = _dropped(network, variables, rate, seed)
    np.testing.assert_array_equal(active, _dropped(network, variables, rate, seed))
    assert not np.allclose(active, _dropped(network, variables, rate, seed + 1))
    assert not np.allclose(active, _dropped(network, variables, 0.0, seed))
    inactive = _dropped(network, variables, rate, seed, train=False)
    played, _ = _apply(network, variables, _boards(8), train=False)
    np.testing.assert_allclose(inactive, played.policy_logits, atol=1e-5)


def test_dropout_rate_zero_needs_no_key_and_equals_a_traced_zero():
    network, variables = _small("convnet")
    plain, _ = _apply(network, variables, _boards(8))
    np.testing.assert_allclose(
        plain.policy_logits, _dropped(network, variables, 0.0, seed=1), atol=1e-5
    )


def _mesh():
    count = min(8, len(jax.devices()))
    if count < 2:
        pytest.skip("needs XLA_FLAGS=--xla_force_host_platform_device_count=8")
    return Mesh(np.array(jax.devices()[:count]), ("data",), axis_types=(AxisType.Auto,))


@pytest.mark.parametrize("name", ["convnet", "resnet"])
def test_batch_statistics_and_gradients_over_devices_equal_one_device(name):
    mesh = _mesh()
    alone, variables = _small(name)
    spread, same = _small(name, axis_name="data")
    jax.tree.map(np.testing.assert_array_equal, variables, same)  # initialised without a mesh
    boards = _boards(6 * mesh.size)

    def loss(params, network, boards):
        output, updates = network.apply(
            variables | {"params": params}, boards, train=True, mutable=["batch_stats"]
        )
        targets = jnp.cos(boards.sum((1, 2, 3), dtype=jnp.float32))
        policy_loss = -jax.nn.log_softmax(output.policy_logits)[:, 0]
        return (policy_loss + (output.value - targets) ** 2).mean(), (output.value, updates)

    def step(params, boards):
        gradient, (value, updates) = jax.grad(loss, has_aux=True)(params, spread, boards)
        return jax.lax.pmean(gradient, "data"), updates, value

    over_devices = jax.jit(
        jax.shard_map(
            step,
            mesh=mesh,
            in_specs=(P(), P("data")),
            out_specs=(P(), P(), P("data")),
            check_vma=False,  # as self-play needs it
        )
    )(variables["params"], boards)
    one_device = jax.jit(jax.grad(loss, has_aux=True), static_argnums=1)
    gradient, (value, updates) = one_device(variables["params"], alone, boards)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=3e-5),
        over_devices,
        (gradient, updates, value),
    )
