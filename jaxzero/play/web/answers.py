"""What the page asks, answered: pure functions of the moves that it sends, remembered by them."""

import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxzero.games import RacingKings
from jaxzero.play.board_players import Analysis, analyse
from jaxzero.play.display import boards, drawing, film, position, records, session, svg
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.records import Record
from jaxzero.play.display.session import Session
from jaxzero.play.terminal import analysis_text, solutions
from jaxzero.play.web.catalogue import Catalogue, most_simulations
from jaxzero.settings.config import ConfigError

Given = Mapping[str, Any]  # what the page sends
_CELL = 60  # side of a square in the picture's pixels; the page scales it
_ROWS = 60  # moves of an analysis
_SEEDS = 2**31


class Answers:
    """Answers to questions, `by_name`. They hold no game: each question brings its moves."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._step = functools.lru_cache(maxsize=4096)(self._stepped)
        self._search = functools.lru_cache(maxsize=4096)(self._searched)
        self._solve = functools.lru_cache(maxsize=4096)(_solved)
        self._locks = (threading.Lock(), threading.Lock())  # one search and one solver at a time
        self.by_name: Mapping[str, Callable[[Given], dict[str, Any]]] = {
            "position": self.position,
            "analysis": self.analysis,
            "verdicts": self.verdicts,
            "record": self.record,
            "file": lambda given: {"text": self.file(_text(given, "name"), given)},
        }

    def position(self, given: Given) -> dict[str, Any]:
        """The board and what can be played on it."""
        now = self._session(given)
        names, shown = make_notation(now.game), now.now
        grid = boards.stones(now.game, shown.state)
        discs = None
        if grid is not None and boards.counts_stones(now.game):
            discs = [int((grid == 1 + player).sum()) for player in (0, 1)]
        return {
            "board": _board(now),
            "legal": [names.names[action] for action in np.flatnonzero(shown.legal)],
            "form": names.form,
            "toMove": shown.to_move,
            "terminal": shown.is_terminal,
            "result": records.result(now),
            "mustPass": session.must_pass(now),
            "discs": discs,
            "colours": drawing.look_of(now.game).discs,
            "pieces": isinstance(now.game, RacingKings),
            "most": most_simulations(now.game),
        }

    def analysis(self, given: Given) -> dict[str, Any]:
        """What a player makes of a position; `first` is the value for the first player."""
        now = self._session(given)
        if now.now.is_terminal:
            return {"first": now.now.outcome[0]}
        game, actions = now.game.name, now.actions
        player, m = _text(given, "player"), _number(given, "simulations", most=_SEEDS)
        with self._locks[0]:
            return self._search(game, actions, player, m, _number(given, "seed", most=_SEEDS))

    def _searched(
        self, game: str, actions: tuple[int, ...], player: str, simulations: int, seed: int
    ) -> dict[str, Any]:
        now = self._replay(game, actions)
        who = self._catalogue.player(now.game, player, simulations)
        return _in_words(now, analyse(who, now, seed))

    def verdicts(self, given: Given) -> dict[str, Any]:
        """How each move ends under perfect play, or `why` nobody knows."""
        now = self._session(given)
        with self._locks[1]:
            return self._solve(now.game, now.actions)

    def record(self, given: Given) -> dict[str, Any]:
        """The first game of a text that `records` wrote."""
        [read, *_] = records.parse(_text(given, "text"), "the file", self._catalogue.game)
        game = read.session.game
        names = make_notation(game).names
        moves = [names[action] for action in read.session.actions]
        opened = {"players": read.players, "opening": read.session.opening}
        return {"game": game.name, "moves": moves} | opened

    def file(self, name: str, given: Given) -> str:
        """The game as `game.txt`, `game.svg`, or `game.play.svg`, which plays it."""
        now, players = self._session(given), (_text(given, "first"), _text(given, "second"))
        opening = records.number(str(given.get("opening", 0)), len(now.actions), "opening")
        now = dataclasses.replace(now, opening=opening)
        if name == "game.txt":
            return records.to_text([Record(now, players)])
        draw = film.game_film if name == "game.play.svg" else drawing.game_picture
        return svg.page([draw(now, players, records.result(now))])

    def _session(self, given: Given) -> Session:
        """The game that the page sends. ConfigError: its board or one of its moves is none."""
        game, moves = self._catalogue.game(_text(given, "game")), given.get("moves")
        moves = list(filter(None, moves.split("."))) if isinstance(moves, str) else moves
        if not isinstance(moves, list) or len(moves) > game.max_plies:
            raise ConfigError(f"moves: send at most {game.max_plies} names of moves")
        notation, actions = make_notation(game), []
        for number, name in enumerate(moves, 1):
            action = notation.read(name) if isinstance(name, str) else None
            if action is None:
                raise ConfigError(f"move {number} is {name!r}, not {notation.form}")
            actions.append(action)
        try:
            return self._replay(game.name, tuple(actions))
        except ValueError as error:
            raise ConfigError(str(error)) from error

    def _replay(self, game: str, actions: tuple[int, ...]) -> Session:
        """The game with those moves, of which only those are played that nobody asked for yet."""
        now = self._step(game, ())
        for count in range(1, len(actions) + 1):
            now = self._step(game, actions[:count])
        return now

    def _stepped(self, game: str, actions: tuple[int, ...]) -> Session:
        if not actions:
            return session.begin(self._catalogue.game(game))
        before = self._step(game, actions[:-1])  # just asked for
        try:
            return session.play(before, actions[-1])
        except ValueError as error:
            raise ValueError(f"move {len(actions)}: {error}") from error


def _in_words(now: Session, found: Analysis) -> dict[str, Any]:
    """An analysis as the page takes it."""
    names, mover = make_notation(now.game).names, now.now.to_move
    answer: dict[str, Any] = {"move": names[found.action], "toMove": mover}
    if found.value is None or found.visits is None or found.q is None:
        return answer
    visits = found.visits
    order = sorted(np.flatnonzero(now.now.legal).tolist(), key=lambda action: -visits[action])
    answer["rows"] = [
        {
            "move": names[action],
            "visits": int(visits[action]),
            "value": _finite(found.q[action]) if visits[action] else None,
            "prior": None if found.prior is None else _finite(found.prior[action]),
        }
        for action in order[:_ROWS]
    ]
    lines = [] if found.lines is None else found.lines.tolist()
    named = [[names[action] for action in line if action >= 0] for line in lines]
    answer["lines"] = [line for line in named if line]
    answer |= {"value": _finite(found.value), "words": analysis_text.in_words(found.value)}
    answer["first"] = _finite(found.value if mover == 0 else -found.value)
    answer["visits"] = int(visits.sum())
    if found.prior is not None and found.network_value is not None:
        alone = int(np.argmax(np.where(now.now.legal, found.prior, -1)))
        words = analysis_text.in_words(found.network_value)
        answer["network"] = {"move": names[alone], "words": words}
    return answer


def _solved(game: Any, actions: tuple[int, ...]) -> dict[str, Any]:
    now = session.replay(game, actions)
    if now.now.is_terminal:
        return {"why": "the game is over"}
    try:
        moves = solutions.solved_moves(now)
    except ConfigError as error:
        return {"why": str(error)}
    names = make_notation(game).names
    return {
        "best": solutions.in_words(game, moves[0]),
        "moves": {
            names[move.action]: {"words": solutions.in_words(game, move), "sign": _sign(move.score)}
            for move in moves
        },
    }


def _board(now: Session) -> str:
    """The position as SVG: `position.picture`, and above it what can be pressed."""
    picture = position.picture(now, _CELL)
    caption = boards.caption(now.game, now.now)
    label = f"{drawing.title_of(now.game.name)}, move {len(now.actions)}, {caption}"
    lines = [svg.escaped(line) for line in boards.board(now)]
    if picture is None:
        return f'<pre aria-label="{_quoted(label)}">{chr(10).join(lines)}</pre>'
    names = make_notation(now.game).names
    legal = {names[action] for action in np.flatnonzero(now.now.legal)}
    starts = {name[:2] for name in legal} if isinstance(now.game, RacingKings) else legal
    disc = drawing.look_of(now.game).discs[now.now.to_move]
    parts = []
    for target in position.targets(now, _CELL):
        x, y, width, height = map(svg.short, target.box)
        can = target.name in starts
        name = _quoted(target.name)
        press = f' role="button" tabindex="-1" aria-label="{name}"' if can else ""
        inner = f'<rect x="{x}" y="{y}" width="{width}" height="{height}"/>'
        if target.spot is not None:
            across, down = map(svg.short, target.spot)
            radius = svg.short(_CELL * 0.41)
            inner += (
                f'<circle cx="{across}" cy="{down}" r="{radius}" fill="{disc}"/>'
                f'<text x="{across}" y="{down}" dy=".36em"></text>'
            )
        kind = "target can" if can else "target"
        parts.append(f'<g class="{kind}" data-name="{name}"{press}>{inner}</g>')
    width, height = svg.short(picture.width), svg.short(picture.height)
    return (
        f'<svg viewBox="0 0 {width} {height}" role="group" aria-label="{_quoted(label)}">'
        f"<desc>{chr(10).join(lines)}</desc>"
        f"{picture.body}{''.join(parts)}</svg>"
    )


def _quoted(text: str) -> str:
    return svg.escaped(text).replace('"', "&quot;")


def _sign(score: int) -> int:
    return (score > 0) - (score < 0)


def _finite(number: Any) -> float | None:
    return float(number) if math.isfinite(number) else None


def _text(given: Given, name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise ConfigError(f"{name} is missing, or no text")
    return value


def _number(given: Given, name: str, *, most: int) -> int:
    value = given.get(name)
    if not isinstance(value, int) or not 0 <= value < most:
        raise ConfigError(f"{name}={value!r}: a whole number from 0 to {most - 1}")
    return value
