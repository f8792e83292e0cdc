"""The first hour on a GPU, tried out: pieces are measured once, in processes of their own."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from benchmarks import first_light, kernels
from benchmarks.first_light import PIECES
from jaxzero.settings.config import ConfigError


def test_a_piece_writes_its_file_and_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--small", "--pieces=device", f"--out={tmp_path}"]
    assert first_light.main(words) == 0
    written = json.loads((tmp_path / "device.json").read_text())
    assert {record["case"] for record in written["figures"]} == {"device/rates"}
    assert "matmul float32" in (tmp_path / "first_light.md").read_text()

    monkeypatch.setattr(first_light, "run", lambda *_: pytest.fail("measured again"))
    assert first_light.main(words) == 0
    assert "matmul float32" in capsys.readouterr().out
    monkeypatch.setattr(first_light, "run", lambda *_: "failed")
    assert first_light.main(["--pieces=device", f"--out={tmp_path}"]) == 1  # other settings
    assert "device: 1 figures are missing" in capsys.readouterr().err


def test_a_piece_without_a_figure_goes_last_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(first_light, "run", lambda name, *_: ran.append(name))
    for minutes in ("1", "60", "60"):  # a minute is less than a piece may take: no verdict
        first_light.main(
            ["--pieces=tests,agreement", f"--out={tmp_path}", f"--max-minutes={minutes}"]
        )
        (tmp_path / "agreement.stuck").unlink(missing_ok=True)
    assert ran == ["tests", "agreement"] * 2 + ["agreement", "tests"]


def test_a_table_of_what_there_is(tmp_path: Path) -> None:
    record = {
        "figure": "search/puct m=100 othello_6x6 64ch 50 games",
        "value": 0.03, "unit": "s", "floor": 0.02, "against": "bare network", "fraction": 0.67,
        "settings": {}, "details": {"depth_max": 6}, "commit": "abc",
    }  # fmt: skip
    slow = {"kernel": "fusion_7", "times": 1200, "us": 2.5, "share": 0.5}
    profiled = {**record, "figure": "kernels/x", "details": {"slowest": [slow]}}
    for name, figure in (("search_puct", record), ("kernels", profiled)):
        found = {
            "environment": {"device": "1 x NVIDIA H100", "packages": {"jax": "0"}},
            "figures": [figure],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(found))
    said = first_light.table(tmp_path)
    assert "| 0.0300 s | bare network 0.0200: 0.67 | 0.0347 s | depth max 6.00 |" in said
    assert "| `fusion_7` | 1,200 | 2.50 | 0.500 |" in said


@pytest.mark.parametrize("small", [True, False])
def test_pieces_have_figures_of_their_own(small: bool) -> None:
    for name, piece in PIECES.items():
        cases = piece.cases(small)
        assert cases, name
        assert len({case.name for case in cases}) == len(cases)
        assert first_light.waiting(cases, Path("nowhere")) == cases
        json.dumps([case.settings for case in cases])


def test_bad_words() -> None:
    for words, said in (
        (["--pieces=devise", "--out=x"], "--pieces=devise: no such piece, did you mean 'device'?"),
        (["--small"], "--out is missing"),
        (["--out=x", "--minutes=0"], "--minutes"),
    ):
        with pytest.raises(ConfigError, match=said):
            first_light.main(words)


def test_what_ran_by_kernels() -> None:
    x = jnp.ones((64, 64))
    run = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda _, x: jnp.sort(x @ x, 0) / 64, x))
    run(x).block_until_ready()  # or the profile sees its end
    found, taken = kernels.profile(lambda: run(x))
    sorts = [kernel for kernel in found if "sort" in kernel.name]
    assert sorts
    assert all(kernel.times % 3 == 0 for kernel in sorts)  # a CPU's are noted twice
    assert all(kernel.nanoseconds > 0 for kernel in found)
    assert sum(kernel.nanoseconds for kernel in found) < 2e9 * taken
    assert not any(kernel.name.startswith("while") for kernel in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["agreement", "resuming", "kernels", "tests", "preset_connect_four_extensions"]
)
def test_every_piece(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.json"
    assert first_light.measure(name, True, path, 8.0) == 0
    assert first_light.waiting(PIECES[name].cases(True), path) == []
    assert first_light.table(tmp_path)
