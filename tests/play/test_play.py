"""The command: whole games against trained networks and others, watched games, and refusals."""

import dataclasses
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxzero import runs
from jaxzero.play import board_players, command
from jaxzero.play.display import records
from jaxzero.play.terminal import spectator
from jaxzero.play.terminal.console import Console
from tests import small
from tests.runs.trained import train

GAME = small.SETTINGS["game"]
Play = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one iteration with two members: the program is that of the runner's tests."""
    directory = tmp_path_factory.mktemp("run")
    train(directory, {"train.iterations": 1})
    return directory


def said_by(*flags: str, typed: str = "") -> tuple[int, str]:
    """Exit status and what was printed, the times left out."""
    target = io.StringIO()
    status = command.main([*flags], io.StringIO(typed), target)
    lines = target.getvalue().split("\n")
    return status, "\n".join(line for line in lines if not line.startswith("compiled in"))


def every_column() -> str:
    """Enough typed columns to end any game on the small board; what is illegal is refused."""
    return "".join(f"{1 + i % 5}\n" for i in range(125))


def test_a_whole_game_against_a_network(run_directory: Path) -> None:
    flags = (f"--run={run_directory}", "--member=value_seed0", "--seed=1")
    typed = "hint\npolicy\nshow\n" + every_column() + "moves\nquit\n"
    status, said = said_by(*flags, typed=typed)
    assert status == 0
    assert f"compiling {GAME} and value_seed0..." in said
    title = f"value_seed0 of {run_directory}, iteration 1, m = 8"
    assert f"{GAME}: X is you, O is {title}; X moves first" in said
    assert said.count("you have won") + said.count("you have lost") + said.count("a draw\n") >= 1
    assert "the game is over" in said
    # The same words again, from the other side of the same seed.
    assert said_by(*flags, typed=typed) == (status, said)
    other, answer = said_by(*flags, "--side=second", typed="quit\n")
    assert other == 0
    assert f"X is {title}, O is you" in answer
    assert "X plays " in answer


def test_hints_are_legal_moves(run_directory: Path) -> None:
    status, said = said_by(
        f"--run={run_directory}", typed="hint\n3\nhint\n3\nhint\n3\nhint\nquit\n"
    )
    assert status == 0
    assert "runs of" in said  # several members, and none was chosen
    hints = [line.split()[1] for line in said.split("\n") if line.startswith("sum_seed0: ")]
    assert len(hints) == 4
    assert set(hints) <= set("12345")
    # Following a hint is a move that is accepted.
    _, followed = said_by(f"--run={run_directory}", typed=f"{hints[0]}\nquit\n")
    assert "is not legal" not in followed
    assert "O plays " in followed


def test_undo_and_the_same_move_bring_the_same_reply(run_directory: Path) -> None:
    _, said = said_by(f"--run={run_directory}", typed="2\nundo\n2\nquit\n")
    first, again = (line for line in said.split("\n") if line.startswith("O plays"))
    assert first == again


def test_an_untrained_network_with_other_simulations(run_directory: Path) -> None:
    flags = (f"--run={run_directory}", "--iteration=0", "--simulations=3", f"--game={GAME}")
    status, said = said_by(*flags, typed="policy\nquit\n")
    assert status == 0
    assert "iteration 0, m = 3" in said
    rows = [line.split() for line in said.split("\n") if line[:1] in "12345" and "%" in line]
    assert sum(int(row[2]) for row in rows) == 3
    assert sum(float(row[1].removesuffix("%")) for row in rows) == pytest.approx(100, abs=0.3)


def test_a_network_searches_with_the_m_and_c_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, float]] = []

    def search(spec: Any, options: Any, fixed: Any, m: int, network: Any, c: Any, *at: Any) -> Any:
        assert options.capacity == m + 1
        asked.append((m, float(c)))
        return {"action": np.int32(2)}

    monkeypatch.setattr(board_players, "_search_with_network", search)
    run = runs.open_run("pretrained:connect_four_5x5")
    own = small.changed(run.members[0].config, {"search.c_puct": 3.5, "search.num_simulations": 9})
    run = dataclasses.replace(run, members=(dataclasses.replace(run.members[0], config=own),))
    for m in (None, 4):
        player = board_players.of_run(run, 0, simulations=m)
        assert player.analyse(None, None).action == 2  # type: ignore[arg-type]
    assert asked == [(9, 3.5), (4, 3.5)]


def test_opponents_without_a_network() -> None:
    for name in ("random", "greedy"):
        status, said = said_by(
            f"--game={GAME}", f"--opponent={name}", typed="hint\n" + every_column() + "quit\n"
        )
        assert status == 0
        assert f"compiling {GAME} and {name} and mcts_200..." in said
        assert "mcts_200: " in said  # gives the hints
        assert "the game is over" in said


def test_a_game_of_pgx() -> None:
    pytest.importorskip("pgx")
    squares = [f"{column}{row}\n" for row in (1, 2, 3) for column in "abc"]
    typed = "hint\n" + "".join(squares * 5) + "moves\nquit\n"
    status, said = said_by("--game=pgx:tic_tac_toe", "--opponent=mcts_20", typed=typed)
    assert status == 0
    assert "the game is over" in said
    assert "   a   b   c\n" in said


def test_watched_games_are_recorded_and_replayed(run_directory: Path, tmp_path: Path) -> None:
    flags = (f"--run={run_directory}", "--versus=random", "--games=4", "--seed=3")
    status, said = said_by(*flags, f"--record={tmp_path}/games.txt")
    assert status == 0
    found = records.read(tmp_path / "games.txt")
    assert len(found) == 4
    ours = f"sum_seed0 of {run_directory}, iteration 1, m = 8"
    assert [r.players.index(ours) for r in found] == [0, 1, 0, 1]
    openings = [r.session.actions[:2] for r in found]
    assert openings[0] == openings[1]
    assert openings[2] == openings[3]
    assert all(r.session.opening == 2 and r.session.now.is_terminal for r in found)
    results = [r.session.now.outcome[r.players.index(ours)] for r in found]
    count = [results.count(result) for result in (1, 0, -1)]
    assert f"{ours}: {count[0]} won, {count[1]} drawn, {count[2]} lost" in said
    status, again = said_by(f"--replay={tmp_path}/games.txt", f"--record={tmp_path}/games.svg")
    assert status == 0
    assert again.count("  (random)") == 8
    assert f"kept in {tmp_path}/games.svg" in again
    for record in found:
        assert f"{len(record.session.actions):>3}. " in again
    assert again.count("to move") == sum(len(r.session.actions) for r in found)


def test_games_that_were_finished_are_kept_at_ctrl_c(
    run_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, played = spectator.play_out, []

    def play_out(*given: Any, **settings: Any) -> Any:
        if played:
            raise KeyboardInterrupt
        played.append(real(*given, **settings))
        return played[0]

    monkeypatch.setattr(spectator, "play_out", play_out)
    flags = (f"--run={run_directory}", "--versus=random", "--games=4")
    status, said = said_by(*flags, f"--record={tmp_path}/games.txt")
    assert (status, said.splitlines()[-1]) == (130, "interrupted")
    [kept] = records.read(tmp_path / "games.txt")
    assert kept.session.actions == played[0].actions


def test_one_game_of_a_run_against_its_own_beginning(run_directory: Path, tmp_path: Path) -> None:
    flags = (f"--run={run_directory}", f"--versus={run_directory}", "--versus-iteration=0")
    more = ("--versus-member=value_seed0", "--versus-simulations=3", f"--record={tmp_path}/a.txt")
    status, said = said_by(*flags, *more, "--side=second")
    assert status == 0
    [found] = records.read(tmp_path / "a.txt")
    assert found.players == (
        f"value_seed0 of {run_directory}, iteration 0, m = 3",
        f"sum_seed0 of {run_directory}, iteration 1, m = 8",
    )
    assert found.session.opening == 0
    # A board after every move, each with its caption.
    assert said.count("to move") == len(found.session.actions) - 1


REFUSED: list[tuple[list[str], str]] = [
    ([], "who is to play? --run=DIR, --player=NAME, or --game=othello_6x6 --opponent=random"),
    (["--player=chess"], "pretrained:chess: no such player ships, there are connect_four_5x5"),
    (["--player=chess", "--run={run}"], "--player=chess and --run={run}: choose one"),
    (["--run={tmp}/none"], "none is no run directory (config.json is missing)"),
    (["--run={run}", "--member=sum_sed0"], "has no run 'sum_sed0': did you mean 'sum_seed0'?"),
    (["--run={run}", "--iteration=7"], "keeps no networks of iteration 7: choose one of 0, 1"),
    (["--run={run}", "--game=othello_6x6"], "--game=othello_6x6: {run} plays " + GAME),
    (["--run={run}", "--simulations=0"], "--simulations=0: choose from 1 to 100000"),
    (["--run={run}", "--versus={run}", "--versus-simulations=0"], "--versus-simulations=0: choose"),
    (["--run={run}", "--opponent=random"], "choose one to play against"),
    (["--run={run}", "--versus=randm"], "--versus=randm is no run directory and no player: did"),
    (["--run={run}", "--versus=mcts_x"], "'mcts_x' is no player without a network"),
    (["--run={run}", "--versus=random", "--versus-member=x"], "--versus-member=x belongs to a net"),
    (["--run={run}", "--versus=random", "--games=0"], "--games=0: choose 1 or more"),
    (["--run={run}", "--games=2"], "--games=2 is for --versus"),
    (["--run={run}", f"--seed={2**31}"], f"--seed={2**31}: choose {2**31 - 1} or less"),
    (["--run={run}", "--record=a.svg"], "--record=a.svg is for --versus; a person types save FILE"),
    (["--run={run}", "--versus=random", "--record={tmp}/a.png"], "a record ends in .txt (text) or"),
    (["--run={run}", "--versus=random", "--record={run}/config.json"], "a record ends in .txt"),
    (["--opponent=random"], "--opponent=random needs a board: --game=othello_6x6"),
    (["--game=othelo_6x6", "--opponent=random"], "did you mean 'othello_6x6'?"),
    (["--game=othello_6x6", "--opponent=rnd"], "'rnd' is no player without a network"),
    (["--game=othello_6x6", "--opponent=random", "--member=x"], "--member=x belongs to a network"),
    (["--game=othello_6x6", "--opponent=random", "--versus={run}"], "not othello_6x6"),
    (["--replay={tmp}/none.txt"], "none.txt can't be read: No such file or directory"),
    (["--replay={run}/config.json"], "config.json is no record of a game: its first line must be"),
    (["--replay={tmp}/none.txt", "--web", "--seed=-1"], "--seed=-1: choose 0"),
    (["--replay={tmp}/none.txt", "--run={run}"], "goes with --record or --web, not --run"),
    (["--replay={tmp}/none.txt", "--player=connect_four_5x5"], "--web, not --player"),
    (["--replay={tmp}/none.txt", "--versus-iteration=0"], "--web, not --versus-iteration"),
    (["--replay={tmp}/none.txt", "--side=second"], "--web, not --side"),
    (["--replay={tmp}/none.txt", "--side=second", "--web"], "--web, not --side"),
    (["--run={run}", "--versus=random", "--record="], "a record ends in .txt (text) or"),
    (["--run={run}", "--versus=connect_four_5x5"], "mean 'pretrained:connect_four_5x5'?"),
    (["--replay={tmp}/none.txt", "--seed=9"], "--web, not --seed"),
    (["--replay={tmp}/none.npz", "--between=a,b"], "none.npz is missing: give games/NAME.npz"),
    (["--replay={tmp}/none.txt", "--between=a,b"], "--between=a,b needs a .npz file in --replay"),
    (["--run={run}", "--between=a,b"], "--between=a,b needs --replay=RUN/games/final.npz"),
    ([""], "unknown argument ''"),
    (["--rum=x"], "unknown argument '--rum=x': did you mean --run?"),
    (["--side=third"], "--side: invalid choice: 'third'"),
    (["--seed=many"], "--seed: invalid int value: 'many'"),
]  # fmt: skip


@pytest.mark.parametrize(("flags", "message"), REFUSED, ids=[" ".join(f) for f, _ in REFUSED])
def test_what_cannot_be_is_one_line_and_status_2(
    flags: list[str],
    message: str,
    run_directory: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compiled(*args: Any) -> None:
        raise AssertionError("compiled before it refused")

    monkeypatch.setattr(command, "_compile", compiled)
    places = {"run": run_directory, "tmp": tmp_path}
    status, _ = said_by(*(flag.format(**places) for flag in flags))
    assert status == 2
    error = capsys.readouterr().err.strip().split("\n")[-1]
    assert error.startswith("error: ")
    assert message.format(**places) in error
    assert not list(tmp_path.iterdir())


def test_an_interrupt_ends_it_cleanly() -> None:
    class Interrupted(io.StringIO):
        """Ctrl-C at the first prompt."""

        def readline(self, *args: Any) -> str:
            raise KeyboardInterrupt

    target = io.StringIO()
    flags = [f"--game={GAME}", "--opponent=random"]
    assert command.main(flags, Interrupted(), target) == 130
    assert target.getvalue().endswith("\ninterrupted\n")


def test_without_standard_input_or_output_it_ends_as_well() -> None:
    """As after `<&-` and `>&-`."""
    assert Console(None, io.StringIO()).ask("? ") is None
    Console(io.StringIO("a\n"), None).say("nobody reads this")
