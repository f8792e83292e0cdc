"""Mistakes in a search's settings are refused in one line."""

from typing import Any

import jax
import pytest

from jaxzero.search import SearchOptions, core, search
from tests.search.common import SMALL, game_named, options_of, oracle_game, scaled_network, stack


def ask(**options: Any) -> None:
    """Traces, without compiling, a search with these options."""
    states = stack([oracle_game(SMALL).init()] * 2)
    game, evaluate = game_named(SMALL), scaled_network(SMALL, 1.0)
    jax.eval_shape(lambda key: search(game, evaluate, key, states, **options), jax.random.key(0))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"algorithm": "ucb"}, "algorithm='ucb'"),
        ({"loop": "python"}, "loop='python'"),
        ({"q_scale": "logit"}, "q_scale='logit'"),
        ({"ties": "first"}, "ties='first'"),
        ({"exploration": "log"}, "exploration='log'"),
        ({"dirichlet_scaling": "none"}, "dirichlet_scaling='none'"),
        ({"dirichlet_fraction": 1.5}, "dirichlet_fraction=1.5"),
        ({"dirichlet_fraction": -0.1}, "dirichlet_fraction=-0.1"),
        ({"dirichlet_fraction": 0.25, "dirichlet_alpha": 0.0}, "dirichlet_alpha=0.0"),
        ({"draw_value": -2.0}, "draw_value=-2.0"),
        ({"draw_value": 1.01}, "draw_value=1.01: choose from -1 to 1"),
        ({"discount": 1.01}, "discount=1.01: choose from 1e-06 to 1"),
        ({"forced_playouts": -1.0}, "forced_playouts=-1.0"),
        ({"forced_playouts": 2.0, "algorithm": "gumbel"}, "forced_playouts=2.0: needs 'puct'"),
        ({"capacity": 1}, "capacity=1: choose from 2"),
        ({"loop": "mctx", "draw_value": 0.5}, "draw_value=0.5: .*loop='tree'"),
        ({"loop": "mctx", "ties": "random"}, "ties='random': .*loop='tree'"),
        ({"tree_steps": "kernels", "ties": "random"}, "tree_steps='kernels': needs .*ties"),
        ({"tree_steps": "kernels", "loop": "mctx"}, "tree_steps='kernels': needs .*loop"),
        ({"tree_steps": "kernels", "backs_up_draws": True}, "tree_steps='kernels': needs"),
        ({"tree_steps": "kernels", "propagate_results": True}, "tree_steps='kernels': needs"),
        ({"propagate_results": True, "loop": "mctx"}, "propagate_results=True: .*loop='tree'"),
        ({"stop_when_known": True}, "stop_when_known=True: needs propagate_results"),
        ({"discount": 0.0}, "discount=0.0"),
        ({"kld_step": -1}, "kld_step=-1"),
        ({"algorithm": "gumbel", "max_considered_actions": 0}, "max_considered_actions=0"),
        ({"algorithm": "gumbel", "gumbel_value_scale": -0.1}, "gumbel_value_scale=-0.1"),
        ({"algorithm": "gumbel", "gumbel_visit_offset": -51.0}, "gumbel_visit_offset=-51.0"),
        ({"discount": 0.9, "loop": "mctx"}, "discount=0.9: .*loop='tree'"),
        ({"propagate_results": True, "forced_playouts": 2.0}, "propagate_results=True"),
        ({"propagate_results": True, "draw_for_asked": -1.0}, "propagate_results=True"),
        ({"temperature": 1.0}, "temperature"),
        ({"num_simulations": 0}, "num_simulations=0"),
        ({"c_puct": -1.0}, "c_puct=-1.0"),
        ({"c_puct": float("nan")}, "c_puct=nan"),
        ({"num_simulations": 1, "root_expansion_counts": True}, "num_simulations of 2"),
    ],
    ids=str,
)
def test_bad_options_are_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word) as error:
        ask(**options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("options", [{"algorithm": "gumbel"}, {"loop": "mctx"}], ids=str)
def test_some_searches_need_a_static_number_of_simulations(options: dict[str, Any]) -> None:
    states = stack([oracle_game(SMALL).init()] * 2)
    keys = jax.random.split(jax.random.key(0), 2)

    def run(m: jax.Array) -> Any:
        return core.run(
            game_named(SMALL),
            scaled_network(SMALL, 1.0),
            keys,
            states,
            options=options_of(**options),
            num_simulations=m,
        )

    with pytest.raises(ValueError, match="Python int"):
        jax.eval_shape(run, 5)


def test_a_network_of_the_wrong_shape_is_refused() -> None:
    states = stack([oracle_game(SMALL).init()] * 2)
    evaluate = scaled_network("connect_four_5x5", 1.0)
    with pytest.raises((AssertionError, ValueError, TypeError)):
        jax.eval_shape(
            lambda key: search(
                game_named(SMALL), lambda x: evaluate(x)[:1] * 2, key, states, num_simulations=2
            ),
            jax.random.key(0),
        )


def test_c_may_be_traced() -> None:
    states = stack([oracle_game(SMALL).init()] * 2)
    game, evaluate, key = game_named(SMALL), scaled_network(SMALL, 1.0), jax.random.key(0)
    jax.eval_shape(lambda c: search(game, evaluate, key, states, c_puct=c), 1.0)


@pytest.mark.parametrize("options", [{"draw_value": -0.5}, {"backs_up_draws": True}], ids=str)
def test_draws_are_asked_of_networks_that_know_them(options: dict[str, Any]) -> None:
    ask(**options)
    states = stack([oracle_game(SMALL).init()] * 2)
    evaluate = scaled_network(SMALL, 1.0)
    with pytest.raises(ValueError, match="need an evaluation that returns draw probabilities"):
        jax.eval_shape(
            lambda key: search(
                game_named(SMALL), lambda x: evaluate(x)[:2], key, states, **options
            ),
            jax.random.key(0),
        )


def test_options_are_hashable_and_equal_by_value() -> None:
    assert SearchOptions(capacity=5) == SearchOptions(capacity=5)
    assert hash(SearchOptions(ties="random")) == hash(SearchOptions(ties="random"))
    assert SearchOptions() != SearchOptions(draw_value=-0.5)
