"""What is measured of one run for a claim, by hand."""

import pytest

from experiments.claims import effort, measured
from experiments.pages.study import Run, Study


def test_falls_of_losses_late_and_over_epochs() -> None:
    rows = {i: {"loss/minimised": 8.0 - i, "loss/value": 1.0 - 0.1 * i} for i in range(1, 9)}
    study, run = Study("s", {}, {"a": rows}), Run("a", "sum", 0)
    assert measured.STATISTICS["late_loss_fall"](study, run) == pytest.approx(2.0)
    fall = measured.STATISTICS["second_half_value_loss_fall"](study, run)
    assert fall == pytest.approx(0.4)
    nine = {i: {"loss/minimised": float(i * i)} for i in range(1, 10)}  # from 6.75, so from 7
    late = measured.STATISTICS["late_loss_fall"](Study("s", {}, {"a": nine}), run)
    assert late == pytest.approx(49 - 81)
    epochs = {
        i: {"loss_epochs/policy": [3.0, 1.0, 2.0 - i], "loss_epochs/value": [1.0, 0.5]}
        for i in (1, 2)
    }
    study = Study("s", {}, {"a": {0: {}, **epochs}})
    assert measured.STATISTICS["epoch_fall"](study, run) == pytest.approx(2.5 + 0.5)


def test_a_published_bias_is_the_gain_in_training_less_that_of_the_tournament() -> None:
    of = measured.published_value
    gain = of("training_elo_gain", "othello_5x5", "value")
    tournament = of("tournament_elo", "othello_5x5", "value")
    assert gain is not None
    assert tournament is not None
    assert of("training_elo_bias", "othello_5x5", "value") == gain - tournament


def test_an_effort_is_of_useful_evaluations_and_of_three_passes_an_example() -> None:
    network = {"name": "convnet", "channels": 256, "hidden": [1024, 512]}
    runs = {
        name: {"evaluations": 9.0, "useful_evaluations": useful, "gradient_steps": 2.0}
        for name, useful in (("a", 4.0), ("b", 6.0), ("failed", 1.0))
    }
    results = {
        "game": "othello_6x6",
        "config": {"network": network, "train": {"batch_size": 64}},
        "cost": {"runs": runs},
    }
    study = Study("s", results, {}, failed={"failed": 2})
    found, theirs = effort.of_study(study), effort.of_papers("othello_6x6")
    assert found is not None
    assert theirs is not None
    assert (found.evaluations, found.examples) == (5.0, 128.0)
    assert found.multiplications == theirs.multiplications
    assert found.total == found.multiplications * (5 + 3 * 128)
