"""The arms of the study of paper 002's section 4: what each adds to the extended baseline.

An arm is a name of `experiments.configs.connect_four_extensions.ARMS` and a table of dotted keys.
"""

from typing import Any

from ml_collections import ConfigDict

from experiments.connect_four import baselines

_ARCHIVE = {"selfplay.archive_share": 0.5}
_CACHED = {"search.key": "position", "selfplay.share": "cache"}


def added(config: ConfigDict) -> dict[str, dict[str, Any]]:
    """Dotted keys by arm, beside those of the extended baseline.

    Args:
      config: the study's, for what depends on its size.
    """
    del config
    return {
        "extended": {},
        "cached": _CACHED,  # Fig. 8
        "archive": _ARCHIVE,
        "retry": _ARCHIVE | {"selfplay.archive": "losses"},
    }


def changes(config: ConfigDict) -> dict[str, dict[str, Any]]:
    """What each arm of the study sets, all of it, dotted keys."""
    base, own = baselines.extended(config), added(config)
    return {arm: base | own[arm] for arm in config.study.arms}
