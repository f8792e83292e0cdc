"""What a person types and what comes back, with players whose analyses are made up."""

import io
import itertools
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.games.base import State
from jaxzero.play.board_players import Analysis, BoardPlayer
from jaxzero.play.display import boards, records
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.session import Session
from jaxzero.play.terminal import analysis_text
from jaxzero.play.terminal.console import Console
from jaxzero.play.terminal.dialogue import COMMANDS, Table, Talk, converse, respond
from jaxzero.play.terminal.dialogue import start as start_talk
from tests.games.sessions import find_game, passes, random_game
from tests.small import assert_equal

NAME = "connect_four_4x5"


def scripted(actions: Iterator[int]) -> BoardPlayer:
    """A player who plays what was written down."""
    return BoardPlayer("script", "a script", lambda key, state: Analysis(next(actions)), False)


def first_legal(name: str) -> BoardPlayer:
    """A player who takes the lowest legal action, and has a made-up analysis of the others."""
    game = make_game(name)

    def of_position(key: jax.Array, state: State) -> Analysis:
        legal = np.asarray(game.legal_actions(jax.tree.map(jax.numpy.asarray, state)))
        visits = np.where(legal, 1 + np.arange(len(legal))[::-1], 0)
        return Analysis(
            action=int(np.flatnonzero(legal)[0]),
            value=0.3,
            network_value=-0.6,
            prior=legal / legal.sum(),
            visits=visits,
            q=np.linspace(1, -1, len(legal)),
        )

    return BoardPlayer("lowest", "a player of the lowest", of_position, True)


def table_of(name: str = NAME, **given: object) -> Table:
    player = first_legal(name)
    return Table(make_game(name), player, player, **given)


def type_in(table: Table, *typed: str) -> tuple[Talk, list[str]]:
    """The talk after these lines, and what the last one brought."""
    talk, lines = start_talk(table)
    for text in typed:
        talk, lines = respond(table, talk, text)
    return talk, lines


def whole_game(played: Session, person: int) -> str:
    """A dialogue in which a game is played again, both sides from its moves."""
    names = make_notation(played.game).names
    forced = passes(played, person)
    sides = [p.to_move for p in played.positions]
    typed = [
        names[action]
        for ply, action in enumerate(played.actions)
        if sides[ply] == person and ply not in forced
    ]
    player = scripted(a for side, a in zip(sides, played.actions, strict=False) if side != person)
    table = Table(played.game, player, player, side=person)
    target = io.StringIO()
    converse(table, Console(io.StringIO("\n".join([*typed, "moves"]) + "\n"), target))
    return target.getvalue()


@pytest.mark.parametrize("person", [0, 1])
def test_a_game_of_connect_four(person: int) -> None:
    played = find_game(NAME, lambda game: game.now.outcome[person] > 0)
    said = whole_game(played, person)
    assert "you have won" in said
    assert "\n".join(boards.board(played)) in said
    assert "\n".join(boards.move_lines(played)) in said


@pytest.mark.parametrize("person", [0, 1])
def test_a_game_of_othello_with_passes(person: int) -> None:
    both = find_game(
        "othello_4x4", lambda game: bool(passes(game, person)) and bool(passes(game, 1 - person))
    )
    said = whole_game(both, person)
    assert said.count("you have no move and pass") == len(passes(both, person))
    assert said.count(f"{boards.mark(1 - person, both.game)} plays pass") == len(
        passes(both, 1 - person)
    )
    assert "\n".join(boards.board(both)) in said
    assert "\n".join(boards.move_lines(both)) in said


@pytest.mark.parametrize("person", [0, 1])
def test_a_game_of_reversi_gives_turns_back(person: int) -> None:
    def twice(game: Session) -> list[int]:
        sides = [p.to_move for p in game.positions[:-1]]
        return [a for a, b in itertools.pairwise(sides) if a == b]

    played = find_game("reversi_4x4", lambda game: set(twice(game)) == {0, 1})
    said = whole_game(played, person)
    for side in (0, 1):
        mover, other = (boards.mark(player, played.game) for player in (side, 1 - side))
        line = f"{other} has no move: {mover} plays again"
        assert said.count(line) == twice(played).count(side)
    assert "\n".join(boards.board(played)) in said


def test_undo_takes_back_the_move_and_the_reply() -> None:
    table = table_of()
    before, _ = type_in(table, "3")
    talk, lines = type_in(table, "3", "4", "undo")
    assert lines[0] == "2 taken back"
    assert talk.session.actions == before.session.actions == (2, 0)
    assert_equal(talk.session.now, before.session.now)
    talk, lines = respond(table, talk, "undo")
    assert talk.session.actions == ()
    assert respond(table, talk, "undo")[1] == ["there is no move of yours to take back"]


def test_undo_after_the_end_goes_on_with_the_game() -> None:
    table = table_of()
    talk, lines = type_in(table, "5", "5", "5")  # the other builds on 1, and wins first or later
    while not talk.session.now.is_terminal:
        talk, lines = respond(table, talk, "2" if talk.session.now.legal[1] else "3")
    assert lines[-1] == "new, undo, save FILE, or quit"
    assert lines[-2] in ("you have won", "you have lost", "a draw")
    finished = talk
    assert respond(table, talk, "3") == (
        finished,
        ["the game is over: new, undo, save FILE, or quit"],
    )
    assert respond(table, talk, "hint")[1] == respond(table, talk, "policy")[1]
    talk, _ = respond(table, talk, "undo")
    assert not talk.session.now.is_terminal
    assert talk.session.now.to_move == talk.person


def test_swap_hands_the_position_over() -> None:
    table = table_of()
    talk, lines = type_in(table, "3", "swap")
    assert talk.person == 1
    assert lines[:2] == ["you are O now", "X plays 1 (for X: +0.30, a little better)"]
    assert talk.session.actions == (2, 0, 0)
    assert talk.session.now.to_move == 1
    talk, lines = respond(table, talk, "new")
    assert talk.person == 1
    assert talk.session.actions == (0,)
    assert talk.games == 1
    assert lines[0] == f"{NAME}: X is a player of the lowest, O is you; X moves first"


def test_sides_and_openings() -> None:
    talk, _ = type_in(table_of(side=1))
    assert talk.session.actions == (0,)
    seen = {type_in(table_of(side=None, seed=seed))[0].person for seed in range(20)}
    assert seen == {0, 1}
    talk, lines = type_in(table_of(opening=3, seed=4))
    assert talk.session.opening == 3
    names = " ".join(str(a + 1) for a in talk.session.actions[:3])
    assert lines[1] == f"random opening: {names}"
    assert respond(table_of(), talk, "undo")[1] == ["there is no move of yours to take back"]


def test_illegal_and_unknown_lines_say_what_is_legal() -> None:
    table = table_of("othello_4x4")
    legal = "legal: b1 a2 d3 c4"
    talk, lines = type_in(table, "a1")
    assert lines == ["a1 is not legal here", legal]
    assert talk.session.actions == ()
    assert respond(table, talk, "c9")[1] == [
        "'c9' is no move (a square, a1 to d4, or pass) and no command: help lists the commands",
        legal,
    ]
    assert "did you mean undo?" in respond(table, talk, "udno")[1][0]
    assert respond(table, talk, "  ")[1] == []
    assert respond(table, talk, " B1 ")[0].session.actions[0] == 1


def test_hints_are_of_the_search_and_of_all_advisers() -> None:
    table = table_of(
        advisers=(lambda state: ["a line", f"{state.to_move}"], lambda state: ["more"])
    )
    _, lines = type_in(table, "3", "hint")
    assert lines == [
        "lowest: 1 (5 of 15 visits, for you +1.00, almost certainly won)",
        "a line",
        "0",
        "more",
    ]


def test_the_policy_is_a_table() -> None:
    _, lines = type_in(table_of(), "3", "policy")
    assert lines == [
        "move     prior  visits   value",
        "1        20.0%       5   +1.00   <",
        "2        20.0%       4   +0.50",
        "3        20.0%       3   +0.00",
        "4        20.0%       2   -0.50",
        "5        20.0%       1   -1.00",
        "lowest, for the player to move: +0.30, a little better",
        "the network alone: -0.60, clearly worse",
    ]


def test_long_tables_are_cut() -> None:
    _, lines = type_in(table_of("gobang_5x5"), "policy")
    assert len(lines) == 1 + 15 + 3
    assert lines[16] == "and 10 more with 55 visits"


def test_a_player_without_a_search_has_a_move_and_no_numbers() -> None:
    table = Table(make_game(NAME), scripted(iter([])), scripted(iter([2, 2])))
    _, lines = type_in(table, "hint")
    assert lines == ["script: 3"]
    _, lines = type_in(table, "policy")
    assert lines[1:] == [
        f"{n}            -       -       -{'   <' * (n == 3)}" for n in range(1, 6)
    ]


def test_the_visits_stand_on_the_board() -> None:
    _, lines = type_in(table_of(), "1", "show")
    assert lines == [
        "  1   2   3   4   5",
        "  .   .   .   .   .",
        " 33   .   .   .   .",
        " [O]  .   .   .   .",
        "  X  27  20  13   7",
        "X to move",
        "numbers: visits of lowest in percent",
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1, "almost certainly won"),
        (0.1, "about even"),
        (-0.1, "about even"),
        (-0.3, "a little worse"),
        (-1, "almost certainly lost"),
    ],
)
def test_values_in_words(value: float, words: str) -> None:
    assert analysis_text.in_words(value) == f"{value:+.2f}, {words}"
    assert analysis_text.in_words(-0.001) == "+0.00, about even"
    assert analysis_text.in_words(float("nan")) == "no number"


def test_games_are_saved(tmp_path: Path) -> None:
    table = table_of()
    talk, lines = type_in(table, "3", f"save {tmp_path}/my game.txt")
    assert lines == [f"saved: {tmp_path}/my game.txt"]
    [found] = records.read(tmp_path / "my game.txt")
    assert found.session.actions == talk.session.actions
    assert found.players == ("person", "a player of the lowest")
    assert "exists already" in respond(table, talk, f"save {tmp_path}/my game.txt")[1][0]
    assert "save where?" in respond(table, talk, "save")[1][0]
    respond(table, talk, f"save {tmp_path}/a.svg")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_help_lists_every_command() -> None:
    _, lines = type_in(table_of(), "help")
    assert [line.split()[0] for line in lines[1:]] == list(COMMANDS)


@pytest.mark.parametrize("typed", ["", "3\n", "3\nquit\n4\n", "3\nquit"])
def test_quitting_and_the_end_of_the_input_end_it(typed: str) -> None:
    target = io.StringIO()
    converse(table_of(), Console(io.StringIO(typed), target))
    assert target.getvalue().count("O plays 1") == typed.count("3")
    assert "O plays 1 again" not in target.getvalue()


def test_replies_are_the_same_again() -> None:
    """The key of an analysis is of the game's seed and the ply, so `undo` changes no reply."""
    keys = []

    def of_position(key: jax.Array, state: State) -> Analysis:
        keys.append(int(jax.random.randint(key, (), 0, 1 << 30)))
        return Analysis(0)

    player = BoardPlayer("keys", "keys", of_position, False)
    table = Table(make_game(NAME), player, player)
    type_in(table, "3", "undo", "3", "new", "3")
    first, again, other = keys
    assert first == again != other


def test_random_games_never_confuse_the_dialogue() -> None:
    """Whatever the moves, the person's side and the board agree."""
    for seed in range(5):
        played = random_game("othello_4x4", seed)
        said = whole_game(played, seed % 2)
        assert "\n".join(boards.board(played)) in said
