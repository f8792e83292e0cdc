"""What arms change: effects seed by seed, and the page that says them."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.configs.arms import (
    ARMS,
    DEFECTS,
    PUBLISHED,
)
from experiments.losses import arms_effects, arms_report, arms_results
from experiments.pages import reports
from experiments.pages.study import Study
from experiments.pages.wording import NONE
from experiments.results import data, document
from jaxzero import files, workdir


def made_up(arm_names: tuple[str, ...] = ("plain", "dirichlet")) -> dict[str, Any]:
    """results.json of six seeds: value is 100 above policy in plain, 20 in the noisy arm."""
    rng = np.random.default_rng(0)
    lead = {"plain": 100.0, "dirichlet": 20.0, PUBLISHED: 300.0, "without_keep_tree": 90.0}
    listed, curves = [], {}
    for arm in arm_names:
        for target in ("policy", "value", "lambda_0.5"):
            for seed in range(6):
                name = f"{arm}/{target}_seed{seed}"
                listed.append({"name": name, "arm": arm, "target": target, "seed": seed})
                end = 500 + lead[arm] * (target == "value") + 40 * seed + rng.normal(0, 3)
                curves[name] = {"iterations": [0, 4], "elo": [300.0, end], "stderr": [20.0, 15.0]}
    strengths = arms_effects.final_strengths(listed, curves)
    return {
        "study": "arms",
        "game": "connect_four_5x5",
        "preset": "quick",
        "command": "python -m experiments.arms",
        "environment": {"device": "one", "commit": "abc"},
        "arms": [
            {"name": n, "meaning": ARMS[n].meaning, "changes": {}, "cost": {"wall_seconds": 1.0}}
            for n in arm_names
        ],
        "runs": listed,
        "ladder": {
            "runs": curves,
            "settings": {"simulations": 6},
            "anchors": [{"name": "random", "elo": 0.0, "stderr": 0.0}],
        },
        "effects": arms_effects.effects(strengths),
    }


def test_differences_are_taken_seed_by_seed() -> None:
    """Seeds differ by 200 Elo, which a comparison of unpaired means would drown in."""
    rows = {row["words"]: row for row in made_up()["effects"]}
    plain = rows["plain: value less policy"]
    assert plain["effect"] == pytest.approx(100, abs=5)
    assert plain["stderr"] < 5
    assert plain["low"] < plain["effect"] < plain["high"]
    change = rows["(value less policy) in dirichlet less the same in plain"]
    assert change["effect"] == pytest.approx(-80, abs=8)
    assert change["high"] < 0
    change = rows["policy: dirichlet less plain"]
    assert change["low"] < 0 < change["high"]
    assert rows["value: dirichlet less plain"]["effect"] == pytest.approx(-80, abs=8)


def test_only_seeds_of_both_sides_count() -> None:
    strengths = {("plain", "value"): {0: 10.0, 1: 30.0}, ("plain", "policy"): {1: 10.0, 2: 99.0}}
    [effect] = arms_effects.effects(strengths)
    assert (effect["effect"], effect["seeds"]) == (20.0, 1)
    strengths["plain", "policy"] = {7: 0.0}
    assert arms_effects.effects(strengths) == []


def test_a_defect_is_held_against_its_own_reference() -> None:
    leads = {"plain": 0.0, PUBLISHED: 160.0, "only_keep_tree": 30.0, "without_keep_tree": 100.0}
    strengths = {
        (arm, target): {seed: (target == "value") * lead + seed for seed in range(5)}
        for arm, lead in leads.items()
        for target in ("value", "sum")
    }
    rows = arms_effects.effects(strengths)
    changes = {row["arm"]: row["effect"] for row in rows if row["kind"] == "change"}
    assert changes == {PUBLISHED: 160.0, "only_keep_tree": 30.0, "without_keep_tree": -60.0}


def test_the_page_says_what_the_noise_changes(tmp_path: Path) -> None:
    files.write_json(tmp_path / workdir.RESULTS, made_up())
    text = reports.write(tmp_path).read_text()
    assert "the arm matters" in text
    assert "Between the value loss and the policy loss" in text
    drawn = {path.stem for path in (tmp_path / "figures").glob("*.svg")}
    assert drawn == {"arms_strength", "arms_final", "arms_lambda"}
    assert "Arm plain has no directory." in text


def test_the_page_of_defects_has_both_ways_of_judging(tmp_path: Path) -> None:
    results = made_up(("plain", PUBLISHED, "without_keep_tree"))
    results["judged_as_published"] = made_up(("plain", "dirichlet"))
    del results["judged_as_published"]["runs"]
    files.write_json(tmp_path / workdir.RESULTS, results)
    page = arms_report.build(tmp_path)
    [section] = [s for s in page.sections if s.title.startswith("Which defect")]
    [table] = section.tables
    assert [row[:2] for row in table.rows] == [
        (f"value less {rival}", trained)
        for rival in ("policy",)
        for trained in ("corrected", "published")
    ]
    numbers = [row[2].split()[0] for row in table.rows]
    assert np.array(numbers, float) == pytest.approx([100, 300], abs=5)  # judged as corrected
    assert table.rows[1][3] == NONE  # not judged so
    assert [plate.name for plate in section.plates] == ["arms_defects"]


def test_recorded_arms_are_shown(tmp_path: Path) -> None:
    results = made_up(("plain", PUBLISHED, "without_keep_tree"))
    results["judged_as_published"] = made_up(("plain",))
    (tmp_path / "defects").mkdir()
    files.write_json(tmp_path / "defects" / workdir.RESULTS, results)
    data.add([tmp_path / "defects"], "cpu", tmp_path / "docs")
    document.write(tmp_path / "docs")
    recorded = tmp_path / "docs" / "recorded"
    page = (recorded / "cpu.md").read_text(encoding="utf-8")
    assert "| defects | arms | connect_four_5x5 | not recorded | 6 | 3 s |" in page
    for title in ("Elo above random at the end", "Trained and judged", "Change of those"):
        assert f"\n{title}" in page
    for name in ("cpu_defects.svg", "cpu_defects_defects.svg"):
        assert f"]({name})" in page
        assert (recorded / name).is_file()


def test_arms_that_were_trained_apart_are_read_as_one(tmp_path: Path) -> None:
    def recorded(name: str, arms: tuple[str, ...], **settings: Any) -> None:
        results = made_up(arms) | {"config": {"study": {"arms": list(arms), **settings}}}
        results["ladder"]["anchors"].append({"name": "mcts_50", "elo": 400.0, "stderr": 6.0})
        (tmp_path / name).mkdir()
        files.write_json(tmp_path / name / workdir.RESULTS, results)
        data.add([tmp_path / name], "cpu", tmp_path / "docs")

    def effects(parts: list[Study]) -> dict[str, Any]:
        [study] = arms_results.together(parts)
        assert [arm["name"] for arm in study.results["arms"]] == list(arms)
        return {row["words"]: row for row in study.results["effects"]}

    arms = ("plain", PUBLISHED, "without_keep_tree")
    recorded("first", arms[:2])
    recorded("second", arms[2:])
    first, second = (one.study for one in data.read(tmp_path / "docs")["cpu"])
    apart = effects([first, second])
    whole = {row["words"]: row for row in made_up(arms)["effects"]}
    assert apart.keys() == whole.keys()  # the change of without_keep_tree from published, too
    for words, row in apart.items():
        assert row["seeds"] == 6
        assert row["effect"] == pytest.approx(whole[words]["effect"], abs=10)

    # Each ladder has an error of its own, the same for all its networks.
    across, within = "value: without_keep_tree less published", "value: published less plain"
    assert apart[within]["stderr"] == pytest.approx(whole[within]["stderr"])
    assert apart[across]["stderr"] > np.hypot(6, 6)
    assert apart["without_keep_tree: value less policy"]["stderr"] < 5
    change = "(value less policy) in without_keep_tree less the same in published"
    assert apart[change]["stderr"] < 5

    def changed(**config: Any) -> Study:
        return dataclasses.replace(second, results=second.results | {"config": config})

    assert len(arms_results.together([first, changed(seed=1)])) == 2
    # A key that the older study did not have yet, at its default and not.
    assert len(arms_results.together([first, changed(arena={"trees": "game"})])) == 1
    assert len(arms_results.together([first, changed(arena={"trees": "gate"})])) == 2
    document.write(tmp_path / "docs")
    assert "on ladders of their own" in (tmp_path / "docs" / "recorded" / "cpu.md").read_text()
    drawn = sorted(path.name for path in (tmp_path / "docs").rglob("*.svg"))
    assert drawn == ["cpu_first.svg"]


def test_of_an_arm_in_two_studies_the_first_counts() -> None:
    first, second = (Study("s", made_up(("plain",)), {}) for _ in range(2))
    for curve in second.results["ladder"]["runs"].values():
        curve["elo"] = [0.0, 0.0]
    [joined] = arms_results.together([first, second])
    assert joined.results["runs"] == first.results["runs"]
    assert joined.results["ladder"]["runs"] == first.results["ladder"]["runs"]


def test_of_many_arms_the_summary_has_those_that_matter() -> None:
    names = [
        "plain",
        "dirichlet",
        "few",
        "gumbel",
        PUBLISHED,
        *(f"only_{name}" for name in DEFECTS),
    ]
    spread = np.random.default_rng(0).normal(size=(len(names), 2, 6))
    strengths = {
        (arm, target): dict(enumerate(spread[i, j] + 300 * (j and arm == PUBLISHED)))
        for i, arm in enumerate(names)
        for j, target in enumerate(("sum", "value"))
    }
    rows = arms_effects.effects(strengths)
    first, *others = arms_report.sentences({"effects": rows})
    assert "in published; changed by" in first
    assert first.endswith("the arm matters.")
    assert others == [f"{len(names) - 2} other changes may be nothing."]


def test_a_page_without_strengths_says_so(tmp_path: Path) -> None:
    results = made_up()
    del results["ladder"], results["effects"]
    files.write_json(tmp_path / workdir.RESULTS, results)
    assert "arms are not compared" in reports.write(tmp_path).read_text()


def test_a_failed_run_of_an_arm_is_named() -> None:
    failed = Study("plain", {}, {}, failed={"sum_seed0": 3})
    told = "Arm plain: sum_seed0 failed in iteration 3, left out of strengths."
    assert told in arms_report._missing(arms_results.ArmsStudy("s", made_up(), {"plain": failed}))


def test_an_entropy_of_0_counts_in_the_mean() -> None:
    key = "selfplay/policy_entropy"
    assert arms_report._mean([{key: 0.0}, {key: 1.0}, {}], key) == 0.5
