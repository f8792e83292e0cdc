"""The mixed losses: each lambda a member of the same population, its ends l_v and l_p."""

from typing import Any

import numpy as np
import pytest

from experiments import loss_ablation
from experiments.pages import style
from jaxzero.settings.config import ConfigError
from jaxzero.training import losses
from jaxzero.training import spec as spec_lib
from tests import small
from tests.experiments.losses.test_loss_ablation import tiny


def test_the_ends_of_the_lambda_sweep_are_l_v_and_l_p() -> None:
    """Bit for bit, whole runs: lambda 0 minimises l_v, lambda 1 minimises l_p."""
    config = tiny({"study.targets": ("value", "policy"), "study.lambdas": (0.0, 1.0)})
    members = {member.target: member for member in loss_ablation.make_members(config)}
    assert list(members) == ["value", "policy", "lambda_0", "lambda_1"]
    spec = small.small_spec()
    after = {}
    for target, member in members.items():
        assert spec_lib.make_spec(member.config) == spec  # one program, one population
        hyper = spec_lib.make_hyper(member.config)
        after[target] = small.run_alone(spec, hyper, seed=0, iterations=2)[-1]
    small.assert_equal(after["lambda_0"], after["value"])
    small.assert_equal(after["lambda_1"], after["policy"])
    apart = np.asarray(after["value"][0].learner.params["value"]["kernel"])
    assert (apart != np.asarray(after["policy"][0].learner.params["value"]["kernel"])).any()


def test_a_lambda_between_weighs_both() -> None:
    config = tiny({"study.targets": (), "study.lambdas": (0.25,), "study.seeds": 2})
    first, second = loss_ablation.make_members(config)
    assert (first.name, second.name) == ("lambda_0.25_seed0", "lambda_0.25_seed1")
    hyper = spec_lib.make_hyper(first.config)
    assert float(losses.combine(hyper.loss, np.float32(2.0), np.float32(4.0))) == 0.5 + 3.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study.lambdas": (0.5, 1.5)}, "config.study.lambdas=1.5"),
        ({"study.lambdas": (0.5, 0.5)}, "name each only once"),
        ({"study.targets": (), "study.lambdas": ()}, "name at least one"),
    ],
)
def test_impossible_lambdas(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        loss_ablation.validate(tiny(changes))


def test_lambdas_are_told_apart() -> None:
    names = [f"lambda_{weight:g}" for weight in (0, 0.25, 0.5, 0.75, 1)]
    assert len({style.colour(name) for name in (*names, "value", "policy", "sum")}) == 8
    assert style.label("lambda_0.25") == "λ = 0.25"
