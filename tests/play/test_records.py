"""Records: what is written is read again, and what cannot have been played is refused."""

import re
from pathlib import Path

import pytest

from jaxzero.play.display import records
from jaxzero.play.display.records import Record
from jaxzero.settings.config import ConfigError
from tests.games.sessions import find_game, passes, random_game, until

NAMES = ("person", "sum_seed0 of runs/quick, iteration 6, m = 25")
GOOD = """jaxzero record 1
game: connect_four_4x5
first: one
second: two
opening: 0
result: first won
moves: 1 2 1 2 1 2 1
"""


def record_of(name: str) -> Record:
    return Record(random_game(name, 0), NAMES)


def test_games_are_read_as_they_were_written(tmp_path: Path) -> None:
    passing = find_game("othello_4x4", lambda game: bool(passes(game, 0)))
    written = [
        record_of("connect_four_4x5"),
        Record(passing, ("a", "b: c")),
        Record(until(random_game("reversi_4x4"), 3), NAMES),
        Record(until(random_game("gobang_5x5"), 0), NAMES),
    ]
    records.write(tmp_path / "games.txt", written)
    found = records.read(tmp_path / "games.txt")
    assert len(found) == len(written)
    for new, old in zip(found, written, strict=True):
        assert new.session.game == old.session.game
        assert new.session.actions == old.session.actions
        assert new.players == old.players
    assert "pass" in (tmp_path / "games.txt").read_text()


def test_a_record_by_hand_needs_no_numbers() -> None:
    [found] = records.parse(GOOD, "x")
    assert found.session.actions == (0, 1, 0, 1, 0, 1, 0)
    numbered = GOOD.replace("moves: 1 2 1 2 1 2 1", "moves:\n  1. 1 2 1\n  4. 2 1 2\n\n  7. 1")
    [same] = records.parse(numbered, "x")
    assert same.session.actions == found.session.actions
    [coloured] = records.parse(re.sub("first: .*", "first: \x1b[31mEve", GOOD), "x")
    assert coloured.players[0] == "[31mEve"  # nothing that a terminal would obey
    [tabs] = records.parse(GOOD.replace("moves: 1 2", "moves: 1\t2").replace("one", "a\tb"), "x")
    assert tabs.session.actions == found.session.actions
    assert tabs.players[0] == "a b"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("jaxzero record 1", "jaxzero record 9", "x is no record of a game: its first line"),
        ("game: connect_four_4x5", "game: conect_four_4x5", "did you mean 'connect_four_4x5'"),
        ("game: connect_four_4x5\n", "", "x, game 1: the line 'game: ...' is missing"),
        ("moves: 1 2 1 2 1 2 1\n", "", "the line 'moves: ...' is missing"),
        ("moves: 1", "first: Eve\nmoves: 1", "there are two lines 'first: ...'"),
        ("opening: 0", "opening: 8", "'8' is no number of moves, 0 to 7"),
        ("opening: 0", "opening: some", "'some' is no number of moves"),
        ("opening: 0", f"opening: {'1' * 5000}", "'11111111111111111111' is no number of moves"),
        ("opening: 0", "closing: 0", "'closing: 0' is no line of a record"),
        ("moves: 1", "moves: 9", "move 1 is '9', not a column, 1 to 5"),
        ("2 1\n", "2 1 2\n", "move 8: 2 is not legal here; legal: the game is over"),
        ("moves: 1 2 1 2", "moves: 1 1 1 1 1", "move 5: 1 is not legal here; legal: 2 3 4 5"),
        ("first won", "second won", "its moves end with 'first won', it says 'second won'"),
        ("2 1\n", "2\n", "its moves end with 'unfinished', it says 'first won'"),
    ],
)
def test_impossible_records_are_refused_in_one_line(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        records.parse(GOOD.replace(old, new), "x")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"bytes\.txt can't be read: it is no text"):
        records.read(tmp_path / "bytes.txt")
    with pytest.raises(ConfigError, match=r"none\.txt can't be read: No such file"):
        records.read(tmp_path / "none.txt")
    with pytest.raises(ConfigError, match="is no record of a game"):
        records.parse("", "x")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("precious")
    with pytest.raises(ConfigError, match=r"a\.txt exists already: choose another name"):
        records.write(path, [record_of("connect_four_4x5")])
    assert path.read_text() == "precious"
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(ConfigError, match="can't be the name of a file"):
            records.write(tmp_path / f"{name}.txt", [record_of("connect_four_4x5")])
    with pytest.raises(ConfigError, match="there is no folder"):
        records.write(tmp_path / "no" / "a.svg", [record_of("connect_four_4x5")])
    with pytest.raises(ConfigError, match=r"ends in \.txt \(text\) or \.svg \(picture\)"):
        records.write(tmp_path / "a.png", [record_of("connect_four_4x5")])


def test_a_mark_of_byte_order_is_no_matter() -> None:
    assert records.parse("\ufeff" + GOOD, "x")[0].session.actions


def test_names_of_players_stay_on_their_line() -> None:
    record = Record(random_game("connect_four_4x5"), ("two\nlines", "x"))
    [found] = records.parse(records.to_text([record]), "x")
    assert found.players == ("two lines", "x")
