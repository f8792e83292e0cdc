"""A run's settings in the two forms that compiled code needs.

`Spec` is static: whatever decides shapes or code. Runs with equal specs share one compilation and
can be members of one population. `Hyper` is traced: numbers that may differ between members.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from flax import struct
from ml_collections import ConfigDict

from jaxzero import loops
from jaxzero.games.base import Game
from jaxzero.matches.wilson import Rule
from jaxzero.search.options import SearchOptions
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError, Switches
from jaxzero.training import losses, parts
from jaxzero.training.curriculum import Curriculum
from jaxzero.training.game_window import Filling
from jaxzero.training.schedules import CONSTANT, Schedule
from jaxzero.training.selfplay import NO_CAPS, PlayoutCaps

# Keys that only bound arrays and trip counts: a run with smaller values fits where larger ones do.
CAPACITIES = (
    "search.num_simulations",
    "selfplay.episodes",
    "replay.window",
    "train.epochs",
    "arena.games",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec:
    """Static settings of a run.

    Attributes:
      game: the rules.
      network: the Flax module.
      search: options of the search in self-play.
      arena_search: the same without noise.
      num_simulations: m, of which `Hyper` may use fewer (PUCT only).
      episodes: E, games of an iteration, at most.
      window: rs, iterations kept, at most.
      positions: capacity of one iteration's examples, symmetric images not counted.
      num_images: K, symmetric images of a position.
      epochs: ep, at most.
      batch_size: bs, over all devices.
      arena_games: n, at most; 0 without a gate.
      curriculum: which part of a game is learned from; None: all of it.
      initial_plies: a game's average length before the first game; with a curriculum.
      drop_draws: share of the drawn games that is not learned from.
      filling: how many games the window holds; None: the last `window` iterations'.
      gate_rule: when a gate's match stops; None: after n games, with a threshold.
      gate_batch: pairs of games that such a match plays at once.
      opening_plies: random plies before each colour-swapped pair; 0 for none.
      legal_softmax, sampling, measure, optimizer, momentum, weight_decay, max_gradient_norm: of
        training, see `default_config`.
      max_distinct_positions: positions among which distinct ones are counted.
      switches: published or corrected.
      data_devices: devices that share the run.
      extras: optional fields of examples, see `replay.Examples`.
      images: which symmetric images are learned from, "all" or "none" but the position itself.
      reply_weight, move_value_weight: of the losses of those heads; 0: there is no such head.
      root_value_share: of the search's value in the value target.
      schedule: of learning rate and momentum.
      window_positions: size of a window counted in positions; 0: counted in iterations.
      window_start, window_grows, duplicate_weight: see `position_window`.
      caps: fast searches in self-play.
      evaluate_at_once: positions that a search evaluates together, see `search.ChunkedEvaluate`;
        0: all games'.
    """

    game: Game
    network: nn.Module
    search: SearchOptions
    arena_search: SearchOptions
    num_simulations: int
    episodes: int
    window: int
    positions: int
    num_images: int
    epochs: int
    batch_size: int
    arena_games: int
    opening_plies: int
    legal_softmax: bool
    sampling: str
    measure: str
    optimizer: str
    momentum: float
    weight_decay: float
    max_gradient_norm: float
    max_distinct_positions: int
    switches: Switches
    data_devices: int = 1
    extras: tuple[str, ...] = ()
    reply_weight: float = 0.0
    move_value_weight: float = 0.0
    root_value_share: float = 0.0
    schedule: Schedule = CONSTANT
    window_positions: int = 0
    window_start: int = 0
    window_grows: tuple[int, int] = (5, 12)
    duplicate_weight: float = 0.0
    caps: PlayoutCaps = NO_CAPS
    evaluate_at_once: int = 0
    curriculum: Curriculum | None = None
    initial_plies: float = 0.0
    drop_draws: float = 0.0
    filling: Filling | None = None
    gate_rule: Rule | None = None
    gate_batch: int = 1


@struct.dataclass
class Hyper:
    """Traced settings of a run, scalars; letters of 000 in brackets.

    Attributes:
      learning_rate: [lr].
      dropout_rate: [d].
      loss: float32[3], coefficients of l_p, l_v and l_p l_v.
      c_puct: [c].
      num_simulations: [m], at most the spec's.
      temperature_plies: [T'].
      episodes: [E], at most the spec's.
      epochs: [ep], at most the spec's.
      window: [rs], at most the spec's.
      arena_games: [n], even, at most the spec's.
      threshold: [u].
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


def make_hyper(config: ConfigDict) -> Hyper:
    """The traced settings of one run."""
    gated = config.arena.gate != "none"
    return Hyper(
        learning_rate=jnp.float32(config.train.learning_rate),
        dropout_rate=jnp.float32(config.train.dropout_rate),
        loss=jnp.asarray(
            losses.coefficients(
                config.train.loss, config.train.loss_weight, config.train.value_weight
            ),
            jnp.float32,
        ),
        c_puct=jnp.float32(config.search.c_puct),
        num_simulations=jnp.int32(config.search.num_simulations),
        temperature_plies=jnp.int32(config.selfplay.temperature_plies),
        episodes=jnp.int32(config.selfplay.episodes),
        epochs=jnp.int32(config.train.epochs),
        window=jnp.int32(config.replay.window),
        arena_games=jnp.int32(config.arena.games if gated else 0),
        threshold=jnp.float32(config.arena.threshold),
    )


def capacities(config: ConfigDict) -> tuple[str, ...]:
    """The keys of `CAPACITIES` that a run's program leaves traced (some searches fix m)."""
    fixed = config.search.algorithm == "gumbel" or config.search.loop == "mctx"
    return tuple(key for key in CAPACITIES if not (fixed and key == "search.num_simulations"))


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
    game = parts.build_game(config)
    num_images = parts.count_images(game) if config.replay.images == "all" else 1
    gated = config.arena.gate != "none"
    if config.train.batch_size % data_devices:
        raise ConfigError(
            f"config.train.batch_size={config.train.batch_size}: {data_devices} devices share a "
            "run and need equal parts, choose a multiple or set config.execution.devices"
        )
    search = parts.search_options(config, switches)
    positions = max(
        1,
        min(
            config.selfplay.episodes * game.max_plies,
            config.replay.max_examples // num_images,
        ),
    )
    window = config.replay.window_positions or config.replay.window * positions
    _refuse_large_batch(config, window, num_images)
    return Spec(
        game=game,
        network=parts.build_network(config, game, loops.DATA_AXIS if data_devices > 1 else None),
        search=search,
        arena_search=dataclasses.replace(search, dirichlet_fraction=0.0, forced_playouts=0.0),
        num_simulations=config.search.num_simulations,
        episodes=config.selfplay.episodes,
        window=config.replay.window,
        positions=positions,
        num_images=num_images,
        epochs=config.train.epochs,
        batch_size=config.train.batch_size,
        arena_games=config.arena.games if gated else 0,
        opening_plies=config.arena.opening_plies if switches.arena_random_openings else 0,
        legal_softmax=config.train.policy_softmax == "legal",
        sampling=config.train.sampling,
        measure=config.train.measure,
        optimizer=config.train.optimizer,
        momentum=config.train.momentum,
        weight_decay=config.train.weight_decay,
        max_gradient_norm=config.train.max_gradient_norm,
        max_distinct_positions=config.evaluation.max_distinct_positions,
        switches=switches,
        data_devices=data_devices,
        extras=parts.example_extras(config),
        reply_weight=config.train.reply_weight,
        move_value_weight=config.train.move_value_weight,
        root_value_share=config.train.root_value_share,
        schedule=parts.learning_schedule(config),
        window_positions=config.replay.window_positions,
        window_start=config.replay.window_start,
        window_grows=tuple(config.replay.window_grows),
        duplicate_weight=config.replay.duplicate_weight,
        caps=PlayoutCaps(
            config.selfplay.fast_share,
            config.selfplay.fast_simulations,
            config.selfplay.fast_noise,
        ),
        curriculum=parts.curriculum_plan(config),
        initial_plies=parts.initial_plies(config, game),
        drop_draws=config.selfplay.drop_draws,
        filling=(
            Filling(tuple(config.replay.minimum_games), config.replay.leaving)
            if config.replay.minimum_games
            else None
        ),
        gate_rule=(
            Rule(config.arena.confidence, config.arena.width)
            if config.arena.gate == "wilson"
            else None
        ),
        gate_batch=config.arena.batch,
        evaluate_at_once=parts.evaluate_at_once(config),
    )


def _refuse_large_batch(config: ConfigDict, positions: int, num_images: int) -> None:
    """A minibatch that a full window could never fill is a mistake, not a small epoch."""
    if config.train.batch_size > positions * num_images:
        raise ConfigError(
            f"config.train.batch_size={config.train.batch_size}: the window never holds more than "
            f"{positions * num_images} examples ({positions} positions, {num_images} images of "
            "each), choose at most that or raise config.selfplay.episodes, config.replay.window "
            "or config.replay.max_examples"
        )


def make_optimizer(
    spec: Spec, momentum: jax.Array | float | None = None
) -> optax.GradientTransformation:
    """Everything but the learning rate, which is traced and multiplied in by the learner.

    `momentum` may be traced; the spec's by default.

    Adam as in TensorFlow 1 (b1 0.9, b2 0.999, eps 1e-8: 000's program), or SGD with momentum.
    """
    chain = []
    if spec.max_gradient_norm > 0:
        chain.append(optax.clip_by_global_norm(spec.max_gradient_norm))
    if spec.weight_decay > 0:
        chain.append(optax.add_decayed_weights(spec.weight_decay))
    if spec.optimizer == "adam":
        chain.append(optax.scale_by_adam(b1=0.9, b2=0.999, eps=1e-8))
    else:
        decay: Any = spec.momentum if momentum is None else momentum
        chain.append(optax.trace(decay=decay))
    return optax.chain(*chain)
