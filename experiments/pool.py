"""The final pool of a study: trained and untrained networks, plain MCTS and a random player."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from ml_collections import ConfigDict

from jaxzero import iteration, learner, tournament
from jaxzero.arena import Match
from jaxzero.players import Players, Searcher, random_players, rollout_evaluate, search_players
from jaxzero.runner import Trained
from jaxzero.runs import Member
from jaxzero.search.options import SearchOptions
from jaxzero.spec import Spec
from jaxzero.tournament import Tournament

PUBLISHED_ADVANTAGE = 32.8  # BayesElo's defaults, which the papers' ratings used (facts 1.8)
PUBLISHED_DRAW_ELO = 97.3


class Entry(NamedTuple):
    """A player of the pool: kind is trained, untrained, random or rollouts."""

    name: str
    kind: str
    target: str | None = None
    seed: int | None = None


def networks_of(trained: Trained, members: Sequence[Member]) -> tuple[list[Entry], Any]:
    """The final networks, then the untrained one of each seed: entries and learners [P]."""
    spec = trained.spec
    seeds = sorted({m.seed for m in members})
    entries = [Entry(m.name, "trained", m.target, m.seed) for m in members]
    entries += [Entry(f"untrained_seed{s}", "untrained", None, s) for s in seeds]
    finals = dataclasses.replace(trained.states.learner, opt_state=())
    if spec.switches.tournament_one_model_per_target:
        last = {m.target: i for i, m in enumerate(members)}
        index = jnp.array([last[m.target] for m in members])
        finals = jax.tree.map(lambda x: x[index], finals)
    start = jax.jit(jax.vmap(lambda seed: iteration.init(spec, seed).learner))
    untrained = dataclasses.replace(start(jnp.array(seeds, jnp.int32)), opt_state=())
    return entries, jax.tree.map(lambda a, b: jnp.concatenate([a, b]), finals, untrained)


def build(
    config: ConfigDict, trained: Trained, members: Sequence[Member]
) -> tuple[list[Entry], list[Players], Callable[[int], list[Any]]]:
    """The pool.

    Returns:
      Entries; players by kind; (m) -> params of each kind with m simulations for the networks.
    """
    spec = trained.spec
    entries, networks = networks_of(trained, members)
    count = len(entries)
    rollouts = config.study.rollout_simulations
    entries = [*entries, Entry(f"mcts_{rollouts}", "rollouts"), Entry("random", "random")]
    gumbel = spec.search.algorithm == "gumbel"
    most = config.study.tournament_simulations
    searches = config.search.tree_moves if spec.switches.keep_tree else 1
    options = dataclasses.replace(spec.arena_search, capacity=searches * most + 1)

    def searchers(simulations: int) -> Searcher:
        m = min(simulations, most)
        return Searcher(
            networks,
            jnp.full((count,), m, jnp.int32),
            jnp.full((count,), config.search.c_puct, jnp.float32),
        )

    kinds = [
        search_players(
            spec.game,
            lambda network: learner.acting(spec, network),
            searchers(most),
            options,
            keep_tree=spec.switches.keep_tree,
            fixed_simulations=most if gumbel else None,
        ),
        search_players(
            spec.game,
            lambda _: rollout_evaluate(spec.game),
            Searcher((), jnp.full((1,), rollouts, jnp.int32), jnp.full((1,), jnp.sqrt(2.0))),
            SearchOptions(capacity=rollouts + 1),
        ),
        random_players(spec.game),
    ]

    def with_simulations(simulations: int) -> list[Any]:
        return [searchers(simulations), kinds[1].params, kinds[2].params]

    return entries, kinds, with_simulations


def round_robin(
    config: ConfigDict, spec: Spec, kinds: list[Players]
) -> Callable[[Sequence[Any], jax.Array], Match]:
    """The pool's compiled round robin."""
    return tournament.compile_round_robin(
        spec.game,
        kinds,
        games_per_direction=config.study.tournament_games // 2,
        opening_plies=spec.opening_plies,
        draw_for_asked=spec.search.draw_for_asked,
    )


def rate(match: Match, num_players: int, *, published: bool) -> Tournament:
    """Rated with the mover's advantage and the draw rate fitted, or with BayesElo's defaults."""
    return tournament.rate(
        match,
        num_players,
        advantage=PUBLISHED_ADVANTAGE if published else "fit",
        draw_elo=PUBLISHED_DRAW_ELO if published else "fit",
        first_listed=published,
    )


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
    """Whether the runs learned at all, in numbers that luck would not give."""
    by_kind = {kind: [i for i, e in enumerate(entries) if e.kind == kind] for kind in
               ("trained", "untrained", "random", "rollouts")}  # fmt: skip
    learners = [
        i for i, e in enumerate(entries)
        if e.kind == "trained" and e.target in ("value", "sum", "product")
    ] or by_kind["trained"]  # fmt: skip
    final, low = tournaments["final"], tournaments["low"]
    found = []

    def add(name: str, statement: str, value: float, stderr: float, bar: float | None) -> None:
        holds = None if bar is None else bool(value >= bar)
        found.append(
            {
                "name": name,
                "statement": statement,
                "value": value,
                "stderr": stderr,
                "bar": bar,
                "holds": holds,
            }
        )

    add(
        "above_untrained",
        "l_v, l_+ and l_x: mean Elo above the untrained networks, same search",
        *contrast(final, learners, by_kind["untrained"]),
        50.0,
    )
    add(
        "above_random_low",
        "l_v, l_+ and l_x: mean Elo above the random player, hardly any search",
        *contrast(low, learners, by_kind["random"]),
        150.0,
    )
    add(
        "score_against_rollouts",
        "l_v, l_+ and l_x: share of the points against plain MCTS with rollouts",
        *score(final.results, learners, by_kind["rollouts"]),
        None,
    )
    for target in dict.fromkeys(m.target for m in members):
        drops, unseen = [], []
        for member in (m for m in members if m.target == target):
            own = sorted((r for r in rows if r["run"] == member.name), key=lambda r: r["iteration"])
            drops.append(own[0]["loss/minimised"] - own[-1]["loss/minimised"])
            unseen.append(own[-1]["heldout/value"])
        spread = float(np.std(drops, ddof=1) / np.sqrt(len(drops))) if len(drops) > 1 else np.nan
        add(
            f"{target}_falls",
            f"minimised loss of {target}: first window, untrained, less the last epoch",
            float(np.mean(drops)),
            spread,
            None if target == "value" else 0.0,
        )
        if target == "value":
            add("value_heldout", "l_v on the held-out games when l_v is minimised",
                float(np.mean(unseen)), np.nan, None)  # fmt: skip
    return found
