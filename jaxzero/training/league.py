"""Players of one network that differ in the numbers of their searches, and evolve.

Clausen 2021, section 4.

They play each other in self-play, two at random in each game. Every game is learned from, and rates
its players: by wins (Elo), or by the positions that nobody had seen before. When the newest players
have played enough, copies of the best with mutated numbers join, at the ratings of their parents.

As in the authors' program but for two things: nobody is rated, and no generation ends, before the
iteration's games are over; and the worst of `_ROOM` times the best players make room for new ones.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.search.options import Numbers, SearchOptions
from jaxzero.training.spec import SelfPlaySettings
from jaxzero.training.trajectory import Trajectory

_PAIRS = 0x7FFFFFF9  # folded into the key of an iteration's games: who plays
_NEXT = 0x7FFFFFF8  # the same, for the next generation
_ROOM = 4  # places for players, as a multiple of `league_players`
_CHILDREN = 2  # of each parent
_FIRST_GAMES = 0.6  # of `league_games`, in the first generation
ELO_START, ELO_STEP, ELO_SCALE = 1600.0, 32.0, 400.0


class Range(NamedTuple):
    """Where a number may lie."""

    low: float
    high: float


def ranges(options: SearchOptions) -> dict[str, Range]:
    """Of each number that may evolve (Clausen 2021's league), on the scales of the search."""
    worst = 0.0 if options.q_scale == "unit" else -1.0
    return {
        "c_puct": Range(0.25, 4.0),
        "unvisited_q": Range(worst, 1.0),
        "draw_value": Range(-1.0, 1.0),
        "dirichlet_alpha": Range(0.5, 20.0),
        "kld_stop": Range(-14.0, 1.0),
    }


@struct.dataclass
class League:
    """P places for players."""

    values: jax.Array  # float32[P, K], their numbers, in the order of `league_evolves`
    spreads: jax.Array  # float32[P, K], standard deviations by which they mutate
    rating: jax.Array  # float32[P], Elo, or points
    games: jax.Array  # float32[P], that they played
    born: jax.Array  # int32[P], their generation, from 0; -1: the place is free
    generation: jax.Array  # int32, the newest
    given: jax.Array  # float32, points given out since it began

    @property
    def order(self) -> jax.Array:
        """int32[P]: places by falling rating, free ones last."""
        return jnp.argsort(jnp.where(self.born >= 0, -self.rating, jnp.inf)).astype(jnp.int32)


def bounds(own: SelfPlaySettings, options: SearchOptions) -> tuple[jax.Array, jax.Array]:
    """(float32[K] smallest, float32[K] largest) of the numbers that evolve."""
    found = [ranges(options)[name] for name in own.league_evolves]
    return tuple(jnp.array(x, jnp.float32) for x in zip(*found, strict=True))  # type: ignore[return-value]


def begin(own: SelfPlaySettings, options: SearchOptions, key: jax.Array) -> League | None:
    """The first generation: numbers uniform in their ranges, spreads up to half of those."""
    if own.league == "none":
        return None
    low, high = bounds(own, options)
    places, known = _ROOM * own.league_players, len(own.league_evolves)
    values, spreads = jax.random.uniform(key, (2, places, known))
    alive = jnp.arange(places) < own.league_players
    return League(
        values=low[None] + values * (high - low)[None],
        spreads=spreads * (high - low)[None] / 2,
        rating=jnp.full((places,), ELO_START if own.league == "wins" else 0.0),
        games=jnp.zeros((places,)),
        born=jnp.where(alive, 0, -1).astype(jnp.int32),
        generation=jnp.int32(0),
        given=jnp.float32(0),
    )


def pairs(own: SelfPlaySettings, league: League, key: jax.Array, games: int) -> jax.Array:
    """int32[games, 2]: who moves first and who second, two different players.

    `even`: both of the best `league_players`, each pair and order as likely. `skewed`, as coded:
    the second one is of twice as many, so that the lower half of these never moves first.

    Args:
      key: of the iteration's games.
    """
    alive = (league.born >= 0).sum()
    best = jnp.minimum(own.league_players, alive)
    second = best
    if own.league_pairing == "skewed":
        second = jnp.minimum(2 * own.league_players, alive)
    key = jax.random.fold_in(key, _PAIRS)

    def pair(game: jax.Array) -> jax.Array:
        one_key, other_key = jax.random.split(jax.random.fold_in(key, game))
        one = jax.random.randint(one_key, (), 0, best)
        other = jax.random.randint(other_key, (), 0, second - 1)
        return jnp.stack([one, other + (other >= one)])  # of all but that one

    return league.order[jax.vmap(pair)(jnp.arange(games))]


def numbers(own: SelfPlaySettings, league: League, who: jax.Array, others: Numbers) -> Numbers:
    """Of the searches of players (int32[...]), those that do not evolve from `others`."""
    values = league.values[who]
    evolved = {name: values[..., i] for i, name in enumerate(own.league_evolves)}
    same = jax.tree.map(lambda x: jnp.broadcast_to(jnp.float32(x), who.shape), others)
    return same._replace(**evolved)


def rate(
    own: SelfPlaySettings, league: League, who: jax.Array, games: Trajectory, new: jax.Array
) -> League:
    """After an iteration's games.

    Args:
      who: int32[B, 2], the players.
      games: [T, B].
      new: float32[B], positions of each that the run had not seen; for novelty.
    """
    counted = jnp.where(games.active, 1.0, 0.0)
    played = league.games.at[who].add(counted[:, None])
    league = dataclasses.replace(league, games=played)
    if own.league == "wins":
        score = (1.0 + jnp.sign(games.outcome[:, 0] - games.outcome[:, 1])) / 2
        rating = elo(league.rating, who, score, games.active)
        return dataclasses.replace(league, rating=rating)
    share = jnp.ones_like(games.outcome)
    if own.league == "novel_wins":
        share = (games.outcome > 0).astype(jnp.float32)
    earned = (counted * new)[:, None] * share * (league.born[who] == league.generation)
    return dataclasses.replace(
        league, rating=league.rating.at[who].add(earned), given=league.given + earned.sum()
    )


def elo(rating: jax.Array, who: jax.Array, score: jax.Array, active: jax.Array) -> jax.Array:
    """Ratings after games, one after another.

    Args:
      rating: float32[P].
      who: int32[B, 2].
      score: float32[B], of the first of them: 1, 1/2 or 0.
      active: bool[B], games that count.
    """

    def play(rating: jax.Array, game: tuple) -> tuple[jax.Array, None]:
        who, score, active = game
        expected = 1 / (1 + 10 ** ((rating[who[1]] - rating[who[0]]) / ELO_SCALE))
        step = jnp.where(active, ELO_STEP * (score - expected), 0.0)
        return rating.at[who].add(jnp.stack([step, -step])), None

    return jax.lax.scan(play, rating, (who, score, active))[0]


def is_over(own: SelfPlaySettings, league: League) -> jax.Array:
    """bool: whether the next generation joins now.

    By points given out; or by the games, on average, of those of the newest players who are among
    the best, and at once if there are none.
    """
    if own.league != "wins":
        return league.given >= own.league_points
    best = jnp.zeros(league.born.shape, bool).at[league.order[: own.league_players]].set(True)
    newest = best & (league.born == league.generation)
    needed = own.league_games * jnp.where(league.generation == 0, _FIRST_GAMES, 1.0)
    return jnp.where(newest, league.games, 0.0).sum() >= needed * newest.sum()


def mutated(
    values: jax.Array, spreads: jax.Array, low: jax.Array, high: jax.Array, key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """A child's (values, spreads) from its parent's, float32[K] each.

    spread' = spread exp(g / sqrt(2 K) + N_i / sqrt(2 sqrt K)) with one g for the child; value' is
    value + spread' N_i, and re-enters its range at the other end.
    """
    count = values.shape[0]
    common, own, step = jax.random.split(key, 3)
    change = jax.random.normal(common) / jnp.sqrt(2.0 * count)
    change = change + jax.random.normal(own, (count,)) / jnp.sqrt(2.0 * jnp.sqrt(count))
    spreads = spreads * jnp.exp(change)
    moved = values + spreads * jax.random.normal(step, (count,))
    return low + jnp.mod(moved - low, high - low), spreads


def next_generation(
    own: SelfPlaySettings, options: SearchOptions, league: League, key: jax.Array
) -> League:
    """With two mutated copies of each of the best `league_parents`, whatever their generation."""
    low, high = bounds(own, options)
    order = league.order
    parents = jnp.repeat(order[: own.league_parents], _CHILDREN)
    keys = jax.random.split(key, len(parents))
    values, spreads = jax.vmap(mutated, (0, 0, None, None, 0))(
        league.values[parents], league.spreads[parents], low, high, keys
    )
    places = order[::-1][: len(parents)]  # free ones, then the worst
    return League(
        values=league.values.at[places].set(values),
        spreads=league.spreads.at[places].set(spreads),
        rating=league.rating.at[places].set(league.rating[parents]),
        games=league.games.at[places].set(0.0),
        born=league.born.at[places].set(league.generation + 1),
        generation=league.generation + 1,
        given=jnp.float32(0),
    )


def learn(
    own: SelfPlaySettings,
    options: SearchOptions,
    league: League,
    who: jax.Array,
    games: Trajectory,
    new: jax.Array,
    key: jax.Array,
) -> League:
    """After an iteration's games, with the next generation if it is due; arguments as of `rate`.

    `key` is that of the iteration's games.
    """
    league = rate(own, league, who, games, new)
    if own.league == "wins" and not own.league_games:
        return league
    after = next_generation(own, options, league, jax.random.fold_in(key, _NEXT))
    over = is_over(own, league)
    return jax.tree.map(lambda new, old: jnp.where(over, new, old), after, league)


def describe(own: SelfPlaySettings, league: League) -> dict[str, jax.Array]:
    """Metrics `league/*`, of the best `league_players`."""
    best = league.order[: own.league_players]
    found = {
        "league/generation": league.generation,
        "league/players": (league.born >= 0).sum(),
        "league/newest": (league.born[best] == league.generation).mean(),
        "league/rating_best": league.rating[best[0]],
        "league/rating_mean": league.rating[best].mean(),
        "league/rating_deviation": league.rating[best].std(),
    }
    for i, name in enumerate(own.league_evolves):
        values = league.values[best, i]
        found |= {
            f"league/{name}": values.mean(),
            f"league/{name}_deviation": values.std(),
            f"league/{name}_best": values[0],
            f"league/{name}_spread": league.spreads[best, i].mean(),
        }
    return {name: jnp.asarray(x, jnp.float32) for name, x in found.items()}
