"""How a search behaves: the static choices, one place for their names and sources."""

import copy
import dataclasses
import math
import typing
from typing import Final, Literal, NamedTuple

import jax

_RANGES: Final = {  # both ends allowed
    "capacity": (2, math.inf),
    "dirichlet_fraction": (0.0, 1.0),
    "draw_value": (-1.0, 1.0),
    "forced_playouts": (0.0, math.inf),
    "discount": (1e-6, 1.0),
    "kld_step": (0, math.inf),
    "max_considered_actions": (1, math.inf),
    "gumbel_value_scale": (0.0, math.inf),
    "gumbel_visit_offset": (0.0, math.inf),
}


class Numbers(NamedTuple):
    """Numbers of PUCT that may be traced and differ between games, float32 [B] or of any shape.

    Attributes:
      c_puct: c.
      unvisited_q, draw_value, dirichlet_alpha, kld_stop: as of `SearchOptions`.
    """

    c_puct: jax.Array | float
    unvisited_q: jax.Array | float
    draw_value: jax.Array | float
    dirichlet_alpha: jax.Array | float
    kld_stop: jax.Array | float


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Static options of a search; numbers that differ inside a population are arguments instead.

    Impossible values, and pairs that do not go together, are refused with a ValueError in one line.
    Gumbel's search does not look at c, `unvisited_q`, `q_scale`, `exploration`, Dirichlet noise and
    `ties`.

    Attributes:
      algorithm: `"puct"` (the papers') or `"gumbel"` (mctx's Gumbel MuZero policy).
      capacity: nodes that a tree can hold, the root included. A leaf reached when the tree is full
        is evaluated and backed up, but not kept.
      loop: `"tree"` is this package's loop over `mctx.Tree`; `"mctx"` is mctx's own, equal move for
        move and slower, see `jaxzero.search.mctx_loop`. It has no kept trees, draw values, random
        ties, discount, known results, or m that is traced.
      unvisited_q: Q of an edge without visits, on the scale of `q_scale`. 0 in Wang 2019, 2020,
        2023; a constant "first-play urgency" in Clausen 2021 (thesis: 0.8545 on the unit scale).
      q_scale: `"signed"` Q in [-1, 1]; `"unit"` Q in [0, 1], (q + 1) / 2, Clausen 2021.
      exploration: `"sqrt_total"`: c P sqrt(N + 1e-8) / (1 + n) as in Wang 2020;
        `"sqrt_total_plus"`: c P (sqrt(N) + 1e-5) / (1 + n) as in Clausen 2021. N is the sum of the
        node's edge visits.
      renormalise_prior: softmax over the legal moves (True), or over all actions with the illegal
        ones cut off afterwards (False, Clausen 2021).
      dirichlet_fraction: share of Dirichlet noise in the root's prior; 0 is off (Wang 2019, 2020,
        2023).
      dirichlet_alpha: concentration; see `dirichlet_scaling`.
      dirichlet_scaling: `"constant"` alpha, or `"per_legal_move"`: alpha / (legal moves), Clausen
        2021.
      ties: equal scores go to the lowest index (Wang 2020) or to a random one of them (Clausen
        2021).
      draw_value: what a draw is worth to *both* sides, in [-1, 1]. Other than 0 it needs an
        `evaluate` that returns draw probabilities.
      backs_up_draws: draw probabilities are backed up apart from the values, for
        `SearchResult.draw`; loop="tree".
      draw_for_asked: worth of a finished drawn game to the side to move, the other side getting the
        negative. 0 is the truth; see `jaxzero.games.scoring` for the published programs' values.
      root_expansion_counts: the first simulation of a fresh tree only expands the root, so that
        m - 1 visits result (Wang 2020's program); False gives m visits.
      forced_playouts: k: at the root a move with n visits is chosen before all others while
        0 < n < sqrt(k P N), and the policy is without those visits (Wu 2020, in Clausen 2021
        section 2.4); 0 is off. PUCT only; for self-play.
      discount: of a value, for each ply between it and the position that it is backed up to: a
        quick win is worth more than a slow one. In (0, 1]; not of draws and known results.
      propagate_results: proven results are carried up the tree and take the place of
        averages, see `jaxzero.search.known_results`. loop="tree", true results (`draw_for_asked`
        0) and no forced playouts.
      stop_when_known: with known results, a search ends as soon as its root's is one.
      kld_step: PUCT with fresh trees: after so many simulations each a search asks whether to go
        on, see `thinking`; 0: never.
      kld_stop: log2 of the gain, in bits, at which it ends.
      max_considered_actions: Gumbel: actions sampled without replacement at the root.
      gumbel_rescale: Gumbel: Q is stretched to [0, 1] between the least and the largest of a node
        (mctx's default), however close these are; False: Q in [-1, 1] as it is.
      gumbel_value_scale, gumbel_visit_offset: Gumbel: sigma(q) = (offset + most visits) scale q,
        c_scale and c_visit of Danihelka et al. 2022.
      gumbel_target: Gumbel's policy: `"improved"`, softmax of log prior + sigma(completed Q), or
        `"visits"`, the share of visits, most of which sequential halving has spread evenly.
      gumbel_root_value: Gumbel's root value: `"visits"`, the mean of all simulations, of which
        many went to moves that were dropped; `"policy"`, of completed Q under the improved policy.
      puct_target: PUCT's policy: the `"visits"`, or `"improved"` as Gumbel's, with the scale of the
        gumbel_* options, from the prior without root noise; known results rule moves out.
      tree_steps: the way down and up the trees: `"loops"`, or one GPU kernel each (`kernels`).
    """

    algorithm: Literal["puct", "gumbel"] = "puct"
    capacity: int = 101
    loop: Literal["tree", "mctx"] = "tree"
    unvisited_q: float = 0.0
    q_scale: Literal["signed", "unit"] = "signed"
    exploration: Literal["sqrt_total", "sqrt_total_plus"] = "sqrt_total"
    renormalise_prior: bool = True
    dirichlet_fraction: float = 0.0
    dirichlet_alpha: float = 0.3
    dirichlet_scaling: Literal["constant", "per_legal_move"] = "constant"
    ties: Literal["lowest", "random"] = "lowest"
    draw_value: float = 0.0
    backs_up_draws: bool = False
    draw_for_asked: float = 0.0
    root_expansion_counts: bool = False
    forced_playouts: float = 0.0
    discount: float = 1.0
    propagate_results: bool = False
    stop_when_known: bool = False
    kld_step: int = 0
    kld_stop: float = -9.0
    max_considered_actions: int = 16
    gumbel_rescale: bool = True
    gumbel_value_scale: float = 0.1
    gumbel_visit_offset: float = 50.0
    gumbel_target: Literal["improved", "visits"] = "improved"
    gumbel_root_value: Literal["visits", "policy"] = "visits"
    puct_target: Literal["visits", "improved"] = "visits"
    tree_steps: Literal["loops", "kernels"] = "loops"

    def __post_init__(self) -> None:
        for name, kind in typing.get_type_hints(SearchOptions).items():
            value, choices = getattr(self, name), typing.get_args(kind)
            if choices and value not in choices:
                raise ValueError(f"search.{name}={value!r}: choose one of {', '.join(choices)}")
            low, high = _RANGES.get(name, (-math.inf, math.inf))
            if not isinstance(value, str) and not low <= value <= high:
                raise ValueError(f"search.{name}={value}: choose from {low:g} to {high:g}")
        if self.dirichlet_fraction and self.dirichlet_alpha <= 0:
            raise ValueError(f"search.dirichlet_alpha={self.dirichlet_alpha}: must be above 0")
        if self.forced_playouts and self.algorithm != "puct":
            raise ValueError(f"search.forced_playouts={self.forced_playouts}: needs 'puct'")
        if self.kld_step and self.fixes_simulations:
            raise ValueError(
                f"search.kld_step={self.kld_step}: needs algorithm='puct' and loop='tree'"
            )
        if self.propagate_results and (self.draw_for_asked or self.forced_playouts):
            raise ValueError(
                "search.propagate_results=True: needs draw_for_asked=0 and forced_playouts=0"
            )
        if self.stop_when_known and not self.propagate_results:
            raise ValueError("search.stop_when_known=True: needs propagate_results=True")
        kernels_lack = self.loop == "mctx" or self.ties == "random" or self.backs_up_draws
        if self.tree_steps == "kernels" and (kernels_lack or self.propagate_results):
            raise ValueError(
                "execution.tree_steps='kernels': needs search.loop='tree', search.ties='lowest', "
                "search.propagate_results=False and, with network.value_head='wdl', "
                "train.root_value_share=0; set them, or 'loops'"
            )
        for name in ("draw_value", "backs_up_draws", "discount", "propagate_results", "ties"):
            default = SearchOptions.__dataclass_fields__[name].default
            if self.loop == "mctx" and getattr(self, name) != default:
                raise ValueError(
                    f"search.{name}={getattr(self, name)!r}: mctx's own loop has nothing but "
                    f"{default!r}, set that or search.loop='tree'"
                )

    def of_games(self, numbers: Numbers) -> "SearchOptions":
        """With numbers of each game's own, [B] (c apart), for loop="tree": not to be hashed."""
        own = copy.copy(self)
        for name in ("unvisited_q", "draw_value", "dirichlet_alpha", "kld_stop"):
            object.__setattr__(own, name, getattr(numbers, name))
        return own

    def numbers(self, c_puct: jax.Array | float) -> Numbers:
        """Its own, with a c."""
        rest = (getattr(self, name) for name in Numbers._fields[1:])
        return Numbers(c_puct, *rest)

    @property
    def fixes_simulations(self) -> bool:
        """Whether m must be static: for sequential halving, and for mctx's own loop."""
        return self.algorithm == "gumbel" or self.loop == "mctx"
