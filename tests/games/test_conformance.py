"""Games go through the property suite, and games with a mistake do not."""

import jax.numpy as jnp
import pytest

from jaxzero.games import ConnectFour, Gobang, Othello, Reversi, conformance, make_game, stones
from jaxzero.games.playouts import random_playout
from jaxzero.games.stones import own_and_other
from tests.games.boards import plain_game

NAMES = (
    "connect_four_3x3_line3",
    "connect_four_6x7",
    "connect_four_7x8_line5",
    "gobang_5x5",
    "othello_4x4",
    "othello_5x5",
    "othello_6x6",
    "reversi_4x4",
    "reversi_8x8",
)


@pytest.mark.parametrize("name", NAMES)
def test_games_conform(name):
    report = conformance.check_game(make_game(name), num_games=24)
    assert set(report.skipped) <= {"symmetric_games"}  # Othello's start is not symmetric
    assert len(report.passed) + len(report.skipped) == len(conformance.CHECKS)


@pytest.mark.parametrize(
    ("name", "observation"),
    [
        ("connect_four_3x3_line3", "signed"),
        ("othello_4x4", "cells"),
        ("connect_four_3x3_line3", "planes_ones"),
    ],
)
def test_other_encodings_conform(name, observation):
    game = make_game(name, observation=observation)
    conformance.check_game(game, num_games=8)
    start = game.observe(game.init())
    if observation == "planes_ones":
        assert not start[..., :2].any()
        assert (start[..., 2] == 1).all()


# ---- mistakes ----


class MirrorsTheBoardOnly(ConnectFour):
    """As the papers' program does."""

    def symmetries(self, observation, policy):
        return jnp.stack([observation, observation[:, ::-1]]), jnp.stack([policy, policy])


class MirrorsThePolicyOnly(ConnectFour):
    def symmetries(self, observation, policy):
        return jnp.stack([observation] * 2), jnp.stack([policy, policy[::-1]])


class RotatesThePolicyBackwards(Gobang):
    def symmetries(self, observation, policy):
        observations, policies = super().symmetries(observation, policy)
        return observations, policies[jnp.array([0, 3, 2, 1, 4, 5, 6, 7])]


class ImageFirst(ConnectFour):
    def symmetries(self, observation, policy):
        observations, policies = super().symmetries(observation, policy)
        return observations[::-1], policies[::-1]


class LosesProbability(ConnectFour):
    def symmetries(self, observation, policy):
        observations, policies = super().symmetries(observation, policy)
        return observations, policies.at[1, 0].set(0)


class GoesOnAfterTheEnd(ConnectFour):
    def step(self, state, action):
        successor = super().step(state, action)
        return successor.replace(to_move=1 - state.to_move)


class MovesAfterTheEnd(Othello):
    def legal_actions(self, state):
        return super().legal_actions(state).at[-1].set(self.is_terminal(state))


class NoMoveLeft(Gobang):
    def legal_actions(self, state):
        return super().legal_actions(state).at[0].set(False)


class OnlyPlayerZeroWins(ConnectFour):
    def step(self, state, action):
        successor = super().step(state, action)
        won = successor.status == stones.SECOND_WON
        return successor.replace(status=jnp.where(won, stones.DRAWN, successor.status))


class ResultOfTheMover(ConnectFour):
    def outcome(self, state):
        outcome = super().outcome(state)
        return jnp.where(state.to_move == 0, outcome, -outcome)


class BothWin(ConnectFour):
    def outcome(self, state):
        return jnp.abs(super().outcome(state))


class SmallDraws(ConnectFour):
    def outcome(self, state):
        drawn = (state.status == stones.DRAWN).astype(jnp.float32)
        return super().outcome(state) + 1e-4 * drawn * jnp.array([1.0, -1.0], jnp.float32)


class WinsEarly(ConnectFour):
    def outcome(self, state):
        return super().outcome(state) + jnp.array([1.0, -1.0], jnp.float32) * ~self.is_terminal(
            state
        )


class SeenByPlayerZero(ConnectFour):
    def observe(self, state):
        return super().observe(state.replace(to_move=jnp.zeros_like(state.to_move)))


class OneDiagonalOnly(Gobang):
    def step(self, state, action):
        successor = super().step(state, action)
        own, _ = own_and_other(successor.replace(to_move=state.to_move))
        plane = self.grid.unpack(own)
        diagonal = jnp.trace(plane[:, ::-1]) == self.size
        falls = diagonal & (successor.status != stones.DRAWN)
        return successor.replace(status=jnp.where(falls, stones.GOING_ON, successor.status))


class TooFewPlies(ConnectFour):
    @property
    def max_plies(self):
        return super().max_plies - 2


class SecondPlayerStarts(ConnectFour):
    def init(self):
        return super().init().replace(to_move=jnp.int8(1))


class WrongType(ConnectFour):
    def to_move(self, state):
        return state.to_move


class WrongShape(ConnectFour):
    @property
    def observation_shape(self):
        return (self.columns, self.rows, 2)


class NotANumber(ConnectFour):
    def observe(self, state):
        return super().observe(state) / jnp.float32(0)


class SaysItAlternates(Reversi):
    is_alternating = True


class NoPicture(ConnectFour):
    def render(self, state):
        return ""


class NeverEqual(ConnectFour):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


MISTAKES = [
    (MirrorsTheBoardOnly(3, 3, 3), "symmetries_permute"),
    (MirrorsTheBoardOnly(3, 3, 3), "symmetric_games"),
    (MirrorsTheBoardOnly(3, 3, 3), "symmetric_positions"),
    (MirrorsThePolicyOnly(3, 3, 3), "symmetric_games"),
    (RotatesThePolicyBackwards(3, 3), "symmetric_games"),
    (RotatesThePolicyBackwards(3, 3), "symmetric_positions"),
    (ImageFirst(3, 3, 3), "symmetries_permute"),
    (LosesProbability(3, 3, 3), "symmetries_permute"),
    (GoesOnAfterTheEnd(3, 3, 3), "end_is_final"),
    (MovesAfterTheEnd(4), "legal_until_the_end"),
    (NoMoveLeft(3, 3), "legal_until_the_end"),
    (OnlyPlayerZeroWins(3, 3, 3), "flipped_colours"),
    (ResultOfTheMover(3, 3, 3), "flipped_colours"),
    (BothWin(3, 3, 3), "outcome"),
    (SmallDraws(3, 3, 3), "outcome"),
    (WinsEarly(3, 3, 3), "outcome"),
    (SeenByPlayerZero(3, 3, 3), "flipped_colours"),
    (OneDiagonalOnly(3, 3), "symmetric_positions"),
    (TooFewPlies(3, 3, 3), "max_plies"),
    (SecondPlayerStarts(3, 3, 3), "start"),
    (WrongType(3, 3, 3), "shapes"),
    (WrongShape(3, 4, 3), "shapes"),
    (NotANumber(3, 3, 3), "shapes"),
    (SaysItAlternates(4), "turns"),
    (NoPicture(3, 3, 3), "render"),
    (NeverEqual(3, 3, 3), "static_fields"),
]


@pytest.mark.parametrize(
    ("game", "check"), MISTAKES, ids=[f"{type(game).__name__}-{check}" for game, check in MISTAKES]
)
def test_mistakes_are_found(game, check):
    playout = random_playout(game, num_games=40)
    with pytest.raises(AssertionError):
        getattr(conformance, f"check_{check}")(game, playout)


def test_the_message_names_game_and_check():
    with pytest.raises(AssertionError, match=r"^connect_four_3x3_line3: outcome: "):
        conformance.check_game(BothWin(3, 3, 3), num_games=8)


# ---- mistakes that only other rules can show ----


class PassesAtWill(Othello):
    def legal_actions(self, state):
        return super().legal_actions(state).at[-1].set(~self.is_terminal(state))


class EndsOnTwoPasses(Othello):
    """Never asks whether the player who just moved could move again."""

    def step(self, state, action):
        successor = super().step(state, action)
        stuck = (successor.moves == 0).all() & (state.moves == 0).all()
        over = self.is_terminal(successor) & (~self.is_terminal(state)) & ~stuck
        return successor.replace(status=jnp.where(over, stones.GOING_ON, successor.status))


class LastSquareDraws(ConnectFour):
    def step(self, state, action):
        successor = super().step(state, action)
        full = self.grid.unpack(own_and_other(successor)[0]) | self.grid.unpack(
            own_and_other(successor)[1]
        )
        status = jnp.where(full.all(), jnp.int8(stones.DRAWN), successor.status)
        return successor.replace(status=status)


class LinesWrap(Gobang):
    def step(self, state, action):
        successor = super().step(state, action)
        row = self.grid.unpack(own_and_other(successor.replace(to_move=state.to_move))[0])
        row = row.reshape(-1)
        wraps = (row[:-2] & row[1:-1] & row[2:]).any() & ~self.is_terminal(successor)
        won = (stones.FIRST_WON + state.to_move).astype(jnp.int8)
        return successor.replace(status=jnp.where(wraps, won, successor.status))


class TheFewerStonesWin(Reversi):
    def outcome(self, state):
        return -super().outcome(state)


@pytest.mark.parametrize(
    "game",
    [
        PassesAtWill(4),
        EndsOnTwoPasses(4),
        LastSquareDraws(3, 3, 3),
        LinesWrap(3, 3),
        TheFewerStonesWin(4),
    ],
    ids=lambda game: type(game).__name__,
)
def test_wrong_rules_are_found_by_a_reference(game):
    with pytest.raises(AssertionError, match="the reference has"):
        conformance.check_against_reference(game, lambda: plain_game(game.name), num_games=60)
