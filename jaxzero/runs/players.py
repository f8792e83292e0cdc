"""Networks of runs as players of a match."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxzero.players import Players, Searcher, search_players
from jaxzero.runs.opened import Run, member_network
from jaxzero.settings.config import ConfigError
from jaxzero.training import learner
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Spec


def network_players(
    spec: Spec,
    networks: Learner,
    simulations: Sequence[int],
    c_puct: Sequence[float],
    *,
    tree_moves: int,
    most: int | None = None,
) -> Players:
    """Networks [P] who search at temperature 0, with the options of their run's arena.

    Args:
      networks: leaves [P, ...].
      simulations: m of each; with Gumbel search the same for all.
      c_puct: c of each.
      tree_moves: searches that a kept tree has room for.
      most: the largest m that the players will be given, by default of `simulations`.
    """
    most = most or max(simulations)
    searches = tree_moves if spec.switches.keep_tree else 1
    return search_players(
        spec.game,
        lambda network: learner.acting(spec, network),
        Searcher(networks, jnp.array(simulations, jnp.int32), jnp.array(c_puct, jnp.float32)),
        dataclasses.replace(spec.arena_search, capacity=searches * most + 1),
        keep_tree=spec.switches.keep_tree,
        fixed_simulations=simulations[0] if spec.search.fixes_simulations else None,
    )


def player_of(run: Run, simulations: int | None = None) -> Players:
    """The newest network of a run's first member, as the one player of its kind.

    Args:
      run: opened.
      simulations: a move; the run's own by default.
    """
    config = run.members[0].config
    least = 2 if run.spec.search.root_expansion_counts else 1  # the first visits nothing
    if simulations is not None and simulations < least:
        raise ConfigError(f"simulations={simulations}: a search of this run needs at least {least}")
    return network_players(
        run.spec,
        jax.tree.map(lambda x: x[None], member_network(run, 0)),
        [simulations or config.search.num_simulations],
        [config.search.c_puct],
        tree_moves=config.search.tree_moves,
    )
