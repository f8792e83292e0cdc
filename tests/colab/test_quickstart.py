"""The quickstart from its first cell to its last: stopped, gone on with, finished."""

from pathlib import Path
from typing import Any

import pytest

from jaxzero import files, workdir
from tests.colab.executing import client_of, execute, injected, kinds_of_display, printed, tagged
from tests.experiments.losses.test_loss_ablation import TARGETS
from tests.small import SETTINGS

# The programs of tests/experiments/losses/test_loss_ablation.py, as far as they go.
TINY: dict[str, Any] = {
    **{k: v for k, v in SETTINGS.items() if k != "game"},
    "train.learning_rate": 0.005,
    "train.iterations": 2,
    "study.seeds": 1,
    "study.targets": TARGETS,
    "study.tournament_games": 4,
    "study.tournament_simulations": 6,
    "study.low_simulations": 2,
    "study.rollout_simulations": 3,
    "study.ladder_games": 0,
}


def rows_of(directory: Path) -> list[tuple[str, int]]:
    """(run, iteration) of every row of the metrics, sorted."""
    rows = files.read_rows(directory / workdir.METRICS)
    return sorted((row["run"], row["iteration"]) for row in rows)


def test_stopped_then_gone_on_with_then_nothing_left(tmp_path: Path) -> None:
    """In one kernel, which saves most of the time; a fresh one goes on in the slow test."""
    notebook = injected(
        "quickstart",
        {
            "FOLDER": str(tmp_path),
            "NAME": "first",
            "SIZE": "tiny",
            "CHANGES": TINY,
            "MAX_MINUTES": 1e-6,
        },
    )
    directory, runs = tmp_path / "first", [f"{target}_seed0" for target in TARGETS]
    client, cells = client_of(notebook), notebook.cells
    settings, train, ratings = (tagged(notebook, tag) for tag in ("settings", "train", "ratings"))

    def again(index: int) -> str:
        client.execute_cell(cells[index], index)
        return printed(cells[index])

    with client.setup_kernel():
        for index in range(len(cells)):
            again(index)
        assert "running this cell again resumes" in printed(cells[train])
        assert rows_of(directory) == [(run, i) for run in runs for i in (0, 1)]
        assert not (directory / workdir.RESULTS).exists()
        assert {"image/png", "image/svg+xml", "text/markdown"} <= kinds_of_display(notebook)

        cells[settings].source = "MAX_MINUTES = 0\n" + cells[settings].source
        assert "size **tiny**" in again(settings)
        assert "resuming from iteration 1 of" in again(train)
        assert rows_of(directory) == [(run, i) for run in runs for i in (0, 1, 2)]
        table = again(ratings)
        assert all(f"| {p} |" in table for p in (*runs, "untrained_seed0", "mcts_3", "random"))

        before = [(directory / n).stat().st_mtime_ns for n in (workdir.METRICS, workdir.RESULTS)]
        assert "nothing left to do" in again(train)
        after = [(directory / n).stat().st_mtime_ns for n in (workdir.METRICS, workdir.RESULTS)]
        assert after == before


@pytest.mark.slow
def test_the_real_thing_twice(tmp_path: Path) -> None:
    first = execute("quickstart", {"FOLDER": str(tmp_path)}, minutes=60)
    directory = tmp_path / "quickstart"
    results = files.read_json(directory / workdir.RESULTS)
    checks = {check["name"]: check for check in results["checks"]}
    assert checks["above_untrained"]["value"] > 3 * checks["above_untrained"]["stderr"]
    assert "**chosen**" in "".join(map(printed, first.cells))
    metrics = (directory / workdir.METRICS).read_bytes()
    again = execute("quickstart", {"FOLDER": str(tmp_path)}, minutes=60)
    assert "nothing left to do" in printed(again.cells[tagged(again, "train")])
    assert (directory / workdir.METRICS).read_bytes() == metrics


@pytest.mark.slow
def test_another_kernel_goes_on_where_one_was_stopped(tmp_path: Path) -> None:
    parameters = {"FOLDER": str(tmp_path), "SIZE": "tiny"}
    stopped = execute("quickstart", {**parameters, "MAX_MINUTES": 1e-6}, minutes=60)
    assert "again resumes" in printed(stopped.cells[tagged(stopped, "train")])
    metrics = (tmp_path / "quickstart" / workdir.METRICS).read_text()
    finished = execute("quickstart", {**parameters, "SIZE": "auto"}, minutes=60)  # finds tiny
    assert "resuming from iteration 1 of" in printed(finished.cells[tagged(finished, "train")])
    assert (tmp_path / "quickstart" / workdir.METRICS).read_text().startswith(metrics)
    assert {i for _, i in rows_of(tmp_path / "quickstart")} == set(range(7))
