"""How the switches stand under each `semantics`, alone and in what is compiled."""

import pytest

from jaxzero.settings import config as config_lib
from jaxzero.settings.config import default_config, resolve_switches
from jaxzero.training import spec as spec_lib
from tests.small import changed, small_config

# How the switches stand under "published"; all are off under "corrected" but for the openings.
EVERY_GAME = {
    "one_hot_after_temperature",
    "root_expansion_counts",
    "keep_tree",
    "accept_all_drawn",
    "dropout_inactive",
    "tournament_one_model_per_target",
    "elo_first_listed_advantage",
}
OF_A_FAMILY = {
    "othello_6x6": {"othello_tie_is_loss_of_asked"},
    "othello_8x8": {"othello_tie_is_loss_of_asked"},
    "connect_four_5x5": {"small_draw_value", "mirror_without_policy"},
    "connect_four_7x8_line5": {"small_draw_value", "mirror_without_policy"},
    "gobang_5x5": {"small_draw_value", "gobang_absolute_labels"},
    "gobang_6x6_line5": {"small_draw_value", "gobang_absolute_labels"},
    "reversi_8x8": set(),
    "pgx:othello": set(),
}


@pytest.mark.parametrize("game", OF_A_FAMILY)
def test_published_switches_are_those_that_concern_the_game(game: str) -> None:
    published = resolve_switches(
        changed(default_config(), {"game": game, "semantics": "published"})
    )
    assert {k for k, on in vars(published).items() if on} == EVERY_GAME | OF_A_FAMILY[game]
    corrected = resolve_switches(changed(default_config(), {"game": game}))
    assert {k for k, on in vars(corrected).items() if on} == {"arena_random_openings"}


@pytest.mark.parametrize("switch", config_lib.SWITCHES)
@pytest.mark.parametrize("semantics", config_lib.SEMANTICS)
def test_one_switch_can_be_set_alone(switch: str, semantics: str) -> None:
    families = config_lib.SWITCHES[switch].families
    game = {"othello": "othello_6x6", "gobang": "gobang_5x5"}.get(
        families[0] if families else "", "connect_four_5x5"
    )
    settings = {"game": game, "semantics": semantics}
    before = resolve_switches(changed(default_config(), settings))
    wanted = not getattr(before, switch)
    after = resolve_switches(changed(default_config(), {**settings, f"switches.{switch}": wanted}))
    assert vars(after) == {**vars(before), switch: wanted}


def test_a_switch_of_another_game_stays_off() -> None:
    for game, switch in (
        ("othello_6x6", "gobang_absolute_labels"),
        ("othello_6x6", "small_draw_value"),
        ("reversi_8x8", "othello_tie_is_loss_of_asked"),
        ("gobang_5x5", "mirror_without_policy"),
    ):
        asked = changed(default_config(), {"game": game, f"switches.{switch}": True})
        assert not getattr(resolve_switches(asked), switch)


@pytest.mark.parametrize(
    ("game", "semantics", "worth"),
    [
        ("othello_6x6", "published", -1.0),
        ("connect_four_5x5", "published", 1e-4),
        ("gobang_5x5", "published", 1e-4),
        ("reversi_8x8", "published", 0.0),
        ("othello_6x6", "corrected", 0.0),
        ("connect_four_5x5", "corrected", 0.0),
    ],
)
def test_what_a_draw_is_worth(game: str, semantics: str, worth: float) -> None:
    asked = changed(default_config(), {"game": game, "semantics": semantics})
    assert resolve_switches(asked).draw_for_asked == worth


def test_switches_reach_the_compiled_code() -> None:
    changes = {"game": "connect_four_5x5", "semantics": "published"}
    published = spec_lib.make_spec(small_config(changes))
    corrected = spec_lib.make_spec(small_config())
    assert (published.arena.opening_plies, corrected.arena.opening_plies) == (0, 2)
    assert (published.search.draw_for_asked, corrected.search.draw_for_asked) == (1e-4, 0)
    assert (published.search.root_expansion_counts, corrected.search.root_expansion_counts) == (
        True,
        False,
    )
    assert published.search.capacity == 4 * 8 + 1  # room for the searches of a kept tree
    assert corrected.search.capacity == 8 + 1
    assert published.arena_search.dirichlet_fraction == 0
