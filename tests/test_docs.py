"""The documentation: its code runs, its links and keys exist, its tables are those of the code."""

import argparse
import ast
import importlib.util
import itertools
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import yaml

import jaxzero
from experiments import glossary
from experiments.shell import cli
from jaxzero import games, runs, workdir
from jaxzero.games import conformance, make_game
from jaxzero.matches import uci
from jaxzero.play.display import records
from jaxzero.runs.checkpoints import Checkpoints
from jaxzero.settings import config as config_lib
from jaxzero.training.spec import make_spec
from tests import small

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


def code_of(page: str, language: str = "python") -> list[str]:
    """The fenced blocks of a language, in order."""
    text = (ROOT / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_glossary_is_that_of_the_keys() -> None:
    assert (ROOT / "docs" / "glossary.md").read_text() == glossary.page(), (
        "run: python -m experiments.glossary > docs/glossary.md"
    )


def test_the_glossary_is_printed_only_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stop:
        glossary.main(["--help"])
    assert stop.value.code == 0
    with pytest.raises(config_lib.ConfigError, match="unknown argument 'letters'"):
        glossary.main(["letters"])
    told = capsys.readouterr().out
    assert "usage: python -m experiments.glossary" in told
    assert "# Glossary" not in told
    glossary.main([])
    assert capsys.readouterr().out == glossary.page()


@pytest.mark.parametrize("page", NAMES)
def test_links_lead_somewhere(page: str) -> None:
    folder = (ROOT / page).parent
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (folder / target).exists(), f"{page} links to {target}"
    for path in re.findall(r"`((?:jaxzero|experiments|benchmarks|tests)/[a-z_0-9/]+\.py)`", text):
        assert (ROOT / path).exists(), f"{page} names {path}"


@pytest.mark.parametrize("page", NAMES)
def test_keys_exist(page: str) -> None:
    known = set(config_lib.flatten(config_lib.default_config()))
    for keys in glossary.study_keys().values():
        known |= {key.name for key in keys}
    sections = {name.rpartition(".")[0] for name in known}
    text, name = (ROOT / page).read_text(), r"([a-z_]+(?:\.[a-z_]+)*)"
    for key in re.findall(rf"--config\.{name}=", text):
        assert key in known | {"key"}, f"{page} names config.{key}"
    for key in re.findall(rf"`config\.{name}[=`]", text):
        assert key in known | sections | {"json"}, f"{page} names config.{key}"


def check_modules_and_presets(text: str, page: str) -> None:
    """What a page names is there."""
    for module in re.findall(r"python -m ((?:experiments|jaxzero|benchmarks)[\w.]*\w)", text):
        assert importlib.util.find_spec(module) is not None, f"{page} names {module}"
    for file, preset in re.findall(r"--config=(experiments/configs/\w+\.py):(\w[\w.]*\w)", text):
        if preset != "PRESET":
            cli.load(f"{file}:{preset}", file)  # refuses what is not there


@pytest.mark.parametrize("page", NAMES)
def test_commands_exist(page: str) -> None:
    check_modules_and_presets((ROOT / page).read_text(), page)


PLACEHOLDERS = {"PRESET": "quick", "SCALE": "quick", "PAPER": "000", "$SLURM_ARRAY_TASK_ID": "1"}


def commands_of(page: str) -> list[tuple[str, list[str]]]:
    """See `commands_in`."""
    return commands_in((ROOT / page).read_text())


def commands_in(text: str) -> list[tuple[str, list[str]]]:
    """Modules and words of the commands that a page shows; what names a module alone is none."""
    text = text.replace("\\\n", " ")
    blocks = re.findall(r"^ *```.*?^ *```$", text, re.DOTALL | re.MULTILINE)
    shown = [line for block in blocks for line in block.splitlines()]
    for block in blocks:
        text = text.replace(block, "")
    shown += [inline.replace("\n", " ") for inline in re.findall(r"`([^`]+)`", text)]
    found = []
    for line in shown:
        called = re.search(r"python3? -m ((?:experiments|jaxzero|benchmarks)[.\w]*) (.*)", line)
        if called is None or re.search(r"\.\.\.|<|\w\|", called[2]):  # a pattern of commands
            continue
        module, line = called.groups()
        for placeholder, value in PLACEHOLDERS.items():
            line = line.replace(placeholder, value)
        if line.count("'") % 2:  # the command is itself a word in quotes
            line = line.rpartition("'")[0]
        words = shlex.split(line, comments=True)
        words = list(itertools.takewhile(lambda word: word not in (">", "|", "&&"), words))
        if "--" in words:  # a study that the program runs
            ends = words.index("--")
            found.append((f"experiments.{words[ends + 1]}", words[ends + 2 :]))
            words = [*words[: ends + 1], words[ends + 1]]
        found.append((module, words))
    return found


class Parsed(Exception):
    """The words are accepted; nothing was done."""


@pytest.mark.parametrize("page", [name for name in NAMES if commands_of(name)])
def test_commands_are_accepted(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_accepted([one for one in commands_of(page) if not has_own_game(one)], monkeypatch)


def has_own_game(command: tuple[str, list[str]]) -> bool:
    """Whether it needs a game that the page makes."""
    return any("misere_" in word for word in command[1] if word.startswith("--config.game="))


def check_accepted(commands: list[tuple[str, list[str]]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs read these words of theirs, and do nothing."""

    def stop(parser: argparse.ArgumentParser, words: Any, space: Any = None) -> Any:
        _, unknown = real(parser, words, space)
        assert not unknown
        raise Parsed

    real = argparse.ArgumentParser.parse_known_args
    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", stop)
    monkeypatch.setattr(uci, "find", tuple)  # an engine need not be here
    monkeypatch.chdir(ROOT)
    for name, words in commands:
        package = ROOT / name.replace(".", "/")
        inside = [part for part in ("command", "study") if (package / f"{part}.py").exists()]
        module: Any = importlib.import_module(".".join([name, *inside]))
        if any(word.startswith("--config=experiments/") for word in words):
            here = [word for word in words if not re.match(r"--config\..*=runs/", word)]
            config, _ = cli._parse(here, f"experiments/configs/{module.STUDY}.py:quick")
            module.validate(config)
        elif not any(word.startswith("--config=") for word in words):  # a file that the page makes
            with pytest.raises(Parsed):
                module.main(words)


def test_the_readme_can_be_pasted() -> None:
    blocks = "".join(code_of("README.md", ""))
    assert not re.search(r"[A-Z]{4}", blocks), "a placeholder"
    assert "runs/quick" in blocks


def test_every_page_is_in_the_index() -> None:
    index, site = (ROOT / "docs" / "index.md").read_text(), (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "index.md" or f"]({page.name})" in index, page.name
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs")
        assert f" {name}\n" in site, f"{name} is missing in the navigation of mkdocs.yml"


@pytest.mark.parametrize("record", sorted(ROOT.glob("docs/games/*.txt")), ids=lambda p: p.stem)
def test_the_pictures_of_the_games_are_those_of_their_records(record: Path, tmp_path: Path) -> None:
    records.write(tmp_path / "game.svg", records.read(record))
    drawn = (tmp_path / "game.svg").read_text()
    assert record.with_suffix(".svg").read_text() == drawn, "see docs/games/index.md"


def test_every_switch_has_its_row() -> None:
    rows = re.findall(r"^\| `(\w+)`", (ROOT / "docs" / "semantics.md").read_text(), re.MULTILINE)
    assert set(rows) == set(config_lib.SWITCHES)


def save_run(directory: Path, config: Any, network: Any) -> None:
    """A run directory with one member, as training leaves it."""
    workdir.claim(directory, config, "test")
    runs.write_members(directory, config, [runs.Member("sum_seed0", "sum", 0, config)])
    snapshots = Checkpoints(directory / runs.SNAPSHOTS, keep=None)
    snapshots.save(2, jax.tree.map(lambda x: x[None], runs.without_optimiser(network)))
    snapshots.close()


def test_the_library_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    train, reopen, search, player = code_of("docs/library.md")
    assert len(train.splitlines()) <= 35
    [tiny] = re.findall(r"^tiny = (\{.*?\})", train, re.MULTILINE | re.DOTALL)
    assert ast.literal_eval(tiny).items() <= small.SETTINGS.items()  # compiled for other tests too
    names: dict[str, Any] = {}
    exec(train, names)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["1", "2"]
    assert all(np.isfinite(float(line.split()[1])) for line in lines[:2])
    assert lines[-1].startswith("O to move")  # X has moved
    assert int(names["found"].visit_counts.sum()) == 25

    monkeypatch.chdir(tmp_path)
    save_run(Path("runs/quick"), names["config"], names["state"].learner)
    trained, observation = names["network"], jnp.zeros((1, 5, 5, 1), jnp.int8)
    exec(reopen, names)
    assert capsys.readouterr().out == "test connect_four_5x5 ['sum_seed0'] (0, 2)\n"
    for ours, theirs in zip(names["network"](observation), trained(observation), strict=True):
        assert ours is theirs is None or (ours == theirs).all()

    exec(search, {})
    assert "[" in capsys.readouterr().out
    own: dict[str, Any] = {}
    exec(player, own)
    assert own["match"].played.all()
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_number_of_the_results_follows_from_its_data(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    [check] = code_of("docs/claims.md")
    exec(check, {})
    found = capsys.readouterr().out.strip()
    assert found in (ROOT / "docs" / "claims.md").read_text()
    assert f" = {found}" in (ROOT / "docs" / "results.md").read_text()


def test_the_readmes_example_runs() -> None:
    [example] = code_of("README.md")
    names: dict[str, Any] = {}
    exec(example, names)
    found = names["found"]
    assert names["game"].legal_actions(names["state"])[found.action]
    assert found.visits.sum() == names["run"].config.search.num_simulations


def test_the_example_game_conforms(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(games, "_FAMILIES", dict(games._FAMILIES))
    rules, check, settings = code_of("docs/add_a_game.md")
    assert len(rules.splitlines()) < 100
    (tmp_path / "misere.py").write_text(rules)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "misere", raising=False)
    exec(check, {})
    assert "passed=" in capsys.readouterr().out
    # Another program finds it by the environment.
    del games._FAMILIES["misere_tic_tac_toe"]
    monkeypatch.delitem(sys.modules, "misere")
    with pytest.raises(ValueError, match="set JAXZERO_GAMES=MODULE"):
        make_game("misere_tic_tac_toe_3x3")
    monkeypatch.setenv("JAXZERO_GAMES", "no_such_module")
    with pytest.raises(ImportError, match="JAXZERO_GAMES='no_such_module': No module"):
        make_game("misere_tic_tac_toe_3x3")
    (tmp_path / "half_written.py").write_text("def")
    monkeypatch.setenv("JAXZERO_GAMES", "half_written")
    with pytest.raises(ImportError, match="JAXZERO_GAMES='half_written': invalid syntax"):
        make_game("misere_tic_tac_toe_3x3")
    monkeypatch.setenv("JAXZERO_GAMES", "misere")
    assert make_game("misere_tic_tac_toe_3x3").name == "misere_tic_tac_toe_3x3"
    trained = [one for one in commands_of("docs/add_a_game.md") if has_own_game(one)]
    assert [name for name, _ in trained] == ["experiments.train"]
    check_accepted(trained, monkeypatch)
    names: dict[str, Any] = {}
    exec(settings, names)
    config = names["get_config"]("quick")
    assert make_spec(config).game.name == config.game == "misere_tic_tac_toe_3x3"
    for observation in ("signed", "cells"):
        game = make_game("misere_tic_tac_toe_3x3", observation=observation)
        assert "symmetric_games" in conformance.check_game(game, num_games=8).passed
    step = jax.jit(game.step)
    state = game.init()
    for action in (0, 3, 1, 4, 2):  # X completes the first row
        state = step(state, jnp.int32(action))
    np.testing.assert_array_equal(game.outcome(state), [-1, 1])
    with pytest.raises(ValueError, match="3x3"):
        make_game("misere_tic_tac_toe_4x4")
    with pytest.raises(ValueError, match="got 'planes_ones'"):  # which `observe` does not make
        make_game("misere_tic_tac_toe_3x3", observation="planes_ones")


def test_the_citation_file_is_whole() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= cited.keys()
    assert cited["version"] == jaxzero.__version__
    assert len(cited["references"]) == 5
    for paper in cited["references"]:
        assert {"type", "title", "authors", "year"} <= paper.keys()
        assert all({"family-names", "given-names"} <= author.keys() for author in paper["authors"])
