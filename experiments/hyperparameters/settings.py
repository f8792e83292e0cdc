"""What a hyper-parameter study compares: settings, and the trainings that they need.

Nothing in a run depends on how long it will go on, so settings that differ only in I (the number of
iterations) are one training, looked at after different iterations: 81 settings of Wang 2020 and
Wang 2023 are 27 trainings.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ml_collections import ConfigDict

from jaxzero import files
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError

ITERATIONS: Final = "train.iterations"

# By letter, in the order of Table 1.
LETTERS: Final = {letter: key.name for letter, key in config_lib.LETTERS.items()}
# Those that correlation and search vary, and the study's key that lists their values or bounds.
FIELDS: Final = {"I": "iterations", "E": "episodes", "m": "num_simulations", "ep": "epochs"}
VARIED: Final = tuple(FIELDS)


class Setting(NamedTuple):
    """One setting of a study."""

    name: str  # unique, e.g. `"E=10"`; `"default"` where nothing is changed.
    values: Mapping[str, Any]  # what it changes, by letter
    config: ConfigDict  # the whole

    @property
    def iterations(self) -> int:
        """I."""
        return int(self.config.train.iterations)


@dataclasses.dataclass(frozen=True)
class Training:
    """One run of Algorithm 1, which serves settings that differ only in I."""

    name: str  # unique, e.g. `"E=10_seed0"`.
    seed: int  # of weights, games and minibatches; settings of a seed start from the same weights
    config: ConfigDict  # of the longest setting, with this seed
    # names of its settings, and after how many iterations each is done
    serves: tuple[tuple[str, int], ...]


def make_setting(base: ConfigDict, values: Mapping[str, Any]) -> Setting:
    """The setting that changes some letters of `LETTERS`."""
    own = config_lib.changed(base, {LETTERS[letter]: v for letter, v in values.items()})
    name = "_".join(f"{letter}={_in_digits(value)}" for letter, value in values.items())
    return Setting(name or "default", dict(values), own)


def _in_digits(value: float) -> str:
    """Six digits where they are enough, so that different values have different names."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def trainings(settings: Sequence[Setting], seeds: Sequence[int]) -> list[Training]:
    """The runs that settings need, by setting, then seed. ConfigError: two settings are equal."""
    shared: dict[str, list[Setting]] = {}
    for setting in settings:
        flat = files.plain(config_lib.flatten(setting.config))
        del flat[ITERATIONS]
        shared.setdefault(json.dumps(flat, sort_keys=True), []).append(setting)
    found = []
    for same in shared.values():
        lengths = [setting.iterations for setting in same]
        if len(set(lengths)) < len(lengths):
            twice = ", ".join(setting.name for setting in same)
            raise ConfigError(f"config.study: {twice} are the same setting, name each value once")
        longest = max(same, key=lambda setting: setting.iterations)
        words = {k: v for k, v in longest.values.items() if k != "I"}
        name = make_setting(longest.config, words).name
        serves = tuple((s.name, s.iterations) for s in same)
        for seed in seeds:
            own = config_lib.changed(longest.config, {"seed": seed})
            found.append(Training(f"{name}_seed{seed}", seed, own, serves))
    return found
