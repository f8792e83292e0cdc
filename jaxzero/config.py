"""Settings: defaults (the papers' Table 1), the switches of `semantics`, and what is impossible.

Imports nothing of ours, so that a config can be made, printed and refused before anything compiles.
The letters beside the keys are those of papers 000 and 003.
"""

import dataclasses
import difflib
from typing import Any

from ml_collections import ConfigDict
from ml_collections.config_dict import placeholder

TARGETS = ("policy", "value", "sum", "product", "weighted")  # l_p, l_v, l_+, l_x, l_lambda
SEMANTICS = ("corrected", "published")


class ConfigError(ValueError):
    """A setting that cannot work: one line with the key, the value and the remedy."""


def default_config() -> ConfigDict:
    """Table 1's defaults (000, 001, 003) on 6x6 Othello, corrected semantics, one run.

    Returns:
      A locked `ConfigDict`; presets change values, never keys.
    """
    config = ConfigDict()
    config.game = "othello_6x6"  # any name of jaxzero.make_game
    config.observation = "signed"  # planes | signed (one plane +1/-1/0, 000) | cells (1/2/3, 002)
    config.seed = 0  # first seed; a population counts up from it
    config.semantics = "corrected"  # corrected | published: all of `switches` at once

    config.network = ConfigDict()
    config.network.name = "convnet"  # convnet (000) | resnet (002, 004)
    config.network.channels = 256  # filters of each convolution (256 in the authors' runs)
    config.network.hidden = (1024, 512)  # widths of the fully connected layers, convnet only
    config.network.blocks = 5  # residual blocks, resnet only
    config.network.value_head = "scalar"  # scalar (tanh) | wdl (win/draw/loss, 002)
    config.network.dtype = "auto"  # auto (by device) | float32 | bfloat16
    config.network.convolution = "patches"  # patches (one matmul) | lax
    config.network.batch_norm_momentum = 0.99  # TensorFlow 1's default, which the authors used

    config.search = ConfigDict()
    config.search.algorithm = "puct"  # puct | gumbel
    config.search.num_simulations = 100  # m
    config.search.c_puct = 1.0  # c
    config.search.unvisited_q = 0.0  # Q of an edge without visits, on the scale of q_scale
    config.search.q_scale = "signed"  # signed [-1, 1] | unit [0, 1] (002)
    config.search.exploration = "sqrt_total"  # sqrt_total (000) | sqrt_total_plus (002)
    config.search.renormalise_prior = True  # softmax over legal moves; False: 002
    config.search.dirichlet_fraction = 0.0  # share of root noise in self-play; off in 000/001/003
    config.search.dirichlet_alpha = 0.3
    config.search.dirichlet_scaling = "constant"  # constant | per_legal_move (002)
    config.search.ties = "lowest"  # lowest | random (002)
    config.search.draw_value = 0.0  # worth of a draw to both sides; needs value_head=wdl
    config.search.max_considered_actions = 16  # gumbel only
    config.search.tree_moves = 4  # capacity of a kept tree, in searches of m

    config.selfplay = ConfigDict()
    config.selfplay.episodes = 50  # E: games per iteration
    config.selfplay.temperature_plies = 15  # T': plies 1..T'-1 are sampled from the visits

    config.replay = ConfigDict()
    config.replay.window = 20  # rs: iterations kept
    config.replay.max_examples = 200_000  # of one iteration, symmetric images counted

    config.train = ConfigDict()
    config.train.iterations = 100  # I
    config.train.epochs = 10  # ep
    config.train.batch_size = 64  # bs
    config.train.learning_rate = 0.005  # lr
    config.train.dropout_rate = 0.3  # d
    config.train.loss = "sum"  # policy | value | sum | product | weighted
    config.train.loss_weight = 0.5  # lambda of weighted: lambda l_p + (1 - lambda) l_v
    config.train.policy_softmax = "all"  # all actions (000) | legal
    config.train.sampling = "replacement"  # replacement (the programs) | epoch (full passes)
    config.train.optimizer = "adam"  # adam | sgd
    config.train.momentum = 0.9  # sgd only
    config.train.weight_decay = 0.0  # L2 through the optimiser; none in 000 section 4.2
    config.train.max_gradient_norm = 0.0  # 0: no clipping
    config.train.measure = "after_step"  # after_step (the programs: once more, updated) | in_step

    config.arena = ConfigDict()
    config.arena.gate = "threshold"  # threshold | none (every candidate is accepted)
    config.arena.games = 40  # n
    config.arena.threshold = 0.6  # u
    config.arena.opening_plies = 2  # random plies from which each colour-swapped pair starts

    # None: as `semantics` says. See SWITCHES for each one's meaning and source.
    config.switches = ConfigDict({name: placeholder(s.kind) for name, s in SWITCHES.items()})

    config.evaluation = ConfigDict()
    config.evaluation.heldout_games = 64  # games of the fixed held-out set (rollout search)
    config.evaluation.heldout_simulations = 50
    config.evaluation.max_distinct_positions = 200_000  # counted by hash up to this many

    config.execution = ConfigDict()
    config.execution.population = "auto"  # auto (map on cpu, vmap elsewhere) | map | vmap
    config.execution.devices = 0  # 0: all
    config.execution.checkpoint_every = 10  # iterations
    config.execution.keep_checkpoints = 2
    config.execution.snapshot_every = 10  # iterations between networks that are kept for good
    config.execution.max_minutes = 0.0  # save and stop after so long; 0: no limit
    config.execution.compilation_cache = True
    config.execution.deterministic_gpu = False  # same bits again on a GPU, slower

    config.tracking = ConfigDict()
    config.tracking.wandb = "off"  # off | offline | online
    config.tracking.wandb_project = "jaxzero"
    config.tracking.tensorboard = False  # event files in the run directory too
    config.lock()
    return config


@dataclasses.dataclass(frozen=True)
class Switch:
    """One difference between the published programs and what is right."""

    kind: type
    published: Any
    corrected: Any
    families: tuple[str, ...]  # game families it applies to; empty: all
    meaning: str


_ALL: tuple[str, ...] = ()
SWITCHES: dict[str, Switch] = {
    "one_hot_after_temperature": Switch(
        bool, True, False, _ALL, "after T' the policy target is the chosen move, not the visits"
    ),
    "root_expansion_counts": Switch(
        bool, True, False, _ALL, "the first simulation of a fresh tree only expands the root: m - 1"
    ),
    "keep_tree": Switch(bool, True, False, _ALL, "the search tree is kept during a game"),
    "arena_random_openings": Switch(
        bool, False, True, _ALL, "arena pairs start from their own random opening"
    ),
    "accept_all_drawn": Switch(bool, True, False, _ALL, "a gate with draws only is passed"),
    "othello_tie_is_loss_of_asked": Switch(
        bool, True, False, ("othello",), "a tie is lost by whoever is asked (getGameEnded)"
    ),
    "small_draw_value": Switch(
        bool, True, False, ("connect_four", "gobang"), "a draw is 1e-4 for whoever is asked"
    ),
    "gobang_absolute_labels": Switch(
        bool, True, False, ("gobang",), "first player's positions are always labelled lost"
    ),
    "mirror_without_policy": Switch(
        bool, True, False, ("connect_four",), "the mirrored image keeps the policy as it was"
    ),
    "dropout_inactive": Switch(bool, True, False, _ALL, "dropout never acts in training"),
    "tournament_one_model_per_target": Switch(
        bool, True, False, _ALL, "the eight entries of a loss are one model (late binding)"
    ),
    "elo_first_listed_advantage": Switch(
        bool, True, False, _ALL, "Elo: fixed 32.8 for the first-listed player, mover unknown"
    ),
}


def game_family(name: str) -> str:
    """`"connect_four"` of `"connect_four_6x7"`; the part before the first digit otherwise."""
    if name.startswith("pgx:"):
        return "pgx"
    head = name
    for i, character in enumerate(name):
        if character.isdigit():
            head = name[:i]
            break
    return head.rstrip("_")


@dataclasses.dataclass(frozen=True)
class Switches:
    """The switches as they act in one run: resolved, hashable. Meanings: `SWITCHES`."""

    one_hot_after_temperature: bool
    root_expansion_counts: bool
    keep_tree: bool
    arena_random_openings: bool
    accept_all_drawn: bool
    othello_tie_is_loss_of_asked: bool
    small_draw_value: bool
    gobang_absolute_labels: bool
    mirror_without_policy: bool
    dropout_inactive: bool
    tournament_one_model_per_target: bool
    elo_first_listed_advantage: bool

    @property
    def draw_for_asked(self) -> float:
        """Worth of a drawn game to the side that is asked; see `jaxzero.scoring`."""
        if self.othello_tie_is_loss_of_asked:
            return -1.0
        return 1e-4 if self.small_draw_value else 0.0


def resolve_switches(config: ConfigDict) -> Switches:
    """`config.semantics`, overruled by single `config.switches`, for the game's family.

    A switch that does not concern the game is off, whatever is asked.
    """
    family = game_family(config.game)
    values = {}
    for name, switch in SWITCHES.items():
        asked = config.switches[name]
        value = getattr(switch, config.semantics) if asked is None else asked
        if switch.families and family not in switch.families:
            value = switch.corrected
        values[name] = value
    return Switches(**values)


def nearest(word: str, allowed: Any) -> str:
    """A hint for a message: the closest allowed word, or all of them."""
    close = difflib.get_close_matches(str(word), [str(a) for a in allowed], n=1)
    return (
        f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(map(str, allowed))}"
    )


_CHOICES: dict[str, tuple[str, ...]] = {
    "semantics": SEMANTICS,
    "observation": ("planes", "signed", "cells"),
    "network.name": ("convnet", "resnet"),
    "network.value_head": ("scalar", "wdl"),
    "network.dtype": ("auto", "float32", "bfloat16"),
    "network.convolution": ("patches", "lax"),
    "search.algorithm": ("puct", "gumbel"),
    "search.q_scale": ("signed", "unit"),
    "search.exploration": ("sqrt_total", "sqrt_total_plus"),
    "search.ties": ("lowest", "random"),
    "search.dirichlet_scaling": ("constant", "per_legal_move"),
    "train.loss": TARGETS,
    "train.policy_softmax": ("all", "legal"),
    "train.sampling": ("replacement", "epoch"),
    "train.optimizer": ("adam", "sgd"),
    "train.measure": ("after_step", "in_step"),
    "arena.gate": ("threshold", "none"),
    "execution.population": ("auto", "map", "vmap"),
    "tracking.wandb": ("off", "offline", "online"),
}

_RANGES: dict[str, tuple[float, float]] = {  # inclusive
    "network.channels": (1, 4096),
    "network.blocks": (1, 100),
    "network.batch_norm_momentum": (0, 1),
    "search.num_simulations": (1, 100_000),
    "search.c_puct": (0, 1e6),
    "search.dirichlet_fraction": (0, 1),
    "search.draw_value": (-1, 1),
    "search.max_considered_actions": (1, 10_000),
    "search.tree_moves": (1, 1000),
    "selfplay.episodes": (1, 10_000_000),
    "selfplay.temperature_plies": (0, 100_000),
    "replay.window": (1, 100_000),
    "replay.max_examples": (1, 2**31 - 1),
    "train.iterations": (1, 10_000_000),
    "train.epochs": (1, 100_000),
    "train.batch_size": (1, 1_000_000),
    "train.learning_rate": (0, 1e3),
    "train.dropout_rate": (0, 0.999),
    "train.loss_weight": (0, 1),
    "train.momentum": (0, 0.99999),
    "train.weight_decay": (0, 1e3),
    "train.max_gradient_norm": (0, 1e9),
    "arena.games": (2, 10_000_000),
    "arena.threshold": (0, 1),
    "arena.opening_plies": (0, 1000),
    "evaluation.heldout_games": (1, 1_000_000),
    "evaluation.heldout_simulations": (1, 100_000),
    "execution.checkpoint_every": (1, 10_000_000),
    "execution.keep_checkpoints": (2, 1000),
    "execution.snapshot_every": (1, 10_000_000),
    "execution.max_minutes": (0, 1e9),
    "execution.devices": (0, 1_000_000),
}


def get(config: ConfigDict, key: str) -> Any:
    """The value of a dotted key."""
    value: Any = config
    for part in key.split("."):
        value = value[part]
    return value


def validate(config: ConfigDict) -> None:
    """Refuses impossible settings, before anything compiles.

    Raises:
      ConfigError: one line with key, value and remedy.
    """
    for key, allowed in _CHOICES.items():
        value = get(config, key)
        if value not in allowed:
            raise ConfigError(f"config.{key}={value!r}: {nearest(value, allowed)}")
    for key, (low, high) in _RANGES.items():
        value = get(config, key)
        if not low <= value <= high:
            raise ConfigError(f"config.{key}={value}: choose from {low} to {high}")
    if config.arena.gate != "none" and config.arena.games % 2:
        raise ConfigError(
            f"config.arena.games={config.arena.games}: both colours need an even number, "
            f"e.g. {config.arena.games + 1}"
        )
    if config.search.draw_value and config.network.value_head != "wdl":
        raise ConfigError(
            f"config.search.draw_value={config.search.draw_value}: needs draw probabilities, "
            "set config.network.value_head='wdl'"
        )
    switches = resolve_switches(config)
    if switches.root_expansion_counts and config.search.num_simulations < 2:
        raise ConfigError(
            f"config.search.num_simulations={config.search.num_simulations}: the published "
            "program's first simulation visits nothing, choose at least 2 or set "
            "config.switches.root_expansion_counts=False"
        )
    if config.search.algorithm == "gumbel" and switches.keep_tree:
        raise ConfigError(
            "config.search.algorithm='gumbel': sequential halving starts from an unvisited root, "
            "set config.switches.keep_tree=False"
        )


def flatten(config: ConfigDict, prefix: str = "") -> dict[str, Any]:
    """Dotted keys to plain values."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, ConfigDict):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def from_flat(flat: dict[str, Any]) -> ConfigDict:
    """The reverse of `flatten`, from values that went through JSON (tuples came back as lists)."""
    config = ConfigDict(default_config())
    for key, value in flat.items():
        *sections, name = key.split(".")
        part = config
        for section in sections:
            part = part.setdefault(section, ConfigDict())
        part[name] = tuple(value) if isinstance(value, list) else value
    return config.lock()
