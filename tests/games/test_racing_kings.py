"""Racing Kings against python-chess, move for move."""

from collections import Counter
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

from jaxzero.games import RacingKings, conformance, make_game
from jaxzero.games import fen as fen_of_games
from jaxzero.games import racing_kings as rk
from jaxzero.games.base import CountsMaterial

chess = pytest.importorskip("chess", reason="the oracle is python-chess (extra `engines`)")
from tests.oracles import racing_kings as oracle  # noqa: E402

# Unequal armies, Black to move, kings near the goal, and a clock about to run out.
MIXED = "4q3/8/8/3N4/5n2/K6b/3R4/7k b - - 130 40"
NEAR = "8/K5k1/8/8/8/3q4/1R2B3/N7 w - - 0 1"


@pytest.mark.parametrize(
    ("fen", "count", "plies", "ends"),
    [
        (rk.MODIFIED, 100, 50, {"limit"}),
        (rk.STANDARD, 24, 30, {"limit"}),
        (MIXED, 16, 300, {"clock"}),
        (NEAR, 120, 60, {"won", "lost", "drawn"}),  # drawn: Black answered
    ],
)
def test_random_games_are_those_of_python_chess(fen, count, plies, ends):
    endings = oracle.same_games(RacingKings(fen, plies), count, seed=1)
    assert all(endings[end] for end in ends), endings


def test_the_limit_of_plies_is_a_draw():
    assert oracle.same_games(RacingKings(max_plies=20), 20, seed=2)["limit"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fen", "count"), [(rk.MODIFIED, 3000), (rk.STANDARD, 1000), (MIXED, 1000), (NEAR, 3000)]
)
def test_thousands_of_random_games_are_those_of_python_chess(fen, count):
    total = Counter()
    for seed in range(count // 250):
        total.update(oracle.same_games(RacingKings(fen), 250, seed=100 + seed))
    assert total["won"]
    assert total["lost"]


# Standard: python-chess's published perft. Modified: counted by python-chess.
PERFT = {
    rk.STANDARD: (21, 421, 11264, 296242),
    rk.MODIFIED: (28, 774, 20954),
}


@pytest.mark.parametrize("fen", [rk.MODIFIED, pytest.param(rk.STANDARD, marks=pytest.mark.slow)])
def test_leaves_per_depth(fen):
    from tests.games.boards import leaves

    expected = PERFT[fen][:3]
    assert tuple(leaves(RacingKings(fen), len(expected))) == expected
    assert oracle.leaves(fen, 2) == expected[1]


@pytest.mark.slow
def test_leaves_at_depth_4():
    from tests.games.boards import leaves

    assert leaves(RacingKings(rk.STANDARD), 4)[-1] == PERFT[rk.STANDARD][3]


@pytest.mark.parametrize(
    "name",
    [
        "racing_kings_40plies",
        pytest.param("racing_kings_standard_30plies", marks=pytest.mark.slow),
    ],
)
def test_it_conforms(name):
    report = conformance.check_game(make_game(name), num_games=8)
    assert "symmetric_positions" in report.passed
    # White and Black race the same way, and Black alone has an answer: colours do differ.
    assert set(report.skipped) == {"symmetric_games", "flipped_colours"} - (
        {"symmetric_games"} & set(report.passed)
    )


def test_names_and_positions():
    game = make_game("racing_kings")
    assert (game.num_actions, game.observation_shape) == (4184, (8, 8, 12))
    assert make_game("racing_kings_standard_200plies") == RacingKings(rk.STANDARD, 200)
    odd = RacingKings(MIXED, 90)
    assert odd.name == f"racing_kings_90plies:{MIXED.replace(' ', '_')}"
    assert make_game(odd.name) == odd
    assert chess.Board(game.current_fen(game.init())).fen() == chess.Board(rk.MODIFIED).fen()
    state = game.step(game.init(), jnp.int32(rk.action_of("a4a5")))
    assert game.current_fen(state) == "8/8/8/K7/1RBNnbrk/8/8/8 b - - 1 1"
    assert "Black to move" in game.render(state)


def test_moves_are_counted_from_whoever_began():
    game = RacingKings("8/8/8/8/KRBNnbrk/8/8/8 b - - 0 1")
    state = game.step(game.init(), jnp.int32(rk.action_of("h4h5")))
    assert game.current_fen(state) == "8/8/8/7k/KRBNnbr1/8/8/8 w - - 1 2"


@pytest.mark.parametrize(
    ("fen", "says"),
    [
        ("8/8/8/8/KRBNnbrk/8/8/8 w KQ - 0 1", "castling"),
        ("8/8/8/8/KRBNnbrk/8/8/8 wb - - 0 1", "is no FEN"),
        ("8/8/8/8/KRBNnbrk/8/8/8  - - 0 1", "is no FEN"),  # nobody is to move
        ("8/8/8/8/KPBNnbrk/8/8/8 w - - 0 1", "no pawns"),
        ("8/8/8/8/1RBNnbrk/8/8/8 w - - 0 1", "one king"),
        ("8/8/8/8/KRBNnbrk/8/8/9 w - - 0 1", "'9'"),
        ("8/8/8/8/KR4rk1/8/8/8 w - - 0 1", "9 squares"),
        ("8/8/8/8/KRBNnbrk/8/8/8 w - - 150 1", "count plies and moves"),
        ("8/8/8/8/K6r/8/8/7k w - - 0 1", "in check"),
        ("K7/8/8/8/8/8/8/7k w - - 0 1", "arrived"),
        ("1r6/7k/8/8/8/8/7r/K7 w - - 0 1", "White is to move and has no move"),
    ],
)
def test_impossible_positions_are_refused_in_one_line(fen, says):
    with pytest.raises(ValueError, match=says) as error:
        RacingKings(fen)
    assert "\n" not in str(error.value)


def test_a_position_counts_for_who_is_to_move_in_it():
    for fen in ("1r6/7k/8/8/8/8/1n5r/K7 w - - 0 1", "1r6/7k/8/8/8/8/7r/K7 b - - 0 1"):
        assert RacingKings(fen).first_colour == "wb".index(fen.split()[1])


@pytest.mark.parametrize(("fen", "ranks"), [(MIXED, [0, 2]), (rk.MODIFIED, [3, 3])])
def test_material_is_how_far_the_kings_have_come(fen, ranks):
    game = RacingKings(fen)
    assert isinstance(game, CountsMaterial)  # a greedy player's
    squares = jnp.asarray(fen_of_games.read(fen)[1], jnp.int8)
    assert game.material(SimpleNamespace(squares=squares)).tolist() == ranks  # of who moves first


def test_a_name_that_is_none_is_refused():
    with pytest.raises(ValueError, match="racing_kings_standard"):
        make_game("racing_kings_8x8")
    with pytest.raises(ValueError, match="planes"):
        make_game("racing_kings", observation="signed")


def test_all_actions_have_names():
    assert [rk.action_of(rk.uci_of(a)) for a in range(4184)] == list(range(4184))
    assert rk.uci_of(4096) == "a2a1n"
    assert rk.uci_of(4183) == "h7h8q"


@pytest.mark.parametrize("fen", [rk.MODIFIED, MIXED])
def test_rules_use_no_gather_and_no_scatter(fen):
    game = RacingKings(fen)
    states = jax.tree.map(lambda x: jnp.asarray(x)[None], game.init())
    programs = [jax.make_jaxpr(jax.vmap(game.step))(states, jnp.zeros(1, jnp.int32))]
    for method in (game.legal_actions, game.observe, game.outcome, game.is_terminal):
        programs.append(jax.make_jaxpr(jax.vmap(method))(states))
    for program in programs:
        for primitive in ("gather", "scatter", "dynamic_slice", "while", "cond"):
            assert primitive not in str(program)
