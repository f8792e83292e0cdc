"""What acts with another setting: refused where it is not there, and then truly without effect."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxzero.settings import companions
from jaxzero.settings.config import KEYS, ConfigError, changed, default_config
from jaxzero.settings.keys import Key
from jaxzero.training import iteration
from jaxzero.training import spec as spec_lib
from tests.small import heldout, small_config

OTHER_BASE = {
    "network.name": "resnet",
    "network.blocks": 1,
    "search.algorithm": "gumbel",
    "arena.gate": "none",
    "replay.window_positions": 64,
    "train.optimizer": "sgd",
    "train.schedule": "linear",
    "train.anneal_to": 0.5,
}
# Refused by another rule when they are on without their companion.
REFUSED = {"search.forced_playouts", "replay.window_start"}


@pytest.mark.parametrize(
    ("changes", "name", "remedy"),
    [
        ({"network.blocks": 3}, "network.blocks", "config.network.name=resnet"),
        ({"network.value_hidden": 8}, "network.value_hidden", "config.network.style=curriculum"),
        (
            {"network.style": "curriculum", "network.value_hidden": 8},
            "network.value_hidden",
            "config.network.style=curriculum and config.network.name=resnet: set that",
        ),
        (
            {
                "search.algorithm": "gumbel",
                "search.dirichlet_fraction": 0.25,
                "search.dirichlet_alpha": 1.0,
            },
            "search.dirichlet_alpha",
            "config.search.dirichlet_fraction and config.search.algorithm=puct: set that",
        ),
        (
            {"semantics": "published", "train.dropout_rate": 0.2},
            "train.dropout_rate",
            "config.switches.dropout_inactive=False and config.network.name=convnet",
        ),
        (
            {"arena.gate": "none", "switches.accept_all_drawn": True},
            "switches.accept_all_drawn",
            "config.arena.gate=threshold",
        ),
        ({"search.dirichlet_alpha": 1.0}, "search.dirichlet_alpha", "dirichlet_fraction and"),
        (
            {"search.gumbel_rescale": True},
            "search.gumbel_rescale",
            "config.search.algorithm=gumbel or config.search.puct_target=improved",
        ),
        ({"search.tree_moves": 2}, "search.tree_moves", "config.switches.keep_tree"),
        (
            {"semantics": "published", "arena.opening_plies": 4},
            "arena.opening_plies",
            "config.switches.arena_random_openings",
        ),
        (
            {"replay.window_positions": 500, "replay.window": 3},
            "replay.window",
            "config.replay.window_positions=0",
        ),
        (
            {"replay.window_grows": (2, 9)},
            "replay.window_grows",
            "config.replay.window_start and config",
        ),
        (
            {"switches.small_draw_value": True},
            "switches.small_draw_value",
            "concerns connect_four, gobang",
        ),
        (
            {"train.value_weight": 0.5, "train.loss": "policy"},
            "train.value_weight",
            "loss=sum: set",
        ),
        ({"tracking.wandb_project": "mine"}, "tracking.wandb_project", "config.tracking.wandb"),
        (
            {"train.optimizer": "sgd", "train.schedule": "cyclic", "train.momentum": 0.5},
            "train.momentum",
            "and not with config.train.schedule=cyclic: change that",
        ),
        (
            {"selfplay.fast_share": 0.5, "selfplay.fast_noise": 0.5},
            "selfplay.fast_noise",
            "not with config.search.dirichlet_fraction=0.0 and config.search.forced_playouts=0.0",
        ),
        (
            {"selfplay.share": "cache", "selfplay.tree_c": 1.5, "selfplay.temperature_plies": 7},
            "selfplay.temperature_plies",
            "acts not with config.selfplay.tree_c and config.search.algorithm=puct: change that",
        ),
    ],
)
def test_what_would_change_nothing_is_refused(
    changes: dict[str, Any], name: str, remedy: str
) -> None:
    config = changed(default_config(), changes)
    with pytest.raises(ConfigError) as caught:
        companions.refuse_idle(config, [name])
    assert str(caught.value).startswith(f"config.{name}={changes[name]!r}: ")
    assert remedy in str(caught.value)
    assert "study." not in str(caught.value)  # there is no study
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"network.name": "resnet", "network.blocks": 3},
        {"network.name": "resnet", "network.style": "curriculum", "network.value_hidden": 8},
        {"search.dirichlet_fraction": 0.25, "search.dirichlet_alpha": 1.0},
        {"search.puct_target": "improved", "search.gumbel_rescale": True},
        {"semantics": "published", "search.tree_moves": 2},
        {"replay.window_positions": 0, "replay.window": 3},
        {"search.algorithm": "gumbel", "search.dirichlet_fraction": 0.0},  # says that it is off
        {"game": "gobang_5x5", "switches.small_draw_value": True},
        {"switches.small_draw_value": False},
        {"train.optimizer": "sgd", "train.momentum": 0.5},
        {"selfplay.fast_share": 0.5, "search.dirichlet_fraction": 0.1, "selfplay.fast_noise": 0.5},
        {"selfplay.temperature_plies": 7},
    ],
)
def test_what_acts_is_accepted(changes: dict[str, Any]) -> None:
    companions.refuse_idle(changed(default_config(), changes), list(changes))


def test_every_companion_is_a_setting_and_has_the_values_that_are_meant() -> None:
    keys = {key.name: key for key in KEYS}
    for key in KEYS:
        for other, *meant in companions.companions(key.name):
            if other in keys:
                assert not keys[other].choices or set(meant) <= set(keys[other].choices)
            else:
                assert other == "study.targets"


@pytest.mark.parametrize("base", [{}, OTHER_BASE], ids=["plain", "other"])
def test_idle_settings_leave_the_program_as_it_is(base: dict[str, Any]) -> None:
    config = small_config(base)
    idle = [key for key in KEYS if not companions.acts(config, key.name)]
    idle = [key for key in idle if key.name not in REFUSED]
    changes = {key.name: another(key) for key in idle}
    assert len(changes) > 25
    assert program({**base, **changes}) == (plain := program(base))
    assert program({**base, "network.channels": 5}) != plain  # the comparison sees something


def another(key: Key) -> Any:
    """A value that the default is not."""
    value = key.default
    if key.choices:
        other = next(word for word in key.choices if word != value)
        return (other,) if key.kind is tuple else other
    if isinstance(value, tuple):
        return (*value[:-1], value[-1] * 0.99 if key.item is float else value[-1] + 1)
    if key.kind is bool:
        return not value
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, int):
        return value + 2
    return value * 0.9 if value else 0.5


def program(changes: dict[str, Any]) -> str:
    """One iteration, before it is compiled."""
    config = small_config(changes)
    spec, hyper = spec_lib.make_spec(config), spec_lib.make_hyper(config)
    state = jax.eval_shape(functools.partial(iteration.init, spec), jnp.int32(0))
    step = jax.jit(functools.partial(iteration.iterate, spec))
    return step.lower(hyper, state, heldout(spec.game)).as_text()
