"""The curriculum study, tiny, from settings to report; stopped in between; and its refusals."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments import curriculum
from experiments.configs.curriculum import get_config
from experiments.endgame import reference
from experiments.shell import cli
from experiments.shell.study import StudyRun
from jaxzero import files, runs
from jaxzero.runs import Member, checkpoints
from jaxzero.settings.config import ConfigError
from tests.experiments.exhibits import missing_in
from tests.small import changed

TINY = {
    "game": "reversi_4x4",
    "network.blocks": 1,
    "network.channels": 4,
    "network.head_filters": 2,
    "network.value_hidden": 4,
    "search.num_simulations": 4,
    "selfplay.episodes": 4,
    "selfplay.curriculum_epochs": (0, 1),
    "selfplay.curriculum_fractions": (0.5, 1.0),
    "replay.window": 2,
    "train.iterations": 3,
    "train.epochs": 1,
    "train.batch_size": 8,
    "evaluation.heldout_games": 2,
    "evaluation.heldout_simulations": 2,
    "execution.snapshot_every": 1,
    "execution.devices": 1,
    "study.reference": "random",
    "study.games": 4,
    "study.points": 4,
    "study.smoothing": 3,
}


def test_from_settings_to_report(tmp_path: Path) -> None:
    changes = {
        "study.arms": ("curriculum",),
        "study.seeds": 1,
        "study.points": 2,
        "selfplay.drop_draws": 0.5,
        "replay.minimum_games": (8, 12),
        "replay.leaving": 0.4,
        "replay.window": 4,
        "train.iterations": 2,
        "arena.gate": "wilson",
        "arena.games": 4,
        "arena.confidence": 0.6,
    }
    config = changed(get_config("quick"), {**TINY, **changes})
    curriculum.run(config, tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    assert [p["iteration"] for p in results["points"]] == [0, 2]
    assert results["claims"] == []
    rows = [
        json.loads(line)
        for line in (tmp_path / "arms" / "curriculum" / "metrics.jsonl").read_text().splitlines()
    ]
    assert all(r["count/window_games"] >= n for r, n in zip(rows[1:], (8, 12), strict=True))
    assert [r["curriculum/fraction"] for r in rows[1:]] == [0.5, 1.0]
    for row in rows[1:]:
        assert 2 <= sum(row[f"arena/{x}"] for x in ("wins", "draws", "losses")) <= 4
    page = (tmp_path / "report.html").read_text()
    assert "End games first on Reversi" in page
    assert "no claim can be decided" in page
    assert missing_in(tmp_path / "report.html", "curriculum") == {"The paper's claims"}


@pytest.mark.slow
def test_two_players_and_what_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = changed(get_config("quick"), TINY)
    curriculum.run(config, tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    points = results["points"]
    assert {(p["arm"], p["seed"], p["iteration"]) for p in points} == {
        (arm, seed, at) for arm in ("curriculum", "baseline") for seed in (0, 1) for at in range(4)
    }
    for point in points:
        assert 1 <= point["wins"] + point["draws"] + point["losses"] <= 4
        assert point["epochs"] == point["iteration"]
        assert (point["minutes"] > 0) == (point["iteration"] > 0)
    # From the same weights: the untrained networks are the same players.
    start = {(p["arm"], p["seed"]): p for p in points if p["iteration"] == 0}
    for seed in (0, 1):
        one, other = start["curriculum", seed], start["baseline", seed]
        assert [one[k] for k in ("wins", "draws", "losses")] == [
            other[k] for k in ("wins", "draws", "losses")
        ]
    rows = [
        json.loads(line)
        for line in (tmp_path / "arms" / "curriculum" / "metrics.jsonl").read_text().splitlines()
    ]
    fractions = {r["iteration"]: r["curriculum/fraction"] for r in rows if r["iteration"]}
    assert fractions == {1: 0.5, 2: 1.0, 3: 1.0}
    assert len(results["claims"]) == 10
    verdicts = {claim["verdict"] for claim in results["claims"]}
    assert verdicts == {"undecided", "not addressed"}
    page = (tmp_path / "report.html").read_text()
    assert "End games first on Reversi" in page
    assert (tmp_path / "figures" / "win_ratio.svg").is_file()
    assert runs.open_run(tmp_path / "arms" / "baseline").iterations == (0, 1, 2, 3)

    # Nothing is trained or played again; what is missing is.
    lines = (tmp_path / "points.jsonl").read_text().splitlines(True)
    (tmp_path / "points.jsonl").write_text("".join(lines[:-2]))
    monkeypatch.setattr(sys, "argv", ["study"])
    curriculum.run(config, tmp_path)
    again = json.loads((tmp_path / "results.json").read_text())["points"]
    assert again == points


def test_a_trained_player_is_not_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = changed(get_config("quick"), TINY)
    folder = tmp_path / curriculum.ARMS / "curriculum"
    saved = folder / "checkpoints" / str(config.train.iterations)
    saved.mkdir(parents=True)
    files.write_json(saved / checkpoints.DIGEST, {})
    files.write_json(folder / curriculum.TRAINED, {"seconds": 7.0})
    opened = []

    def train(self: StudyRun, arm: str, *_: object) -> SimpleNamespace:
        opened.append(arm)
        (self.directory / curriculum.ARMS / arm).mkdir()
        return SimpleNamespace(seconds=8.0)

    monkeypatch.setattr(StudyRun, "train", train)
    found = curriculum.train(StudyRun(curriculum.STUDY, config, tmp_path))
    assert (found, opened) == ({"curriculum": 7.0, "baseline": 8.0}, ["baseline"])


def test_seconds_of_a_shorter_training_are_not_those_of_a_longer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = changed(get_config("quick"), TINY)
    folder = tmp_path / curriculum.ARMS / "curriculum"
    folder.mkdir(parents=True)
    files.write_json(folder / curriculum.TRAINED, {"seconds": 7.0})

    def killed(*_: object) -> None:  # in its last examination
        raise KeyboardInterrupt

    monkeypatch.setattr(StudyRun, "train", killed)
    with pytest.raises(KeyboardInterrupt):
        curriculum.train(StudyRun(curriculum.STUDY, config, tmp_path))
    assert not (folder / curriculum.TRAINED).exists()


def test_of_a_player_that_is_added_only_its_own_games_are_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are there keep their games."""
    played: list[int] = []

    def against(*_: Any) -> Any:
        def play(params: int, key: Any, bar: Any) -> list[list[int]]:
            played.append(params)
            return [[3, 1, 0]]

        return play

    monkeypatch.setattr(reference, "_against", against)
    monkeypatch.setattr(reference.fixed_opponents, "choose_points", lambda *_: [0, 3])
    monkeypatch.setattr(
        reference.contestants, "players_of", lambda *given: SimpleNamespace(params=given[2])
    )
    config = changed(get_config("quick"), TINY)
    run: Any = SimpleNamespace(members=[Member("m", "", 0, config)])
    before = reference.measure(config, tmp_path, {"curriculum": run})
    rows = reference.measure(config, tmp_path, {"baseline": run, "curriculum": run})
    assert played == [0, 3, 0, 3]
    assert rows[:2] == before
    assert [(row["arm"], row["iteration"]) for row in rows[2:]] == [
        ("baseline", 0),
        ("baseline", 3),
    ]
    assert reference.measure(config, tmp_path, {"baseline": run, "curriculum": run}) == rows
    assert len(played) == 4
    monkeypatch.setattr(reference.fixed_opponents, "choose_points", lambda *_: [0, 6])
    longer = reference.measure(config, tmp_path, {"curriculum": run})
    assert [row["iteration"] for row in longer] == [0, 6]
    assert len(played) == 5


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"study.arms": ("curriculum", "curriculum")}, "only once"),
        ({"selfplay.curriculum": "none"}, "need one"),
        ({"study.arms": ("curriculum", "trim"), "selfplay.curriculum_drop": "trim"}, "the same"),
        ({"study.reference": "mcts"}, "mcts_50"),
        ({"study.reference": "pretrained:othello_6x6"}, "plays othello_6x6, not reversi_4x4"),
        (
            {"study.reference": "engine", "game": "racing_kings", "study.engine_command": ()},
            "no engine is named",
        ),
        ({"study.reference": "engine"}, "mcts_200"),
        (
            {"study.reference": "engine", "game": "racing_kings",
             "study.engine_command": ("no-such-engine",)},
            "no-such-engine",
        ),
    ],
)  # fmt: skip
def test_what_cannot_work_is_one_line(changes: dict, says: str, tmp_path: Path) -> None:
    if changes.get("game") == "racing_kings":
        pytest.importorskip("chess")
    with pytest.raises(ConfigError, match=says) as error:
        curriculum.run(changed(get_config("quick"), {**TINY, **changes}), tmp_path / "run")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_the_command_line_knows_its_presets(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["study", "--help"])
    cli.run(curriculum.run, "curriculum")
    out = capsys.readouterr().out
    assert "paper_racing_kings_gate" in out
    assert "engine_skill" in out


@pytest.mark.slow
def test_an_engine_is_a_reference(tmp_path: Path) -> None:
    pytest.importorskip("chess")
    fake = Path(__file__).parents[2] / "matches" / "fake_engine.py"
    changes = {
        "game": "racing_kings_12plies",
        "study.reference": "engine",
        "study.engine_command": (sys.executable, str(fake), "illegal", "4"),
        "study.engine_seconds": 1.0,
        "study.arms": ("baseline",),
        "study.seeds": 1,
        "study.points": 2,
        "study.games": 2,
        "study.openings": 2,
        "selfplay.episodes": 2,
        "train.iterations": 1,
        "evaluation.heldout_games": 1,
    }
    config = changed(get_config("quick"), {**TINY, **changes})
    curriculum.run(config, tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["reference"]["engine"]["skill"] == 2
    assert [p["wins"] + p["draws"] + p["losses"] for p in results["points"]] == [2, 2]
    assert results["problems"] == ["illegal or senseless answer"]
    rows = (tmp_path / reference.FILE).read_text()
    assert "illegal" in rows


def test_metrics_that_do_not_say_what_was_no_training_are_refused() -> None:
    row = {"iteration": 1, "run": "a", "seconds": 90.0}
    with pytest.raises(ConfigError, match="arms/baseline was trained by an earlier version"):
        reference.points([], {"baseline": [row]})
    assert not reference.points([], {"baseline": [row | {"starting_seconds": 30.0}]})
