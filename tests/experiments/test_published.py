"""The papers' numbers and claims, as they are in the papers."""

from itertools import product

import pytest

from experiments import published
from experiments.claims import measured, papers
from experiments.claims.losses import published_effect
from jaxzero.games import make_game
from tests.experiments.made_up import TARGETS


def test_published_numbers():
    curves, ratings = published.loss_curves("othello_6x6"), published.tournament("othello_6x6")
    rated = published.training_elo("connect_four_5x5")
    assert curves is not None
    assert ratings is not None
    assert rated is not None
    # Last iteration of 6x6 Othello under the sum, and mean tournament Elo of value-only networks.
    assert (curves["sum"]["policy"].mean[-1], curves["sum"]["value"].mean[-1]) == (0.238, 0.186)
    assert curves["sum"]["sum"].iterations[[0, -1]].tolist() == [1, 100]
    assert ratings["value"].mean() == pytest.approx(415, abs=0.5)
    assert (rated["sum"].mean[0], rated["sum"].mean[-1]) == (741, -1766)
    assert rated["sum"].iterations[0] == 0
    assert published.loss_curves("gobang_5x5") is None
    said = (published.losses_in_words("gobang_5x5") or {})["policy"]["policy"]
    assert (said.iterations.tolist(), said.mean.tolist()) == ([1, 200], [2.5, 1.25])
    assert measured.published_value("policy_loss_fall", "gobang_5x5", "policy") == 1.25
    assert measured.published_value("value_loss_fall", "gobang_5x5", "value") is None
    value = published.training_elo("connect_four_6x6")["value"]  # type: ignore[index]
    late = measured.published_value("second_half_training_elo_gain", "connect_four_6x6", "value")
    assert late == value.mean[100] - value.mean[50]
    assert measured.published_value("value_less_policy", "gobang_5x5", "policy") == 0.5 - 1.25
    assert published.is_pictured("tournament", "othello_8x8")
    assert not published.is_pictured("tournament", "othello_6x6")
    assert published.load("no_such_paper") is None
    assert (published.settings("othello_5x5") or {})["train.iterations"] == 200


def test_the_number_that_a_claim_compares_with_is_subtracted():
    [claim] = [c for c in papers.claims(papers.LOSSES) if c.id == "value_loss_vanishes"]
    found = {(c.board, *c.plus): published_effect(c) for c in claim.contrasts}
    ends = {  # of l_v in Figs. 7 and 8, which should be below 0.1
        ("othello_5x5", "sum"): 0.012,
        ("othello_5x5", "product"): 0.064,
        ("connect_four_5x5", "sum"): 0.003,
        ("connect_four_5x5", "product"): 0.010,
    }
    assert found == pytest.approx({key: end - 0.1 for key, end in ends.items()})


def test_the_claims_are_well_formed_and_agree_with_the_published_numbers() -> None:
    found = papers.claims(papers.LOSSES)
    assert len({claim.id for claim in found}) == len(found)
    against_their_words = set()
    for claim in found:
        assert claim.where
        assert all(
            place.startswith(("Wang 2019", "Wang 2020", "Wang 2023")) for place in claim.where
        )
        for contrast in claim.contrasts:
            assert contrast.statistic in measured.STATISTICS
            assert contrast.direction in ("greater", "less", "equal", "different")
            assert contrast.than in (0.0, 0.1)
            assert {*contrast.plus, *contrast.minus} <= {*TARGETS}
            assert contrast.plus
            elo = "elo" in contrast.statistic
            assert contrast.margin == (50.0 if elo else 0.05)
            for board in filter(None, (contrast.board, contrast.against)):
                assert published.random_plies(board)
                make_game(board)
            effect = published_effect(contrast)
            if effect is None:
                continue
            agrees = {
                "greater": effect > contrast.margin,
                "less": effect < -contrast.margin,
                "equal": abs(effect) < contrast.margin,
                "different": abs(effect) > contrast.margin,
            }[contrast.direction]
            if not agrees:
                against_their_words.add((claim.id, contrast.board, *contrast.plus, *contrast.minus))
    assert against_their_words == {
        ("small_othello_no_difference", "othello_5x5", "value", "sum"),  # 51 Elo
        ("small_othello_no_difference", "othello_5x5", "sum", "product"),  # 61
        ("training_elo_policy_fastest", "othello_5x5", "policy", "product"),  # -15
        ("training_elo_falls_small_boards", "connect_four_5x5", "value"),  # rises by 174
        ("combinations_alike", "connect_four_5x5", "sum", "product"),  # l_p 0.07 apart
        ("iterations_lower_the_loss", "othello_6x6", "sum"),  # still falls, in the mean of eight
        ("value_loss_vanishes", "othello_5x5", "product"),  # to 0.06, not 0.05 below 0.1
        ("gobang_value_loss_low", "gobang_5x5", "value"),  # "lower than 0.1" is taken as 0.1
        ("large_othello_combinations", "othello_6x6", "sum"),  # l_v ends 0.06 lower
        ("large_othello_combinations", "othello_6x6", "product"),  # 0.12
        ("othello_combinations_alike", "othello_5x5", "sum", "product"),  # l_v 0.052 apart
        # Said in conclusion, of no board: true on Connect Four, on Othello 6x6 above l_p alone.
        *(
            ("value_highest_training_elo", board, "value", rival)
            for board, rival in product(("othello_5x5", "othello_6x6"), ("sum", "product"))
        ),
        ("value_highest_training_elo", "othello_5x5", "value", "policy"),
    }
