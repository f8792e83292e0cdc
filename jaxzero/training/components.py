"""Settings -> what a run is made of: its game, its network, the options of its search."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from flax import linen as nn
from ml_collections import ConfigDict

from jaxzero.games import make_game
from jaxzero.games.base import Game
from jaxzero.games.playouts import mean_random_plies
from jaxzero.networks import NETWORKS, dtypes, make_network
from jaxzero.search.options import SearchOptions
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError, Switches, section
from jaxzero.settings.features import FEATURES, Learned
from jaxzero.training import features, losses

# Positions that a CPU evaluates together: as many as keep all cores busy, so that few are
# evaluated for nothing. Measured with one core and with two.
_ONE_CORE, _SEVERAL_CORES = 16, 32
_TRITON_CAPABILITY = 8.0  # NVIDIA GPUs before Ampere are refused by the compiler of kernels


def build_game(config: ConfigDict) -> Game:
    """`config.game`, its errors as one line."""
    has_own = config.game.startswith(("pgx:", "racing_kings"))
    observation = "planes" if has_own else config.observation
    try:
        return make_game(config.game, observation=observation)
    except (ValueError, ImportError) as error:
        key = "observation" if repr(observation) in str(error) else "game"
        raise ConfigError(f"config.{key}={config[key]!r}: {error}") from error


def build_network(config: ConfigDict, game: Game, axis_name: str | None = None) -> nn.Module:
    """`config.network` for a game; batch statistics are averaged over the axis of devices."""
    kind, own = NETWORKS[config.network.name], config.network
    names = {field.name for field in dataclasses.fields(kind)}
    settings = {name: value for name, value in own.items() if name in names - {"name"}}
    if own.name == "resnet":
        del settings["bias_before_norm"]  # the convnet's; here the style decides
        settings["filters"] = own.channels
        settings |= dict.fromkeys(dict(weighted_heads(config)), True)
        settings |= features.exposing(learned_features(config, game))
    try:
        return make_network(
            config.network.name,
            num_actions=game.num_actions,
            observation_shape=game.observation_shape,
            axis_name=axis_name,
            **settings,
        )
    except ValueError as error:
        raise ConfigError(
            f"config.network.name={config.network.name!r} on config.game={config.game!r}: {error}"
        ) from error


def compiles_kernels() -> bool:
    """Whether `execution.tree_steps=kernels` is compiled here; a CPU interprets it."""
    if jax.default_backend() != "gpu":
        return False
    return not 0 < dtypes.gpu_capability() < _TRITON_CAPABILITY  # another maker's says nothing


def search_options(config: ConfigDict, switches: Switches) -> SearchOptions:
    """`config.search` as the search takes it, which refuses what does not go together."""
    wants_kernels = config.execution.tree_steps == "kernels" and jax.default_backend() != "cpu"
    if wants_kernels and not compiles_kernels():
        raise ConfigError(
            "config.execution.tree_steps='kernels': needs a GPU, of NVIDIA's one from Ampere on "
            f"(A100, L4, H100), this machine shows {devices.describe()}, set it to 'loops'"
        )
    searches = config.search.tree_moves if switches.keep_tree else 1
    try:
        return section(
            SearchOptions,
            config.search,
            capacity=searches * config.search.num_simulations + 1,
            tree_steps=config.execution.tree_steps,
            backs_up_draws=learns_draws_of_searches(config),
            draw_for_asked=switches.draw_for_asked,
            root_expansion_counts=switches.root_expansion_counts,
        )
    except ValueError as error:
        raise ConfigError(f"config.{error}") from error


def learns_draws_of_searches(config: ConfigDict) -> bool:
    """Whether the search's share of the value target must tell wins, draws and losses."""
    return config.train.root_value_share > 0 and config.network.value_head == "wdl"


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
    no_results = (  # value targets that do not tell won, drawn and lost
        config.replay.duplicate_weight > 0
        or config.train.root_value_share > 0
        or config.search.discount < 1
    )
    draw = no_results and config.network.value_head == "wdl"
    heads = [losses.HEADS[name] for name, _ in weighted_heads(config)]
    return (("draw",) if draw else ()) + tuple(name for head in heads for name in head.targets)


def learned_features(config: ConfigDict, game: Game) -> Learned | None:
    """Features of a small network that are learned, of games that have them."""
    if not config.train.feature_weight:
        return None
    wanted = FEATURES[config.train.features]
    if wanted.later and not game.is_alternating:
        raise ConfigError(
            f"config.train.features={config.train.features!r}: in {game.name} a player's next "
            "position may be any number of plies away, choose those of the position itself (0)"
        )
    own = config.train
    return Learned(wanted, own.feature_weight, own.teacher_blocks, own.teacher_channels)


def weighted_heads(config: ConfigDict) -> tuple[tuple[str, float], ...]:
    """Heads that only regularise, of those that have one, and the weights of their losses."""
    weights = ((name, config.train[head.weight]) for name, head in losses.HEADS.items())
    return tuple((name, weight) for name, weight in weights if weight > 0)


def initial_plies(config: ConfigDict, game: Game) -> float:
    """West 2020 does not say what its average is before the first game: that of random games."""
    if config.selfplay.curriculum == "none":
        return 0.0
    return float(config.selfplay.curriculum_initial_plies) or mean_random_plies(game)


def refuse_large_batch(config: ConfigDict, positions: int, num_images: int) -> None:
    """A minibatch that a full window could never fill is a mistake, not a small epoch."""
    if config.train.batch_size > positions * num_images:
        remedy = "config.selfplay.episodes, config.replay.window or config.replay.max_examples"
        if config.replay.window_positions:
            remedy = "config.replay.window_positions"
        raise ConfigError(
            f"config.train.batch_size={config.train.batch_size}: the window never holds more than "
            f"{positions * num_images} examples ({positions} positions, {num_images} images of "
            f"each), choose at most that or raise {remedy}"
        )
