"""How much memory a population will need, and giving back what a process does not need any more.

The forecast is made from shapes alone: nothing is compiled or allocated. It is exact where arrays
have names (state, window, tree), an estimate where XLA decides (activations).
"""

import contextlib
import ctypes
import dataclasses
import os
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from jaxzero.games.playouts import starts
from jaxzero.networks import layers
from jaxzero.runs.flops import equations
from jaxzero.search import core
from jaxzero.training import gate, growth, iteration, learner, sharing, windows
from jaxzero.training.replay import Examples
from jaxzero.training.spec import Hyper, Spec
from jaxzero.training.trajectory import empty_record


@dataclasses.dataclass(frozen=True)
class Forecast:
    """Bytes on one device, and the keys that decide them."""

    parts: dict[str, int]  # bytes by what they are for
    checkpoint: int  # bytes of one checkpoint on disk, of the whole population

    @property
    def total(self) -> int:
        """The larger of the phases, playing and learning, with all that stays.

        Meant as an upper bound (`python -m benchmarks.forecasts`). Self-play's trees are gone when
        the arena's come.
        """
        trees = max(self.parts.get(name, 0) for name in ("trees", "arena's trees"))
        playing, learning = trees + self.parts.get("activations", 0), self.parts.get("gradients", 0)
        lasting = sum(size for name, size in self.parts.items() if name not in _PHASES)
        return lasting + max(playing, learning)


_PHASES = ("trees", "arena's trees", "activations", "gradients")
_GROUPS, _TREE = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_LIMITS = {"": "memory.max", "memory": "memory/memory.limit_in_bytes"}  # versions 2 and 1
# What to lower, by part.
KEYS = {
    "networks": "config.network.channels",
    "window": "config.replay.window or config.replay.max_examples",
    "held-out set": "config.evaluation.heldout_games",
    "trees": "config.search.num_simulations or config.selfplay.episodes",
    "arena's trees": "config.arena.games or config.search.tree_moves (wilson: config.arena.batch)",
    "games": "config.selfplay.episodes",
    "table": "config.selfplay.share_positions",
    "earlier games": "config.selfplay.seen_positions or config.selfplay.archive_positions",
    "activations": "config.network.channels or config.selfplay.episodes",
    "gradients": "config.train.batch_size or config.network.channels",
    "others": "any of these",  # never the largest
}


def size_of(tree: Any) -> int:
    """Bytes of a pytree of arrays or shapes; typed keys count as their data."""

    def size(x: Any) -> int:
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            x = jax.eval_shape(jax.random.key_data, x)
        return x.size * x.dtype.itemsize

    return sum(size(x) for x in jax.tree.leaves(tree))


def forecast(
    spec: Spec, hyper: Hyper, heldout: Any, *, members: int, together: bool, platform: str
) -> Forecast:
    """What one device will need.

    Args:
      spec: of all members; `spec.data_devices` share a run.
      hyper: of one member (shapes only).
      heldout: the held-out examples.
      members: runs on the device.
      together: they are computed at the same time (vmap), not one after another.
      platform: "cpu", "gpu" or "tpu".
    """
    spec = growth.widest(spec)
    state = jax.eval_shape(lambda: iteration.init(spec, jnp.int32(0)))
    if spec.growth.grow_at and spec.growth.grow_by == "parallel":
        state = dataclasses.replace(state, beside=state.learner)
    at_once = members if together else 1
    episodes = -(-spec.selfplay.episodes // spec.data_devices)
    lanes = -(-episodes // spec.selfplay.parts)  # games at once
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), lanes))
    states = jax.eval_shape(lambda: starts(spec.game, lanes))
    alone = dataclasses.replace(spec, data_devices=1, network=spec.network.clone(axis_name=None))
    trees = jax.eval_shape(
        lambda net, k, s: core.start(spec.game, learner.acting(alone, net), k, s, spec.search)[0],
        state.learner, keys, states,
    )  # fmt: skip
    tree = size_of(trees)
    kept = spec.switches.keep_tree
    games = jax.eval_shape(lambda: empty_record(spec.game, episodes, spec.search))
    trained = (state.learner, state.beside, state.latest)
    # Together, the best and the candidates. One after another, those given and those made lie in
    # different arrays, as windows do, and the member at work has a few copies.
    copies = 2 * members + (0 if together else 5)
    # Windows are changed in place together on an accelerator, else successors lie beside them.
    windows = members if together and platform != "cpu" else 2 * members + (not together)
    if spec.replay.duplicate_weight:
        windows += at_once  # sorted and merged beside both
    measured = max(spec.positions, jax.tree.leaves(heldout)[0].shape[0])
    searched = min(lanes, spec.evaluate_at_once or lanes)
    batch = max(searched, min(measured, learner.EVALUATION_CHUNK))
    parts = {
        "networks": size_of(trained) * copies,
        "window": size_of(state.replay) * windows,
        "held-out set": size_of(heldout),
        "trees": tree * at_once * (2 if kept else 1),  # the old one and the new
        "arena's trees": _arena_trees(spec, tree // lanes) * at_once,
        "games": 2 * size_of(games) * at_once,
        "activations": _inference_bytes(alone, state.learner, batch, platform) * at_once,
        "gradients": _training_bytes(alone, hyper, state.learner) * at_once,
    }
    if remembered := size_of(state.progress):
        parts["earlier games"] = remembered * 2 * members
    if spec.selfplay.share == "cache":
        game, own = spec.game, spec.selfplay
        row = size_of(states) // lanes + 8 * game.num_actions  # a position, visits and policy
        row += 12 * (own.parts > 1)  # what was played: hashes
        row += 8 * game.num_actions * bool(own.tree_c)  # and its visits and wins
        held = sharing.capacity(episodes, game.max_plies, own.share_positions)
        parts["table"] = row * held * at_once
    checkpoint = size_of(state) * members
    parts["others"] = Forecast(parts, checkpoint).total // 20  # small arrays, room between them
    return Forecast(parts, checkpoint)


def _arena_trees(spec: Spec, tree: int) -> int:
    """Bytes of the trees of the gate's match at once, from those of a tree of self-play.

    One player searches after the other, each in its own games. Kept trees stay for both players and
    both layouts of the games (whose turn it is, and whose it is not), those of the players who have
    just searched are written beside the old ones, and one is searched. Trees over a whole gate are
    two, a fresh one beside those and one that is searched, and all once more as the next ones are
    made.
    """
    if spec.arena.trees == "gate":
        return 2 * 4 * -(-tree * gate.growing_search(spec).capacity // spec.search.capacity)
    pairs = spec.arena.games // 2
    if spec.arena.gate == "wilson":
        pairs = min(pairs, spec.arena.batch)
    own = -(-pairs // spec.data_devices)
    return tree * own * (2 * 2 + 3 if spec.switches.keep_tree else 1)


def _inference_bytes(spec: Spec, network: Any, batch: int, platform: str) -> int:
    """Largest neighbouring arrays of one forward pass.

    A convolution as patches has them, nine values for a cell's input, shifted and put together, and
    on a CPU a few outputs wait beside them. A GPU shifts while it puts together.
    Winograd's are in 16 pieces whose sum no single step shows: the input and its sums, five values
    for a cell, some outputs, and the filters' sums, 16 values for nine (counted by XLA on a CPU).
    """
    kernels = [x for x in jax.tree.leaves(network.params) if x.ndim == 4]
    largest = max((size_of(k) for k in kernels if layers.takes_winograd(k)), default=0)
    if spec.network.convolution == "winograd" and largest:
        patches = dataclasses.replace(spec, network=spec.network.clone(convolution="patches"))
        return int(0.43 * _inference_bytes(patches, network, batch, "cpu") + 6 * largest)
    observation = jax.ShapeDtypeStruct((batch, *spec.game.observation_shape), jnp.float32)
    program = jax.make_jaxpr(lambda n, x: learner.infer(spec, n, x))(network, observation)
    step = max(map(_bytes_of_equation, equations(program.jaxpr)), default=0)
    return int((1.4 if platform == "cpu" else 0.6) * step)


def _bytes_of_equation(equation: Any) -> int:
    """Bytes in and out."""
    arrays = [v.aval for v in (*equation.invars, *equation.outvars)]
    return sum(a.size * a.dtype.itemsize for a in arrays if hasattr(a, "size"))


def _training_bytes(spec: Spec, hyper: Hyper, network: Any) -> int:
    """What the backward pass keeps of the forward pass, twice the weights and the minibatch."""
    examples = jax.eval_shape(
        lambda: windows.room(spec, spec.train.batch_size // spec.data_devices)
    )

    def residuals(params: Any, stats: Any, examples: Examples, hyper: Hyper) -> Any:
        def loss(params: Any) -> jax.Array:
            out, _ = spec.network.apply(
                {"params": params, "batch_stats": stats},
                examples.observation,
                train=True,
                dropout_rate=hyper.dropout_rate,
                rngs={"dropout": jax.random.key(0)},
                mutable=["batch_stats"],
            )
            return learner.objective(spec, hyper, out, examples)[0]

        return jax.vjp(loss, params)[1]

    kept = jax.eval_shape(residuals, network.params, network.batch_stats, examples, hyper)
    return size_of(kept) + 2 * size_of(network.params) + size_of(examples)


def capacity(devices: Sequence[Any]) -> int | None:
    """Bytes of a device's memory; None where it does not tell.

    A CPU's devices are cores, which share what `_machine` says. Of several processes each can ask
    its own devices only: the first of those counts.
    """
    own = [device for device in devices if device.process_index == jax.process_index()]
    if not own:
        return None
    if own[0].platform == "cpu":
        return _machine() // len(own)
    stats = own[0].memory_stats() or {}
    return stats.get("bytes_limit")


def _machine() -> int:
    """Bytes that this process may use: the machine's, or less by `ulimit -v` or a control group."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    limits += [n for n in resource.getrlimit(resource.RLIMIT_AS)[:1] if n != resource.RLIM_INFINITY]
    # A group's file may be missing, or say "max".
    with contextlib.suppress(OSError):
        for line in _GROUPS.read_text("utf-8").splitlines():
            _, controller, group = line.split(":", 2)
            file = _TREE / _LIMITS.get(controller, "")
            for folder in (Path(group), *Path(group).parents):
                with contextlib.suppress(OSError, ValueError):
                    place = file.parent / folder.relative_to("/") / file.name
                    limits.append(int(place.read_text("utf-8")))
    return min(limits)


def trim() -> None:
    """Gives the system back what is free: compiling a program leaves a gigabyte and more.

    Does something with the GNU C library only, which otherwise keeps it for later.
    """
    try:
        give_back = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library; Windows
        return
    give_back(0)


def in_words(predicted: Forecast, available: int | None) -> str:
    """One line for people, with the key to lower where it does not fit."""
    parts = sorted(predicted.parts.items(), key=lambda item: -item[1])
    shares = ", ".join(f"{name} {mebibytes(size)}" for name, size in parts)
    line = (
        f"predicted memory: {mebibytes(predicted.total)} per device ({shares}); "
        f"checkpoint {mebibytes(predicted.checkpoint)}"
    )
    if available is not None and predicted.total > available:
        largest = parts[0][0]
        line += (
            f"\nwarning: that is more than the device's {mebibytes(available)}: "
            f"most is {largest}, lower {KEYS[largest]}"
        )
    return line


def mebibytes(size: float) -> str:
    """e.g. `12 MiB`, `3.4 GiB`."""
    if size >= 2**30:
        return f"{size / 2**30:.1f} GiB"
    return f"{size / 2**20:.0f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"
