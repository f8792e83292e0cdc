"""What the recipe's parts earned: arms leave out what they say, effects have the right sign."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_collections import ConfigDict

from experiments import recipe as study
from experiments.claims import earned
from experiments.configs.recipe import DEFAULTS, PARTS, PRESETS, WHOLE, get_config, own_parts
from experiments.pages.wording import number
from experiments.results import data, document
from experiments.shell.study import StudyRun
from experiments.strength import recipe_report as report
from jaxzero import files, make_game, solvers, workdir
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.training import examined_positions
from jaxzero.training import spec as spec_lib
from tests import small

ARMS = (WHOLE, "without_openings", "without_passes")
TINY: dict[str, Any] = {
    "game": "connect_four_4x5",
    "network.channels": 4,
    "search.num_simulations": 4,
    "selfplay.episodes": 4,
    "selfplay.opening_plies": 4,
    "train.iterations": 2,
    "train.batch_size": 16,
    "evaluation.heldout_games": 2,
    "evaluation.heldout_simulations": 2,
    "execution.snapshot_every": 1,
    "execution.devices": 1,
    "execution.population": "map",
    "study.arms": ARMS[:2],
    "study.test_positions": 20,
}


def tiny(changes: dict[str, Any] | None = None) -> ConfigDict:
    return small.changed(get_config("quick"), TINY | (changes or {}))


def test_an_arm_whose_end_was_put_off_is_not_measured_yet(tmp_path: Path) -> None:
    assert not study.is_measured(tiny(), tmp_path)
    points = [{"iteration": i} for i in range(3)]
    files.write_json(tmp_path / study.MEASURED, {"runs": [{"points": points}]})
    assert study.is_measured(tiny(), tmp_path)
    assert not study.is_measured(tiny({"train.iterations": 3}), tmp_path)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_part_is_left_out_alone_and_all_by_the_defaults(preset: str) -> None:
    config = get_config(preset)
    study.validate(config)
    whole, default = (config_lib.flatten(c) for c in (config, config_lib.default_config()))
    parts = own_parts(whole)
    assert {"openings", "proven_results", "passes"} <= set(parts)
    for part in parts:
        own = study.arm_config(config, f"without_{part}")
        spec_lib.make_spec(own)  # can be trained
        changed = {k: v for k, v in config_lib.flatten(own).items() if v != whole[k]}
        assert changed
        assert set(changed) <= set(PARTS[part].keys)
        assert changed.items() <= default.items()
    bare = config_lib.flatten(study.arm_config(config, DEFAULTS))
    assert not own_parts(bare)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study.arms": ("without_openings",)}, "add recipe"),
        ({"study.arms": (WHOLE, "without_discount")}, "without_discount: these settings do not"),
        ({"game": "othello_4x6", "selfplay.opening_plies": 2}, "othello_4x6"),
    ],
)
def test_what_cannot_be_compared_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        study.validate(tiny(changes))


def made_up(arm: str, ahead: float, faster: float = 1.0) -> dict[str, Any]:
    """An arm of 6 seeds that keeps 0.5 + ahead + seed noise of the moves after 200 evaluations."""
    noise = np.linspace(-0.01, 0.01, 6)
    ends = [(0, 0.4, 1.0), (200 * faster, 0.5 + ahead, 0.5 - ahead)]
    runs = [
        {
            "name": f"{arm}_seed{seed}",
            "seed": seed,
            "points": [
                {
                    "iteration": 2 * i,
                    "evaluations": e,
                    "search": s + n,
                    "network": 0.3,
                    "value_error": v,
                }
                for i, (e, s, v) in enumerate(ends)
            ],
        }
        for seed, n in enumerate(noise)
    ]
    return {"arm": arm, "seconds": 60.0, "runs": runs}


def test_effects_are_at_equal_evaluations_and_positive_where_the_recipe_is_better() -> None:
    arms = {
        WHOLE: made_up(WHOLE, 0.2, faster=2.0),
        ARMS[1]: made_up(ARMS[1], 0.0),
        ARMS[2]: made_up(ARMS[2], 0.3),
    }
    at = earned.shared_evaluations(arms.values())
    assert at == 200
    rows = {
        (row.arm, measure.key): row
        for measure in report.MEASURES
        for row in earned.earned(arms, WHOLE, measure, at)
    }
    effects = {key: row.estimate.effect for key, row in rows.items()}
    # The recipe is half way between 0.4 and 0.7 there, the arms have 0.5 and 0.8.
    assert effects[ARMS[1], "search"] == pytest.approx(5.0)
    assert effects[ARMS[2], "search"] == pytest.approx(-25.0)
    assert effects[ARMS[1], "value_error"] == pytest.approx(0.5 - 0.65)
    assert not rows[ARMS[1], "network"].decided


def test_baselines_are_those_of_a_random_move_and_of_the_best_constant() -> None:
    game = make_game("connect_four_4x5")
    plies = range(6, 12)
    found = solvers.label(game, solvers.sample(game, positions=40, plies=plies, seed=1))
    kept = [
        sum(weak[action] for action in np.flatnonzero(legal)) / sum(legal)
        for legal, weak, contested in zip(found.legal, found.weak, found.contested, strict=True)
        if contested
    ]
    errors = [np.mean((found.value - c) ** 2) for c in np.linspace(-1, 1, 2001)]
    baselines = study.baselines(game, examined_positions.of(found))
    assert baselines["random"] == pytest.approx(np.mean(kept))
    assert baselines["constant_error"] == pytest.approx(min(errors), abs=1e-5)


def test_sentences_say_which_way_an_effect_goes() -> None:
    arms = {WHOLE: made_up(WHOLE, 0.2), ARMS[1]: made_up(ARMS[1], 0.1), ARMS[2]: made_up("x", 0.3)}
    rows = {m: earned.earned(arms, WHOLE, m, 200) for m in report.MEASURES}
    _, search, error = report.sentences(rows, 200)
    assert search.startswith("Moves kept with search, %, recipe less arm: ")
    ahead, behind = f"without openings {number(10, 1)}", f"without passes {number(-10, 1)}"
    assert ahead in search
    assert behind in search
    assert "arm less recipe" in error


def test_the_headline_names_what_is_decided() -> None:
    def said(**ahead: float) -> str:
        arms = {arm: made_up(arm, by) for arm, by in {WHOLE: 0.2, **ahead}.items()}
        return report.headline(earned.earned(arms, WHOLE, report.MEASURES[0], 200))

    better, worse = {ARMS[1]: 0.1}, {ARMS[2]: 0.3}
    assert said(**better, **worse) == (
        "The recipe plays better than without openings. It plays worse than without passes."
    )
    assert said(**worse) == "The recipe plays worse than without passes."
    assert said(**{ARMS[1]: 0.2}) == "Whether any part helps the search is undecided."


def test_a_stopped_study_goes_on_and_ends_in_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[str] = []

    def train(self: StudyRun, name: str, config: ConfigDict, place: Path) -> None:
        trained.append(name)
        if trained == [WHOLE, ARMS[1]]:
            raise KeyboardInterrupt
        place.mkdir(parents=True)

    monkeypatch.setattr(StudyRun, "train", train)
    ahead = {WHOLE: 0.2, ARMS[1]: 0.1}
    monkeypatch.setattr(study, "measure", lambda place, _: made_up(place.name, ahead[place.name]))
    with pytest.raises(KeyboardInterrupt):
        study.run(tiny(), tmp_path)
    study.run(tiny(), tmp_path)
    data.add([tmp_path], "cpu", tmp_path / "docs")
    recorded = tmp_path / "docs" / "recorded"
    document.write(tmp_path / "docs")
    page = (recorded / "cpu.md").read_text(encoding="utf-8").replace("\xa0", " ")
    assert "| without openings |" in page
    assert "| untrained | the recipe's networks at first | 40.0 ± " in page
    assert "| random | random moves; value: the best constant |" in page
    assert f"](cpu_{tmp_path.name}.svg)" in page
    assert (recorded / f"cpu_{tmp_path.name}.svg").is_file()
    assert trained == [WHOLE, ARMS[1], ARMS[1]]
    results = files.read_json(tmp_path / workdir.RESULTS)
    assert [arm["arm"] for arm in results["arms"]] == [*ARMS[:2]]
    assert results["arms"][1]["changes"] == {"selfplay.opening_plies": 0}
    assert "The recipe plays better than without openings." in (tmp_path / "report.html").read_text(
        encoding="utf-8"
    )
    ahead[ARMS[2]] = 0.3
    study.run(tiny({"study.arms": (*ARMS[1:], WHOLE)}), tmp_path)  # an arm is added
    assert trained[3:] == [ARMS[2]]
    results = files.read_json(tmp_path / workdir.RESULTS)
    assert [arm["arm"] for arm in results["arms"]] == [*ARMS[1:], WHOLE]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "It plays worse than without passes." in page


@pytest.mark.slow
def test_a_small_study_measures_every_kept_network(tmp_path: Path) -> None:
    study.run(tiny(), tmp_path)
    for arm in files.read_json(tmp_path / workdir.RESULTS)["arms"]:
        assert [run["seed"] for run in arm["runs"]] == [0, 1]
        for run in arm["runs"]:
            spent = [p["evaluations"] for p in run["points"]]
            assert [p["iteration"] for p in run["points"]] == [0, 1, 2]
            assert spent[0] == 0 < spent[1] < spent[2]
            assert all(0 <= p[k] <= 1 for p in run["points"] for k in ("search", "network"))
