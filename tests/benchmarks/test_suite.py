"""The suite runs at tiny sizes, keeps its figures, goes on where it stopped. Nothing is timed."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import records, suite, targets
from benchmarks.cases import Case, Measured, rate, seconds
from benchmarks.records import Records
from jaxzero.settings.config import ConfigError

TINY = {case.name: case for case in suite.choose("tiny", ())}
QUICK = (
    "device/",
    "games/",
    "search/puct m=3 connect_four_5x5 4ch 4",
)  # the others compile whole iterations
FIELDS = {
    "figure", "value", "unit", "floor", "against", "fraction", "settings", "details", "case",
    "commit", "code", "date", "load_average", "seconds_measuring",
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name.startswith(QUICK) else pytest.mark.slow) for name in TINY],
)
def test_every_kind_of_figure(name: str, tmp_path: Path) -> None:
    kept = Records(tmp_path / "figures.json")
    outcome = suite.measure([TINY[name]], kept, minutes=0)
    assert outcome == (0, [])
    written = json.loads((tmp_path / "figures.json").read_text())
    assert {"device", "python", "packages"} == written["environment"].keys()
    assert written["figures"] == kept.figures
    for figure in kept.figures:
        assert figure.keys() == FIELDS
        assert figure["figure"].startswith(name)
        assert figure["case"] == name
        assert math.isfinite(figure["value"])
        assert figure["value"] >= 0
        if figure["floor"] is not None:
            assert figure["floor"] > 0
            assert figure["fraction"] > 0
            assert figure["against"]
    assert all(figure["figure"] in suite.table(kept.figures) for figure in kept.figures)


def test_what_the_figures_of_a_search_say() -> None:
    name = next(n for n in TINY if n.startswith("search/puct") and "sharp" in n)
    kept = Records(None)
    suite.measure([TINY[name]], kept, minutes=0)
    [figure] = kept.figures
    details = figure["details"]
    assert details["over_floor"] == pytest.approx(figure["value"] / figure["floor"])
    assert 1 <= details["depth_mean"] <= details["depth_max"] <= 3  # m = 3
    assert details["simulations_per_second"] == pytest.approx(3 * 4 / figure["value"])
    edges = 4 * 4 * 5  # games, capacity, actions
    assert details["tree_bytes"] > 6 * 4 * edges  # six arrays of four bytes by edge


def case(name: str, run: Callable[[], Mapping[str, Measured]], **settings: Any) -> Case:
    return Case(name, settings, run, guess=1.0)


def number(value: float) -> Callable[[], Mapping[str, Measured]]:
    return lambda: {"": seconds(value, 1.0, "nothing"), "rate": rate(value, "x/s", 8.0, "all")}


def test_figures_are_not_measured_twice(tmp_path: Path) -> None:
    path = tmp_path / "there" / "figures.json"
    ran = []

    def noting(value: float) -> Callable[[], Mapping[str, Measured]]:
        def run() -> Mapping[str, Measured]:
            ran.append(value)
            return number(value)()

        return run

    suite.measure([case("a/x", noting(2.0), m=(1, 2))], Records(path), minutes=0)
    suite.measure([case("a/x", noting(3.0), m=(1, 2)), case("a/y", noting(4.0))], Records(path), 0)
    assert ran == [2.0, 4.0]
    figures = {f["figure"]: f for f in json.loads(path.read_text())["figures"]}
    assert figures.keys() == {"a/x", "a/x rate", "a/y", "a/y rate"}
    assert figures["a/x"]["fraction"] == 0.5
    assert figures["a/y rate"]["fraction"] == 0.5
    suite.measure([case("a/x", noting(5.0), m=(1, 3))], Records(path), minutes=0)
    assert ran == [2.0, 4.0, 5.0]  # other settings
    figures = {f["figure"]: f for f in json.loads(path.read_text())["figures"]}
    assert figures["a/x"]["value"] == 5.0
    assert len(figures) == 4


def test_another_version_of_the_code_measures_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Records(None)
    suite.measure([case("a/x", number(2.0))], kept, minutes=0)
    assert kept.has(case("a/x", number(2.0)))
    monkeypatch.setattr(records, "code", lambda: "another")
    changed = Records(None)
    changed.figures = kept.figures
    assert not changed.has(case("a/x", number(2.0)))


def test_a_piece_ends_before_its_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(float(10 * second) for second in range(100))  # every look at it takes 10 s
    monkeypatch.setattr(suite, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    cases = [case(f"a/{i}", number(1.0)) for i in range(50)]
    kept = Records(None)
    outcome = suite.measure(cases, kept, minutes=2)
    assert 0 < outcome.left < 50
    done = len({f["case"] for f in kept.figures})
    assert done == 50 - outcome.left
    assert suite.measure(cases[:done], kept, minutes=2) == (0, [])


def test_a_case_that_breaks_down_does_not_stop_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken() -> Mapping[str, Measured]:
        raise RuntimeError("RESOURCE_EXHAUSTED")

    kept = Records(None)
    outcome = suite.measure([case("a/x", broken), case("a/y", number(1.0))], kept, minutes=0)
    assert outcome == (0, ["a/x"])
    assert [f["case"] for f in kept.figures] == ["a/y", "a/y"]
    assert "failed: a/x: RESOURCE_EXHAUSTED" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only=serach"], "--only=serach: no such figure, did you mean 'search'?"),
        (["--preset=gpu"], "--json is missing"),
        (["--preset=tpu"], "--preset: invalid choice: 'tpu'"),
        (["--max-minutes=-1"], "--max-minutes=-1"),
        (["--jsn=x"], "unknown argument '--jsn=x': did you mean --json"),
    ],
)
def test_bad_command_lines(words: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as error:
        suite.main(words)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["{}", "[]", "no JSON", '{"environment": {}, "figures": []}'])
def test_files_that_hold_something_else(text: str, tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"--json=.*name another"):
        Records(path)
    assert path.read_text() == text


def test_parts_of_names_choose_cases() -> None:
    names = [case.name for case in suite.choose("cpu", ("m=600",))]
    assert names
    assert all("m=600" in name for name in names)
    families = {case.name.partition("/")[0] for case in suite.choose("cpu", ("games", "start"))}
    assert families == {"games", "start"}


@pytest.mark.parametrize("preset", suite.PRESETS)
def test_names_are_unique(preset: str) -> None:
    cases = suite.choose(preset, ())
    assert len({case.name for case in cases}) == len(cases)
    assert {case.name.partition("/")[0] for case in cases} == suite.FAMILIES.keys()
    json.dumps([case.settings for case in cases])


def test_the_cpu_preset_measures_what_has_a_target() -> None:
    names = [case.name for case in suite.choose("cpu", ())]
    for target in targets.TARGETS:
        assert any(target.figure.startswith(name) for name in names), target.figure


def test_figures_are_of_the_code_that_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_ROOT", tmp_path)
    seen = {records.code()}
    for package in ("benchmarks", "experiments", "jaxzero"):  # presets are of `experiments`
        (tmp_path / package).mkdir()
        (tmp_path / package / "one.py").write_text("")
        seen.add(records.code())
    (tmp_path / "tests.py").write_text("")
    seen.add(records.code())
    assert len(seen) == 4
