"""What a setting is: its name, default, meaning, and the values that it may have.

Imports nothing of ours. The settings themselves stand in `table`.
"""

import dataclasses
import difflib
from collections.abc import Iterable
from typing import Any


class ConfigError(ValueError):
    """A setting that cannot work: one line with the key, the value and the remedy."""


def nearest(word: str, allowed: Any) -> str:
    """A hint for a message: the closest allowed word, or all of them."""
    close = difflib.get_close_matches(str(word), [str(a) for a in allowed], n=1)
    return (
        f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(map(str, allowed))}"
    )


_NOUNS: dict[type, tuple[str, str]] = {
    bool: ("True or False", "True or False"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("text", "texts"),
}


@dataclasses.dataclass(frozen=True)
class Key:
    """One setting.

    Attributes:
      name: dotted, e.g. `"train.epochs"`.
      default: its value before a preset or the command line changes it. None: unset, which
        `meaning` explains; `kind` is needed then.
      meaning: one line for people.
      letter: of Wang 2020 and 2023, e.g. `"ep"`; empty where they have none.
      choices: the words that it may be (for a tuple: that its items may be); empty: any.
      low, high: the smallest and the largest number allowed, both inclusive (for a tuple: of its
        items).
      even: whether it must be even, because two players swap colours.
      needs: another key and its value, without which this one can only be 0 or False.
      kind: bool, int, float, str or tuple; of the default, if that is set.
      item: kind of a tuple's items; of the default's first, if there is one.
    """

    name: str
    default: Any
    meaning: str
    letter: str = ""
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    even: bool = False
    needs: tuple[str, Any] | None = None
    kind: type = object
    item: type = str

    def __post_init__(self) -> None:
        if self.default is not None:
            object.__setattr__(self, "kind", type(self.default))
        if isinstance(self.default, tuple) and self.default:
            object.__setattr__(self, "item", type(self.default[0]))
        if self.kind not in (*_NOUNS, tuple):
            raise TypeError(f"key {self.name!r} has no default and no kind")

    @property
    def section(self) -> str:
        """`"train"` of `"train.epochs"`; empty for `"game"`."""
        return self.name.rpartition(".")[0]

    @property
    def allowed(self) -> str:
        """The values that it may have, for people: `a whole number, 1 to 100`, `adam, sgd`."""
        many = self.kind is tuple
        kind = self.item if many else self.kind
        noun = _NOUNS[kind][many]
        if self.choices:
            return ("any of " if many else "") + ", ".join(self.choices)
        if self.low is not None and self.high is not None:
            noun += f", {number(self.low)} to {number(self.high)}"
        elif self.low is not None:
            noun += f", at least {number(self.low)}"
        return f"even {noun.removeprefix('a ')}" if self.even else noun

    def check(self, value: Any) -> None:
        """Refuses what the setting cannot be (ConfigError)."""
        if value is None and self.default is None:
            return
        if not self._is_of_kind(value):
            raise self.refusal(repr(value))
        for item in value if self.kind is tuple else (value,):
            self._check_item(item)

    def refusal(self, reason: str) -> ConfigError:
        """What is said about a value of the wrong kind, given as text."""
        example = f", e.g. {self.default}" if self.kind is tuple and self.default else ""
        reason = reason.replace("\n", " ")
        return ConfigError(f"config.{self.name}={reason}: give {self.allowed}{example}")

    def _is_of_kind(self, value: Any) -> bool:
        if self.kind is tuple:
            return isinstance(value, tuple | list) and all(_is(v, self.item) for v in value)
        return _is(value, self.kind)

    def _check_item(self, item: Any) -> None:
        named = f"config.{self.name}={item!r}"
        if self.choices and item not in self.choices:
            raise ConfigError(f"{named}: {nearest(item, self.choices)}")
        if self.low is not None and not item >= self.low:
            raise ConfigError(f"{named}: {self._range()}")
        if self.high is not None and not item <= self.high:
            raise ConfigError(f"{named}: {self._range()}")
        if self.even and item % 2:
            raise ConfigError(f"{named}: both colours need an even number, e.g. {item + 1}")

    def _range(self) -> str:
        if self.high is None:
            return f"at least {number(self.low or 0)} is needed"
        return f"choose from {number(self.low or 0)} to {number(self.high)}"


def _is(value: Any, kind: type) -> bool:
    """Whether a value is of a kind; a whole number is a number, True is no number."""
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    return isinstance(value, int | float if kind is float else kind)


def is_off(value: Any) -> bool:
    """Whether a value says that something is not there: 0, False, empty, unset, "none", "off"."""
    return not value or value in ("none", "off")


def number(value: float) -> str:
    """`1000000`, `0.999`: without the `.0` and the exponents of floats."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:g}"


def table(*parts: Iterable[Key]) -> dict[str, Key]:
    """Keys by name, in order; a later key takes the place of an earlier one of its name."""
    return {key.name: key for part in parts for key in part}
