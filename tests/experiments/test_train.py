"""One player's training, from settings to the folder that is shipped."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from ml_collections import ConfigDict

from experiments import train
from experiments.configs.train import GAMES, PRESETS, get_config
from experiments.pages import reports
from experiments.shell.study import StudyRun
from experiments.strength import examinations, player_folder
from jaxzero import files, runs, workdir
from jaxzero.runs import Member, hardware
from jaxzero.runs.hardware import Hardware
from jaxzero.settings.config import ConfigError
from tests import small
from tests.browser import check_report

TINY: dict[str, Any] = {
    "game": "connect_four_4x4",
    "network.blocks": 1,
    "network.channels": 4,
    "network.head_filters": 2,
    "search.num_simulations": 4,
    "selfplay.episodes": 8,
    "selfplay.opening_plies": 4,
    "train.iterations": 5,
    "train.batch_size": 16,
    "evaluation.heldout_games": 2,
    "evaluation.heldout_simulations": 2,
    "evaluation.learning_positions": 0,
    "execution.devices": 1,
    "study.examine_every": 1,
    "study.patience": 2,
    "study.opponents": ("random",),
    "study.games": 2,
    "study.final_games": 4,
    "study.positions": 20,
}


def tiny(changes: dict[str, Any] | None = None) -> ConfigDict:
    """The generic recipe made small."""
    return small.changed(get_config("laptop"), TINY | (changes or {}))


def test_a_training_ends_with_the_best_network_as_a_player(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    worth = {0: 0.9, 1: 0.2, 2: 0.7, 3: 0.7, 4: 0.1}  # the untrained network is never kept
    asked: list[int] = []

    def examined(*args: Any, **given: Any) -> dict[str, Any]:
        asked.append(len(asked))
        return real(*args, **given) | {"search": worth.get(asked[-1], 0.6)}

    real = train.Examiner.__call__
    monkeypatch.setattr(train.Examiner, "__call__", examined)
    train.run(tiny(), tmp_path / "run", "the command")
    records = files.read_json(tmp_path / "run" / train.EXAMINATIONS)
    assert list(records) == ["0", "1", "2", "3", "4"]  # nothing better than 2's for two looks
    assert records["2"]["games"] == {"random": 2}
    assert 0 <= records["2"]["network"] <= 1

    player = runs.open_run(tmp_path / "run" / train.PLAYER)
    assert player.iterations == (0, 3)  # of equals the newest
    kept = runs.networks(runs.open_run(tmp_path / "run"), 3)
    for ours, theirs in zip(
        jax.tree.leaves(runs.networks(player).params), jax.tree.leaves(kept.params), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=2**-8)
    card = files.read_json(tmp_path / "run" / train.PLAYER / "card.json")
    assert card["command"] == "the command"
    assert card["iteration"] == 3
    assert card["games"] == 3 * 8
    assert card["measured"]["games"]["random"] == 4
    results = files.read_json(tmp_path / "run" / workdir.RESULTS)
    assert card["simulations"] == results["config"]["search"]["num_simulations"]
    results["config"]["study"]["simulations"] = 30  # measured with others than it learned with
    assert player_folder.card(results)["simulations"] == 30
    folder = tmp_path / "run" / train.PLAYER
    player_folder.write(runs.open_run(tmp_path / "run"), 3, folder, card | {"seed": 7})
    assert files.read_json(folder / "card.json") == card | {"seed": 7}
    assert not list(folder.parent.glob(f".{folder.name}*"))  # nothing is left beside it
    page = reports.write(tmp_path / "run")
    assert "Strength over training" in page.read_text()
    # The same command has nothing left to train.
    for every, done in ((1, True), (0, False)):  # 0: nothing is looked at, so nothing ends it
        config = tiny({"study.examine_every": every})
        study = StudyRun(train.STUDY, config, tmp_path / "run")
        assert train.Progress(study).is_done() == done

    check_report(request.getfixturevalue("browser"), page, tmp_path)  # the rest needs none


def test_the_best_is_the_newest_of_those_hardly_apart_and_patience_counts_from_the_first() -> None:
    numbers = {0: 0.9, 4: 0.5, 8: 0.7, 12: 0.7, 16: 0.6}
    records: Any = {
        i: {"points": {"random": n, "greedy": n}, "games": {"random": 5000, "greedy": 5000}}
        for i, n in numbers.items()
    }
    assert examinations.best(records) == 12
    records[8]["games"] = dict.fromkeys(("random", "greedy"), 5)
    records[8]["points"] = dict.fromkeys(("random", "greedy"), 0.72)
    assert examinations.standard_error(records[8]) == pytest.approx((0.72 * 0.28 / 10) ** 0.5)
    few = {"points": dict.fromkeys("abc", 0.5), "games": {"a": 100, "b": 100, "c": 4}}
    drawn = [np.random.default_rng(n).binomial(n, 0.5, 20_000) / n for n in few["games"].values()]
    assert examinations.standard_error(few) == pytest.approx(np.mean(drawn, 0).std(), rel=0.05)
    assert examinations.best(records) == 16  # 0.6 is within an error of 0.14
    records[8] = records[12]
    assert examinations.has_ended(records, 2)
    assert not examinations.has_ended(records, 3)
    assert not examinations.has_ended(records, 0)
    records[4]["points"] = {"random": 1.0, "greedy": 0.2}
    assert examinations.main_number(records[4]) == pytest.approx(0.6)
    assert examinations.main_number(records[4] | {"search": 0.3}) == 0.3


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_can_be_trained(preset: str) -> None:
    config = get_config(preset)
    config.tracking.wandb = "off"
    train.validate(config)
    on_gpu = preset.endswith("gpu")
    machine = Hardware("gpu" if on_gpu else "cpu", "", 1, None)
    needed = hardware.forecast(config, [Member("a", "sum", 0, config)], machine).total
    assert needed < (24 if on_gpu else 8) * 2**30
    assert config.train.iterations * 0.6 < config.train.schedule_steps[0] < config.train.iterations


@pytest.mark.parametrize(
    ("preset", "changes", "told"),
    [
        ("othello_6x6", {"game": "othello_8x8"}, "has the numbers of its own game"),
        ("laptop", {"study.opponents": ("mcts",)}, "did you mean"),
        ("laptop", {"study.opponents": ()}, "study.opponents"),
        ("laptop", {"game": "gobang_5x5", "study.positions": 5}, "set it to 0"),
        ("laptop", {"study.opponents": ("pretrained:chess",)}, "no such player ships"),
    ],
)
def test_what_cannot_work_is_refused(preset: str, changes: dict[str, Any], told: str) -> None:
    assert set(GAMES) < set(PRESETS)
    with pytest.raises(ConfigError, match=told):
        train.validate(small.changed(get_config(preset), changes))
