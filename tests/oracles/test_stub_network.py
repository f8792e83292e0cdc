"""The stub network gives the same bits in NumPy and compiled."""

import jax
import numpy as np
import pytest

from tests.oracles.stub_network import deterministic_stub_network, jax_stub_evaluate


@pytest.mark.parametrize("draws", [False, True])
def test_stub_networks_agree_to_the_last_bit(draws: bool) -> None:
    observations = np.random.default_rng(0).integers(-3, 4, (37, 5, 5, 3)).astype(np.int8)
    batched = jax.jit(jax_stub_evaluate(26, 7, draws=draws))
    single = deterministic_stub_network(26, 7, draws=draws)
    outputs = jax.device_get(batched(observations))
    assert len(outputs) == 2 + draws
    assert np.abs(outputs[1]).max() < 1
    assert outputs[1].std() > 0.2
    assert outputs[0].std() > 0.5
    for i, observation in enumerate(observations):
        rows = zip(outputs, batched(observation[None]), single(observation), strict=True)
        for many, one, plain in rows:
            np.testing.assert_array_equal(many[i], np.asarray(one)[0])
            np.testing.assert_array_equal(many[i], plain)
            assert np.asarray(plain).dtype == np.float32
