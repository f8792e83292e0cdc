"""What a setting acts with: another one, without which it changes nothing.

Somebody who varies `network.blocks` of a network without blocks would find that they do not
matter; `refuse_idle` tells them first.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from ml_collections import ConfigDict

from jaxzero.settings.config import SWITCHES, ConfigError, flatten, resolve_switches
from jaxzero.settings.keys import Key, is_off

# (another key, its values that are meant; none: any but off) -> the keys that act with it.
_TOGETHER: dict[tuple[Any, ...], tuple[str, ...]] = {
    ("network.name", "convnet"): (
        "network.hidden",
        "network.bias_before_norm",
        "switches.dropout_inactive",
    ),
    ("switches.dropout_inactive", False): ("train.dropout_rate",),
    ("network.name", "resnet"): ("network.blocks", "network.style", "network.head_filters"),
    ("network.style", "efficiency"): ("network.stem_filters",),
    ("network.style", "curriculum"): ("network.value_hidden",),
    ("network.grow_at",): ("network.grow_by",),
    ("search.algorithm", "puct"): (
        "search.c_puct",
        "search.unvisited_q",
        "search.q_scale",
        "search.exploration",
        "search.ties",
        "search.dirichlet_fraction",
        "search.forced_playouts",
        "search.puct_target",
    ),
    ("search.algorithm", "gumbel"): (
        "search.max_considered_actions",
        "search.gumbel_rescale",
        "search.gumbel_value_scale",
        "search.gumbel_visit_offset",
        "search.gumbel_target",
        "search.gumbel_root_value",
    ),
    ("search.puct_target", "improved"): (
        "search.gumbel_rescale",
        "search.gumbel_value_scale",
        "search.gumbel_visit_offset",
    ),
    ("search.dirichlet_fraction",): ("search.dirichlet_alpha", "search.dirichlet_scaling"),
    ("search.kld_step",): ("search.kld_stop",),
    ("switches.keep_tree",): ("search.tree_moves",),
    ("selfplay.fast_share",): ("selfplay.fast_simulations", "selfplay.fast_noise"),
    ("selfplay.curriculum",): (
        "selfplay.curriculum_drop",
        "selfplay.curriculum_initial_plies",
        "selfplay.curriculum_averaging",
    ),
    ("selfplay.curriculum", "schedule"): (
        "selfplay.curriculum_epochs",
        "selfplay.curriculum_fractions",
    ),
    ("selfplay.curriculum", "horizon"): (
        "selfplay.curriculum_level",
        "selfplay.curriculum_margin",
        "selfplay.curriculum_least",
    ),
    ("selfplay.archive_share",): ("selfplay.archive", "selfplay.archive_positions"),
    ("selfplay.share", "cache"): ("selfplay.share_positions",),
    ("selfplay.league",): (
        "selfplay.league_evolves",
        "selfplay.league_players",
        "selfplay.league_parents",
        "selfplay.league_pairing",
    ),
    ("selfplay.league", "wins"): ("selfplay.league_games",),
    ("selfplay.league", "novel_wins", "novelty"): ("selfplay.league_points",),
    ("replay.window_positions", 0): ("replay.window",),
    ("replay.window_positions",): ("replay.window_start",),
    ("replay.window_start",): ("replay.window_grows",),
    ("replay.minimum_games",): ("replay.leaving",),
    ("replay.images", "all"): ("switches.mirror_without_policy",),
    ("train.loss", "weighted"): ("train.loss_weight",),
    ("train.loss", "sum"): ("train.value_weight",),
    ("study.targets", "weighted"): ("train.loss_weight",),
    ("study.targets", "sum"): ("train.value_weight",),
    ("train.optimizer", "sgd"): ("train.momentum",),
    ("train.schedule", "steps"): ("train.schedule_steps", "train.schedule_factor"),
    ("train.schedule", "cyclic"): (
        "train.cycle_peak",
        "train.cycle_end",
        "train.cycle_low",
        "train.cycle_last",
        "train.cycle_momentum",
    ),
    ("train.schedule", "linear", "cyclic"): ("train.anneal_to", "train.anneal_iterations"),
    ("train.feature_weight",): ("train.features", "train.teacher_blocks", "train.teacher_channels"),
    ("arena.gate",): ("arena.games", "arena.continue_from"),
    ("arena.gate", "threshold"): ("arena.threshold", "switches.accept_all_drawn"),
    ("arena.gate", "wilson"): ("arena.confidence", "arena.width", "arena.batch"),
    ("switches.arena_random_openings",): ("arena.opening_plies",),
    ("tracking.wandb",): ("tracking.wandb_project",),
}
# key -> others, each with its values: where all of them are so, the key changes nothing.
_IDLE: dict[str, tuple[tuple[Any, ...], ...]] = {
    "selfplay.fast_noise": (("search.dirichlet_fraction", 0.0), ("search.forced_playouts", 0.0)),
    "selfplay.temperature_plies": (("selfplay.tree_c",), ("search.algorithm", "puct")),
    "train.momentum": (("train.schedule", "cyclic"),),
}
_NOTHING: Mapping[str, str] = {}


def companions(name: str) -> list[tuple[Any, ...]]:
    """What a key acts with, any of these: (another key, values that are meant); empty: always."""
    return [other for other, names in _TOGETHER.items() if name in names]


def in_words(name: str, known: Container[str], prefix: str = "") -> str:
    """The same for people: `network.name=resnet`; empty where it always acts.

    `known`: the keys that there are.
    """
    ways = []
    for other, *values in companions(name):
        if other in known:
            own = _said(other, values, prefix)
            ways.append(" and ".join(filter(None, [own, in_words(other, known, prefix)])))
    return " or ".join(ways)


def idle_in_words(name: str, prefix: str = "") -> str:
    """Where a key changes nothing, whatever it acts with; empty: nowhere."""
    return " and ".join(_said(o, values, prefix) for o, *values in _IDLE.get(name, ()))


def how_it_acts(name: str, known: Container[str]) -> str:
    """For a refusal: `with ...: set that`, `with ..., and not with ...: change that`."""
    with_them, without = in_words(name, known, "config."), idle_in_words(name, "config.")
    ways = [with_them and f"with {with_them}", without and f"not with {without}"]
    return f"{', and '.join(filter(None, ways))}: {'change' if without else 'set'} that"


def described(key: Key, known: Container[str]) -> str:
    """A key's meaning, what it acts with of the known keys, and what it needs."""
    others = in_words(key.name, known)
    text = f"{key.meaning}; with {others}" if others else key.meaning
    idle = idle_in_words(key.name)
    text = f"{text}; not with {idle}" if idle else text
    return f"{text}; needs {key.needs[0]}={key.needs[1]}" if key.needs else text


def acts(config: ConfigDict, name: str) -> bool:
    """Whether a key has an effect beside the other settings."""
    values = flatten(config)
    values |= {f"switches.{n}": on for n, on in vars(resolve_switches(config)).items()}

    def does(name: str) -> bool:
        idle = _IDLE.get(name, ())
        if idle and all(o in values and _is_among(values[o], meant) for o, *meant in idle):
            return False
        others = [(other, meant) for other, *meant in companions(name) if other in values]
        return not others or any(does(o) and _is_among(values[o], meant) for o, meant in others)

    return does(name)


def refuse_idle(
    config: ConfigDict, given: Iterable[str], replaced: Mapping[str, str] = _NOTHING
) -> None:
    """Refuses, in one line, what somebody has set by hand and what would change nothing.

    Not in studies of arms, which set some of what their own keys act with.

    Args:
      config: settings.
      given: the keys that were set; what a preset has beside is its own affair.
      replaced: keys that a study sets itself, and its own in their place.
    """
    switches = vars(resolve_switches(config))
    values = flatten(config)
    if "study.arms" in values:
        return
    for name in given:
        value, switch = values[name], name.removeprefix("switches.")
        if name in replaced:
            raise ConfigError(
                f"config.{name}={value!r}: this study sets it itself, set "
                f"config.{replaced[name]} in its place"
            )
        if is_off(value):
            continue
        if not acts(config, name):
            raise ConfigError(
                f"config.{name}={value!r}: changes nothing here, it acts "
                f"{how_it_acts(name, values)}, or leave it out"
            )
        if switch in switches and not switches[switch]:
            raise ConfigError(
                f"config.{name}={value!r}: it concerns {', '.join(SWITCHES[switch].families)}, not "
                f"config.game={config.game!r}, leave it out"
            )


def _said(name: str, values: Sequence[Any], prefix: str) -> str:
    return f"{prefix}{name}" + (f"={'/'.join(map(str, values))}" if values else "")


def _is_among(value: Any, meant: Sequence[Any]) -> bool:
    """Whether a value, or one of several, is one of those meant; of none: whether it is on."""
    if not meant:
        return not is_off(value)
    return any(one in meant for one in (value if isinstance(value, tuple) else (value,)))
