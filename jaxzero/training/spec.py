"""A run's settings in the two forms that compiled code needs.

`Spec` is static: whatever decides shapes or code. Runs with equal specs share one compilation and
can be members of one population. `Hyper` is traced: numbers that may differ between members.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax import struct
from ml_collections import ConfigDict

from jaxzero import loops
from jaxzero.games.base import Game
from jaxzero.search.options import Numbers, SearchOptions
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError, Switches
from jaxzero.settings.features import Learned
from jaxzero.training import components, losses

# Keys that only bound arrays and trip counts: a run with smaller values fits where larger ones do.
CAPACITIES = (
    "search.num_simulations",
    "selfplay.episodes",
    "replay.window",
    "train.epochs",
    "arena.games",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SelfPlaySettings:
    """`config.selfplay`; `curriculum_initial_plies` is known where there is a curriculum."""

    episodes: int
    opening_plies: int
    known_labels: bool
    drop_draws: float
    fast_share: float
    fast_simulations: int
    fast_noise: float
    share: str
    share_positions: int
    tree_c: float
    retry: bool
    parts: int
    archive: str
    archive_share: float
    archive_positions: int
    clock: int
    league: str
    league_evolves: tuple[str, ...]
    league_players: int
    league_parents: int
    league_games: float
    league_points: float
    league_pairing: str
    seen_positions: int
    curriculum: str
    curriculum_drop: str
    curriculum_epochs: tuple[int, ...]
    curriculum_fractions: tuple[float, ...]
    curriculum_initial_plies: float
    curriculum_averaging: float
    curriculum_level: float
    curriculum_margin: int
    curriculum_least: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReplaySettings:
    """`config.replay`."""

    window: int
    minimum_games: tuple[int, ...]
    leaving: float
    window_positions: int
    window_start: int
    window_grows: tuple[int, int]
    duplicate_weight: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """`config.train`."""

    epochs: int
    passes: float
    batch_size: int
    policy_softmax: str
    sampling: str
    measure: str
    optimizer: str
    momentum: float
    average: float
    weight_decay: float
    max_gradient_norm: float
    root_value_share: float
    schedule: str
    schedule_steps: tuple[int, ...]
    schedule_factor: float
    cycle_peak: float
    cycle_end: float
    cycle_low: float
    cycle_last: float
    cycle_momentum: tuple[float, float]
    anneal_to: float
    anneal_iterations: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArenaSettings:
    """`config.arena`; no `games` without a gate, no `opening_plies` without random openings."""

    gate: str
    games: int
    continue_from: str
    trees: str
    opening_plies: int
    confidence: float
    width: float
    batch: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class GrowthSettings:
    """How `config.network` grows."""

    grow_at: tuple[int, ...]
    grow_to: tuple[int, ...]
    grow_by: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec:
    """Static settings of a run, in the sections of the config; what they mean is said by its keys.

    `search`, `selfplay`, `replay`, `train`, `arena` and `switches` hold fields of the keys' names.
    Sizes are the largest: `Hyper` may ask for less.

    Attributes:
      game: the rules.
      network: the Flax module, before it grows.
      growth: when it does.
      search: options of the search in self-play.
      search_key: `config.search.key`.
      num_simulations: m, of which `Hyper` may use fewer (PUCT only).
      positions: capacity of one iteration's examples, symmetric images not counted.
      num_images: K, symmetric images of a position that are learned from.
      extras: optional fields of examples, see `replay.Examples`.
      heads: heads of the network that only regularise, and the weights of their losses.
      features: of a small network that are learned; None: none.
      evaluate_at_once: positions that a search evaluates together (`ChunkedEvaluate`); 0: all.
      max_distinct_positions: positions among which distinct ones are counted.
      data_devices: devices that share the run.
    """

    game: Game
    network: nn.Module
    search: SearchOptions
    search_key: str
    num_simulations: int
    selfplay: SelfPlaySettings
    replay: ReplaySettings
    train: TrainSettings
    arena: ArenaSettings
    switches: Switches
    positions: int
    num_images: int
    extras: tuple[str, ...]
    heads: tuple[tuple[str, float], ...]
    features: Learned | None
    evaluate_at_once: int
    max_distinct_positions: int
    growth: GrowthSettings
    data_devices: int = 1

    @property
    def window_capacity(self) -> int:
        """Positions that the window has room for, without their images."""
        return self.replay.window_positions or self.replay.window * self.positions

    def simulations(self, hyper: "Hyper") -> int | jax.Array:
        """m, traced where the search can take it so."""
        return self.num_simulations if self.search.fixes_simulations else hyper.num_simulations

    @property
    def arena_search(self) -> SearchOptions:
        """Options of the search in the arena: without noise, and without what only targets need."""
        return dataclasses.replace(
            self.search, dirichlet_fraction=0.0, forced_playouts=0.0, backs_up_draws=False
        )


def differences(one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    """(name, value, the other's value) where two specs differ; a section's field as its key."""
    for name in (field.name for field in dataclasses.fields(one)):
        mine, its = getattr(one, name), getattr(other, name)
        if name in ("search", "selfplay", "replay", "train", "arena", "switches"):
            yield from ((f"{name}.{key}", a, b) for key, a, b in differences(mine, its))
        elif mine != its:
            yield name, mine, its


@struct.dataclass
class Hyper:
    """Traced settings of a run: float32 and int32 scalars, named as their keys (`_TRACED`).

    Sizes and trip counts are at most the spec's. `loss`: float32[3], coefficients of l_p, l_v and
    l_p l_v. `arena_games` is even, 0 without a gate. `numbers`: of the searches of self-play, in
    place of those of `Spec.search`; None: these. `teacher`: variables of the small network whose
    features are learned.
    """

    learning_rate: jax.Array
    dropout_rate: jax.Array
    loss: jax.Array
    c_puct: jax.Array
    num_simulations: jax.Array
    temperature_plies: jax.Array
    episodes: jax.Array
    epochs: jax.Array
    window: jax.Array
    arena_games: jax.Array
    threshold: jax.Array
    numbers: Numbers | None = None
    teacher: Any = None


_TRACED = {
    "learning_rate": "train.learning_rate",
    "dropout_rate": "train.dropout_rate",
    "c_puct": "search.c_puct",
    "num_simulations": "search.num_simulations",
    "temperature_plies": "selfplay.temperature_plies",
    "episodes": "selfplay.episodes",
    "epochs": "train.epochs",
    "window": "replay.window",
    "arena_games": "arena.games",
    "threshold": "arena.threshold",
}


def make_hyper(config: ConfigDict) -> Hyper:
    """The traced settings of one run."""
    kinds = {float: jnp.float32, int: jnp.int32}
    by_name = {key.name: key for key in config_lib.KEYS}
    traced: dict[str, Any] = {
        name: kinds[by_name[key].kind](config_lib.get(config, key)) for name, key in _TRACED.items()
    }
    if config.arena.gate == "none":
        traced["arena_games"] = jnp.int32(0)
    train = config.train
    loss = losses.coefficients(train.loss, train.loss_weight, train.value_weight)
    return Hyper(loss=jnp.asarray(loss, jnp.float32), **traced)


def capacities(config: ConfigDict) -> tuple[str, ...]:
    """The keys of `CAPACITIES` that a run's program leaves traced."""
    search, fixed = config.search, set()
    # A kept tree drops its oldest nodes when it is full, of room for so many searches.
    keeps_tree = config_lib.resolve_switches(config).keep_tree
    if search.algorithm == "gumbel" or search.loop == "mctx" or keeps_tree:
        fixed.add("search.num_simulations")
    if config.selfplay.parts > 1:  # each has as many games
        fixed.add("selfplay.episodes")
    if config.replay.minimum_games:  # the ring's size ends an iteration
        fixed.add("replay.window")
    return tuple(key for key in CAPACITIES if key not in fixed)


def with_capacity(config: ConfigDict, capacity: ConfigDict) -> ConfigDict:
    """A run's settings, with the sizes of a program that may hold larger runs.

    Raises:
      ConfigError: the run is larger than that program.
    """
    sizes = {key: config_lib.get(capacity, key) for key in capacities(config)}
    for key, most in sizes.items():
        if config_lib.get(config, key) > most:
            raise ConfigError(
                f"config.{key}={config_lib.get(config, key)}: the population has room for {most}, "
                "raise the study's own value"
            )
    sized = config.copy_and_resolve_references()
    sized.update_from_flattened_dict(sizes)
    return sized.lock()


def make_spec(config: ConfigDict, *, data_devices: int = 1) -> Spec:
    """The static settings of one run.

    Args:
      config: validated here.
      data_devices: devices that will share the run.

    Raises:
      ConfigError: in one line, for settings that cannot work together.
    """
    config_lib.validate(config)
    switches = config_lib.resolve_switches(config)
    game = components.build_game(config)
    num_images = components.count_images(game) if config.replay.images == "all" else 1
    if config.train.batch_size % data_devices:
        raise ConfigError(
            f"config.train.batch_size={config.train.batch_size}: {data_devices} devices share a "
            "run and need equal parts, choose a multiple or set config.execution.devices "
            "(CUDA_VISIBLE_DEVICES hides GPUs)"
        )
    played = config.selfplay.episodes * game.max_plies
    positions = max(1, min(played, config.replay.max_examples // num_images))
    window = config.replay.window_positions or config.replay.window * positions
    components.refuse_large_batch(config, window, num_images)
    section = config_lib.section
    return Spec(
        game=game,
        network=components.build_network(
            config, game, loops.DATA_AXIS if data_devices > 1 else None
        ),
        search=components.search_options(config, switches),
        search_key=config.search.key,
        num_simulations=config.search.num_simulations,
        selfplay=section(
            SelfPlaySettings,
            config.selfplay,
            curriculum_initial_plies=components.initial_plies(config, game),
        ),
        replay=section(ReplaySettings, config.replay),
        train=section(TrainSettings, config.train),
        arena=section(
            ArenaSettings,
            config.arena,
            games=0 if config.arena.gate == "none" else config.arena.games,
            opening_plies=config.arena.opening_plies if switches.arena_random_openings else 0,
        ),
        switches=switches,
        positions=positions,
        num_images=num_images,
        extras=components.example_extras(config),
        heads=components.weighted_heads(config),
        features=components.learned_features(config, game),
        evaluate_at_once=components.evaluate_at_once(config),
        max_distinct_positions=config.evaluation.max_distinct_positions,
        growth=section(GrowthSettings, config.network),
        data_devices=data_devices,
    )
