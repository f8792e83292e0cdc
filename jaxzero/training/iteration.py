"""Algorithm 1 of Wang 2020 as one pure, compiled function: (state) -> (state, metrics).

self-play -> window -> training -> arena -> gate. Nothing in it waits for the host.
"""

from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.distinct import effective_size, hash_rows
from jaxzero.training import episodes, growth, learner, past
from jaxzero.training.game_window import GameWindow
from jaxzero.training.gate import gate
from jaxzero.training.learner import Learner
from jaxzero.training.past import Past
from jaxzero.training.position_window import PositionWindow
from jaxzero.training.replay import Examples, Source
from jaxzero.training.spec import Hyper, Spec
from jaxzero.training.windows import Batch, Held, Window

_PAST = 0x7FFFFFFF  # folded into the key of the first weights: what a run's games begin with
_RESTART = 1 << 20  # folded into the key of training, behind the numbers of its epochs


@struct.dataclass
class RunState:
    """Everything a run is, between iterations: what a checkpoint holds.

    Attributes:
      learner: the best network so far with its optimiser. A candidate exists only inside an
        iteration: it takes this place, or it is dropped (but see `latest`).
      replay, filled: what the window holds, see `windows.Held`.
      key: typed random key.
      iteration: int32, iterations done.
      best: int32, the iteration that `learner` came from; 0 is the untrained network.
      progress: what is remembered of the games so far.
      latest: the last candidate, accepted or not; None unless it is what is trained on although
        the best one plays (West 2020, Fig. 3b).
      beside: another network that learns from the same minibatches; None without one.
    """

    learner: Learner
    replay: Any
    key: jax.Array
    iteration: jax.Array
    best: jax.Array
    progress: Past
    filled: Any = ()
    latest: Learner | None = None
    beside: Learner | None = None


def window_of(spec: Spec) -> Window:
    """The window that is asked for: of positions, of games, or of iterations."""
    if spec.replay.window_positions:
        return PositionWindow(spec)
    return GameWindow(spec) if spec.replay.minimum_games else Window(spec)


def init(spec: Spec, seed: jax.Array) -> RunState:
    """A run before its first iteration. Runs with equal seeds start from equal weights."""
    key, weights_key = jax.random.split(jax.random.key(seed))
    held = window_of(spec).begin()
    first = learner.init(spec, weights_key)
    on_latest = spec.arena.games and spec.arena.continue_from == "latest"
    return RunState(
        learner=first,
        replay=held.examples,
        key=key,
        iteration=jnp.int32(0),
        best=jnp.int32(0),
        progress=past.begin(spec, jax.random.fold_in(weights_key, _PAST)),
        filled=held.filled,
        latest=first if on_latest else None,
    )


def iterate(
    spec: Spec,
    hyper: Hyper,
    state: RunState,
    heldout: tuple[Examples, jax.Array],
    *,
    restart: int = 0,
) -> tuple[RunState, dict[str, jax.Array]]:
    """One iteration of one run.

    Args:
      heldout: fixed examples [N] that no run trains on, and bool[N], which of them count.
      restart: channels of a network from random weights that is trained in place of the best one,
        which still plays; 0: none.

    Returns:
      The run after the iteration, and its metrics: float32 scalars but for `loss/*` [epochs]. The
      names are explained in `docs/metrics.md`.
    """
    key, play_key, fit_key, arena_key = jax.random.split(state.key, 4)
    iteration, best, window = state.iteration + 1, state.learner, window_of(spec)

    def play(progress: Past, key: jax.Array) -> Batch:
        done = state.iteration * hyper.epochs
        return episodes.play_batch(spec, hyper, best, progress, done, key)

    batch, held = window.take_in(
        Held(state.replay, state.filled), play, state.progress, iteration, play_key
    )
    source = window.source(held, iteration, hyper.window)
    given = (source, iteration, fit_key, batch.count)
    trained = best if state.latest is None else state.latest
    if restart:
        trained = growth.fresh(spec, restart, jax.random.fold_in(fit_key, _RESTART))
    candidate, fit_metrics = learner.fit(spec, hyper, trained, *given)
    kept = trained if state.latest is None else best
    accepted, arena_metrics = gate(spec, hyper, candidate, kept, arena_key)
    after = window.forget(held)

    is_new = jnp.arange(spec.positions) < batch.count
    unseen = learner.evaluate_losses(spec, best, batch.examples, is_new)
    unknown = learner.evaluate_losses(spec, candidate, *heldout)
    metrics = batch.metrics | fit_metrics | arena_metrics
    metrics |= {f"unseen/{name}": value for name, value in unseen.items()}
    metrics |= {f"heldout/{name}": value for name, value in unknown.items()}
    metrics["count/examples"] = (source.count * spec.num_images).astype(jnp.float32)
    metrics["replay/effective_share"] = _effective_share(spec, source)
    metrics["arena/opponent"] = state.best.astype(jnp.float32)
    beside = state.beside
    if beside is not None:
        beside, other = learner.fit(spec, hyper, beside, *given)
        metrics["growth/loss_beside"] = other["loss/minimised"][hyper.epochs - 1]
        metrics["growth/loss"] = fit_metrics["loss/minimised"][hyper.epochs - 1]
    later = RunState(
        learner=jax.tree.map(lambda new, old: jnp.where(accepted, new, old), candidate, kept),
        replay=after.examples,
        key=key,
        iteration=iteration,
        best=jnp.where(accepted, iteration, state.best),
        progress=batch.progress,
        filled=after.filled,
        latest=None if state.latest is None else candidate,
        beside=beside,
    )
    return later, metrics


def _effective_share(spec: Spec, source: Source) -> jax.Array:
    """float32: effective number of the positions in the window, as a share of all."""
    place = jnp.arange(min(spec.window_capacity, spec.max_distinct_positions))
    is_held = place < source.count
    hashes = hash_rows(source.take(place).observation)
    return effective_size(hashes, is_held) / jnp.maximum(is_held.sum(), 1)
