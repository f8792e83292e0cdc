"""What a finished study says to run next."""

import shlex
from pathlib import Path

import pytest

from experiments.shell import study
from jaxzero import games


@pytest.mark.parametrize(
    ("folders", "run"),
    [
        ([".", "player"], "/player"),
        (["."], ""),
        (["gumbel", "dirichlet"], "/dirichlet"),
        (["arms/extended"], "/arms/extended"),
    ],
)
def test_a_network_of_the_study_is_played(tmp_path: Path, folders: list[str], run: str) -> None:
    assert study.play_it(tmp_path, "gobang_5x5") is None
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "members.json").write_text("{}")
    line = f"next: python -m jaxzero.play --run={tmp_path}{run}"
    assert study.play_it(tmp_path, "gobang_5x5") == line


def test_a_game_of_ones_own_is_imported_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "members.json").write_text("{}")
    monkeypatch.setattr(games, "_FAMILIES", dict(games._FAMILIES))
    own = type("Own", (games.Gobang,), {"__module__": "own"})
    games.register("own", lambda name, rows, columns, line, observation: own(rows))
    python, option, code = shlex.split((study.play_it(tmp_path, "own_5x5") or "").split(": ", 1)[1])
    assert (python, option) == ("python", "-c")
    assert code.startswith("import own; ")
    assert code.endswith(f'main(["--run={tmp_path}"])')
    own.__module__ = "__main__"  # of a notebook
    assert study.play_it(tmp_path, "own_5x5") is None
