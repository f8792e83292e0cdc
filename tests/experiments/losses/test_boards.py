"""The papers' eight boards in every preset, and a tiny study of each from settings to report."""

import itertools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from experiments import loss_ablation, published
from experiments.configs.loss_ablation import BOARDS, PRESETS, get_config
from experiments.shell import cli
from jaxzero import files, workdir
from jaxzero.runs import hardware, memory
from jaxzero.settings.config import ConfigError, get
from jaxzero.training import learner
from jaxzero.training import spec as spec_lib
from tests.experiments.losses.test_loss_ablation import tiny

# Legal symmetric images, actions; rules in docs/deviations.md.
IMAGES = {"othello": 8, "connect_four": 2, "gobang": 8}


def size_of(board: str) -> tuple[str, int]:
    """`("othello", 5)` of `"othello_5x5"`."""
    family, _, size = board.rpartition("_")
    return family, int(size.partition("x")[0])


def actions_of(board: str) -> int:
    """As the papers' program, but for Gobang's pass, which is never legal."""
    family, n = size_of(board)
    return {"othello": n * n + 1, "connect_four": n, "gobang": n * n}[family]


def parameters(board: str, channels: int, hidden: tuple[int, ...]) -> int:
    """Of four convolutions (the last two valid) and two fully connected layers, with biases and
    batch normalisation, and two heads (000 section 4.4, the authors' program)."""
    _, n = size_of(board)
    convolutions = 9 * channels + 3 * 9 * channels**2 + 4 * channels
    widths = (channels * (n - 4) ** 2, *hidden)
    layers = sum(a * b + b for a, b in itertools.pairwise(widths))
    scales = 2 * (4 * channels + sum(hidden))
    return convolutions + layers + scales + (hidden[-1] + 1) * (actions_of(board) + 1)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("board", BOARDS)
def test_every_board_in_every_preset(board: str, preset: str) -> None:
    config = loss_ablation.resolve(get_config(f"{preset}.{board}"))
    assert (config.game, config.preset) == (board, preset)
    loss_ablation.validate(config)
    spec = spec_lib.make_spec(config)
    family, n = size_of(board)
    assert spec.game.name == board
    assert spec.game.observation_shape == (n, n, 1)
    assert (spec.game.num_actions, spec.num_images) == (actions_of(board), IMAGES[family])
    specs = {spec_lib.make_spec(member.config) for member in loss_ablation.make_members(config)}
    assert specs == {spec}  # one program for all losses and seeds
    state = jax.eval_shape(lambda: learner.init(spec, jax.random.key(0)))
    count = sum(leaf.size for leaf in jax.tree.leaves(state.params))
    assert count == parameters(board, config.network.channels, config.network.hidden)


@pytest.mark.parametrize("board", BOARDS)
def test_the_paper_preset_is_table_1(board: str) -> None:
    config = loss_ablation.resolve(get_config(f"paper.{board}"))
    expected = published.default_settings(board)
    assert expected["train.iterations"] == (200 if "5x5" in board else 100)
    assert {key: get(config, key) for key in expected} == expected
    assert (config.network.channels, config.network.hidden) == (256, (1024, 512))
    assert (config.study.seeds, config.study.tournament_games) == (8, 20)
    assert config.study.targets == ("policy", "value", "sum", "product")
    by_flag = get_config("paper")
    by_flag.game = board
    assert loss_ablation.resolve(by_flag) == config


@pytest.mark.parametrize("board", ["othello_8x8", "connect_four_5x5"])
def test_memory_is_forecast(board: str) -> None:
    config = loss_ablation.resolve(get_config(f"paper.{board}"))
    here = hardware.Hardware("gpu", "a large one", 1, 100 * 2**30)
    predicted = hardware.forecast(config, loss_ablation.make_members(config), here)
    spec = spec_lib.make_spec(config)
    weights = parameters(board, 256, (1024, 512))
    # weights and two moments of Adam in float32, of 32 best networks and 32 candidates
    assert predicted.parts["networks"] == pytest.approx(64 * 12 * weights, rel=0.01)
    positions = spec.replay.window * spec.positions
    window = positions * spec.game.num_actions * 5  # policy, legal actions
    assert predicted.parts["window"] >= 32 * window  # changed in place
    assert predicted.total > predicted.parts["networks"] + predicted.parts["window"]
    assert memory.in_words(predicted, here.memory)


def test_an_unknown_board_is_one_line() -> None:
    with pytest.raises(ConfigError, match=r"'gobang_5x6'.* did you mean 'gobang_"):
        get_config("paper.gobang_5x6")


def test_a_board_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    words = ["--config=experiments/configs/loss_ablation.py:gpu.othello_7x7", "--workdir=runs/x"]
    monkeypatch.setattr("sys.argv", ["study", *words, "--config.train.iterations=7"])
    cli.run(lambda *given: asked.extend(given), "loss_ablation")
    config = asked[0]
    assert (config.preset, config.game, config.train.iterations) == ("gpu", "othello_7x7", 7)


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_a_tiny_study_of_every_board(board: str, tmp_path: Path) -> None:
    changes = {
        "game": board,
        "search.num_simulations": 4,
        "selfplay.episodes": 4,
        "train.epochs": 1,
        "study.tournament_games": 2,
        "study.tournament_simulations": 3,
        "study.ladder_opponents": ("random", "greedy"),
    }
    loss_ablation.run(tiny(changes), tmp_path)
    results = files.read_json(tmp_path / workdir.RESULTS)
    assert results["game"] == board
    rows = files.read_rows(tmp_path / workdir.METRICS)
    assert max(row["iteration"] for row in rows) == 2
    lengths = [row["selfplay/plies"] for row in rows if row["iteration"]]
    assert all(size_of(board)[1] < length for length in lengths)
    page = (tmp_path / "report.html").read_text()
    assert board in page
    assert "Strength against fixed opponents" in page
    assert jnp.isfinite(jnp.array(results["tournaments"][0]["elo"])).all()
