"""The papers' networks have as many parameters as theirs."""

import jax
import pytest

from jaxzero.networks import count_parameters, init_variables, make_network


@pytest.mark.parametrize(
    ("name", "shape", "actions", "settings", "parameters"),
    [
        # Papers 000, 001, 003: 6x6 Othello, 256 channels.
        ("convnet", (6, 6, 1), 37, {}, 3_371_814),
        # Paper 002: 6x7 Connect Four.
        ("resnet", (6, 7, 1), 7, {"blocks": 5}, 1_574_730),
        ("resnet", (6, 7, 1), 7, {"blocks": 10}, 3_053_130),
        ("resnet", (6, 7, 1), 7, {"blocks": 20}, 6_009_930),
        ("resnet", (6, 7, 1), 7, {"squeeze_excite": True, "reply_head": True}, 1_594_385),
        # Its small network for auxiliary features.
        (
            "resnet",
            (6, 7, 1),
            7,
            {
                "blocks": 3,
                "stem_filters": 128,
                "filters": 32,
                "head_filters": 1,
                "squeeze_excite": True,
            },
            62_928,
        ),
    ],
)
def test_parameter_counts_of_the_papers(name, shape, actions, settings, parameters):
    network = make_network(name, num_actions=actions, observation_shape=shape, **settings)
    variables = jax.eval_shape(lambda key: init_variables(network, key, shape), jax.random.key(0))
    assert count_parameters(variables) == parameters


# At 64 channels theirs has no 1x1 convolution behind the first, which has 64 filters.
@pytest.mark.parametrize(
    ("filters", "parameters"),
    [(16, 57_633), (32, 137_969), (64, 433_681 + 64 * 64 + 64), (256, 6_134_673)],
)
def test_parameter_counts_of_the_growing_network(filters, parameters):
    settings = {"filters": filters, "squeeze_excite": True, "reply_head": True}
    test_parameter_counts_of_the_papers("resnet", (6, 7, 1), 7, settings, parameters)
