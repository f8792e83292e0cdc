"""The arms of the study of Clausen 2021's section 4: what each adds to the extended baseline.

An arm is a name of `experiments.configs.connect_four_extensions.ARMS` and a table of dotted keys.
"""

from typing import Any

from ml_collections import ConfigDict

from experiments.configs.connect_four_extensions import FEATURE_ARMS, TEACHER
from experiments.connect_four import baselines
from jaxzero.settings.config import ConfigError
from jaxzero.settings.features import FEATURES

_ARCHIVE = {"selfplay.archive_share": 0.5}
_CACHED = {"search.key": "position", "selfplay.share": "cache"}
_TEACHER = {  # with 3 blocks of 32 channels 62,928 parameters
    "network.head_filters": 1,
    "network.squeeze_excite": True,
    "train.reply_weight": 0.0,
    "train.move_value_weight": 0.0,
}
_IN_PARTS = _CACHED | {"selfplay.parts": 8}


def added(config: ConfigDict) -> dict[str, dict[str, Any]]:
    """Dotted keys by arm, beside those of the extended baseline; some depend on its size."""
    league, novelty = _leagues(config)
    first, *others = config.study.grow_channels
    teacher = {
        "train.batch_size": 4 * config.train.batch_size,  # theirs 1024, the others 256
        "network.blocks": config.study.teacher_blocks,
        "network.channels": config.study.teacher_channels,
        "network.stem_filters": 4 * config.study.teacher_channels,
    }
    widths = {
        "network.channels": first,
        "network.grow_to": tuple(others),
        "network.grow_at": tuple(config.study.grow_at),
    }
    growing = {by: widths | {"network.grow_by": by} for by in ("random", "net2net", "parallel")}
    return {
        "extended": {},
        "cached": _CACHED,  # Fig. 8
        "tree": _IN_PARTS | {"selfplay.tree_c": 1.5},  # Fig. 9
        "tree_5": _IN_PARTS | {"selfplay.tree_c": 5.0},
        "tree_15": _IN_PARTS | {"selfplay.tree_c": 15.0},
        # sampled while at most 16 stones are on the board
        "retry": _IN_PARTS | {"selfplay.retry": True, "selfplay.temperature_plies": 18},
        "archive": _CACHED | _ARCHIVE,  # as retry, which the authors built on the cache
        "archive_losses": _CACHED | _ARCHIVE | {"selfplay.archive": "losses"},
        "evolve": league,  # Fig. 12
        "kld": league
        | {
            "selfplay.league_evolves": ("kld_stop",),
            "search.kld_step": max(2, _simulations(config, 50)),
            "search.num_simulations": _simulations(config, 2000),
            "selfplay.clock": _simulations(config, 4650),
        },
        "novel_wins": novelty | {"selfplay.league": "novel_wins"},  # Fig. 13
        "novelty": novelty,
        "growing": growing["random"],  # Fig. 11
        "growing_net2net": growing["net2net"],
        "growing_parallel": growing["parallel"],
        "cached_growing": _CACHED | growing["net2net"],
        "teacher": _TEACHER | teacher,
        **{arm: _learning(arm, teacher) for arm in FEATURE_ARMS},  # Fig. 10
        "population": {},  # see `populations`
        "population_alone": {},
    }


def _learning(arm: str, teacher: dict[str, Any]) -> dict[str, Any]:
    """What an arm learns of the arm `teacher`, or of a network of its size as it began."""
    name = FEATURE_ARMS[arm]
    trained = {"train.teacher": f"../{TEACHER}"} if FEATURES[name].trained else {}
    size = {f"train.teacher_{key}": teacher[f"network.{key}"] for key in ("blocks", "channels")}
    return {"train.feature_weight": 1.0, "train.features": name} | size | trained


def check(config: ConfigDict) -> None:
    """Refuses arms that learn features of one that is not there yet."""
    arms = list(config.study.arms)
    for arm in (arm for arm in arms if arm in FEATURE_ARMS):
        before = arms[: arms.index(arm)]
        if "train.teacher" in added(config)[arm] and TEACHER not in before:
            raise ConfigError(
                f"config.study.arms={config.study.arms}: {arm} learns features of the network of "
                f"the arm {TEACHER}, name that before it"
            )


def _simulations(config: ConfigDict, theirs: int) -> int:
    """As many as theirs, for a baseline that has fewer than their 343."""
    return max(1, config.search.num_simulations * theirs // 343)


def _leagues(config: ConfigDict) -> tuple[dict[str, Any], dict[str, Any]]:
    """The authors' leagues, of wins and of novelty: about one generation in an iteration."""
    games = config.selfplay.episodes
    players = min(50, max(8, games // 20))
    league = {
        "search.num_simulations": _simulations(config, 350),
        # measured as the others
        "study.simulations": config.study.simulations or config.search.num_simulations,
        "selfplay.league": "wins",
        "selfplay.league_pairing": "skewed",
        "selfplay.league_players": players,
        "selfplay.league_parents": round(0.3 * players),
        "selfplay.league_games": float(min(100, 2 * games // players)),
    }
    plies = 42  # of the longest game
    novelty = league | {
        "selfplay.league": "novelty",
        "selfplay.league_parents": round(0.32 * players),
        "selfplay.league_evolves": ("c_puct", "unvisited_q", "draw_value", "dirichlet_alpha"),
        "selfplay.league_points": 7.5 * games,  # theirs 90,000, with the preset's 12,000 games
        "selfplay.seen_positions": min(2**27, games * plies * config.train.iterations),
    }
    return league, novelty


def changes(config: ConfigDict) -> dict[str, dict[str, Any]]:
    """What each arm of the study sets, all of it, dotted keys."""
    base, own = baselines.extended(config), added(config)
    return {arm: base | own[arm] for arm in config.study.arms}
