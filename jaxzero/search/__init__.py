"""Monte-Carlo tree search on mctx's tree: the papers' PUCT, Gumbel, kept subtrees, draw values."""

import jax
import jax.numpy as jnp

from jaxzero.games.base import Game, State
from jaxzero.search import core, subtree
from jaxzero.search.evaluation import ChunkedEvaluate, Evaluate, StateEvaluate
from jaxzero.search.options import SearchOptions
from jaxzero.search.result import Diagnostics, SearchResult

__all__ = [
    "ChunkedEvaluate",
    "Diagnostics",
    "Evaluate",
    "SearchOptions",
    "SearchResult",
    "StateEvaluate",
    "search",
    "subtree",
]


def search(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    key: jax.Array,
    states: State,
    *,
    algorithm: str = "puct",
    num_simulations: int = 100,
    c_puct: float = 1.0,
    **options: object,
) -> SearchResult:
    """Searches from a batch of positions with fresh trees.

    Args:
      game: the rules.
      evaluate: observation [B, H, W, C] -> (logits [B, A], value [B]) or (logits, value,
        draw_probability [B]), values from the player to move in [-1, 1]; or a `StateEvaluate`
        or a `ChunkedEvaluate`.
      key: a random key, consumed (unused unless something in the search is random).
      states: [B] positions.
      algorithm: `"puct"` or `"gumbel"`.
      num_simulations: m, visits of the root's edges; the root's own evaluation is not one.
      c_puct: exploration constant of PUCT.
      **options: fields of `SearchOptions`.

    Returns:
      `SearchResult` for the B positions.

    Raises:
      ValueError: an option that `SearchOptions` does not know, or an impossible value of one.
    """
    if isinstance(c_puct, int | float) and not c_puct >= 0:  # nor NaN; it may be traced
        raise ValueError(f"c_puct={c_puct}: a constant of exploration is 0 or more")
    if num_simulations < 1:
        raise ValueError(f"num_simulations={num_simulations}: a search needs at least 1")
    fields = {"algorithm": algorithm, "capacity": num_simulations + 1, **options}
    unknown = set(fields) - set(SearchOptions.__dataclass_fields__)
    if unknown:
        raise ValueError(f"search does not know {', '.join(sorted(unknown))}: see SearchOptions")
    settings = SearchOptions(**fields)  # type: ignore[arg-type]
    if settings.root_expansion_counts and num_simulations < 2:
        raise ValueError("root_expansion_counts needs num_simulations of 2 or more for a visit")
    batch = jnp.shape(jax.tree.leaves(states)[0])[0]
    return core.run(
        game,
        evaluate,
        jax.random.split(key, batch),
        states,
        options=settings,
        num_simulations=num_simulations,
        c_puct=c_puct,
    )
