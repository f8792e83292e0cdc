"""Settings: the papers' defaults, and refusals in one line."""

import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxzero import runs
from jaxzero.networks import dtypes
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError, default_config, get, validate
from jaxzero.training import components, learner
from jaxzero.training import spec as spec_lib
from tests.saved_runs import save_run
from tests.small import changed, small_config

TABLE_1 = {  # 000 and 003, row "default"
    "train.iterations": 100,  # I
    "selfplay.episodes": 50,  # E
    "selfplay.temperature_plies": 15,  # T'
    "search.num_simulations": 100,  # m
    "search.c_puct": 1.0,  # c
    "replay.window": 20,  # rs
    "train.epochs": 10,  # ep
    "train.batch_size": 64,  # bs
    "train.learning_rate": 0.005,  # lr
    "train.dropout_rate": 0.3,  # d
    "arena.games": 40,  # n
    "arena.threshold": 0.6,  # u
}


@pytest.mark.parametrize(("key", "value"), TABLE_1.items())
def test_defaults_are_table_1(key: str, value: Any) -> None:
    assert get(default_config(), key) == value


def test_other_defaults_are_the_programs() -> None:
    config = default_config()
    expected = {
        "game": "othello_6x6",
        "semantics": "corrected",
        "network.channels": 256,
        "network.hidden": (1024, 512),
        "network.batch_norm_momentum": 0.99,
        "search.dirichlet_fraction": 0.0,
        "replay.max_examples": 200_000,
        "train.sampling": "replacement",
        "train.policy_softmax": "all",
        "train.optimizer": "adam",
        "train.weight_decay": 0.0,
        "train.measure": "after_step",
        "tracking.wandb": "off",
    }
    assert {key: get(config, key) for key in expected} == expected
    assert config.is_locked
    with pytest.raises(AttributeError, match="learning_rat"):
        config.train.learning_rat = 1.0
    validate(config)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arena.games": 5}, "config.arena.games=5: both colours need an even number, e.g. 6"),
        (
            {"search.algorithm": "gumbel", "switches.keep_tree": True},
            "config.switches.keep_tree=False",
        ),
        (
            {"search.algorithm": "gumbel", "semantics": "published"},
            "config.switches.keep_tree=False",
        ),
        (
            {"search.loop": "mctx", "switches.keep_tree": True},
            "config.switches.keep_tree=False, or choose tree",
        ),
        ({"search.loop": "mctx", "selfplay.fast_share": 0.5}, "config.selfplay.fast_share=0"),
        (
            {"search.key": "position", "switches.keep_tree": True},
            "config.search.key='position': a kept tree depends on the moves before, set "
            "config.switches.keep_tree=False",
        ),
        ({"selfplay.share": "ply"}, "config.selfplay.share='ply': games only share searches"),
        ({"search.draw_value": -0.5}, "config.network.value_head='wdl'"),
        (
            {
                "search.loop": "mctx",
                "train.root_value_share": 0.5,
                "network.value_head": "wdl",
            },
            "config.search.loop='mctx': it backs up no draw probabilities",
        ),
        (
            {"semantics": "published", "search.num_simulations": 1},
            "choose at least 2",
        ),
        (
            {
                "semantics": "published",
                "selfplay.fast_share": 0.5,
                "selfplay.fast_simulations": 1,
            },
            "config.selfplay.fast_simulations=1: the published program's first simulation",
        ),
        ({"train.loss": "polici"}, "config.train.loss='polici': did you mean 'policy'?"),
        ({"semantics": "corected"}, "did you mean 'corrected'?"),
        ({"network.name": "transformer"}, "choose one of convnet, resnet"),
        ({"search.algorithm": "PUCT"}, "config.search.algorithm='PUCT'"),
        ({"arena.trees": "gate"}, "config.arena.trees='gate': one tree for all games"),
        (
            {"arena.trees": "gate", "semantics": "published", "arena.gate": "wilson"},
            "needs config.arena.gate='threshold'",
        ),
        ({"tracking.wandb": "on"}, "config.tracking.wandb='on'"),
        ({"selfplay.episodes": 0}, "config.selfplay.episodes=0: choose from 1"),
        ({"train.dropout_rate": 1.0}, "config.train.dropout_rate=1.0: choose from 0 to 0.999"),
        ({"train.learning_rate": -0.1}, "config.train.learning_rate=-0.1"),
        ({"train.learning_rate": float("nan")}, "config.train.learning_rate=nan"),
        ({"arena.threshold": 1.5}, "config.arena.threshold=1.5: choose from 0 to 1"),
        ({"train.learning_rate": float("inf")}, "config.train.learning_rate=inf"),
        ({"search.num_simulations": 0}, "config.search.num_simulations=0"),
        ({"network.hidden": (16, 0)}, "config.network.hidden=0: choose from 1 to 1000000"),
        ({"network.hidden": ("16",)}, "config.network.hidden=('16',): give whole numbers"),
        (
            {
                "replay.window_positions": 9,
                "replay.window_start": 2,
                "replay.window_grows": (12, 5),
            },
            "config.replay.window_grows=(12, 5): count upwards",
        ),
        ({"seed": -1}, "config.seed=-1: choose from 0"),
        ({"execution.keep_checkpoints": 1}, "config.execution.keep_checkpoints=1"),
        (
            {"train.passes": 1.0, "train.epochs": 2},
            "in place of config.train.epochs=2, set that to 1",
        ),
        (
            {"replay.minimum_games": (4,), "train.schedule": "steps"},
            "needs config.replay.window_positions=0, config.train.schedule='constant'",
        ),
    ],
)
def test_impossible_settings_are_refused_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate(changed(default_config(), changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"game": "conect_four_5x5"}, "did you mean 'connect_four_5x5'?"),
        ({"game": "pgx:tic_tac_toe"}, "convnet needs boards of at least 5x5"),
        ({"game": "pgx:backgammon"}, "it has chance"),
        ({"game": "othello_4x4"}, "convnet needs boards of at least 5x5"),
        ({"game": "othello_4x4"}, "try resnet"),
        # 8 games of at most 25 plies, 2 iterations, 2 images: the window's largest size
        (
            {"train.batch_size": 801},
            "config.train.batch_size=801: the window never holds more than "
            "800 examples (400 positions, 2 images of each)",
        ),
        ({"train.batch_size": 9, "replay.max_examples": 5}, "never holds more than 8 examples"),
        (
            {"train.batch_size": 64, "replay.window_positions": 20},
            "choose at most that or raise config.replay.window_positions",
        ),
        ({"search.loop": "mctx", "search.ties": "random"}, "config.search.ties='random': mctx's"),
        (
            {
                "search.loop": "mctx",
                "search.draw_value": 0.5,
                "network.value_head": "wdl",
                "network.name": "resnet",
            },
            "config.search.draw_value=0.5: mctx's",
        ),
    ],
)
def test_impossible_games_and_networks_are_refused_in_one_line(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        spec_lib.make_spec(small_config(changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("backend", "capability", "compiles"),
    [("gpu", 8.0, True), ("gpu", 0.0, True), ("gpu", 7.5, False), ("tpu", 0.0, False)],
)
def test_kernels_are_refused_where_they_do_not_compile(
    backend: str, capability: float, compiles: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"execution.tree_steps": "kernels"}
    opened = save_run(tmp_path, changes=asked)
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    monkeypatch.setattr(dtypes, "gpu_capability", lambda: capability)
    assert components.compiles_kernels() is compiles
    # What was trained elsewhere plays on.
    assert (runs.open_run(opened).spec.search.tree_steps == "kernels") is compiles
    if compiles:
        assert spec_lib.make_spec(small_config(asked)).search.tree_steps == "kernels"
    else:
        with pytest.raises(ConfigError, match=r"tree_steps='kernels': .*, set it to 'loops'$"):
            spec_lib.make_spec(small_config(asked))


def test_a_minibatch_may_be_as_large_as_the_window_can_be() -> None:
    assert spec_lib.make_spec(small_config({"train.batch_size": 800})).train.batch_size == 800
    assert spec_lib.make_spec(small_config({"game": "othello_4x4", "network.name": "resnet"}))


def test_biases_before_normalisation_can_be_left_out() -> None:
    for asked in (True, False):
        spec = spec_lib.make_spec(small_config({"network.bias_before_norm": asked}))
        weights = jax.eval_shape(lambda s=spec: learner.init(s, jax.random.key(0)))
        assert ("bias" in weights.params["conv_0"]) is asked
        assert "bias" in weights.params["policy"]


def test_packages_that_are_asked_for_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)  # as if it were not installed
    for mode in ("offline", "online"):
        config = changed(default_config(), {"tracking.wandb": mode})
        with pytest.raises(ConfigError, match="wandb is not installed, pip install"):
            config_lib.require_extras(config)
        validate(config)  # a run that was tracked can be opened without it
    config_lib.require_extras(default_config())


def test_a_minibatch_must_be_divisible_among_the_devices() -> None:
    said = r"3 devices share a run .* set config\.execution\.devices"
    with pytest.raises(ConfigError, match=said):
        spec_lib.make_spec(small_config(), data_devices=3)


def test_an_odd_number_of_games_is_fine_without_a_gate() -> None:
    config = small_config({"arena.gate": "none", "arena.games": 5})
    spec, hyper = spec_lib.make_spec(config), spec_lib.make_hyper(config)
    assert (spec.arena.games, int(hyper.arena_games)) == (0, 0)


def test_traced_settings_are_the_configs() -> None:
    config = default_config()
    hyper = spec_lib.make_hyper(config)
    for name, key in (
        ("learning_rate", "train.learning_rate"),
        ("dropout_rate", "train.dropout_rate"),
        ("c_puct", "search.c_puct"),
        ("num_simulations", "search.num_simulations"),
        ("temperature_plies", "selfplay.temperature_plies"),
        ("episodes", "selfplay.episodes"),
        ("epochs", "train.epochs"),
        ("window", "replay.window"),
        ("arena_games", "arena.games"),
        ("threshold", "arena.threshold"),
    ):
        np.testing.assert_allclose(getattr(hyper, name), get(config, key), rtol=1e-6)
    assert len(jax.tree.leaves(hyper)) == 11
    np.testing.assert_array_equal(hyper.loss, [1, 1, 0])


def test_traced_settings_are_not_in_the_spec() -> None:
    spec = spec_lib.make_spec(small_config())
    for changes in (
        {"train.loss": "product"},
        {"train.learning_rate": 0.1},
        {"train.dropout_rate": 0.0},
        {"search.c_puct": 2.0},
        {"selfplay.temperature_plies": 3},
        {"arena.threshold": 0.5},
        {"seed": 7},
        {"train.iterations": 9},
    ):
        assert spec_lib.make_spec(small_config(changes)) == spec
        assert hash(spec_lib.make_spec(small_config(changes))) == hash(spec)
    assert spec_lib.make_spec(small_config({"train.batch_size": 8})) != spec


def test_game_families() -> None:
    names = ("connect_four_6x7", "othello_8x8", "reversi_8x8", "gobang_6x6_line5", "racing_kings")
    families = [config_lib.game_family(name) for name in (*names, "pgx:go_9x9")]
    assert families == ["connect_four", "othello", "reversi", "gobang", "racing_kings", "pgx"]


def test_flattened_settings_have_dotted_keys() -> None:
    config = default_config()
    flat = config_lib.flatten(config)
    assert flat["train.learning_rate"] == 0.005
    assert flat["switches.keep_tree"] is None
    assert all(get(config, key) == value for key, value in flat.items())


def test_settings_survive_json() -> None:
    config = small_config({"switches.keep_tree": True})
    flat = json.loads(json.dumps(config_lib.flatten(config)))
    again = config_lib.from_flat(flat | {"study.seeds": 3, "study.names": ["a"]})
    assert config_lib.flatten(again) == {
        **config_lib.flatten(config),
        "study.seeds": 3,
        "study.names": ("a",),
    }
    assert again.is_locked
