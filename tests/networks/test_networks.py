"""Both networks as callers see them: sizes, heads, settings, dtypes, populations."""

from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.networks import (
    default_dtype,
    init_variables,
    make_network,
    read_outcome,
    resolve_convolution,
    resolve_dtype,
)
from jaxzero.networks.dtypes import cast_kernels
from jaxzero.networks.output import head
from tests.oracles import plain_networks

SHAPE = (6, 7, 2)
SMALL = {
    "convnet": {"channels": 8, "hidden": (16, 12)},
    "resnet": {"blocks": 1, "filters": 8, "stem_filters": 4, "head_filters": 2},
}
HEADS = {"reply_head": True, "move_value_head": True}
CURRICULUM = {"style": "curriculum", "value_head": "scalar", "value_hidden": 8}
VARIANTS = [
    ("convnet", {}),
    ("convnet", {"value_head": "wdl", "bias_before_norm": False}),
    ("resnet", {}),
    ("resnet", {"squeeze_excite": True, "squeeze_reduction": 2, "expose_features": True, **HEADS}),
    ("resnet", CURRICULUM),
]


@pytest.fixture(autouse=True)
def _strict_ranks():
    with jax.numpy_rank_promotion("raise"):
        yield


def _small(name, **settings):
    network = make_network(name, num_actions=7, observation_shape=SHAPE, **(SMALL[name] | settings))
    return network, jax.jit(init_variables, static_argnums=(0, 2))(
        network, jax.random.key(0), SHAPE
    )


@partial(jax.jit, static_argnames=("network", "train"))
def _apply(network, variables, boards, train=False):
    output, _ = network.apply(variables, boards, train=train, mutable=["batch_stats"])
    return output


def _boards(count, seed=0, shape=SHAPE):
    return jax.random.randint(jax.random.key(seed), (count, *shape), -1, 2).astype(jnp.int8)


def test_curriculum_style_has_paper_004s_shape():
    _, variables = _small("resnet", style="curriculum", value_head="scalar", blocks=2)
    kernels = {
        layer: leaves["kernel"].shape
        for layer, leaves in variables["params"].items()
        if "kernel" in leaves
    }
    assert kernels == {
        "stem_conv": (3, 3, 2, 8),
        "block_0_conv_0": (3, 3, 8, 8),
        "block_0_conv_1": (3, 3, 8, 8),
        "block_1_conv_0": (3, 3, 8, 8),
        "block_1_conv_1": (3, 3, 8, 8),
        "head_conv": (8, 2),
        "policy": (2 * 42, 7),
        "value_hidden": (2 * 42, 256),
        "value": (256, 1),
    }


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
def test_heads_have_their_shapes_types_and_ranges(name, settings):
    network, variables = _small(name, **settings)
    # Large weights, so that the heads saturate.
    variables["params"] = jax.tree.map(lambda x: 3 * x, variables["params"])
    output = _apply(network, variables, _boards(9))
    assert output.policy_logits.shape == (9, 7)
    assert output.value.shape == (9,)
    assert (abs(output.value) <= 1).all()
    assert {leaf.dtype for leaf in jax.tree.leaves(output)} == {jnp.dtype("float32")}
    outcome_head = network.value_head == "wdl"
    assert (output.outcome_logits is not None) == outcome_head
    assert (output.draw_probability is not None) == outcome_head
    if outcome_head:
        win, draw, loss = jax.nn.softmax(output.outcome_logits).T
        np.testing.assert_allclose(output.value, win - loss, atol=1e-6)
        np.testing.assert_allclose(output.draw_probability, draw, atol=1e-6)
    assert (output.reply_logits is not None) == settings.get("reply_head", False)
    if settings.get("expose_features"):
        assert output.policy_features.shape == output.outcome_features.shape == (9, 6, 7, 2)
    else:
        assert output.policy_features is output.outcome_features is None


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
def test_it_says_what_its_layers_say_one_after_another(name, settings):
    network, variables = _small(name, **settings)
    rng = np.random.default_rng(0)  # none has the value it begins with; variances are positive
    variables = jax.tree.map(
        lambda x: jnp.asarray(rng.uniform(-0.4, 0.4, x.shape) + 0.5 * (x.ndim < 2), x.dtype),
        variables,
    )
    boards = _boards(9)
    output = _apply(network, variables, boards)
    for field, expected in plain_networks.evaluate(network, variables, boards).items():
        assert expected.std() > 0.01, field
        found = getattr(output, field)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=field)


@pytest.mark.parametrize(
    ("settings", "layer"),
    [({}, "stem_conv"), ({}, "block_0_conv_0"), ({}, "policy"), (CURRICULUM, "value_hidden")],
)
def test_residual_networks_begin_as_pytorchs_do(settings, layer):
    kernel = _small("resnet", **settings)[1]["params"][layer]["kernel"]
    bound = 1 / np.sqrt(kernel[..., 0].size)
    assert 0.95 * bound < abs(kernel).max() <= bound


def test_outcome_order_is_win_draw_loss():
    value, draw = read_outcome(jnp.array([[9.0, 0, 0], [0, 9.0, 0], [0, 0, 9.0]]))
    np.testing.assert_allclose(value, [1, 0, -1], atol=1e-3)
    np.testing.assert_allclose(draw, [0, 1, 0], atol=1e-3)


@pytest.mark.parametrize("name", ["convnet", "resnet"])
def test_positions_do_not_see_each_other_in_play(name):
    network, variables = _small(name)
    boards = _boards(5)
    together = _apply(network, variables, boards)
    alone = _apply(network, variables, boards[2:3])
    np.testing.assert_allclose(together.policy_logits[2:3], alone.policy_logits, atol=1e-5)
    np.testing.assert_allclose(together.value[2:3], alone.value, atol=1e-5)


@pytest.mark.parametrize(("name", "settings"), VARIANTS[1::2] + VARIANTS[-1:])
def test_population_equals_a_loop(name, settings):
    network, _ = _small(name, **settings)
    keys = jax.random.split(jax.random.key(3), 3)
    population = jax.jit(jax.vmap(lambda key: init_variables(network, key, SHAPE)))(keys)
    boards, rates = _boards(6), jnp.array([0.0, 0.3, 0.6])

    @jax.jit
    def train(variables, rate, key):
        return network.apply(
            variables,
            boards,
            train=True,
            dropout_rate=rate,
            rngs={"dropout": key},
            mutable=["batch_stats"],
        )

    stacked = jax.vmap(train)(population, rates, keys)
    for run in range(3):
        variables = jax.tree.map(lambda x, run=run: x[run], population)
        alone = train(variables, rates[run], keys[run])
        ours = jax.tree.map(lambda x, run=run: x[run], stacked)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-4), ours, alone)


@pytest.mark.parametrize(
    ("name", "settings", "other", "train"),
    [
        *((name, settings, "lax", False) for name, settings in VARIANTS),
        ("convnet", {"channels": 64}, "winograd", True),
        ("resnet", {"filters": 64}, "winograd", True),
    ],
)
def test_convolutions_agree_in_the_whole_network(name, settings, other, train):
    patches, variables = _small(name, **settings)
    ours, _ = _small(name, convolution=other, **settings)
    boards = _boards(8)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4),
        _apply(patches, variables, boards, train=train),
        _apply(ours, variables, boards, train=train),
    )


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("convnet", {}),
        ("resnet", HEADS),
        ("resnet", CURRICULUM),
    ],
)
def test_bfloat16_keeps_float32_at_both_ends(name, settings):
    network, variables = _small(name, dtype="bfloat16", **settings)
    exact, _ = _small(name, **settings)
    boards = _boards(16)
    output = _apply(network, variables, boards, train=True)
    leaves = jax.tree.leaves((variables, output))
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype("float32")}
    expected = _apply(exact, variables, boards, train=True)
    np.testing.assert_allclose(output.value, expected.value, atol=0.1)
    assert not np.array_equal(output.value, expected.value)  # it did compute in bfloat16
    cast = {**variables, "params": cast_kernels(variables["params"], jnp.bfloat16)}
    assert jnp.dtype("bfloat16") in {leaf.dtype for leaf in jax.tree.leaves(cast)}
    again = _apply(network, cast, boards, train=True)  # cast beforehand, not in every call
    jax.tree.map(np.testing.assert_array_equal, again, output)


def test_every_head_is_known_to_compute_in_float32():
    with pytest.raises(ValueError, match="unknown head 'ownership': HEADS has policy"):
        head("ownership", 3, jax.nn.initializers.zeros)


@pytest.mark.parametrize("shape", [(4, 4, 1), (4, 9, 1), (9, 4, 1)])
def test_convnet_refuses_boards_that_are_too_small(shape):
    message = r"at least 5x5 .* got \dx\d"
    with pytest.raises(ValueError, match=message):
        make_network("convnet", num_actions=4, observation_shape=shape)
    network = make_network("convnet", num_actions=4, observation_shape=(5, 5, 1))
    with pytest.raises(ValueError, match=message):
        network.init(jax.random.key(0), jnp.zeros((1, *shape)))


@pytest.mark.parametrize("shape", [(5, 5, 1), (5, 8, 3), (8, 8, 12)])
def test_convnet_takes_any_board_from_5x5(shape):
    network = make_network("convnet", num_actions=9, observation_shape=shape, **SMALL["convnet"])

    def evaluate(key):
        return network.apply(init_variables(network, key, shape), _boards(2, shape=shape))

    assert jax.eval_shape(evaluate, jax.random.key(0)).policy_logits.shape == (2, 9)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("convnett", {}, "unknown network 'convnett': did you mean 'convnet'"),
        (
            "convnet",
            {"chanels": 8},
            "unknown setting of convnet 'chanels': did you mean 'channels'",
        ),
        ("resnet", {"block": 3}, "did you mean 'blocks'"),
        ("resnet", {"parent": None}, "unknown setting"),
        ("resnet", {"value_head": "both"}, "value_head must be one of scalar, wdl"),
        ("convnet", {"convolution": "fft"}, "convolution must be one of patches, winograd, lax"),
        (
            "resnet",
            {"convolution": "winograd", "dtype": "bfloat16"},
            "convolution='winograd' computes in float32 only, got dtype='bfloat16'; try ",
        ),
        ("convnet", {"channels": 0}, "channels must be positive integers, got 0"),
        ("convnet", {"channels": 2.5}, "channels must be positive integers, got 2.5"),
        ("convnet", {"channels": True}, "channels must be positive integers, got True"),
        ("convnet", {"hidden": (8, -1)}, "hidden must be positive integers"),
        ("convnet", {"dtype": "float8"}, "unknown dtype 'float8'"),
    ],
)
def test_unusable_settings_raise_one_line(name, settings, message):
    with pytest.raises(ValueError, match=message) as caught:
        make_network(name, num_actions=7, observation_shape=SHAPE, **settings)
    assert "\n" not in str(caught.value)


def test_boards_and_moves_are_needed():
    for shape in ((6, 7), (6, 0, 2)):
        with pytest.raises(ValueError, match=r"observation_shape must be \(H, W, C\), got \(6"):
            make_network("resnet", num_actions=7, observation_shape=shape)
    with pytest.raises(ValueError, match="num_actions must be positive, got 0"):
        make_network("resnet", num_actions=0, observation_shape=SHAPE)


def test_networks_made_alike_are_equal_and_hashable():
    one, other = (_small("convnet", hidden=hidden)[0] for hidden in ([16, 12], (16, 12)))
    assert one == other
    assert hash(one) == hash(other)


def test_dtype_names():
    assert default_dtype("cpu") is jnp.float32
    assert default_dtype("tpu") is jnp.bfloat16
    assert resolve_dtype("auto", "cpu") is resolve_dtype("float32") is jnp.float32
    assert resolve_dtype("bfloat16", "cpu") is jnp.bfloat16


@pytest.mark.parametrize(
    ("capability", "dtype"),
    [("7.5", jnp.float32), ("8.0", jnp.bfloat16), ("10.0", jnp.bfloat16), ("?", jnp.float32)],
)
def test_gpus_that_emulate_bfloat16_compute_in_float32(capability, dtype, monkeypatch):
    gpu = SimpleNamespace(compute_capability=capability)
    monkeypatch.setattr(jax, "devices", lambda platform: [gpu])
    assert default_dtype("gpu") is default_dtype("cuda") is dtype


def test_the_convolution_called_auto():
    assert resolve_convolution("auto", jnp.float32, "cpu") == "winograd"
    assert resolve_convolution("auto", jnp.bfloat16, "cpu") == "patches"
    assert resolve_convolution("auto", jnp.float32, "gpu") == "patches"
    assert resolve_convolution("lax", jnp.bfloat16, "cpu") == "lax"
    network = make_network("convnet", num_actions=7, observation_shape=SHAPE, convolution="auto")
    assert network.convolution == resolve_convolution("auto", jnp.float32)
