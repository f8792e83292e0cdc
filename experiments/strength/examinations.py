"""One network examined again and again while it trains: games against fixed opponents, solutions.

All examinations of a run are alike: the same openings, positions and search, compiled once.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from ml_collections import ConfigDict
from tqdm import tqdm

from experiments.strength import opponents
from jaxzero import solvers
from jaxzero.games import Game
from jaxzero.matches.ladder import Ladder
from jaxzero.runs import network_players
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Labelled
from jaxzero.training import learner
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Spec

_EARLY = 4  # stones on the earliest positions where all can be solved
OPENINGS = 2  # random plies before each colour-swapped pair of games
Record = dict[str, Any]  # of one examination, see `Examiner.__call__`
Records = dict[int, Record]  # by iteration, ascending


def check(config: ConfigDict, game: Game) -> None:
    """Refuses opponents that there are not, and positions that cannot be solved (ConfigError)."""
    opponents.check(config.study.opponents, "config.study.opponents", game.name)
    if not config.study.opponents:
        raise ConfigError("config.study.opponents=(): name at least one, e.g. random")
    if config.study.positions:
        try:
            solvers.solver_of(game)
        except ConfigError as error:
            raise ConfigError(
                f"config.study.positions={config.study.positions}: {error}, or set it to 0"
            ) from error


def solved_positions(game: Game, count: int, seed: int) -> Labelled:
    """Positions of random games with their solutions.

    On the usual Connect Four board they are of all stages where the extra `solver` is installed.
    """
    plies = solvers.default_plies(game)
    solver = solvers.solver_from(game, _EARLY)
    if solver is not None:
        plies = range(min(_EARLY, plies.start), plies.stop)
    states = solvers.sample(game, positions=count, plies=plies, seed=seed)
    return solvers.label(game, states, solver=solver)


def kept_positions(path: Path, game: Game, count: int, seed: int) -> Labelled | None:
    """`solved_positions`, kept in a file; None for a count of 0."""
    if not count:
        return None
    asked = {"positions": count, "seed": seed}
    return solvers.kept(path, game, asked, lambda: solved_positions(game, count, seed))


class Examiner:
    """Examines networks of one run."""

    def __init__(self, spec: Spec, config: ConfigDict) -> None:
        """Compiles nothing yet."""
        self._spec, self._config = spec, config
        self._simulations = config.study.simulations or config.search.num_simulations
        entries, self._references = opponents.build(spec.game, config.study.opponents)
        self._names = [entry.name for entry in entries]
        self._ladder: Ladder | None = None
        self._answer = jax.jit(self._answers)

    def __call__(
        self, network: Learner, labelled: Labelled | None, *, games: int, seed: int
    ) -> Record:
        """Examines one network.

        Args:
          network: leaves [1, ...].
          labelled: solved positions, or None.
          games: against each opponent, at least; `config.study.games` at a time.
          seed: of openings and chance.

        Returns:
          `points` against each opponent (won games and half of the drawn ones, as a share),
          `games` that were distinct, `seconds`; with positions `value_error` (mean squared),
          `constant_error`, that of the best constant, and `recalibrated_error` (see
          `solvers.accuracy.recalibrated_error`), and where some move gives away result
          `network` and `search` (share of moves that keep it) and `best_moves` (share that are
          best, with search).
        """
        started = time.monotonic()
        found = self._play(network, games, seed)
        if labelled is not None:
            found |= self._ask(network, labelled, seed)
        return found | {"seconds": time.monotonic() - started}

    def _play(self, network: Learner, games: int, seed: int) -> Record:
        at_once = self._config.study.games
        players = network_players(
            self._spec,
            network,
            [self._simulations],
            [self._config.search.c_puct],
            tree_moves=self._config.search.tree_moves,
        )
        if self._ladder is None:
            self._ladder = Ladder(
                self._spec.game,
                players,
                self._references,
                games_per_direction=at_once // 2,
                opening_plies=OPENINGS,
                at_once=at_once // 2,
                references_meet=False,
            )
        keys = jax.random.split(jax.random.key(seed), -(-games // at_once))
        bar = tqdm(disable=True)
        earlier: list[set[bytes]] = [set() for _ in self._ladder.pairs]
        rows = np.concatenate(
            [self._ladder.play(players.params, key, bar, earlier) for key in keys]
        )
        points, counted = {}, {}
        for number, name in enumerate(self._names, start=1):
            first = rows[rows[:, 1] == number][:, 2:].sum(axis=0)
            second = rows[rows[:, 0] == number][:, 2:].sum(axis=0)
            won, drawn, lost = first + second[::-1]
            counted[name] = int(won + drawn + lost)
            points[name] = float((won + drawn / 2) / counted[name])
        return {"points": points, "games": counted}

    def _ask(self, network: Learner, labelled: Labelled, seed: int) -> Record:
        one = jax.tree.map(lambda x: jnp.asarray(x[0]), network)
        keys = jax.random.split(jax.random.key(seed), len(labelled.plies))
        answered = self._answer(one, labelled.states, keys)
        alone, values, searched = map(np.asarray, answered)
        accuracy = solvers.value_accuracy(labelled, values)["all"]
        found = {
            "value_error": accuracy["mse"],
            "constant_error": accuracy["constant_mse"],
            "recalibrated_error": accuracy["recalibrated"],
        }
        if not labelled.contested.any():
            return found
        by_network, by_search = (
            solvers.move_accuracy(labelled, solvers.certain(labelled, actions))["contested"]
            for actions in (alone, searched)
        )
        return found | {
            "contested": int(labelled.contested.sum()),
            "network": by_network["weak"],
            "search": by_search["weak"],
            "best_moves": by_search["strong"],
        }

    def _answers(self, network: Learner, states: Any, keys: jax.Array) -> tuple:
        """(actions alone, values, actions with search), each [N]; traced."""
        game, evaluate = self._spec.game, learner.acting(self._spec, network)
        search = solvers.with_search(
            game,
            evaluate,
            self._spec.arena_search,
            num_simulations=self._simulations,
            c_puct=self._config.search.c_puct,
        )
        alone = solvers.network_alone(game, evaluate)(states, keys)[0]
        values = evaluate(jax.vmap(game.observe)(states))[1]
        return alone, values, search(states, keys)[0]


def main_number(record: Mapping[str, Any]) -> float:
    """What the best network is chosen by: solved positions kept with search, else mean points."""
    return float(record.get("search", np.mean(list(record["points"].values()))))


def best(records: Records) -> int:
    """The iteration of the newest trained network within a standard error of the best one.

    The best of many examinations is often the luckiest.
    """
    trained = [i for i in records if i or len(records) == 1]
    top = max(trained, key=lambda i: main_number(records[i]))
    level = main_number(records[top]) - standard_error(records[top])
    return max(i for i in trained if main_number(records[i]) >= level)


def standard_error(record: Mapping[str, Any]) -> float:
    """Of `main_number`, at most: games may be drawn."""
    if "search" in record:
        shares, counts = np.array([record["search"]]), np.array([record["contested"]])
    else:  # a mean over opponents, who may have unlike numbers of distinct games
        shares = np.array([*record["points"].values()])
        counts = np.array([record["games"][name] for name in record["points"]])
    return float(np.sqrt((shares * (1 - shares) / counts).sum()) / len(shares))


def has_ended(records: Records, patience: int) -> bool:
    """Whether the newest `patience` examinations of trained networks have found nothing better."""
    numbers = [main_number(records[i]) for i in records if i]
    return 0 < patience < len(numbers) and max(numbers[-patience:]) <= max(numbers[:-patience])
