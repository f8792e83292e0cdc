"""Recorded runs: what is kept of them, and that the page is what their data says."""

import json
import lzma
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.claims import measured
from experiments.hyperparameters.group_training import GROUPS
from experiments.pages import style, wording
from experiments.results import boards, command, data, document, findings
from experiments.strength import absolute_section
from jaxzero.settings.config import ConfigError
from tests.experiments.made_up_ratings import BOARD, rated_study

MEANS = {"policy": 0.0, "value": 300.0, "sum": 20.0, "product": -10.0}


def test_the_page_is_that_of_the_data() -> None:
    groups = data.read()
    made = document.pages(groups)
    above = {data.ROOT / "verdicts.md", data.ROOT / "boards.md", data.ROOT.parent / "results.md"}
    recorded = {data.ROOT / "recorded" / f"{name}.md" for name in ("index", *groups)}
    assert made.keys() == above | recorded
    for path, text in made.items():
        assert path.read_text() == text, "run: python -m experiments.results"
    assert all((data.ROOT / one.file).is_file() for one in document.drawings(groups))


def test_runs_are_kept_and_make_the_page(tmp_path: Path) -> None:
    root, runs = tmp_path / "docs", tmp_path / "somewhere"
    runs.mkdir()
    one = rated_study(runs / "one", MEANS)
    two = rated_study(runs / "two", MEANS, changes={"semantics": "published"})
    stored = json.loads((one / "results.json").read_text())
    stored["command"] = f"python -m experiments.loss_ablation --workdir={one} | more"
    (one / "results.json").write_text(json.dumps(stored))
    for part in (one / "arms" / "plain", one / GROUPS / "first"):
        part.mkdir(parents=True)
        (part / "metrics.jsonl").write_text('{"iteration": 1}\n')
    data.add([one, two], "laptop", root)
    assert not (root / "data" / "laptop" / "one" / GROUPS).exists()  # the study's own hold them
    rows = root / "data" / "laptop" / "one" / "arms" / "plain" / "metrics.jsonl.xz"
    assert lzma.decompress(rows.read_bytes()) == b'{"iteration": 1}\n'
    summary = tmp_path / "results.md"
    (root / "recorded").mkdir(parents=True)
    gone = [root / name for name in ("recorded/gone.svg", "recorded/gone.md", "strength_gone.svg")]
    for path in gone:
        path.touch()
    pages = [root / name for name in ("verdicts.md", "boards.md")]
    recorded = [root / "recorded" / name for name in ("index.md", "laptop.md")]
    assert document.write(root) == [*pages, summary, *recorded]
    row = r"\| \[laptop\]\(laptop\.md\) \| loss_ablation \| Connect Four.6.6 \| 2 \|"
    assert re.search(row, recorded[0].read_text())
    text = recorded[1].read_text()
    found = summary.read_text()
    decided = (root / "verdicts.md").read_text()
    [brief] = [line for line in found.splitlines() if "highest tournament Elo" in line]
    [best] = [line for line in decided.splitlines() if "highest tournament Elo" in line]
    assert brief.count("**reproduced**") == 2
    assert brief.endswith("| [laptop](results/recorded/laptop.md): 2 runs |")
    cells = best.split(" | ")
    assert cells[1] == "Wang 2019, 2020, 2023"
    for cell in cells[2:4]:  # both semantics have the same games
        assert re.fullmatch(
            r"\*\*reproduced\*\* \(Connect Four 6.6, tournament Elo: .{7} = \d+ \(.*\), "
            r"tournament Elo: .{7} = 2\d\d .*, tournament Elo: .{7} = 3\d\d .*\)",
            cell,
        )
    assert cells[4] == "8"
    assert cells[5] == "[laptop](recorded/laptop.md) |"
    assert f"| two | loss_ablation | {BOARD} | published | 8 |" in text
    assert "`python -m experiments.loss_ablation --workdir=runs/one &#124; more`" in text
    assert str(tmp_path) not in text
    assert "| reproduced |" in text
    assert (root / "recorded" / "laptop.svg").is_file()
    assert not [path for path in gone if path.exists()]  # of earlier data
    assert list(root.glob("*.png")) == []
    kept = root / "data" / "laptop" / "one" / "results.json.xz"
    before = kept.read_bytes()
    data.add([one], "laptop", root)
    assert kept.read_bytes() == before
    document.write(root)
    assert recorded[1].read_text() == text
    assert summary.read_text() == found
    stored = json.loads(lzma.decompress(before))
    stored["tournaments"][1]["elo"][0] += 1000
    kept.write_bytes(lzma.compress(json.dumps(stored).encode()))
    assert document.recorded(data.read(root)) != text


def test_strength_is_above_the_untrained_network_of_the_seed(tmp_path: Path) -> None:
    def strengths(name: str, seeds: int) -> list[boards.Strength]:
        place = rated_study(tmp_path / name, MEANS, seeds=range(seeds))
        results = json.loads((place / "results.json").read_text())
        results["ladder"] = {
            "anchors": [{"name": "mcts_50", "elo": 500.0}, {"name": "random", "elo": 0.0}],
            "runs": {
                run["name"]: {
                    "iterations": [0, 1, 2],
                    "elo": [200.0 + run["seed"], 0.0, 300.0 + MEANS[run["target"]]],
                }
                for run in results["runs"]
            },
        }
        (place / "results.json").write_text(json.dumps(results))
        return boards.strengths(measured.load([place]))

    [strength] = strengths("one", 8)
    assert strength.seeds == 8
    for target, mean in MEANS.items():
        np.testing.assert_allclose(strength.above[target], mean + 100.0 - np.arange(8))
    assert strength.opponents == {"mcts_50": 296.5, "random": -203.5}
    assert strengths("few", 4) == []  # too few to decide


def test_the_rivals_are_compared_seed_by_seed_and_corrected_together(tmp_path: Path) -> None:
    alike = MEANS | {"value": 20.0}
    places = [
        rated_study(tmp_path / "apart", MEANS, changes={"semantics": "published"}, sd=5.0),
        rated_study(tmp_path / "alike", alike, sd=5.0),
        rated_study(tmp_path / "few", MEANS, seeds=range(4), board="othello_6x6", sd=5.0),
        rated_study(tmp_path / "one", MEANS, board="gobang_5x5", sd=0.0, without=["value_seed0"]),
        rated_study(tmp_path / "wide", alike, board="othello_5x5", sd=200.0),
    ]
    found = boards.rivalries(measured.load(places))
    assert [(one.board, one.semantics, one.test.seeds) for one in found] == [
        (BOARD, "published", 8),
        (BOARD, "corrected", 8),
        ("gobang_5x5", "corrected", 7),
        ("othello_5x5", "corrected", 8),
    ]
    above, small = f"{style.label('value')} above", "less than 50 apart"
    assert [one.verdict for one in found] == [above, small, above, "undecided"]
    for one, effect in zip(found[:3], (280.0, 0.0, 280.0), strict=True):
        assert one.estimate.effect == pytest.approx(effect, abs=12)
    # the second smallest of four
    assert found[0].test.interval == found[0].estimate.interval(0.05 / 3)
    row = boards.rivalry_table(found).rows[1]
    assert row[-2:] == (small, "8")


def test_the_search_without_depth_is_a_tournament_of_its_own(tmp_path: Path) -> None:
    place = rated_study(tmp_path / "one", MEANS, sd=5.0)
    results = json.loads((place / "results.json").read_text())
    final = results["tournaments"][-1]
    lower = [elo - 500.0 * (p["target"] == "value") for p, elo in _rated(final)]
    results["tournaments"][0] = final | {"name": "low", "elo": lower}
    (place / "results.json").write_text(json.dumps(results))
    studies = measured.load([place])
    [full], [low] = boards.rivalries(studies), boards.rivalries(studies, "low_tournament_elo")
    assert low.verdict == f"{style.label('sum')} above"
    assert low.estimate.effect == pytest.approx(full.estimate.effect - 500.0)
    assert low.estimate.stderr == pytest.approx(full.estimate.stderr)


def _rated(tournament: dict[str, Any]) -> Iterator[tuple[dict[str, Any], float]]:
    return zip(tournament["players"], tournament["elo"], strict=True)


def test_strength_by_iteration_and_its_late_gain(tmp_path: Path) -> None:
    places = []
    for name, seeds in (("one", range(4)), ("two", range(4, 8))):  # two batches of one study
        places.append(place := rated_study(tmp_path / name, MEANS, seeds=seeds))
        results = json.loads((place / "results.json").read_text())
        changes = {"policy": 0.0, "value": 40.0, "sum": -40.0, "product": 0.0}
        results["ladder"] = {
            "anchors": [],
            "runs": {
                run["name"]: {
                    "iterations": [0, 1, 3, 4],
                    "elo": [float(run["seed"]), 7.0, 90.0, 90.0 + changes[run["target"]]],
                }
                for run in results["runs"]
            },
        }
        (place / "results.json").write_text(json.dumps(results))
    found = {one.target: one for one in boards.courses(measured.load(places))}
    assert list(found) == ["policy", "value", "sum", "product"]
    np.testing.assert_array_equal(sorted(found["sum"].above[4]), 50.0 - np.arange(7, -1, -1))
    assert [one.late.effect for one in found.values()] == [0.0, 40.0, -40.0, 0.0]
    shown = boards.course_table(list(found.values()))
    assert [len(row) for row in shown.rows] == [len(shown.headers)] * 4
    assert shown.headers[3:6] == ("1", "3", "4")
    assert shown.rows[2][-1] == "8"


def test_the_second_half_begins_at_the_kept_network_nearest_to_it() -> None:
    for kept, middle in (((0, 4, 9, 10), 4), ((0, 1, 3, 4), 3), ((0, 10), 10)):
        assert boards._middle(dict.fromkeys(kept, np.empty(0))) == middle


def test_exact_solutions_of_two_batches_are_read_together(tmp_path: Path) -> None:
    def studies(simulations: int) -> list[measured.BoardStudies]:
        for name, seed in (("one", 0), ("two", 4)):
            place = tmp_path / name
            if not place.exists():
                rated_study(place, {"sum": 0.0}, seeds=range(seed, seed + 4))
            settings = {"simulations": simulations if seed else 50}
            (place / "absolute_strength.json").write_text(json.dumps(exact(seed, settings)))
        return measured.load([tmp_path / "one", tmp_path / "two"])

    def exact(first: int, settings: dict[str, int]) -> dict[str, Any]:
        kept = {"weak": 0.0, "strong": 0.5}
        value = {"all": {"mse": 0.3, "constant_mse": 0.4, "bins": []}}
        networks = [
            {"target": "sum", "seed": seed, "iteration": 9, "value": value}
            | {part: {"contested": kept | {"weak": seed / 8}} for part in ("network", "search")}
            for seed in range(first, first + 4)
        ]
        return {
            "settings": settings, "networks": networks, "players": {},
            "positions": {"found": 9, "contested": 6},
            "targets": absolute_section.by_target(networks),
        }  # fmt: skip

    [shown] = boards.exact_tables(studies(50))
    kept = np.arange(8) / 8
    share = wording.plus_minus(kept.mean(), kept.std(ddof=1) / 8**0.5, 3)
    assert shown.rows[0][:3] == (style.label("sum"), "8", share)
    assert "6 of 9 positions are contested" in shown.note
    assert list(boards.exact_tables(studies(100))) == []  # searched otherwise: not of one table


def test_verdicts_in_words() -> None:
    def words(verdict: str, *contrasts: tuple[str, str]) -> str | None:
        rows = [
            {
                "board": board,
                "subject": "Elo: x",
                "verdict": each,
                "effect": 60.0,
                "interval": (2.0, 118.0),
                "margin": 50,
            }
            for board, each in contrasts
        ]
        finding = findings.Finding(
            "laptop", "value_best", "l_v is best", ("Wang 2019, Fig. 6", "Clausen 2021, section 3"),
            [findings.Verdict("corrected", verdict, rows)], (),
        )  # fmt: skip
        assert finding.cell("published") is None
        assert finding.decided == any(each != "undecided" for _, each in contrasts)
        return finding.cell("corrected")

    effect = "Elo: x = 60 (2 to 118)"
    assert words("reproduced", ("A", "reproduced")) == f"**reproduced** (A, {effect})"
    two = [("A", "undecided"), ("B", "undecided")]
    assert words("undecided", *two) == f"**undecided** (A and B, {effect})"
    one_board = [("A", "undecided")] * 3 + [("A", "contradicted")]
    assert words("contradicted", *one_board) == "**contradicted** (A: 1 contradicted, 3 undecided)"
    alike = [("A", "reproduced"), ("A", "reproduced"), ("B", "reproduced"), ("B", "reproduced")]
    assert words("reproduced", *alike) == "**reproduced** (A and B)"
    mixed = [("A", "reproduced"), ("A", "undecided"), ("B", "undecided"), ("B", "undecided")]
    assert words("undecided", *mixed) == "**undecided** (A and B: 1 reproduced, 3 undecided)"
    three = [("A", "reproduced"), ("A", "undecided"), ("B", "reproduced"), ("C", "reproduced")]
    assert words("undecided", *three) == "**undecided** (A: undecided; B and C: reproduced)"


def test_an_effect_without_an_interval_has_no_brackets() -> None:
    test = {"subject": "Elo: x", "effect": 60.0, "margin": 50}
    for without in (None, (None, None), (math.nan, math.nan)):
        assert findings._effect(test | {"interval": without}) == "Elo: x = 60"


def test_what_cannot_be_recorded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"holds no results\.json, name finished runs"):
        data.add([tmp_path], "laptop", tmp_path / "docs")
    assert not (tmp_path / "docs").exists()
    (tmp_path / "results.json").write_text("{}")
    monkeypatch.setattr(data, "MOST", 10)
    with pytest.raises(ConfigError, match="leave out runs, 10 are the most"):
        data.add([tmp_path], "laptop", tmp_path / "docs")
    assert not (tmp_path / "docs").exists()
    (tmp_path / "results.json").write_text('{"study": "connect_four_search"}')
    with pytest.raises(ConfigError, match="a run of connect_four_search, but the pages show"):
        command.main(["--add", str(tmp_path), "--group=laptop"])
    with pytest.raises(ConfigError, match="--add and --group"):
        command.main([f"--add={tmp_path}"])
    with pytest.raises(ConfigError, match="--group=index: the page that lists all groups"):
        command.main([f"--add={tmp_path}", "--group=index"])
