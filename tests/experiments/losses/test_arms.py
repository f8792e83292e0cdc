"""Arms beyond the papers: lambdas, root noise, Gumbel search; each trained alone, compared once."""

import dataclasses
import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_collections import ConfigDict

from experiments import arms, loss_ablation
from experiments.configs.arms import (
    ARMS,
    DEFECTS,
    KEYS,
    PRESETS,
    PUBLISHED,
    arm_config,
    get_config,
)
from experiments.configs.loss_ablation import get_config as get_study
from experiments.losses import variant_effects, variant_report
from experiments.pages import style
from experiments.pages.wording import NONE
from experiments.shell.study import StudyRun
from jaxzero import workdir
from jaxzero.runs.stopping import Stopped
from jaxzero.settings.config import ConfigError, flatten
from jaxzero.settings.switches import resolve_switches
from jaxzero.training import losses
from jaxzero.training import spec as spec_lib
from tests import small
from tests.experiments.losses.test_loss_ablation import tiny


def tiny_arms(changes: dict[str, Any] | None = None) -> ConfigDict:
    """The settings of the loss ablation's tests, with arms."""
    shared = {k: v for k, v in flatten(tiny()).items() if v is not None}
    arms_only = {"study.few_simulations": 4, "study.lambdas": (), "study.arms": ("plain", "few")}
    return small.changed(get_config("quick"), {**shared, **arms_only, **(changes or {})})


# ---- lambda


def test_the_ends_of_the_lambda_sweep_are_l_v_and_l_p() -> None:
    """Bit for bit, whole runs: lambda 0 minimises l_v, lambda 1 minimises l_p."""
    config = tiny({"study.targets": ("value", "policy"), "study.lambdas": (0.0, 1.0)})
    members = {member.target: member for member in loss_ablation.make_members(config)}
    assert list(members) == ["value", "policy", "lambda_0", "lambda_1"]
    spec = small.small_spec()
    after = {}
    for target, member in members.items():
        assert spec_lib.make_spec(member.config) == spec  # one program, one population
        hyper = spec_lib.make_hyper(member.config)
        after[target] = small.run_alone(spec, hyper, seed=0, iterations=2)[-1]
    small.assert_equal(after["lambda_0"], after["value"])
    small.assert_equal(after["lambda_1"], after["policy"])
    apart = np.asarray(after["value"][0].learner.params["value"]["kernel"])
    assert (apart != np.asarray(after["policy"][0].learner.params["value"]["kernel"])).any()


def test_a_lambda_between_weighs_both() -> None:
    config = tiny({"study.targets": (), "study.lambdas": (0.25,), "study.seeds": 2})
    first, second = loss_ablation.make_members(config)
    assert (first.name, second.name) == ("lambda_0.25_seed0", "lambda_0.25_seed1")
    hyper = spec_lib.make_hyper(first.config)
    assert float(losses.combine(hyper.loss, np.float32(2.0), np.float32(4.0))) == 0.5 + 3.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study.lambdas": (0.5, 1.5)}, "config.study.lambdas=1.5"),
        ({"study.lambdas": (0.5, 0.5)}, "name each only once"),
        ({"study.targets": (), "study.lambdas": ()}, "name at least one"),
    ],
)
def test_impossible_lambdas(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        loss_ablation.validate(tiny(changes))


def test_lambdas_are_told_apart() -> None:
    names = [f"lambda_{weight:g}" for weight in (0, 0.25, 0.5, 0.75, 1)]
    assert len({style.colour(name) for name in (*names, "value", "policy", "sum")}) == 8
    assert style.label("lambda_0.25") == "λ = 0.25"


# ---- arms


SEARCHES = ("plain", "dirichlet", "few", "gumbel")


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "defects"])
def test_presets_are_those_of_the_loss_ablation(preset: str) -> None:
    config = loss_ablation.resolve(get_config(f"{preset}.othello_5x5"))
    arms.validate(config)
    plain = flatten(arm_config(config, "plain"))
    study = flatten(loss_ablation.resolve(get_study(f"{preset}.othello_5x5")))
    changed = {key for key in study if plain[key] != study[key]}
    allowed = {"study.lambdas", "study.tournament_games", "train.iterations", "study.ladder_games"}
    assert changed <= allowed
    assert set(flatten(config)) == {key.name for key in KEYS} | set(plain)


def test_what_each_arm_searches_with() -> None:
    config = tiny_arms()
    specs = {name: spec_lib.make_spec(arm_config(config, name)) for name in SEARCHES}
    noisy = specs["dirichlet"]
    assert (noisy.search.dirichlet_fraction, noisy.search.dirichlet_alpha) == (0.25, 10.0)
    assert noisy.search.dirichlet_scaling == "per_legal_move"
    assert noisy.arena_search.dirichlet_fraction == 0  # to be measured, none explores
    assert specs["plain"].search.dirichlet_fraction == 0
    assert [specs[name].num_simulations for name in ("few", "gumbel")] == [4, 4]
    algorithms = [spec.search.algorithm for spec in specs.values()]
    assert algorithms == ["puct", "puct", "puct", "gumbel"]
    for one, other in itertools.combinations(specs.values(), 2):
        assert one != other  # not one program: each arm is a population of its own


@pytest.mark.parametrize("board", ["connect_four_5x5", "othello_5x5"])
def test_each_defect_is_alone_once_and_left_out_once(board: str) -> None:
    config = loss_ablation.resolve(get_config(f"defects.{board}" if "oth" in board else "defects"))
    arms.validate(config)
    acting = {n: resolve_switches(arm_config(config, n)) for n in config.study.arms}
    plain, published = acting.pop("plain"), acting.pop(PUBLISHED)
    apart = [n for n in DEFECTS if getattr(plain, n) != getattr(published, n)]
    assert len(apart) == (8 if "connect" in board else 7)
    for name, found in acting.items():
        kind, _, defect = name.partition("_")
        start, other = (plain, published) if kind == "only" else (published, plain)
        assert found == dataclasses.replace(start, **{defect: getattr(other, defect)})
        assert ARMS[name].reference == ("plain" if kind == "only" else PUBLISHED)
    assert sorted(name.partition("_")[2] for name in acting) == sorted(2 * apart)


def test_a_defect_is_held_against_its_own_reference() -> None:
    leads = {"plain": 0.0, PUBLISHED: 160.0, "only_keep_tree": 30.0, "without_keep_tree": 100.0}
    strengths = {
        (arm, target): {seed: (target == "value") * lead + seed for seed in range(5)}
        for arm, lead in leads.items()
        for target in ("value", "sum")
    }
    rows = variant_effects.effects(strengths)
    changes = {row["arm"]: row["effect"] for row in rows if row["kind"] == "change"}
    assert changes == {PUBLISHED: 160.0, "only_keep_tree": 30.0, "without_keep_tree": -60.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"study.arms": ("plain", "only_mirror_without_policy"), "game": "othello_5x5"},
            "arm 'only_mirror_without_policy' .*config.game=othello_5x5",
        ),
        (
            {"study.arms": ("plain", PUBLISHED), "switches.keep_tree": True},
            "arm 'published' of config.study.arms: config.semantics=corrected: it sets",
        ),
        (
            {"study.arms": ("plain", "gumbel"), "switches.keep_tree": True},
            "arm 'gumbel' of config.study.arms: config.search.algorithm",
        ),
        ({"study.arms": ("plain", "plain")}, "each only once"),
        ({"study.arms": ("noisy",)}, "config.study.arms='noisy'"),
        ({"study.noise_fraction": 1.5}, "config.study.noise_fraction=1.5"),
        ({"study.ladder_games": 4, "study.ladder_opponents": ("greedy",)}, "random is missing"),
    ],
)
def test_impossible_arms_are_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        arms.validate(tiny_arms(changes))
    assert "\n" not in str(caught.value)


def test_a_stopped_study_goes_on_with_the_arm_it_was_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    stop_in: list[str] = ["few"]

    def pretend(config: ConfigDict, directory: Path, command: str) -> None:
        begun.append(directory.name)
        if directory.name in stop_in:
            stop_in.remove(directory.name)
            raise Stopped("stopped", 143)
        directory.mkdir(parents=True)
        workdir.write_json(directory / workdir.RESULTS, {"config": config.to_dict()})

    compared: list[Path] = []
    monkeypatch.setattr(loss_ablation, "run", pretend)
    monkeypatch.setattr(arms, "compare", lambda study: compared.append(study.directory))
    config = tiny_arms({"study.arms": ("plain", "few", "dirichlet")})
    with pytest.raises(Stopped):
        arms.run(config, tmp_path)
    assert (begun, compared) == (["plain", "few"], [])
    arms.run(config, tmp_path)
    assert begun == ["plain", "few", "few", "dirichlet"]
    assert compared == [tmp_path]


def test_the_minutes_are_those_of_all_arms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    monkeypatch.setattr(
        loss_ablation, "run", lambda config, *_: given.append(config.execution.max_minutes)
    )
    config = tiny_arms({"execution.max_minutes": 10.0})
    begun = StudyRun(arms.STUDY, config, tmp_path, started=time.monotonic() - 240)
    arms.train(begun, "plain")
    assert given[0] == pytest.approx(6, abs=0.5)
    with pytest.raises(Stopped, match="over before arm few") as stopped:
        arms.train(dataclasses.replace(begun, started=time.monotonic() - 700), "few")
    assert stopped.value.status == 0


# ---- effects


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
    strengths = variant_effects.final_strengths(listed, curves)
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
        "effects": variant_effects.effects(strengths),
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
    assert rows["policy: dirichlet less plain"]["low"] < 0 < 10
    assert rows["value: dirichlet less plain"]["effect"] == pytest.approx(-80, abs=8)


def test_only_seeds_of_both_sides_count() -> None:
    strengths = {("plain", "value"): {0: 10.0, 1: 30.0}, ("plain", "policy"): {1: 10.0, 2: 99.0}}
    [effect] = variant_effects.effects(strengths)
    assert (effect["effect"], effect["seeds"]) == (20.0, 1)
    strengths["plain", "policy"] = {7: 0.0}
    assert variant_effects.effects(strengths) == []


def test_the_page_says_what_the_noise_changes(tmp_path: Path) -> None:
    workdir.write_json(tmp_path / workdir.RESULTS, made_up())
    text = variant_report.write_report(tmp_path).read_text()
    assert "the arm matters" in text
    assert "Between the value loss and the policy loss" in text
    drawn = {path.stem for path in (tmp_path / "figures").glob("*.svg")}
    assert drawn == {"arms_strength", "arms_final", "arms_lambda"}
    assert "Arm plain has no directory." in text


def test_the_page_of_defects_has_both_ways_of_judging(tmp_path: Path) -> None:
    results = made_up(("plain", PUBLISHED, "without_keep_tree"))
    results["judged_as_published"] = made_up(("plain", "dirichlet"))
    del results["judged_as_published"]["runs"]
    workdir.write_json(tmp_path / workdir.RESULTS, results)
    page = variant_report.build(variant_report.load(tmp_path))
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


def test_of_many_arms_the_summary_has_those_that_matter() -> None:
    names = [*SEARCHES, PUBLISHED, *(f"only_{name}" for name in DEFECTS)]
    spread = np.random.default_rng(0).normal(size=(len(names), 2, 6))
    strengths = {
        (arm, target): dict(enumerate(spread[i, j] + 300 * (j and arm == PUBLISHED)))
        for i, arm in enumerate(names)
        for j, target in enumerate(("sum", "value"))
    }
    rows = variant_effects.effects(strengths)
    first, *others = variant_report.sentences({"effects": rows})
    assert "in published; changed by" in first
    assert first.endswith("the arm matters.")
    assert others == [f"{len(names) - 2} other changes may be nothing."]


def test_a_page_without_strengths_says_so(tmp_path: Path) -> None:
    results = made_up()
    del results["ladder"], results["effects"]
    workdir.write_json(tmp_path / workdir.RESULTS, results)
    assert "arms are not compared" in variant_report.write_report(tmp_path).read_text()


@pytest.mark.slow
def test_all_arms_from_settings_to_report(tmp_path: Path) -> None:
    config = tiny_arms(
        {"study.arms": SEARCHES, "study.targets": ("policy", "value"), "study.lambdas": (0.5,)}
    )
    arms.run(config, tmp_path)
    results = workdir.read_json(tmp_path / workdir.RESULTS)
    assert [arm["name"] for arm in results["arms"]] == list(SEARCHES)
    assert results["arms"][1]["changes"] == {
        "search.dirichlet_fraction": 0.25,
        "search.dirichlet_alpha": 10.0,
        "search.dirichlet_scaling": "per_legal_move",
    }
    assert {run["name"] for run in results["runs"]} == set(results["ladder"]["runs"])
    kinds = [row["kind"] for row in results["effects"]]
    assert {kind: kinds.count(kind) for kind in kinds} == {"loss": 4, "change": 3, "arm": 9}
    for name in SEARCHES:
        page = (tmp_path / name / "report.html").read_text()
        assert "Strength against fixed opponents" in page
        assert (
            "experiments.loss_ablation"
            in workdir.read_json(tmp_path / name / "results.json")["command"]
        )
    assert "How much self-play explored" in (tmp_path / "report.html").read_text()
    before = (tmp_path / "plain" / workdir.METRICS).stat().st_mtime_ns
    arms.run(config, tmp_path)  # everything is there: compared again, trained no more
    assert (tmp_path / "plain" / workdir.METRICS).stat().st_mtime_ns == before


@pytest.mark.slow
def test_defects_from_settings_to_report(tmp_path: Path) -> None:
    names = ("plain", PUBLISHED, "only_mirror_without_policy", "without_keep_tree")
    config = tiny_arms({"study.arms": names, "study.targets": ("value", "sum")})
    arms.run(config, tmp_path)
    results = workdir.read_json(tmp_path / workdir.RESULTS)
    kinds = [row["kind"] for row in results["effects"]]
    assert {kind: kinds.count(kind) for kind in kinds} == {"loss": 4, "change": 3, "arm": 6}
    judged = results["judged_as_published"]
    assert judged["ladder"]["settings"]["openings"] == 0
    assert {row["arm"] for row in judged["effects"]} == {"plain", PUBLISHED}
    assert "Trained and judged" in (tmp_path / "report.html").read_text()
