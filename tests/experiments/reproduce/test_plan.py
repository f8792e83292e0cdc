"""What each paper has, and the plan that is made of it: parts, shares, hours."""

import ast
import functools
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from ml_collections import ConfigDict

from experiments import connect_four_supervised
from experiments.claims import papers as claimed
from experiments.connect_four import efficiency_report, extension_figures, supervised_rows
from experiments.connect_four.claims import PREFIX
from experiments.reproduce import forecast, papers, parts, plan
from experiments.reproduce.papers import PAPERS, SCALES, Paper
from jaxzero.runs import Member
from jaxzero.runs.hardware import Hardware
from jaxzero.settings.config import ConfigError
from tests.experiments.exhibits import compared
from tests.experiments.reproduce.fake_part import Fake

ROOT = Path(__file__).resolve().parents[3]


# ---- what the papers have


@pytest.mark.parametrize("made", PAPERS, ids=lambda made: made.number)
def test_every_part_has_settings_at_every_scale(made: Paper) -> None:
    assert len({part.name for part in made.parts}) == len(made.parts)
    for scale in SCALES:
        for part in made.parts:
            config = forecast.settings(part, scale)
            assert config.preset == scale + part.suffix * (part.study != papers.LOSSES)
            assert config.semantics == part.semantics
            if part.study == papers.LOSSES:
                assert config.game == part.about
            if scale != "quick":
                assert config.study.seeds >= 5


def test_papers_are_named_by_number_and_by_authors() -> None:
    assert papers.find("001") is papers.find("wang2019")
    with pytest.raises(ConfigError, match="PAPER='wang201': did you mean 'wang201"):
        papers.find("wang201")


def test_exhibits_name_studies_and_boards_of_their_paper() -> None:
    for made in PAPERS:
        studies = {part.study for part in made.parts} | {""}
        boards = {part.about for part in made.parts} | {""}
        for exhibit in made.exhibits:
            assert exhibit.study in studies
            assert exhibit.about in boards
            assert exhibit.study or exhibit.note
            assert bool(exhibit.plates or exhibit.tables) == bool(exhibit.study)


def test_tables_that_exhibits_ask_for_have_such_titles() -> None:
    words = set()
    for path in Path(papers.__file__).parents[1].rglob("*.py"):
        if path.parent.name != "reproduce":
            nodes = ast.walk(ast.parse(path.read_text()))
            words |= {n.value for n in nodes if isinstance(n, ast.Constant) and n.value}
    titles = tuple(word for word in words if isinstance(word, str))
    for exhibit in (one for made in PAPERS for one in made.exhibits):
        for asked in exhibit.tables:
            assert any(title.startswith(asked) for title in titles), asked


def test_the_exhibits_of_paper_002_are_figures_of_its_reports() -> None:
    drawn = {"cycle"} | {f"efficiency_{name}" for name, *_ in efficiency_report.FIGURES}
    drawn |= {f"extensions_{one.name}" for one in extension_figures.FIGURES}
    named = {plate for one in papers.find("002").exhibits for plate in one.plates}
    assert named <= drawn
    numbers = [int(number) for one in papers.find("002").exhibits
               for number in re.findall(r"Fig\. (\d+)", one.label)]  # fmt: skip
    assert numbers == list(range(1, 14))


# Claims of paper 002 that no part addresses, and what an exhibit says of them.
OTHERS = {  # section 2.4 cites others for them; 002 shows no runs
    f"{name}_{claim}": name
    for name, claim in (
        ("playout_caps", "accelerate"),
        ("forced_playouts", "accelerate"),
        ("known_results", "stronger"),
        ("move_values", "small_gain"),
        ("mixed_values", "help"),
    )
} | {"more_head_filters": "few_head_filters"}
FEW = {"features_help_few": "connect_four_supervised.py:few"}  # larger scales have more examples


@pytest.mark.parametrize("scale", SCALES[1:])
def test_every_figure_and_claim_of_paper_002_has_its_arms_in_the_plan(scale: str) -> None:
    made = papers.find("002")
    arms = {part: compared(part, scale) for part in made.parts}
    drawn = {
        f"efficiency_{name}": {"baseline", *own} for name, *_, own in efficiency_report.FIGURES
    }
    drawn |= {f"extensions_{one.name}": {*one.arms} for one in extension_figures.FIGURES}
    for exhibit, plate in ((one, plate) for one in made.exhibits for plate in one.plates):
        own = [names for part, names in arms.items() if part.study == exhibit.study]
        assert any(drawn.get(plate, set()) <= names for names in own), exhibit.label
    notes, lost = " ".join(one.note for one in made.exhibits), set()
    for claim in claimed.claims(claimed.EFFICIENCY):
        sides = {name for contrast in claim.contrasts for name, _ in contrast.sides}
        if not sides:
            assert claim.raw["needs"]  # says what no study measures
        elif not any(
            sides <= names
            for part, names in arms.items()
            if part.study.removeprefix(PREFIX) in claim.raw["studies"]
        ):
            lost.add(claim.id)
    left_out = OTHERS | (FEW if scale != "laptop" else {})
    assert lost == left_out.keys()
    assert all(words in notes for words in left_out.values())
    [extensions] = [part for part in made.parts if part.study == papers.EXTENSIONS]
    # else no network is kept right before and after it has grown
    assert forecast.settings(extensions, scale).execution.snapshot_every == 1


@pytest.mark.parametrize("scale", ["gpu", "paper"])
def test_every_published_row_of_supervised_accuracy_has_its_networks(scale: str) -> None:
    rows, found = supervised_rows.all_rows(), []
    for part in (one for one in papers.find("002").parts if one.study == papers.SUPERVISED):
        config = forecast.settings(part, scale)
        results = {"config": config.to_dict()}
        found += [
            supervised_rows.matching(results, group._asdict())
            for group in connect_four_supervised.groups(config)
            if group.labels == "published"
        ]
    assert [row for row in rows if row not in found] == []


# ---- the plan


def test_only_takes_parts_by_any_of_their_words() -> None:
    made = papers.find("003")
    own = plan.chosen(made, ["othello_6x6", "hyperparameter_sweep"])
    assert [part.name for part in own] == [
        "hyperparameter_sweep.corrected",
        "loss_ablation.othello_6x6.corrected",
        "loss_ablation.othello_6x6.published",
    ]
    assert len(plan.chosen(made, ["*gobang*published"])) == 2
    assert plan.chosen(made, []) == made.parts
    with pytest.raises(ConfigError, match=r"--only=othelo_6x6: .*did you mean 'othello_6x6'"):
        plan.chosen(made, ["othelo_6x6"])


def test_shares_are_disjoint_whole_and_even() -> None:
    fakes = [Fake("fake", f"part{i}") for i in range(9)]
    hours = {part: 0.5 + i for i, part in enumerate(fakes)}
    shares = [plan.share(fakes, hours, f"{i}/3") for i in (1, 2, 3)]
    assert sorted(p.name for one in shares for p in one) == [p.name for p in fakes]
    loads = [sum(hours[part] for part in one) for one in shares]
    assert max(loads) - min(loads) <= 3
    assert shares == [plan.share(fakes, hours, f"{i}/3") for i in (1, 2, 3)]
    with pytest.raises(ConfigError, match="--shard='4/3'"):
        plan.share(fakes, hours, "4/3")


def test_the_plan_forecasts_and_says_where_it_is_cut(tmp_path: Path) -> None:
    machine = Hardware("cpu", "a laptop", 1, None)
    made = plan.make(papers.find("001"), "quick", ["othello_5x5"], "1/1", tmp_path, machine)
    assert [one.part.semantics for one in made] == ["corrected", "published"]
    assert all(0 < one.forecast.hours < 1 and one.forecast.runs == 8 for one in made)
    assert all(one.memory and one.memory > 1e6 for one in made)
    first, second = (60 * one.forecast.hours for one in made)
    for minutes, wanted in {
        first + second / 2: ["not begun", "cut here"],
        first / 2: ["cut here", "not reached"],
        0: ["not begun", "not begun"],
    }.items():
        assert [row[1] for row in plan.shown(made, minutes).rows] == wanted
    larger = forecast.of(made[0].part, "paper", "cpu")
    assert larger.hours > 100 * made[0].forecast.hours
    assert forecast.of(made[0].part, "paper", "gpu").hours < larger.hours / 10
    one, two, four = (forecast.of(made[0].part, "paper", "cpu", n).hours for n in (1, 2, 4))
    assert two == larger.hours
    assert one == pytest.approx(2 * two, rel=1e-3)
    assert four == pytest.approx(two / 2, rel=1e-3)
    assert forecast.of(made[0].part, "paper", "cpu", 999).hours > two / 999  # 32 runs keep 32 busy


def test_memory_is_of_the_runs_that_train_together(monkeypatch: pytest.MonkeyPatch) -> None:
    def members(_: ConfigDict, runs: Sequence[Member], __: Hardware) -> SimpleNamespace:
        return SimpleNamespace(total=len(runs))

    monkeypatch.setattr(forecast.hardware, "forecast", members)
    machine = Hardware("gpu", "", 1, None)
    found = {}
    for part in {part.study: part for paper in PAPERS for part in paper.parts}.values():
        config = forecast.settings(part, "quick")
        runs, seeds = forecast.of(part, "quick", "gpu").runs, config.study.seeds
        found[part.study] = (forecast.memory(part, "quick", machine), runs, seeds)
    for study in (papers.CURRICULUM, papers.EFFICIENCY):  # arms
        together, runs, seeds = found.pop(study)
        assert together == seeds < runs
    for study in (papers.SWEEP, papers.CORRELATION):  # programs
        together, runs, _ = found.pop(study)
        assert 0 < together < runs
    together, runs, _ = found.pop(papers.LOSSES)
    assert together == runs
    together, runs, seeds = found.pop(papers.EXTENSIONS)
    assert seeds <= together < runs
    assert found.pop(papers.SUPERVISED)[0] is None
    assert not found


def test_what_is_finished_takes_none_of_the_minutes() -> None:
    states = (parts.FINISHED, parts.UNTOUCHED, parts.STOPPED)
    made = [
        plan.Planned(Fake("fake", name), state, forecast.Forecast(1, 1.0), None)
        for name, state in zip("abc", states, strict=True)
    ]
    shown = plan.shown(made, 60.0)
    assert [row[1] for row in shown.rows] == [parts.FINISHED, parts.UNTOUCHED, "not reached"]
    assert shown.note.startswith("About 2.0 h are left")


@pytest.mark.parametrize(
    "column", [pytest.param(n, marks=pytest.mark.slow) for n in (0, 2, 3)] + [1]
)
def test_the_documented_hours_are_the_forecast(column: int) -> None:
    scale, text = SCALES[column], (ROOT / "docs" / "reproduce.md").read_text()
    rows = re.findall(r"^\| `(00\d)` \|" + r" ([\d.,]+) \|" * 4 + "$", text, re.MULTILINE)
    assert [row[0] for row in rows] == ["000", "001", "002", "003", "004"]
    hours = functools.cache(
        lambda part: forecast.of(part, scale, ("cpu", "cpu", "gpu", "gpu")[column]).hours
    )
    for name, *documented in rows:
        total = sum(map(hours, papers.find(name).parts))
        said = float(documented[column].replace(",", ""))
        assert said == pytest.approx(total, rel=0.06, abs=0.06), name
