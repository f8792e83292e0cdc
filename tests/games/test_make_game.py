"""Names of games: those that exist, and what is said about those that do not."""

import jax
import jax.numpy as jnp
import pytest

from jaxzero import games
from jaxzero.games import (
    GAME_EXAMPLES,
    ConnectFour,
    Gobang,
    Othello,
    Reversi,
    make_game,
    register,
)
from jaxzero.games.base import Game
from jaxzero.settings.config import ConfigError
from jaxzero.training import components
from jaxzero.training.spec import make_spec
from tests.small import small_config

GAMES = {
    "connect_four_6x7": ConnectFour(6, 7),
    "connect_four_5x5": ConnectFour(5, 5),
    "connect_four_7x8_line5": ConnectFour(7, 8, 5),
    "connect_four_1x5": ConnectFour(1, 5),
    "gobang_5x5": Gobang(5),
    "gobang_6x6_line5": Gobang(6, 5),
    "othello_7x7": Othello(7),
    "reversi_8x8": Reversi(8),
    "reversi_6x6_mirrored": Reversi(6, mirrored=True),
}


@pytest.mark.parametrize("name", GAMES)
def test_a_name_makes_its_game(name):
    assert make_game(name) == GAMES[name]


@pytest.mark.parametrize("name", [*GAMES, *GAME_EXAMPLES])
def test_a_game_has_the_name_that_makes_it(name):
    game = make_game(name)
    assert game.name == name
    assert make_game(game.name) == game
    assert isinstance(game, Game)


@pytest.mark.parametrize("name", ["connect_four_5x5", "othello_6x6", "racing_kings"])
def test_a_plain_number_is_an_action(name: str) -> None:
    game = make_game(name)
    state = jax.eval_shape(game.init)
    after = jax.eval_shape(lambda state: game.step(state, 2), state)
    assert after == jax.eval_shape(game.step, state, jnp.int32(2)) == state


def test_the_default_line_need_not_be_named():
    assert make_game("gobang_5x5_line4") == make_game("gobang_5x5")
    assert make_game("gobang_5x5_line4").name == "gobang_5x5"


def test_a_mirrored_start_has_the_other_colours():
    plain, mirrored = (make_game(f"reversi_8x8{end}").init() for end in ("", "_mirrored"))
    assert (plain.stones == mirrored.stones[::-1]).all()
    assert (plain.moves != mirrored.moves).any()
    with pytest.raises(ValueError, match="only reversi"):
        make_game("othello_8x8_mirrored")


@pytest.mark.parametrize(
    ("name", "actions", "planes", "max_plies"),
    [
        ("connect_four_6x7", 7, (6, 7, 2), 42),
        ("gobang_6x6_line5", 36, (6, 6, 2), 36),
        ("othello_6x6", 37, (6, 6, 2), 63),
        ("reversi_8x8", 64, (8, 8, 2), 60),
    ],
)
def test_sizes(name, actions, planes, max_plies):
    game = make_game(name)
    assert game.num_actions == actions
    assert game.observation_shape == planes
    assert make_game(name, observation="cells").observation_shape == (*planes[:2], 1)
    assert make_game(name, observation="planes_ones").observation_shape == (*planes[:2], 3)
    assert game.max_plies == max_plies


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("othelo_6x6", "'othello_6x6'"),
        ("connect4_6x7", "'connect_four_6x7'"),
        ("Connect_Four_5x6", "'connect_four_5x6'"),
        ("othello", "'othello_6x6'"),
        ("othello_6x6_size", "'othello_6x6'"),
        ("chess", "connect_four_6x7"),
        ("", "othello_6x6"),
        ("othello_3x3", "'othello_4x4'"),
        ("othello_12x12", "'othello_10x10'"),
        ("othello_6x7", "'othello_6x6'"),
        ("gobang_5x6", "'gobang_5x5'"),
        ("othello_6x6_line4", "only connect_four and gobang"),
        ("gobang_3x3", "'gobang_3x3_line3'"),
        ("gobang_5x5_line6", "2 to 5"),
        ("connect_four_3x3", "'connect_four_3x3_line3'"),
        ("connect_four_6x7_line1", "2 to 7"),
        ("connect_four_40x7", "32 columns"),
        ("pgx:hx", "'pgx:hex'"),
        ("pgx:backgammon", "chance"),
        ("Pgx:hex", "'pgx:hex'"),
    ],
)
def test_a_bad_name_is_answered_in_one_line(name, says):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        make_game(name)
    message = str(caught.value)
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["othello_6x6", "connect_four_6x7", "gobang_5x5", "pgx:hex"])
def test_a_bad_encoding_is_refused(name):
    with pytest.raises(ValueError, match="observation"):
        make_game(name, observation="colours")


@pytest.mark.parametrize("name", GAME_EXAMPLES)
def test_equal_games_share_compiled_programs(name):
    traces = []

    def count(game):
        traces.append(game)
        return game.init()

    compiled = jax.jit(count, static_argnums=0)
    compiled(make_game(name))
    compiled(make_game(name))
    compiled(make_game(name, observation="signed"))
    assert len(traces) == 2


@pytest.mark.parametrize("name", GAME_EXAMPLES)
def test_rules_use_no_gather_and_no_scatter(name):
    """`vmap` would turn them into slow loops in every simulation of a search."""
    game = make_game(name)
    state = game.init()
    programs = (
        jax.make_jaxpr(jax.vmap(game.step))(*_batch((state, jax.numpy.int32(0)))),
        *(
            jax.make_jaxpr(jax.vmap(method))(_batch(state))
            for method in (game.legal_actions, game.observe, game.outcome, game.is_terminal)
        ),
    )
    for program in programs:
        for primitive in ("gather", "scatter", "dynamic_slice", "while", "cond"):
            assert primitive not in str(program)


# ---- families of one's own ----


@pytest.fixture
def own_families(monkeypatch):
    """What a test registers is forgotten afterwards."""
    monkeypatch.setattr(games, "_FAMILIES", dict(games._FAMILIES))


def five_in_a_row(name, rows, columns, line, observation):
    """`row_five_7x7`: Gobang with lines of five unless the name says otherwise."""
    if rows != columns:
        raise ValueError(f"{name!r} needs a square board")
    return Gobang(rows, line or 5, observation=observation)


def test_a_registered_family_is_known_by_name(own_families):
    register("row_five", five_in_a_row)
    assert make_game("row_five_7x7") == Gobang(7, 5)
    assert make_game("row_five_7x7_line4", observation="signed") == Gobang(
        7, 4, observation="signed"
    )
    for name, says in (
        ("row_five_7x6", "needs a square board"),
        ("row_fiv_7x7", "did you mean 'row_five_7x7'?"),
        ("row_five", "did you mean 'row_five_ROWSxCOLUMNS'?"),
        ("chess", "row_five_ROWSxCOLUMNS"),
    ):
        with pytest.raises(ValueError, match=says.replace("?", r"\?")):
            make_game(name)


def test_a_registered_family_can_be_configured(own_families):
    config = small_config({"game": "row_five_7x7"})
    with pytest.raises(ConfigError, match="unknown game 'row_five_7x7'"):
        make_spec(config)
    register("row_five", five_in_a_row)
    assert make_spec(config).game == Gobang(7, 5, observation="signed")
    with pytest.raises(ConfigError, match=r"config.game='row_five_7x6': .* needs a square board"):
        make_spec(small_config({"game": "row_five_7x6"}))


def test_names_are_registered_once(own_families):
    register("row_five", five_in_a_row)
    for family in ("row_five", "othello", "connect_four", "racing_kings", "racing_kings_small"):
        with pytest.raises(ValueError, match=f"games called '{family}' exist already"):
            register(family, five_in_a_row)
    assert make_game("othello_6x6") == Othello(6)


@pytest.mark.parametrize("family", ["", "Row_Five", "row five", "row5", "_row", "pgx:row", "row_"])
def test_what_is_no_name_is_refused(own_families, family):
    with pytest.raises(ValueError, match="lower-case words"):
        register(family, five_in_a_row)
    assert family not in games._FAMILIES


def _batch(tree):
    return jax.tree.map(lambda x: jax.numpy.stack([x, x]), tree)


def test_an_encoding_that_such_a_family_refuses_names_its_key(own_families):
    def own(name: str, rows: int, columns: int, line: int | None, observation: str) -> Game:
        if observation != "planes":
            raise ValueError(f"knows planes; got {observation!r}")
        raise ValueError("has one row")

    register("own", own)
    for observation, key in (("cells", "observation='cells'"), ("planes", "game='own_5x5'")):
        config = small_config({"game": "own_5x5", "observation": observation})
        with pytest.raises(ConfigError, match=f"config.{key}: "):
            components.build_game(config)
