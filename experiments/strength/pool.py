"""The final pool of a study: trained and untrained networks, plain MCTS and a random player."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from ml_collections import ConfigDict

from experiments.strength import opponents, tournament_files
from experiments.strength.opponents import Entry
from jaxzero.matches import tournament
from jaxzero.matches.arena import Match
from jaxzero.matches.round_robin import compile_round_robin
from jaxzero.matches.tournament import Tournament
from jaxzero.runs import Member, network_players, without_optimiser
from jaxzero.runs.runner import Trained
from jaxzero.training import iteration
from jaxzero.training.spec import Spec


def final_networks(trained: Trained, members: Sequence[Member]) -> tuple[list[Entry], Any]:
    """The final networks, then the untrained one of each seed: entries and learners [P].

    Runs that failed are left out.
    """
    spec = trained.spec
    seeds = sorted({m.seed for m in members})
    going = [i for i, m in enumerate(members) if m.name not in trained.failed]
    entries = [Entry(members[i].name, "trained", members[i].target, members[i].seed) for i in going]
    finals = without_optimiser(trained.states.learner)
    if going != list(range(len(members))):
        index = jnp.array(going)
        finals = jax.tree.map(lambda x: x[index], finals)
    return with_untrained(spec, entries, finals, seeds)


def with_untrained(
    spec: Spec, entries: Sequence[Entry], networks: Any, seeds: Sequence[int]
) -> tuple[list[Entry], Any]:
    """Networks [P], and the untrained ones of S seeds behind them: entries and learners [P + S]."""
    start = jax.jit(jax.vmap(lambda seed: iteration.init(spec, seed).learner))
    untrained = without_optimiser(start(jnp.array(seeds, jnp.int32)))
    more = [Entry(f"untrained_seed{seed}", "untrained", None, seed) for seed in seeds]
    return [*entries, *more], jax.tree.map(
        lambda a, b: jnp.concatenate([a, b]), networks, untrained
    )


class Pool:
    """Networks of a study and opponents that never learn; plays at any numbers of simulations."""

    def __init__(
        self,
        config: ConfigDict,
        spec: Spec,
        entries: Sequence[Entry],
        networks: Any,
        others: Sequence[str],
        *,
        most: int,
    ) -> None:
        """Builds the players; nothing is compiled yet.

        Args:
          config: the study's; `study.tournament_games`, c and the search are its own.
          entries, networks: [P].
          most: the largest number of simulations.
        """
        self._config, self.spec, self._networks, self._most = config, spec, networks, most
        found, self._opponents = opponents.build(spec.game, others)
        self._count = len(entries)
        self.entries = [*entries, *found]
        self._programs: dict[tuple[int, ...], Callable[..., Match]] = {}

    def one_model_per_target(self) -> "Pool":
        """The same players, but all trained ones of a target are its last one (as published)."""
        entries = self.entries[: self._count]
        last = {entry.target: i for i, entry in enumerate(entries) if entry.kind == "trained"}
        index = jnp.array([last.get(entry.target, i) for i, entry in enumerate(entries)])
        other = copy.copy(self)  # shares the compiled programs
        other._networks = jax.tree.map(lambda x: x[index], self._networks)
        return other

    def match(self, simulations: Sequence[int], key: Any, title: str | None = None) -> Match:
        """Everyone against everyone, temperature 0, m of each network; the key is consumed.

        `title`: of a bar; None: no bar.
        """
        networks = network_players(
            self.spec,
            self._networks,
            simulations,
            [self._config.search.c_puct] * self._count,
            tree_moves=self._config.search.tree_moves,
            most=self._most,
        )
        kinds = [networks, *self._opponents]
        # Sequential halving, and mctx's loop, are compiled for their m; else one program takes any.
        static = tuple(simulations) if self.spec.search.fixes_simulations else ()
        if static not in self._programs:
            self._programs[static] = compile_round_robin(
                self.spec.game,
                kinds,
                games_per_direction=self._config.study.tournament_games // 2,
                opening_plies=self.spec.arena.opening_plies,
                draw_for_asked=self.spec.search.draw_for_asked,
            )
        return self._programs[static]([players.params for players in kinds], key, title)

    def play(self, simulations: Sequence[int], key: Any, title: str | None = None) -> Tournament:
        """A match, rated."""
        published = self.spec.switches.elo_first_listed_advantage
        return rate(self.match(simulations, key, title), self.entries, published=published)

    def entry(self, played: Tournament, name: str, title: str, m: int | None) -> dict[str, Any]:
        """A tournament of this pool in results.json; `m`: None where each network has its own."""
        return tournament_files.entry(
            played,
            self.entries,
            name=name,
            title=title,
            num_simulations=m,
            games_per_pair=self._config.study.tournament_games,
        )


def of_trained(config: ConfigDict, trained: Trained, members: Sequence[Member]) -> Pool:
    """All networks of a loss study, one rollout player and a random one."""
    study = config.study
    return Pool(
        config,
        trained.spec,
        *final_networks(trained, members),
        (f"mcts_{study.rollout_simulations}", "random"),
        most=max(study.tournament_simulations, study.low_simulations),
    )


def rate(match: Match, players: Sequence[Entry], *, published: bool) -> Tournament:
    """Rated with the mover's advantage and the draw rate fitted, or as published."""
    terms = opponents.terms(players, as_published=published)
    return tournament.rate(match, len(players), **terms)


def contrast(played: Tournament, plus: Sequence[int], minus: Sequence[int]) -> tuple[float, float]:
    """(mean Elo of some players less the mean of others, its standard error from the games)."""
    weights = np.zeros(len(played.ratings.elo))
    weights[list(plus)] += 1 / len(plus)
    weights[list(minus)] -= 1 / len(minus)
    variance = weights @ played.ratings.covariance @ weights
    return float(weights @ played.ratings.elo), float(np.sqrt(max(float(variance), 0.0)))


def score(results: np.ndarray, ours: Sequence[int], theirs: Sequence[int]) -> tuple[float, float]:
    """(share of the points in direct games, its standard error), draws half a point."""
    points = np.zeros(3)  # wins, draws, losses
    for first, second, *counts in results.tolist():
        if first in ours and second in theirs:
            points += counts
        elif second in ours and first in theirs:
            points += counts[::-1]
    games = points.sum()
    share: np.ndarray = points / max(games, 1)
    mean = share[0] + share[1] / 2
    variance = float((share * (np.array([1, 0.5, 0]) - mean) ** 2).sum())
    return float(mean), float(np.sqrt(variance / max(games, 1)))


def checks(
    members: Sequence[Member],
    rows: Sequence[dict[str, Any]],
    tournaments: dict[str, Tournament],
    entries: Sequence[Entry],
) -> list[dict[str, Any]]:
    """Whether the runs learned at all, in numbers that luck would not give.

    Losses are of runs that have metrics and are among the players: those that did not fail.
    """
    playing = {entry.name for entry in entries}
    by_kind = {kind: [i for i, e in enumerate(entries) if e.kind == kind] for kind in
               ("trained", "untrained", "random", "rollouts")}  # fmt: skip
    learners = [
        i for i, e in enumerate(entries)
        if e.kind == "trained" and e.target in ("value", "sum", "product")
    ]  # fmt: skip
    who = "l_v, l_+ and l_x" if learners else "trained networks"
    learners = learners or by_kind["trained"]
    final, low = tournaments["final"], tournaments["low"]
    findings = []

    def add(name: str, statement: str, value: float, stderr: float, bar: float | None) -> None:
        finding = {"name": name, "statement": statement, "value": value, "stderr": stderr}
        holds = None if bar is None else bool(value >= bar)
        findings.append(finding | {"bar": bar, "holds": holds})

    add(
        "above_untrained",
        f"{who}: mean Elo above the untrained networks, same search",
        *contrast(final, learners, by_kind["untrained"]),
        50.0,
    )
    add(
        "above_random_low",
        f"{who}: mean Elo above the random player, hardly any search",
        *contrast(low, learners, by_kind["random"]),
        150.0,
    )
    add(
        "score_against_rollouts",
        f"{who}: share of the points against plain MCTS with rollouts",
        *score(final.results, learners, by_kind["rollouts"]),
        None,
    )
    for target in dict.fromkeys(m.target for m in members):
        drops, unseen = [], []
        for member in (m for m in members if m.target == target):
            own = sorted((r for r in rows if r["run"] == member.name), key=lambda r: r["iteration"])
            if len(own) < 2 or member.name not in playing:
                continue
            drops.append(own[0]["loss/minimised"] - own[-1]["loss/minimised"])
            unseen.append(own[-1]["heldout/value"])
        if not drops:
            continue
        spread = float(np.std(drops, ddof=1) / np.sqrt(len(drops))) if len(drops) > 1 else np.nan
        add(
            f"{target}_falls",
            f"minimised loss of {target}: first window, untrained, less the last epoch",
            float(np.mean(drops)),
            spread,
            None if target in ("value", "lambda_0") else 0.0,
        )
        if target == "value":
            add("value_heldout", "l_v on the held-out games when l_v is minimised",
                float(np.mean(unseen)), np.nan, None)  # fmt: skip
    return findings
