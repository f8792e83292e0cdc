"""Where a simulation's time goes: each of its steps alone, in a loop over a tree that is full.

The parts add up to a little less than a simulation, in which they also pass on their results.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import mctx

from benchmarks import search, setups
from benchmarks.cases import Case, Measured
from benchmarks.search import Point
from benchmarks.timing import Effort, interleave
from jaxzero.search import core, evaluation, rules, tree
from jaxzero.training import learner
from jaxzero.training.spec import Hyper, Spec

_POINTS = {
    "cpu": [Point(rule, m, 50) for rule in ("puct", "gumbel") for m in (100, 600)],
    "gpu": [Point(rule, 100, games) for rule in ("puct", "gumbel") for games in (50, 1600)],
    "tiny": [Point("gumbel", 4, 4, "connect_four_5x5", channels=4)],
}
_TURNS = {"cpu": 10, "gpu": 50, "tiny": 2}
_FASTER = 10  # times as many turns of the steps as of the network
_EFFORT = {"cpu": Effort(60, 4.0), "gpu": Effort(30, 3.0), "tiny": Effort(1, 0.0, small=True)}


def cases(preset: str) -> Iterator[Case]:
    """A case for each point."""
    for point in _POINTS[preset]:
        hidden = {"network.hidden": (8, 8)} if preset == "tiny" else {}
        yield Case(
            search.name(point).replace("search/", "parts/"),
            {**point._asdict(), **hidden, "turns": _TURNS[preset]},
            functools.partial(_measure, point, hidden, _TURNS[preset], _EFFORT[preset]),
            guess=14.0,
            first=1,
        )


def selection(
    spec: Spec, hyper: Hyper, trees: mctx.Tree, nothing: jax.Array
) -> tuple[tree.Select, tree.Select]:
    """(rule at the root, rule below) as in `core.run`; `nothing` is 0, which no compiler knows."""
    if spec.search.algorithm == "puct":
        rule = rules.puct(hyper.c_puct + nothing, spec.search, None)
        return rule, rule
    noise = trees.extra_data.root_gumbel + nothing
    interior = functools.partial(rules.gumbel_interior, options=spec.search)
    return rules.gumbel_root(noise, spec.num_simulations, spec.search), interior


def programs(
    spec: Spec, hyper: Hyper, keys: jax.Array, leaf: tree.Leaf, new: tree.NewNode
) -> dict[str, Callable[[mctx.Tree, jax.Array], Any]]:
    """Each step as (trees, zero) -> something that depends on all it did; `zero` is float32 0."""
    game, options = spec.game, spec.search
    active = jnp.ones(keys.shape, bool)

    def descend(trees: mctx.Tree, zero: jax.Array) -> jax.Array:
        found = tree.descend(trees, *selection(spec, hyper, trees, zero), active)
        return (found.node + found.action + found.depth).sum().astype(jnp.float32)

    def rest(trees: mctx.Tree, zero: jax.Array) -> jax.Array:
        """Move, legal moves, observation, end and result, priors: all but the network."""
        states = tree.read_state(trees, leaf.node + zero.astype(jnp.int32))
        moved = jax.vmap(game.step)(states, leaf.action)

        def evaluate(observation: jax.Array) -> tuple:
            seen = observation.astype(jnp.float32).sum((1, 2, 3))
            return jnp.zeros((seen.size, game.num_actions)) + seen[:, None], seen

        position, _ = evaluation.look_at(game, evaluate, keys, moved, options)
        node = evaluation.as_node(position, options)
        parts = jax.tree.leaves((node, position.is_terminal))
        return sum((part.astype(jnp.float32).sum() for part in parts), jnp.float32(0))

    def expand(trees: mctx.Tree, zero: jax.Array) -> mctx.Tree:
        del zero
        return tree.expand(trees, leaf, new, active)

    def backup(trees: mctx.Tree, zero: jax.Array) -> mctx.Tree:
        draw = jnp.zeros(keys.shape) + zero
        return tree.backup(trees, leaf, new.value, draw, active, alternating=game.is_alternating)

    return {"descend": descend, "rules and priors": rest, "expand": expand, "backup": backup}


def repeated(step: Callable[[mctx.Tree, jax.Array], Any]) -> Callable[..., Any]:
    """(trees, turns) -> all that came of it: the step so many times, each after the last."""

    def run(trees: mctx.Tree, turns: jax.Array) -> tuple[mctx.Tree, jax.Array]:
        def body(_: jax.Array, carry: tuple) -> tuple:
            trees, total = carry
            found = step(trees, jnp.isnan(total).astype(jnp.float32))
            if isinstance(found, mctx.Tree):
                return found, total
            return trees, total + found

        return jax.lax.fori_loop(0, turns, body, (trees, jnp.float32(0)))

    return run


def _measure(
    point: Point, hidden: dict[str, Any], turns: int, effort: Effort
) -> Mapping[str, Measured]:
    spec, hyper = setups.make({**search.settings(point), **hidden})
    network = dataclasses.replace(setups.network(spec), opt_state=())
    states = setups.positions(spec.game, point.games, jax.random.key(3))
    keys = jax.random.split(jax.random.key(4), point.games)
    evaluate = learner.acting(spec, network)

    @jax.jit
    def prepare() -> tuple[mctx.Tree, tree.Leaf, tree.NewNode]:
        result = core.run(
            spec.game, evaluate, keys, states,
            options=spec.search, num_simulations=point.m, c_puct=hyper.c_puct,
        )  # fmt: skip
        active = jnp.ones(keys.shape, bool)
        rule = selection(spec, hyper, result.tree, jnp.float32(0))
        leaf = tree.descend(result.tree, *rule, active)
        seen, _ = evaluation.look_at(spec.game, evaluate, keys, states, spec.search)
        return result.tree, leaf, evaluation.as_node(seen, spec.search)

    trees, leaf, new = prepare()
    room = dataclasses.replace(trees.extra_data, size=trees.extra_data.size // 2)
    trees = dataclasses.replace(trees, extra_data=room)
    steps = {
        name: jax.jit(repeated(f)) for name, f in programs(spec, hyper, keys, leaf, new).items()
    }
    stack = setups.observations(spec.game, point.games, 4)
    bare = jax.jit(functools.partial(search.bare_network, spec))
    longer = {name: turns * (1 if name == "network" else _FASTER) for name in ("network", *steps)}
    thunks = {}
    for name, more in longer.items():
        for which, count in (("one", 1), ("more", 1 + more)):
            thunks[f"{name} {which}"] = (
                functools.partial(bare, count, network, stack)
                if name == "network"
                else functools.partial(steps[name], trees, jnp.int32(count))
            )
    times = interleave(thunks, effort)

    def seconds(name: str) -> float:  # a loop of one turn has all costs of beginning and ending
        return max(times[f"{name} more"] - times[f"{name} one"], 0.0) / longer[name]

    floor = seconds("network")
    depth = {"leaf_depth_mean": float(leaf.depth.mean()), "leaf_depth_max": int(leaf.depth.max())}
    found = {"network": Measured(value=1e6 * floor, unit="us")}
    for name in steps:
        value = 1e6 * seconds(name)
        found[name] = Measured(
            value=value,
            unit="us",
            details={"over_network": 1e-6 * value / max(floor, 1e-12), **depth},
        )
    return found
