"""Arms beyond the papers: noise, Gumbel search, defects; each trained alone, compared once."""

import dataclasses
import itertools
import time
from pathlib import Path
from typing import Any

import pytest
from ml_collections import ConfigDict

from experiments import arms, loss_ablation
from experiments.configs.arms import (
    ARMS,
    DEFECTS,
    EXPLORED,
    GATE_TREES,
    KEYS,
    PRESETS,
    PUBLISHED,
    arm_config,
    get_config,
)
from experiments.configs.loss_ablation import get_config as get_study
from experiments.shell.study import StudyRun
from jaxzero import files, workdir
from jaxzero.runs.stopping import Stopped
from jaxzero.settings.config import ConfigError, flatten
from jaxzero.settings.switches import resolve_switches
from jaxzero.training import spec as spec_lib
from tests import small
from tests.experiments.losses.test_loss_ablation import tiny
from tests.experiments.test_killed import TINY


def tiny_arms(changes: dict[str, Any] | None = None) -> ConfigDict:
    """The settings of the loss ablation's tests, with arms."""
    shared = {k: v for k, v in flatten(tiny()).items() if v is not None}
    arms_only = {"study.few_simulations": 4, "study.lambdas": (), "study.arms": ("plain", "few")}
    return small.changed(get_config("quick"), {**shared, **arms_only, **(changes or {})})


# As words of a command.
TWO = (*TINY, "study.arms=plain,few", "study.few_simulations=4", "study.ladder_games=2")
SEARCHES = ("plain", "dirichlet", "few", "gumbel")


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "defects"])
def test_presets_are_those_of_the_loss_ablation(preset: str) -> None:
    config = loss_ablation.resolve(get_config(f"{preset}.othello_5x5"))
    arms.validate(config)
    plain = flatten(arm_config(config, "plain"))
    study = flatten(loss_ablation.resolve(get_study(f"{preset}.othello_5x5")))
    changed = {key for key in study if plain[key] != study[key]}
    allowed = {"study.lambdas", "study.tournament_games", "train.iterations", "study.ladder_games"}
    allowed |= {"evaluation.learning_positions", "execution.snapshot_every"}  # change no training
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
    assert acting.pop(GATE_TREES) == published  # what it changes is no switch
    assert arm_config(config, GATE_TREES).arena.trees == "gate"
    assert acting.pop(EXPLORED) == published
    assert spec_lib.make_spec(arm_config(config, EXPLORED)).search.dirichlet_fraction == 0.25
    apart = [n for n in DEFECTS if getattr(plain, n) != getattr(published, n)]
    assert len(apart) == (8 if "connect" in board else 7)
    together = {
        "gate": ("arena_random_openings", "accept_all_drawn"),
        "one_hot_and_dropout": ("one_hot_after_temperature", "dropout_inactive"),
    }
    for name, found in acting.items():
        kind, _, defect = name.partition("_")
        start, other = (plain, published) if kind == "only" else (published, plain)
        changed = together.get(defect, (defect,))
        assert found == dataclasses.replace(start, **{n: getattr(other, n) for n in changed})
        assert ARMS[name].reference == ("plain" if kind == "only" else PUBLISHED)
    assert sorted(name.partition("_")[2] for name in acting) == sorted(2 * [*apart, *together])


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
        (
            {"study.arms": ("plain", "few", "gumbel"), "search.algorithm": "gumbel"},
            "'few' and 'gumbel' have the same settings",
        ),
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
        files.write_json(directory / workdir.RESULTS, {"config": config.to_dict()})
        (directory / "report.html").touch()

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
    arms.run(tiny_arms({"study.arms": ("gumbel", *config.study.arms)}), tmp_path)  # one is added
    assert begun[4:] == ["gumbel"]
    assert compared == [tmp_path, tmp_path]
    with pytest.raises(ConfigError, match=r"study\.arms"):  # and can't be left out again
        arms.run(config, tmp_path)


@pytest.mark.parametrize(
    ("names", "judges"), [((PUBLISHED,), 1), (("plain",), 1), (("plain", PUBLISHED), 2)]
)
def test_both_ways_of_judging_need_both_networks(
    names: tuple[str, ...], judges: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One alone is measured all the same: the other may be added later."""
    judged: list[int] = []
    concluded: list[dict[str, Any]] = []
    monkeypatch.setattr(arms, "open_arms", lambda config, *_: dict.fromkeys(config.study.arms))
    monkeypatch.setattr(arms, "describe", lambda *_: {"runs": []})
    monkeypatch.setattr(StudyRun, "header", lambda _: {})
    monkeypatch.setattr(StudyRun, "conclude", lambda _, results: concluded.append(results))
    monkeypatch.setattr(arms.ladder, "write", lambda *_: None)
    monkeypatch.setattr(arms.reports, "write", lambda _: None)

    def measure(opened: list[Any], settings: Any) -> list[dict[str, Any]]:
        judged.append(len(opened))
        return [{"runs": {}} for _ in opened]

    monkeypatch.setattr(arms.fixed_opponents, "measure", measure)
    config = tiny_arms({"study.arms": names, "study.ladder_games": 2})
    arms.compare(StudyRun(arms.STUDY, config, tmp_path))
    assert len(judged) == judges
    assert ("judged_as_published" in concluded[0]) == (judges == 2)


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


@pytest.mark.slow
def test_all_arms_from_settings_to_report(tmp_path: Path) -> None:
    config = tiny_arms(
        {"study.arms": SEARCHES, "study.targets": ("policy", "value"), "study.lambdas": (0.5,)}
    )
    arms.run(config, tmp_path)
    results = files.read_json(tmp_path / workdir.RESULTS)
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
            in files.read_json(tmp_path / name / "results.json")["command"]
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
    results = files.read_json(tmp_path / workdir.RESULTS)
    kinds = [row["kind"] for row in results["effects"]]
    assert {kind: kinds.count(kind) for kind in kinds} == {"loss": 4, "change": 3, "arm": 6}
    judged = results["judged_as_published"]
    assert judged["ladder"]["settings"]["openings"] == 0
    assert {row["arm"] for row in judged["effects"]} == {"plain", PUBLISHED}
    assert "Trained and judged" in (tmp_path / "report.html").read_text()
