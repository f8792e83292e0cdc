"""The round robin of a hyper-parameter study: the networks of all settings, and a random player."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from ml_collections import ConfigDict

from experiments.hyperparameters import group_training
from experiments.hyperparameters.group_training import Place
from experiments.hyperparameters.setting_study import Player
from experiments.strength import opponents, pool
from experiments.strength.contestants import network_players
from experiments.strength.opponents import Entry
from jaxzero import runs
from jaxzero.matches.arena import Match
from jaxzero.matches.round_robin import compile_round_robin
from jaxzero.matches.tournament import Tournament
from jaxzero.training import iteration
from jaxzero.training import spec as spec_lib


class RoundRobin:
    """All players of a study, compiled once for any numbers of simulations.

    Attributes:
      entries: the networks in the order given, the untrained ones of the seeds if asked for, the
        random player.
    """

    def __init__(
        self,
        config: ConfigDict,
        players: Sequence[Player],
        found: Mapping[str, Place],
        *,
        untrained: Sequence[int] = (),
        most: int,
    ) -> None:
        """Loads the networks.

        Args:
          config: the study's; `study.tournament_games`, c and the search are its own.
          players: trained settings.
          found: of `group_training.places`.
          untrained: seeds whose untrained networks play too.
          most: the largest number of simulations.
        """
        self._config, self._spec, self._most = config, spec_lib.make_spec(config), most
        networks = group_training.networks([(p.training, p.iterations) for p in players], found)
        self.entries = [
            Entry(p.name, "trained", p.setting, p.seed, iteration=p.iterations) for p in players
        ]
        if untrained:
            seeds = jnp.array(untrained, jnp.int32)
            start = jax.jit(jax.vmap(lambda seed: iteration.init(self._spec, seed).learner))
            fresh = runs.without_optimiser(start(seeds))
            networks = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), networks, fresh)
            self.entries += [Entry(f"untrained_seed{s}", "untrained", None, s) for s in untrained]
        self._networks, self._count = networks, len(self.entries)
        others, self._others = opponents.build(self._spec.game, ("random",))
        self.entries += others
        self._program: Callable[..., Match] | None = None

    def play(self, simulations: Sequence[int], key: Any, title: str | None = None) -> Tournament:
        """Everyone against everyone, temperature 0.

        Args:
          simulations: m of each network.
          key: consumed.
          title: of a bar.
        """
        networks = network_players(
            self._spec,
            self._networks,
            simulations,
            [self._config.search.c_puct] * self._count,
            tree_moves=self._config.search.tree_moves,
            most=self._most,
        )
        kinds = [networks, *self._others]
        if self._program is None or self._spec.search.fixes_simulations:
            self._program = compile_round_robin(
                self._spec.game,
                kinds,
                games_per_direction=self._config.study.tournament_games // 2,
                opening_plies=self._spec.opening_plies,
                draw_for_asked=self._spec.search.draw_for_asked,
            )
        match = self._program([players.params for players in kinds], key, title)
        published = self._spec.switches.elo_first_listed_advantage
        return pool.rate(match, len(self.entries), published=published)
