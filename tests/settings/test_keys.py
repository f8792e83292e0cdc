"""The table of settings: everything explained, every value of a wrong kind refused."""

from typing import Any

import pytest

from jaxzero.settings import config as config_lib
from jaxzero.settings.config import KEYS, ConfigError, Key, Preset, default_config, validate
from jaxzero.settings.table import SECTIONS
from tests.settings.test_config import TABLE_1
from tests.small import changed


def test_every_key_is_explained() -> None:
    names = [key.name for key in KEYS]
    assert len(set(names)) == len(names)
    assert set(names) == set(config_lib.flatten(default_config()))
    for key in KEYS:
        assert key.section in SECTIONS, key.name
        assert key.meaning, key.name
        assert "\n" not in key.meaning, key.name
        key.check(key.default)


def test_letters_are_table_1s() -> None:
    letters = {key.letter: key.name for key in KEYS if key.letter}
    assert " ".join(sorted(letters)) == "E I T' bs c d ep lambda lr m n rs u"
    assert {letters[x] for x in letters if x != "lambda"} == set(TABLE_1)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (Key("a.i", 3, ""), 2.5, "config.a.i=2.5: give a whole number"),
        (Key("a.i", 3, ""), True, "config.a.i=True: give a whole number"),
        (Key("a.i", 3, ""), None, "config.a.i=None: give a whole number"),
        (Key("a.i", 3, "", low=1), 0, "config.a.i=0: at least 1 is needed"),
        (Key("a.i", 4, "", even=True), 3, "config.a.i=3: both colours need an even number, e.g. 4"),
        (Key("a.f", 0.5, "", low=0, high=1), 2.0, "config.a.f=2.0: choose from 0 to 1"),
        (Key("a.f", 0.5, ""), "x", "config.a.f='x': give a number"),
        (Key("a.b", True, ""), 1, "config.a.b=1: give True or False"),
        (Key("a.w", "x", "", choices=("x", "y")), "z", "config.a.w='z': choose one of x, y"),
        (Key("a.t", (1, 2), ""), 3, "config.a.t=3: give whole numbers, e.g. (1, 2)"),
        (Key("a.t", (1, 2), ""), (1, "x"), "config.a.t=(1, 'x'): give whole numbers"),
        (Key("a.t", (1, 2), "", low=1), (1, 0), "config.a.t=0: at least 1 is needed"),
        (
            Key("a.t", ("ab",), "", choices=("ab", "c")),
            ("a",),
            "config.a.t='a': did you mean 'ab'?",
        ),
        (Key("a.p", None, "", kind=int), 1.5, "config.a.p=1.5: give a whole number"),
    ],
)
def test_a_key_refuses_what_it_cannot_be(key: Key, value: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        key.check(value)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_key_takes_what_it_can_be() -> None:
    Key("f", 0.5, "").check(1)  # a whole number is a number
    Key("t", (1,), "").check(())
    Key("t", ("x",), "").check(["x"])
    Key("p", None, "", kind=bool).check(None)
    with pytest.raises(TypeError, match="no default and no kind"):
        Key("p", None, "")


def test_studies_add_keys_and_presets() -> None:
    keys = (
        Key("preset", "", "what these settings began from"),
        Key("study.seeds", 8, "runs", low=1),
        Key("train.iterations", None, "unset: by the board", "I", low=1, kind=int),
    )
    presets = {"one": Preset("a try", {"study.seeds": 1, "network.hidden": (8,)})}
    config = config_lib.preset_config("one", presets, keys)
    assert (config.preset, config.study.seeds, config.network.hidden) == ("one", 1, (8,))
    assert config.train.iterations is None
    assert config.is_locked
    validate(config, keys)
    with pytest.raises(ConfigError, match=r"config.study.seeds=0: at least 1 is needed"):
        validate(changed(config, {"study.seeds": 0}), keys)
    with pytest.raises(ConfigError, match=r"train.iterations=None: give a whole number"):
        validate(config)  # a run needs it
    with pytest.raises(ConfigError, match="unknown preset 'on': did you mean 'one'"):
        config_lib.preset_config("on", presets, keys)
