"""Settings of the studies changed at random: the same case for the same number, always.

Half of the cases change a few keys to values that they may have, so that mechanisms meet; the
others mix in edges, wrong types, unicode, keys and presets that do not exist.
"""

import importlib
import random
import string
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from experiments.shell import presets
from jaxzero.games import GAME_EXAMPLES, PGX_EXAMPLES, RACING_KINGS_EXAMPLES
from jaxzero.settings.keys import Key, table
from jaxzero.settings.table import KEYS

STUDIES = (
    "arms",
    "connect_four_efficiency",
    "connect_four_extensions",
    "connect_four_search",
    "connect_four_supervised",
    "curriculum",
    "hyperparameter_correlation",
    "hyperparameter_search",
    "hyperparameter_sweep",
    "loss_ablation",
    "recipe",
    "train",
)
GAMES = (
    *(*GAME_EXAMPLES, *RACING_KINGS_EXAMPLES, *PGX_EXAMPLES, "connect_four_5x5", "reversi_4x4"),
    *("gobang_3x3_line3", "othello_4x4", "othello_7x7", "reversi_8x8_mirrored", "pgx:chess"),
    *("connect_four_1x1", "connect_four_0x7", "connect_four_6x7_line99", "gobang_5x6", "pgx:"),
    *("othello_2x2", "othello_300x300", "othello_99999999x99999999", "racing_kings_0plies"),
    *("racing_kings:8/8_w", "OTHELLO_6x6", "othello_\uff16x6", "go", ""),
)
TEXTS = (
    *("", " ", "many", "None", "nan", "inf", "-inf", "1e400", "-0.0", "1e-320", "0x10", "1_000"),
    *("True", "yes", "()", "(1,)", "('a',)", "((1,),)", "[]", "{}", "{'a': 1}", "1,2,3", ",", "1,"),
    *("\u00fc", "\u202e", "\U0001f0a1", "\uff12", "\ud800", "a b", "'", '"', "=", "a\nb", "\x00"),
    *("%s", "{0}", "\\", "<b>", "../..", "99999999999999999999", "-1", "0", "1", "2.5", "x" * 5000),
    *("__import__('os')", "(1", "1)"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2, 7, 10**30, 2.5, -0.0, 1e308, float("nan"), float("inf"), 1j),
    *(
        "",
        "many",
        "a\nb",
        "\u00fc\U0001f0a1",
        b"x",
        (),
        (1,),
        ("a",),
        ((1,),),
        (None,),
        [],
        [1, "a"],
    ),
    *([float("nan")], {}, {"a": 1}, {1}, np.float32(0.5), np.int64(3), np.zeros(2), object, len),
)
_PLENTY = 40  # numbers without an upper end are mostly below it


class Case(NamedTuple):
    """Settings that somebody might ask for."""

    study: str  # its module's name in `experiments/configs`
    preset: str  # of it, or of nothing
    words: tuple[str, ...]  # of its command line; empty for a notebook's
    changes: dict[str, Any]  # Python values by dotted key, as a notebook gives them

    def __str__(self) -> str:
        """The command, or the notebook's changes."""
        said = " ".join(map(ascii, self.words)) if self.words else ascii(self.changes)
        return f"{self.study}:{ascii(self.preset)[1:-1]} {said}"[:1000]


def case(number: int) -> Case:
    """The case of a number."""
    rng = random.Random(number)
    study = rng.choice(STUDIES)
    preset = rng.choice(presets.names(study))
    own = importlib.import_module(f"experiments.configs.{study}").KEYS
    keys = list(table(KEYS, own).values())
    tame, in_python = rng.random() < 0.5, rng.random() < 0.25
    chosen = rng.sample(keys, rng.choice((1, 1, 2, 2, 3, 5)))
    if in_python:
        values = {k.name: allowed(rng, k) if tame else _value(rng, k) for k in chosen}
        if not tame and rng.random() < 0.1:
            values |= {rng.choice(("train", "network", "seed.x", "no.such", "")): {"epochs": 2}}
        return Case(study, preset, (), values)
    words = {k.name: _said(allowed(rng, k)) if tame else _text(rng, k) for k in chosen}
    extra = []
    if not tame and rng.random() < 0.2:
        name = rng.choice(keys).name
        words |= {
            rng.choice(
                (name[:-1], name + "[0]", name.upper(), name.partition(".")[0], "ü", "")
            ): "1"
        }
    if not tame and rng.random() < 0.1:
        flag = rng.choice(("max-minutes", "grace", "shard", "workdirs", "config.", ""))
        extra = [f"--{flag}={rng.choice(TEXTS)}"]
    if not tame and rng.random() < 0.05:
        preset = rng.choice((preset[:-1], preset + ".gpu", "quick.gobang_5x5", *TEXTS))
    return Case(study, preset, (*(f"--config.{k}={v}" for k, v in words.items()), *extra), {})


def allowed(rng: random.Random, key: Key) -> Any:
    """A value that the key may have by itself; sizes mostly small."""
    if key.kind is tuple:
        return tuple(_item(rng, key, key.item) for _ in range(rng.choice((1, 1, 2, 3))))
    return _item(rng, key, key.kind)


def _item(rng: random.Random, key: Key, kind: type) -> Any:
    if key.name == "game":
        return rng.choice(GAMES)
    if key.choices:
        return rng.choice(key.choices)
    if kind is bool:
        return rng.random() < 0.5
    if kind is str:
        return rng.choice(
            ("runs", "mcts_50", "random", "".join(rng.choices(string.printable, k=4)))
        )
    low = 0.0 if key.low is None else key.low
    high = 1e6 if key.high is None else key.high
    if kind is float:
        return rng.choice((low, high, rng.uniform(low, min(high, low + 2))))
    most = min(high, low + _PLENTY) if rng.random() < 0.9 else high
    return rng.randint(int(low), int(most)) // (1 + key.even) * (1 + key.even)


def _edge(rng: random.Random, key: Key) -> Any:
    """At the ends of what it may be, or just outside."""
    ends = [end for end in (key.low, key.high) if end is not None]
    if not ends:
        return allowed(rng, key)
    end = rng.choice(ends) + rng.choice((-1, -1e-6, 0, 1e-6, 1))
    whole = int in (key.kind, key.item)
    one = int(end) if whole else float(end)
    return (one,) if key.kind is tuple else one


def _value(rng: random.Random, key: Key) -> Any:
    return _mixed(rng, key, lambda: rng.choice(VALUES))


def _text(rng: random.Random, key: Key) -> str:
    return _said(_mixed(rng, key, lambda: rng.choice(TEXTS)))


def _mixed(rng: random.Random, key: Key, wrong: Callable[[], Any]) -> Any:
    roll = rng.random()
    return wrong() if roll < 0.4 else _edge(rng, key) if roll < 0.6 else allowed(rng, key)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
