"""Claims about supervised networks: decided from directories together, like with like alone."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from experiments.claims import command, supervised
from experiments.results import data, shown
from jaxzero.settings.config import ConfigError

SETTINGS = {
    "preset": "few",
    "seed": 0,
    "network": {"channels": 32},
    "train": {"batch_size": 128},
    "execution": {"devices": 0},
}
STUDY = {"best_move_probability": 0.5, "data_seed": 0, "positions": 62_500, "max_epochs": 16}


def study(*groups: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """results.json of networks that differ as said; `moves`: right ones of the first seed."""

    def group(**own: Any) -> dict[str, Any]:
        moves = own.pop("moves", 0.8)
        measured = [{"strong": moves + seed / 1000, "result": 0.8} for seed in range(5)]
        seeds = [{"network": {"all": one}} for one in measured]
        named = {"blocks": 2, "version": 1, "labels": "corrected", "features": "none"}
        known = {"positions": {"train": 50_000}, "sha256": "hard", "seeds": seeds}
        return named | known | own

    config = copy.deepcopy(SETTINGS | {"study": STUDY | {"features": [len(groups)]}})
    for path, value in settings.items():
        section, _, key = path.rpartition("__")
        (config[section] if section else config)[key] = value
    return {"study": supervised.STUDY, "config": config, "groups": [group(**g) for g in groups]}


def easy(*groups: dict[str, Any], **settings: Any) -> dict[str, Any]:
    own = [group | {"sha256": "easy"} for group in groups]
    return study(*own, study__best_move_probability=0.9, **settings)


def verdicts(of_claim: str, **studies: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in supervised.rows(studies) if row["id"] == of_claim]


def test_two_directories_decide_what_neither_decides_alone() -> None:
    hard, others = study({"moves": 0.75}), easy({"moves": 0.8})
    for alone in ({"hard": hard}, {"easy": others}):
        [row] = verdicts("hard_set_is_harder", **alone)
        assert row["verdict"] == "not addressed"
    [row] = verdicts("hard_set_is_harder", hard=hard, easy=others)
    assert row["verdict"] == "reproduced"
    assert row["contrasts"][0]["effect"] == pytest.approx(5)
    assert row["contrasts"][0]["published"]["Clausen 2021"] == pytest.approx(4.34)
    assert row["directories"] == ["hard", "easy"]
    assert row["networks"] == "2 blocks, version 1"
    [back] = verdicts("hard_set_is_harder", easy=others, hard=hard)
    assert back["contrasts"] == row["contrasts"]
    # Where a run lies, and how many networks another list of features made, is no difference.
    elsewhere = easy({"moves": 0.8}, {"features": "move1"}, execution__devices=1, preset="paper")
    [row] = verdicts("hard_set_is_harder", hard=hard, easy=elsewhere)
    assert row["verdict"] == "reproduced"


@pytest.mark.parametrize(
    "other",
    [
        easy({}, seed=5),
        easy({}, network__channels=64),
        easy({}, train__batch_size=64),
        easy({}, study__positions=10_000),
        easy({}, study__max_epochs=40),
        easy({}, study__data_seed=1),
        easy({"blocks": 5}),
        easy({"version": 2}),
        easy({"features": "none", "positions": {"train": 8_000}}),
    ],
)
def test_nothing_is_compared_that_differs_in_more(other: dict[str, Any]) -> None:
    [row] = verdicts("hard_set_is_harder", hard=study({}), easy=other)
    assert (row["verdict"], row["contrasts"]) == ("not addressed", [])
    assert row["needs"] == "runs of easy_none and hard_none whose other settings agree"


def test_labels_are_never_compared_with_each_other() -> None:
    hard, others = study({}), easy({"labels": "published"})
    rows = verdicts("hard_set_is_harder", hard=hard, easy=others)
    assert [row["semantics"] for row in rows] == ["corrected", "published"]
    assert {row["verdict"] for row in rows} == {"not addressed"}


def test_the_same_settings_on_other_positions_are_not_compared() -> None:
    name = "features_help_supervised"
    more = {"features": "move1", "moves": 0.9}
    [row] = verdicts(name, a=study({}), b=study(more))
    assert (row["verdict"], row["directories"]) == ("reproduced", ["a", "b"])
    [row] = verdicts(name, a=study({}), b=study(more | {"sha256": "made otherwise"}))
    assert row["verdict"] == "not addressed"


def test_versions_are_compared_though_their_positions_differ() -> None:
    first = {"blocks": 5, "moves": 0.7}
    second = {"blocks": 5, "version": 2, "moves": 0.8, "sha256": "one of each game"}
    [row] = verdicts("one_per_game_is_better", study=study(first, second))
    [moves] = [t for t in row["contrasts"] if t["seeds"] and t["statistic"] == "moves"]
    assert moves["effect"] == pytest.approx(10)


def test_a_study_is_one_of_few_up_to_ten_thousand_positions() -> None:
    group = {"blocks": 2, "version": 1, "labels": "corrected"}
    few = [supervised.kind(group, 0.5, count)["few"] for count in (8_000, 10_000, 10_001)]
    assert few == [True, True, False]


def test_what_several_directories_address_is_decided_for_each() -> None:
    name = "features_help_supervised"
    better, worse = ({"features": "move1", "moves": moves} for moves in (0.9, 0.7))
    rows = verdicts(name, a=study({}, better), b=study({}, worse, seed=5))
    assert [row["verdict"] for row in rows] == ["reproduced", "contradicted"]
    assert [row["directories"] for row in rows] == [["a"], ["b"]]
    # Depths are as apart as settings; networks that were trained again count once.
    rows = verdicts(name, a=study({}, better, {"blocks": 5}, worse | {"blocks": 5}))
    assert [row["networks"] for row in rows] == ["2 blocks, version 1", "5 blocks, version 1"]
    [row] = verdicts(name, a=study({}, better), b=study({"moves": 0.99}))
    assert row["contrasts"][0]["effect"] == pytest.approx(10)


def test_contrasts_of_a_claim_come_from_several_directories() -> None:
    studies = {
        f"blocks{blocks}": study({"blocks": blocks, "moves": 0.7 + blocks / 100})
        for blocks in (5, 10, 20)
    }
    [row] = verdicts("deeper_is_better", **studies)
    decided = [test["verdict"] for test in row["contrasts"] if test["seeds"]]
    assert decided == ["reproduced", "reproduced", "equivalent", "equivalent"]
    assert row["directories"] == [*studies]


def test_the_command_and_the_page_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = data.read()["clausen2021_supervised"]
    runs = []
    for one in recorded:
        (tmp_path / one.name).mkdir()
        (tmp_path / one.name / "results.json").write_text(json.dumps(one.study.results))
        runs.append(str(tmp_path / one.name))
    command.main(runs)
    assert "easy_none \N{MINUS SIGN} hard_none > 0" in capsys.readouterr().out
    written = json.loads((tmp_path / "claims.json").read_text())
    assert written["runs"] == runs
    [judged] = shown.claims(recorded)
    assert len(judged.rows) == len(written["claims"])
    for ours, theirs in zip(judged.rows, written["claims"], strict=True):
        assert ours["verdict"] == theirs["verdict"]
        assert [c["effect"] for c in ours["contrasts"]] == [
            c["effect"] for c in theirs["contrasts"]
        ]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "results.json").write_text('{"study": "loss_ablation"}')
    with pytest.raises(ConfigError, match=r"other: no finished run of .*: decide it apart"):
        command.main([runs[0], str(tmp_path / "other")])
