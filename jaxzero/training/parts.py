"""Settings -> what a run is made of: its game, its network, the options of its search."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from ml_collections import ConfigDict

from jaxzero.games import make_game
from jaxzero.games.base import Game
from jaxzero.games.playouts import mean_random_plies
from jaxzero.networks import make_network
from jaxzero.search.options import SearchOptions
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError, Switches
from jaxzero.training.curriculum import Curriculum
from jaxzero.training.schedules import Schedule

# Positions that a CPU evaluates together: as many as keep all cores busy, so that few are
# evaluated for nothing. Measured with one core and with two.
_ONE_CORE, _SEVERAL_CORES = 16, 32


def build_game(config: ConfigDict) -> Game:
    """`config.game`, its errors as one line."""
    has_own = config.game.startswith(("pgx:", "racing_kings"))
    observation = "planes" if has_own else config.observation
    try:
        return make_game(config.game, observation=observation)
    except (ValueError, ImportError) as error:
        raise ConfigError(f"config.game={config.game!r}: {error}") from error


def build_network(config: ConfigDict, game: Game, axis_name: str | None = None) -> nn.Module:
    """`config.network` for a game; batch statistics are averaged over the axis of devices."""
    settings: dict[str, Any] = {
        "value_head": config.network.value_head,
        "dtype": config.network.dtype,
        "convolution": config.network.convolution,
        "batch_norm_momentum": config.network.batch_norm_momentum,
        "axis_name": axis_name,
    }
    if config.network.name == "resnet":
        settings |= {
            "blocks": config.network.blocks,
            "filters": config.network.channels,
            "squeeze_excite": config.network.squeeze_excite,
            "reply_head": config.train.reply_weight > 0,
            "move_value_head": config.train.move_value_weight > 0,
            "style": config.network.style,
            "head_filters": config.network.head_filters,
            "value_hidden": config.network.value_hidden,
        }
    else:
        settings |= {
            "channels": config.network.channels,
            "hidden": config.network.hidden,
            "bias_before_norm": config.network.bias_before_norm,
        }
    try:
        return make_network(
            config.network.name,
            num_actions=game.num_actions,
            observation_shape=game.observation_shape,
            **settings,
        )
    except ValueError as error:
        raise ConfigError(
            f"config.network.name={config.network.name!r} on config.game={config.game!r}: {error}"
        ) from error


def search_options(config: ConfigDict, switches: Switches) -> SearchOptions:
    """`config.search` as the search takes it."""
    s = config.search
    searches = s.tree_moves if switches.keep_tree else 1
    return SearchOptions(
        algorithm=s.algorithm,
        capacity=searches * s.num_simulations + 1,
        loop=s.loop,
        unvisited_q=s.unvisited_q,
        q_scale=s.q_scale,
        exploration=s.exploration,
        renormalise_prior=s.renormalise_prior,
        dirichlet_fraction=s.dirichlet_fraction,
        dirichlet_alpha=s.dirichlet_alpha,
        dirichlet_scaling=s.dirichlet_scaling,
        ties=s.ties,
        draw_value=s.draw_value,
        draw_for_asked=switches.draw_for_asked,
        root_expansion_counts=switches.root_expansion_counts,
        forced_playouts=s.forced_playouts,
        propagate_results=s.propagate_results,
        max_considered_actions=s.max_considered_actions,
    )


def evaluate_at_once(config: ConfigDict) -> int:
    """Positions that a search evaluates together; 0: all games'.

    On a CPU evaluations take time in proportion to their number, and small batches stay in its
    cache; on an accelerator a call takes as long for few as for many.
    """
    asked = config.execution.evaluate_at_once
    if asked is None:
        if jax.default_backend() != "cpu":
            return 0
        return _ONE_CORE if devices.cores() == 1 else _SEVERAL_CORES
    return int(asked)


@functools.cache
def count_images(game: Game) -> int:
    """K, the symmetric images of a position, the identity included."""

    def images() -> jax.Array:
        return game.symmetries(game.observe(game.init()), jnp.zeros((game.num_actions,)))[1]

    return jax.eval_shape(images).shape[0]


def example_extras(config: ConfigDict) -> tuple[str, ...]:
    """Optional fields of examples that these settings need."""
    mean_results = config.replay.duplicate_weight > 0 or config.train.root_value_share > 0
    needed = {
        "draw": mean_results and config.network.value_head == "wdl",
        "reply": config.train.reply_weight > 0,
        "played": config.train.move_value_weight > 0,
    }
    return tuple(name for name, is_needed in needed.items() if is_needed)


def learning_schedule(config: ConfigDict) -> Schedule:
    """`config.train.schedule` and what belongs to it."""
    t = config.train
    return Schedule(
        kind=t.schedule,
        steps=tuple(t.schedule_steps),
        factor=t.schedule_factor,
        peak=t.cycle_peak,
        end=t.cycle_end,
        low=t.cycle_low,
        last=t.cycle_last,
        momentum=tuple(t.cycle_momentum),
        anneal_to=t.anneal_to,
        anneal_iterations=t.anneal_iterations,
    )


def curriculum_plan(config: ConfigDict) -> Curriculum | None:
    """`config.selfplay.curriculum` and what belongs to it; None without one."""
    own = config.selfplay
    if own.curriculum == "none":
        return None
    return Curriculum(
        by=own.curriculum,
        drop=own.curriculum_drop,
        epochs=tuple(own.curriculum_epochs),
        fractions=tuple(map(float, own.curriculum_fractions)),
        averaging=own.curriculum_averaging,
        level=own.curriculum_level,
        margin=own.curriculum_margin,
        least=own.curriculum_least,
    )


def initial_plies(config: ConfigDict, game: Game) -> float:
    """004 does not say what its average is before the first game: that of random games."""
    if config.selfplay.curriculum == "none":
        return 0.0
    return float(config.selfplay.curriculum_initial_plies) or mean_random_plies(game)
