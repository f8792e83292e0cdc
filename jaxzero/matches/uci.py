"""Several processes of a UCI engine that answer many positions at once, and survive their faults.

The protocol is python-chess's (extra `engines`, GPL), imported only here and when engines start.
"""

import asyncio
import collections
import contextlib
import dataclasses
import importlib
import logging
import queue
import shutil
import time
from collections.abc import Coroutine, Sequence
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

from jaxzero.settings.config import ConfigError

INSTALL = "apt-get install fairy-stockfish"
_GRACE = 5.0  # seconds beyond a move's time before a process counts as hung
_STARTS = 20.0  # seconds that a process has to start and to take its options
_POLL = 0.2  # seconds between looks at whether a process has ended unseen
_TRIES = 3  # processes that may fail at one position
# It logs a traceback for each move to ponder on that does not fit the move played, as Skill Level
# makes them; nobody ponders. What goes wrong is counted in `problems`.
logging.getLogger("chess.engine").setLevel(logging.CRITICAL)


@dataclasses.dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """How an engine plays. West 2020: Stockfish at "level 2", which it does not explain."""

    # program and arguments; a name is looked for in PATH
    command: tuple[str, ...] = ("fairy-stockfish",)
    skill: int | None = 2  # UCI's Skill Level; None leaves the engine's default
    nodes: int = 0  # limits of a search; 0 for none
    depth: int = 0  # limits of a search; 0 for none
    seconds: float = 5.0  # of a move, at most
    processes: int = 2  # engines side by side, one thread each


class Engines:
    """A context manager: the processes run inside it.

    `problems`: how often what went wrong, in words; nothing is hidden.
    """

    def __init__(self, settings: EngineSettings, variant: str) -> None:
        """Starts the processes.

        Args:
          variant: a UCI variant that python-chess knows, e.g. `"racingkings"`.

        Raises:
          ConfigError: python-chess or the engine is not there, or the engine does not start.
        """
        self._chess = load_chess()
        self._variant = variant
        self._board = self._chess.variant.find_variant(variant)
        self._settings = settings
        self.problems: collections.Counter[str] = collections.Counter()
        self._command = find(settings.command)
        self._idle: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._pool = ThreadPoolExecutor(settings.processes)
        try:
            for _ in range(settings.processes):
                self._idle.put(self._start())
        except Exception as error:
            self.close()
            raise ConfigError(
                f"the engine {' '.join(settings.command)} does not start "
                f"({type(error).__name__}: {error}): is it a UCI engine that knows {variant}?"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes. More than once is as good as once."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        with contextlib.suppress(queue.Empty):
            while True:
                _stop(self._idle.get_nowait())

    def ask(self, fens: Sequence[str]) -> list[Future[str | None]]:
        """Begins to answer positions; at most `processes` at a time.

        Each is a move in UCI's notation, or None where every try failed.
        """
        return [self._pool.submit(self._answer, fen) for fen in fens]

    def _answer(self, fen: str) -> str | None:
        engine = self._idle.get()
        try:
            for _ in range(_TRIES):
                try:
                    engine = engine or self._start()
                    return self._move(engine, self._board(fen))
                except self._faults as error:
                    self.problems[self._name(error)] += 1
                    _stop(engine)
                    engine = None
            self.problems["positions without an answer"] += 1
            return None
        finally:
            self._idle.put(engine)  # None: the next position starts a process

    def _move(self, engine: Any, board: Any) -> str:
        s = self._settings
        limit = self._chess.engine.Limit(
            nodes=s.nodes or None, depth=s.depth or None, time=s.seconds
        )
        played = engine.protocol.play(board, limit, game=object())
        move = self._result(engine, played, s.seconds + _GRACE).move
        if not move:  # none, or the null move
            raise self._chess.engine.EngineError("no move")
        return move.uci()

    def _start(self) -> Any:
        engine = self._chess.engine.SimpleEngine.popen_uci(list(self._command), timeout=_STARTS)
        options: dict[str, Any] = {"Threads": 1, "Skill Level": self._settings.skill}
        offered = engine.protocol.options
        known = {k: v for k, v in options.items() if v is not None and k in offered}
        try:
            if self._settings.skill is not None and "Skill Level" not in known:
                raise self._chess.engine.EngineError("it has no Skill Level: set none")
            if self._variant not in _variants(offered.get("UCI_Variant")):
                raise self._chess.engine.EngineError("it does not know that variant")
            self._result(engine, engine.protocol.configure(known), _STARTS)
        except BaseException:  # else its thread would keep this process from ending
            _stop(engine)
            raise
        return engine

    def _result(self, engine: Any, work: Coroutine[Any, Any, Any], seconds: float) -> Any:
        """What a coroutine gives in the engine's event loop.

        python-chess's own blocking calls wait for ever if the engine dies just then: its loop ends
        and leaves what it was handed. Raises: TimeoutError, EngineTerminatedError.
        """
        dead = self._chess.engine.EngineTerminatedError("its event loop has ended")
        loop, end = engine.protocol.loop, time.monotonic() + seconds
        try:
            future = asyncio.run_coroutine_threadsafe(work, loop)
        except RuntimeError:  # the loop is closed
            work.close()
            raise dead from None
        while not futures.wait([future], timeout=_POLL).done:
            if loop.is_closed():
                work.close()
                raise dead
            if time.monotonic() > end:
                future.cancel()
                raise TimeoutError
        try:
            return future.result()
        except futures.CancelledError:  # by the loop, in ending
            raise dead from None

    @property
    def _faults(self) -> tuple[type[BaseException], ...]:
        return (
            self._chess.engine.EngineError,
            asyncio.TimeoutError,
            TimeoutError,
            OSError,
        )

    def _name(self, error: BaseException) -> str:
        if isinstance(error, self._chess.engine.EngineTerminatedError):
            return "engine died"
        if isinstance(error, asyncio.TimeoutError | TimeoutError):
            return "no answer in time"
        return "illegal or senseless answer"


def load_chess() -> Any:
    """python-chess with its engines and variants. ConfigError: it is not installed."""
    try:
        chess = importlib.import_module("chess")
        importlib.import_module("chess.engine")
        importlib.import_module("chess.variant")
    except ModuleNotFoundError as error:
        raise ConfigError(
            'engines need python-chess: install it with `pip install -e ".[engines]"`'
        ) from error
    return chess


def find(command: Sequence[str]) -> tuple[str, ...]:
    """The command with its program's path. ConfigError: there is no such program, or no word."""
    if not command:
        raise ConfigError(f"no engine is named: name one, e.g. fairy-stockfish ({INSTALL})")
    places = "/usr/games:/usr/local/bin"  # Debian's place for games is not in everyone's PATH
    path = shutil.which(command[0]) or shutil.which(command[0], path=places)
    if path is None:
        raise ConfigError(
            f"there is no program {command[0]!r}: install it ({INSTALL}) or name another engine"
        )
    return (path, *command[1:])


def _variants(option: Any) -> Sequence[str]:
    """The variants that an engine's option offers; none where it has no such option."""
    return (option and option.var) or ()


def _stop(engine: Any) -> None:
    """Ends a process that may have died or hung."""
    if engine is not None:
        with contextlib.suppress(Exception):
            engine.close()
