"""Which size of the loss ablation is taken on which device, and the study from a notebook."""

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ml_collections import ConfigDict

from experiments import ablation_sizes as sizes
from experiments import loss_ablation, notebook
from experiments.costs import cost_model
from experiments.costs.clock import Cost
from experiments.shell import cli, presets
from experiments.shell import study as shell
from jaxzero import files, workdir
from jaxzero.runs.hardware import Hardware
from jaxzero.runs.memory import Forecast
from jaxzero.settings.config import ConfigError, flatten
from tests.experiments.losses.test_loss_ablation import tiny

GIB = 2**30
TWO_CORES = Hardware("cpu", "1 x cpu (2 cores)", 1, 12 * GIB)
T4 = Hardware("gpu", "1 x Tesla T4", 1, 11 * GIB)
L4 = Hardware("gpu", "1 x NVIDIA L4", 1, int(0.75 * 22.0 * GIB))
LARGE_GPU = Hardware("gpu", "1 x NVIDIA A100", 1, 30 * GIB)
TPU = Hardware("tpu", "8 x TPU v2", 8, 8 * GIB)


@pytest.fixture(scope="module", autouse=True)
def _each_forecast_is_made_once() -> Iterator[None]:
    """They take a second, and do not depend on how much memory there is."""
    made: dict[Any, Forecast] = {}

    def forecast(config: ConfigDict, members: Any, here: Hardware) -> Forecast:
        key = config.to_json(), len(members), dataclasses.replace(here, memory=None, described="")
        if key not in made:
            made[key] = real(config, members, here)
        return made[key]

    real = sizes.hardware_lib.forecast
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes.hardware_lib, "forecast", forecast)
        yield


@pytest.mark.parametrize(
    ("here", "expected"),
    [(TWO_CORES, "small"), (T4, "medium"), (TPU, "medium"), (L4, "large"), (LARGE_GPU, "large")],
)
def test_what_suits_is_taken(here: Hardware, expected: str) -> None:
    found = sizes.fits(hardware=here)
    chosen = sizes.choose(found)
    assert chosen.size.name == expected
    assert chosen.against is None
    assert chosen.predicted is not None
    assert chosen.predicted.total < sizes.hardware_lib.SHARE * (here.memory or 0)
    shown = sizes.table(found, chosen).markdown()
    assert shown.count("**chosen**") == 1
    assert all(f"| {size.name} |" in shown for size in sizes.SIZES)


def test_what_does_not_fit_is_not_taken() -> None:
    found = sizes.fits(hardware=Hardware("gpu", "an old one", 1, GIB // 2))
    assert "of memory" in str(found[1].against)
    assert sizes.choose(found).size.name == "small"
    assert sizes.choose(found, "medium").against is not None  # by name it is taken all the same


def test_nothing_fits() -> None:
    found = sizes.fits(hardware=Hardware("cpu", "a toy", 1, 2**20))
    with pytest.raises(ConfigError, match=r"size 'tiny', the smallest, needs .* of memory"):
        sizes.choose(found)


def test_a_begun_directory_keeps_its_size(tmp_path: Path) -> None:
    found = sizes.fits(hardware=TWO_CORES)
    files.write_json(
        tmp_path / workdir.CONFIG, flatten(found[3].config) | {"study": loss_ablation.STUDY}
    )
    assert sizes.choose(found, directory=tmp_path).size.name == "tiny"
    assert sizes.choose(found, directory=tmp_path / "new").size.name == "small"


@pytest.mark.parametrize(
    ("changes", "name", "message"),
    [
        ({"preset": "paper"}, "auto", "preset='paper': would change the name alone"),
        ({"train.epoch": 3}, "auto", "unknown key config.train.epoch: did you mean 'train.epochs'"),
        ({"train.epochs": 0}, "auto", "config.train.epochs=0"),
        ({"train.epochs": "many"}, "auto", "config.train.epochs='many'"),
        ({}, "smal", "size 'smal': did you mean 'small'"),
    ],
)
def test_mistakes_are_one_line(changes: dict[str, Any], name: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        sizes.choose(sizes.fits(changes, TWO_CORES), name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", sizes.SIZES, ids=lambda size: size.name)
def test_the_printed_command_has_the_same_settings(
    size: sizes.Size, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = sizes.settings(size, {"game": "othello_6x6", "study.targets": ("sum", "value")})
    monkeypatch.setattr(
        sys, "argv", ["study", *presets.words(loss_ablation.STUDY, config, Path("runs/x"))]
    )
    asked: list[Any] = []
    cli.run(lambda *given: asked.extend(given), "loss_ablation")
    parsed, directory, _ = asked
    assert flatten(loss_ablation.resolve(parsed)) == flatten(config)
    assert directory == Path("runs/x")


def test_finished_directories_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tiny()
    workdir.claim(tmp_path, config, loss_ablation.STUDY)
    files.write_json(tmp_path / workdir.RESULTS, {"config": config.to_dict()})
    assert not shell.is_finished(config, tmp_path)  # it stopped before its report
    (tmp_path / "report.html").touch()
    assert shell.is_finished(config, tmp_path)
    assert notebook.run(config, tmp_path)
    assert "nothing left to do" in capsys.readouterr().out
    assert notebook.estimate(config, tmp_path) == f"{tmp_path} is finished"
    assert shell.is_finished(tiny({"execution.max_minutes": 3.0}), tmp_path)
    for more in ({"train.iterations": 3}, {"tracking.wandb": "offline"}, {"study.ladder_games": 8}):
        assert not shell.is_finished(tiny(more), tmp_path)
    results = {"config": config.to_dict()}
    del results["config"]["train"]["measure"]  # of a time that did not know it yet
    files.write_json(tmp_path / workdir.RESULTS, results)
    assert shell.is_finished(config, tmp_path)
    with pytest.raises(ConfigError, match="holds another run"):
        notebook.run(tiny({"train.learning_rate": 0.5}), tmp_path)


def test_more_games_take_longer() -> None:
    few, many = (
        sizes.tournament_minutes(tiny({"study.tournament_games": games}), 0.1) for games in (4, 8)
    )
    assert many == pytest.approx(2 * few)


def test_losses_with_weights_count_like_others() -> None:
    weighted = tiny({"study.targets": (), "study.lambdas": (0.1, 0.3)})
    assert len(tiny().study.targets) == 2
    minutes = [sizes.tournament_minutes(config, 0.1) for config in (weighted, tiny())]
    assert minutes[0] == pytest.approx(minutes[1])


def test_the_window_fills_up_while_time_passes() -> None:
    config = tiny({"replay.window": 2, "train.iterations": 3, "train.epochs": 1})
    a_run = cost_model.job(flatten(config), plies=10.0, images=sizes.make_spec(config).num_images)
    epochs = [part / 60 for part in (0.5, 1.0, 1.0)]  # of the full window, in minutes
    steps = cost_model.work(dataclasses.replace(a_run, iterations=1)).training
    assert cost_model.work(a_run).training == pytest.approx(5 * steps, rel=0.1)
    units, runs = Cost(0.0, 0.0, 1 / (2 * steps)), len(loss_ablation.make_members(config))
    for done in range(4):
        found = sizes.training_minutes(config, units, plies=10.0, done=done)
        assert found == pytest.approx(runs * sum(epochs[done:]), rel=0.1)


def test_ratings_are_sorted() -> None:
    results = {
        "tournaments": [
            {"players": [{"name": "a"}, {"name": "b"}], "elo": [-10.4, 10.4], "stderr": [3.2, 3.2]}
        ]
    }
    assert notebook.ratings(results).rows == (("b", 10, 3), ("a", -10, 3))


@pytest.mark.parametrize("size", sizes.SIZES, ids=lambda size: size.name)
def test_the_documentation_has_every_size(size: sizes.Size) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "colab.md"
    (line,) = (li for li in page.read_text().splitlines() if li.startswith(f"| `{size.name}`"))
    cells, config = [cell.strip() for cell in line.strip("|").split("|")], sizes.settings(size)
    assert cells[1].startswith(size.meant_for)
    assert int(cells[2]) == len(loss_ablation.make_members(config))
    assert int(cells[3]) == config.network.channels
    assert int(cells[4]) == config.search.num_simulations
    assert cells[5] == f"{config.train.iterations} x {config.selfplay.episodes}"
