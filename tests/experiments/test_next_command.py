"""What a finished command says to run next."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import experiments
from experiments.shell import next_command
from jaxzero import games
from jaxzero.runs import Run


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
    assert next_command.play_it(tmp_path, "gobang_5x5") is None
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "members.json").write_text("{}")
    line = f"next: python -m jaxzero.play --run={tmp_path}{run}"
    assert next_command.play_it(tmp_path, "gobang_5x5") == line


def test_the_module_of_a_game_of_ones_own_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "members.json").write_text("{}")
    monkeypatch.setattr(games, "_FAMILIES", dict(games._FAMILIES))
    own = type("Own", (games.Gobang,), {"__module__": "own"})
    games.register("own", lambda name, rows, columns, line, observation: own(rows))
    line = next_command.play_it(tmp_path, "own_5x5")
    assert line == f"next: JAXZERO_GAMES=own python -m jaxzero.play --run={tmp_path}"
    own.__module__ = "__main__"  # of a notebook
    assert next_command.play_it(tmp_path, "own_5x5") is None


def test_a_measured_run_is_shown_where_a_report_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = SimpleNamespace(directory=tmp_path / "a run", study="loss_ablation")
    next_command.after_measuring(cast(Run, run))
    line = capsys.readouterr().err.strip()
    assert line == f"next, to show it: python -m experiments.report '{tmp_path}/a run'"
    run.study, run.config = "train", SimpleNamespace(game="gobang_5x5")
    run.directory.mkdir()
    (run.directory / "members.json").write_text("{}")
    next_command.after_measuring(cast(Run, run))
    assert capsys.readouterr().err == f"next: python -m jaxzero.play '--run={tmp_path}/a run'\n"


def test_every_command_says_it() -> None:
    ways = "suggest(", "next_command.", "cli.run(", "study.conclude(", '"next: '
    silent = {"completion.py", "glossary.py"}  # print a file
    silent |= {"dashboards.py"}  # prints addresses to open
    texts = {file: file.read_text() for file in Path(experiments.__file__).parent.rglob("*.py")}
    commands = {
        file: text
        for file, text in texts.items()
        if file.name == "command.py" or '__name__ == "__main__"' in text
    }
    assert len(commands) > 25
    quiet = {file.name for file, text in commands.items() if not any(w in text for w in ways)}
    assert quiet == silent | {"__main__.py", "child.py"}  # whose commands are elsewhere
