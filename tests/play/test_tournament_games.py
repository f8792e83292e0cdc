"""Games of tournaments as records: those of two players, in order, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from jaxzero import files, workdir
from jaxzero.play import command
from jaxzero.play.display import records, tournament_games
from jaxzero.settings.config import ConfigError
from tests.games.sessions import random_game

NAMES = ("sum_seed0", "value_seed0", "random")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Everyone has two games as first player against everyone, of the seeds 0, 1, 2, ..."""
    played = [random_game("connect_four_4x5", seed).actions for seed in range(12)]
    actions = np.full((20, 12), -1, np.int16)
    for seed, moves in enumerate(played):
        actions[: len(moves), seed] = moves
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    arrays = {"actions": actions.reshape(20, 6, 2), "pairs": pairs, "names": np.array(NAMES)}
    files.write_arrays(tmp_path / "games" / "final.npz", arrays)
    stored = {"game": "connect_four_4x5", "study": "loss_ablation"}
    files.write_json(tmp_path / workdir.CONFIG, stored)
    return tmp_path / "games" / "final.npz"


def test_the_games_of_two_players_are_read(kept: Path) -> None:
    found = tournament_games.read(kept, ("random", "sum_seed0"))
    expected = [random_game("connect_four_4x5", seed).actions for seed in (8, 9, 2, 3)]
    assert [record.session.actions for record in found] == expected
    assert [record.players[0] for record in found] == ["random"] * 2 + ["sum_seed0"] * 2
    assert found[0].players == ("random", "sum_seed0")


def test_the_command_makes_records_of_them(kept: Path) -> None:
    target = kept.with_suffix(".txt")
    words = [f"--replay={kept}", "--between=sum_seed0,random", f"--record={target}"]
    assert command.main(words) == 0
    assert [r.session.actions for r in records.read(target)] == [
        random_game("connect_four_4x5", seed).actions for seed in (2, 3, 8, 9)
    ]


@pytest.mark.parametrize(
    ("between", "message"),
    [
        ((), "name two players of .*, of sum_seed0, value_seed0, random"),
        (("random", "random"), "--between=random,random: name two players"),
        (("random", "sum_seed1"), "--between=sum_seed1: .* no such player, did you .*'sum_seed0'"),
    ],
)
def test_other_than_two_of_its_players_are_refused(
    between: tuple[str, ...], message: str, kept: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        tournament_games.read(kept, between)


def test_damaged_games_and_directories_are_refused(kept: Path) -> None:
    two = ("random", "sum_seed0")
    with pytest.raises(ConfigError, match=r"low.npz is missing: give games/NAME.npz"):
        tournament_games.read(kept.with_name("low.npz"), two)
    arrays = files.read_arrays(kept, ["actions", "pairs", "names"], "")
    pairs = arrays["pairs"]
    for name, spoilt in (
        ("pairs", pairs[:, 0]),
        ("pairs", np.concatenate([pairs, pairs])),
        ("pairs", np.full((6, 3), 1)),
        ("actions", arrays["actions"][0, 0]),
        ("names", np.array("random")),
    ):
        files.write_arrays(kept, arrays | {name: spoilt})
        with pytest.raises(ConfigError, match=r"final.npz is damaged \((pairs|actions|names) has"):
            tournament_games.read(kept, two)
    files.write_arrays(kept, arrays | {"actions": np.full((20, 6, 2), 0, np.int16)})
    with pytest.raises(ConfigError, match="random against sum_seed0, game 1: move 5: "):
        tournament_games.read(kept, two)
    (kept.parent.parent / workdir.CONFIG).unlink()
    with pytest.raises(ConfigError, match="lies in no run directory that names a game"):
        tournament_games.read(kept, two)
