"""Searching a position once: for all games of a ply that stand there, or for all of an iteration.

`search.key=position` makes a search a function of the network and of what it is asked: a position,
whether it is a fast one, and its noise. Equal questions then have equal answers, and
`selfplay.share` may search each once without changing a game.

Hashes only say where to look. What decides is the question itself, as words that are compared.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.distinct import hash_rows, words_of
from jaxzero.loops import max_member, where_lanes
from jaxzero.search.result import Diagnostics, SearchResult

_POSITIONS = 0x7FFFFFFC  # folded into a key beside the numbers of games
_PROBES = 8  # places of the table where a question may be
_ROOM = 2  # places of the table for each move that the games can have
_SIXTEENTHS = (1, 4, 8, 12)  # sizes of a search less than all games, in sixteenths


class Question(NamedTuple):
    """What a search depends on beside the network and its key."""

    states: Any  # [B], whole: a game's history is in them as far as its rules remember it
    is_fast: jax.Array  # bool[B]
    noise: jax.Array  # float32[B], factor of the root noise, before that of a fast search


# (keys [B], questions [B], active bool[B]) -> the results of B searches
Search = Callable[[jax.Array, Question, jax.Array], SearchResult]


class Sharing(NamedTuple):
    """How searches are shared.

    Attributes:
      key: from which the searches' keys are folded, by their questions; None: each game has its
        own, and nothing is shared.
      sizes: of a batch of searches, ascending, the last one for all games; empty: every game's
        question is searched.
      capacity: questions that the table holds; 0: none are remembered.
    """

    key: jax.Array | None = None
    sizes: tuple[int, ...] = ()
    capacity: int = 0


NOT_SHARED = Sharing()


@struct.dataclass
class Memory:
    """What is remembered of the searches of some games."""

    searches: jax.Array  # float32, how many were made
    stored: jax.Array  # float32, how many of them the table holds
    owner: Any = ()  # int32[C], 0 where the table is free
    words: Any = ()  # uint32[C, W], questions
    answers: Any = ()  # [C, ...], what is known of them


@struct.dataclass
class Costs(Diagnostics):
    """Costs of games: summed diagnostics of the searches that were made, and what is remembered."""

    memory: Memory


def by_position(
    key: jax.Array, share: str, *, games: int, max_plies: int, at_once: int, most: int
) -> Sharing:
    """Searches whose keys are those of their questions.

    Args:
      key: of the iteration's games, the same on all devices.
      share: `config.selfplay.share`.
      games: on this device.
      at_once: positions that a search evaluates together; 0: all.
      most: questions that a table may hold.
    """
    key = jax.random.fold_in(key, _POSITIONS)
    if share == "none":
        return Sharing(key)
    held = capacity(games, max_plies, most) if share == "cache" else 0
    return Sharing(key, sizes(games, at_once), held)


def capacity(games: int, max_plies: int, most: int) -> int:
    """Questions that the table holds: two for each move that the games can have, or `most`."""
    return min(most, _ROOM * games * max_plies)


def sizes(games: int, at_once: int) -> tuple[int, ...]:
    """Batch sizes among which the smallest is taken that holds all searches; the last is `games`.

    Multiples of the positions that all games' search evaluates together, so that a network is given
    batches of one size, whose rounding is the same, in all of them.
    """
    unit = -(-games // -(-games // at_once)) if at_once else 1
    parts = {-(-games * part // (16 * unit)) * unit for part in _SIXTEENTHS}
    return (*sorted(part for part in parts if part < games), games)


def begin(how: Sharing, search: Search, question: Question) -> Memory:
    """Nothing remembered yet; `question` [B] is one like those to come."""
    nothing = Memory(jnp.float32(0), jnp.float32(0))
    if not how.capacity:
        return nothing
    batch = jax.tree.leaves(question)[0].shape[0]
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), batch))
    shapes = jax.eval_shape(
        lambda *asked: (as_words(asked[1]), _split(search(*asked))[0]),
        keys, question, jax.ShapeDtypeStruct((batch,), bool),
    )  # fmt: skip
    words, answers = jax.tree.map(
        lambda x: jnp.zeros((how.capacity, *x.shape[1:]), x.dtype), shapes
    )
    return dataclasses.replace(
        nothing, owner=jnp.zeros((how.capacity,), jnp.int32), words=words, answers=answers
    )


def search_all(
    how: Sharing,
    keys: jax.Array,
    search: Search,
    question: Question,
    live: jax.Array,
    memory: Memory,
) -> tuple[SearchResult, Memory]:
    """The results of all live games' searches.

    Args:
      keys: [B], of searches whose keys are the games', consumed.
      search: makes them; a lane's result depends on its key and its question alone.
      question: [B], of each.
      live: bool[B], games to search.
      memory: of the plies before.

    Returns:
      The results, where searches are shared without `tree` and `q`; and what is remembered now.
    """
    if how.key is None:
        return search(keys, question, live), made(memory, live)
    words = as_words(question)
    hashes = hash_rows(words)
    keys = jax.vmap(functools.partial(_key, how.key))(hashes)
    if not how.sizes:
        return search(keys, question, live), made(memory, live)
    missing = live
    if how.capacity:
        place, found = look_up(memory, words, hashes)
        missing = live & ~found
    first = first_of_equals(words, hashes, missing)
    chosen = missing & (first == jnp.arange(len(first)))
    searched, sums = search_chosen(how.sizes, search, keys, question, chosen)
    answers = jax.tree.map(lambda x: x[first], searched)
    if how.capacity:
        known = jax.tree.map(lambda x: x[place], memory.answers)
        answers = where_lanes(found, known, answers)
        memory = insert(memory, words, hashes, searched, chosen)
    result, nodes = answers
    sums = dataclasses.replace(sums, nodes=nodes)
    return dataclasses.replace(result, diagnostics=sums), made(memory, chosen)


def costs(diagnostics: Diagnostics, memory: Memory) -> Costs:
    """Of games that ended with this memory."""
    return Costs(**vars(diagnostics), memory=memory)


def made(memory: Memory, lanes: jax.Array) -> Memory:
    """With so many searches more."""
    return dataclasses.replace(memory, searches=memory.searches + lanes.sum())


def _key(key: jax.Array, hashes: jax.Array) -> jax.Array:
    return jax.random.fold_in(jax.random.fold_in(key, hashes[0]), hashes[1])


def _split(result: SearchResult) -> tuple[tuple[SearchResult, jax.Array], Diagnostics]:
    """((what is said of each lane but its tree and Q, its nodes in use), sums over the lanes)."""
    nothing: Any = None
    answer = dataclasses.replace(result, tree=nothing, q=nothing, diagnostics=nothing)
    sums = dataclasses.replace(result.diagnostics, nodes=nothing)
    return (answer, result.diagnostics.nodes), sums


def as_words(question: Any) -> jax.Array:
    """uint32[B, W]: the bits of a pytree [B, ...], which are equal where all of it is."""
    return jnp.concatenate([words_of(leaf) for leaf in jax.tree.leaves(question)], axis=1)


def first_of_equals(words: jax.Array, hashes: jax.Array, wanted: jax.Array) -> jax.Array:
    """Which lane stands for each lane.

    Lanes whose hash is that of another question stand for themselves, equal ones among them too.

    Args:
      words: uint32[B, W].
      hashes: uint32[B, 2], equal where the words are.
      wanted: bool[B]; the other lanes stand for nobody and mean nothing.

    Returns:
      int32[B]: a lane with the same words, the same one for all that are equal.
    """
    keys = jnp.concatenate([wanted[:, None].astype(jnp.uint32), hashes], axis=1)
    order, numbers = jnp.lexsort(keys.T), jnp.arange(keys.shape[0])
    differs = jnp.any(keys[order[1:]] != keys[order[:-1]], axis=-1)
    begins = jnp.concatenate([jnp.ones((1,), bool), differs])
    head = jax.lax.cummax(jnp.where(begins, numbers, 0))
    is_same = (words[order] == words[order[head]]).all(-1)
    return jnp.zeros_like(order).at[order].set(order[jnp.where(is_same, head, numbers)])


def in_front(chosen: jax.Array) -> jax.Array:
    """int32[B]: the lanes of `chosen` (bool[B]) in their order, then B, which is none."""
    batch = chosen.shape[0]
    place = jnp.where(chosen, jnp.cumsum(chosen) - 1, batch)
    lanes = jnp.arange(batch, dtype=jnp.int32)
    return jnp.full((batch,), batch, jnp.int32).at[place].set(lanes, mode="drop")


def search_chosen(
    sizes: tuple[int, ...], search: Search, keys: jax.Array, question: Question, chosen: jax.Array
) -> tuple[Any, Diagnostics]:
    """The chosen lanes' answers, in the smallest batch that holds them; zeros elsewhere.

    The members of a population take one size, that of who needs the largest: a choice of each
    member's own would make all the batches of every size.
    """
    batch, count, rows = chosen.shape[0], chosen.sum(), in_front(chosen)

    def of_size(size: int) -> Callable[[], tuple[Any, Diagnostics]]:
        def run() -> tuple[Any, Diagnostics]:
            some = rows[:size]
            lanes = jnp.minimum(some, batch - 1)
            asked = jax.tree.map(lambda x: x[lanes], question)
            answers, sums = _split(search(keys[lanes], asked, jnp.arange(size) < count))
            spread = jax.tree.map(
                lambda x: jnp.zeros((batch, *x.shape[1:]), x.dtype).at[some].set(x, mode="drop"),
                answers,
            )
            return spread, sums

        return run

    smaller = jnp.array(sizes[:-1], jnp.int32)
    size = (smaller < max_member(count.astype(jnp.int32))).sum()
    return jax.lax.switch(size, [of_size(size) for size in sizes])


def _place(hashes: jax.Array, probe: jax.Array, capacity: int) -> jax.Array:
    """int32[B]: where a question's `probe`-th place is."""
    step = hashes[:, 1] | 1
    return ((hashes[:, 0] + probe.astype(jnp.uint32) * step) % capacity).astype(jnp.int32)


def look_up(memory: Memory, words: jax.Array, hashes: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(int32[B] where the table holds the questions, bool[B] whether it does)."""

    def probe(i: jax.Array, carry: tuple) -> tuple:
        place, found = carry
        here = _place(hashes, i, memory.owner.shape[0])
        is_same = (memory.owner[here] > 0) & (memory.words[here] == words).all(-1)
        return jnp.where(is_same, here, place), found | is_same

    nowhere = jnp.zeros(words.shape[:1], jnp.int32), jnp.zeros(words.shape[:1], bool)
    return jax.lax.fori_loop(0, _PROBES, probe, nowhere)


def insert(
    memory: Memory, words: jax.Array, hashes: jax.Array, answers: Any, chosen: jax.Array
) -> Memory:
    """With the chosen lanes' questions, of which those that find no free place are dropped."""
    capacity, tickets = memory.owner.shape[0], jnp.arange(1, chosen.shape[0] + 1, dtype=jnp.int32)

    def probe(i: jax.Array, carry: tuple) -> tuple:
        owner, place = carry
        here = _place(hashes, i, capacity)
        tries = chosen & (place == capacity) & (owner[here] == 0)
        owner = owner.at[jnp.where(tries, here, capacity)].max(tickets, mode="drop")
        return owner, jnp.where(tries & (owner[here] == tickets), here, place)

    nowhere = jnp.full(chosen.shape, capacity, jnp.int32)
    owner, place = jax.lax.fori_loop(0, _PROBES, probe, (memory.owner, nowhere))
    held, new = (memory.words, memory.answers), (words, answers)
    words, answers = jax.tree.map(lambda old, x: old.at[place].set(x, mode="drop"), held, new)
    stored = memory.stored + (place < capacity).sum()
    return dataclasses.replace(memory, owner=owner, words=words, answers=answers, stored=stored)
