"""Where a person types and reads: the only place that does either."""

import contextlib
import importlib
import io
import sys
from typing import TextIO


class Console:
    """Reads lines from one text stream and prints to another; ends at the end of the input."""

    def __init__(self, source: TextIO | None, target: TextIO | None) -> None:
        self._source, self._target = source, target
        if isinstance(source, io.TextIOWrapper):
            source.reconfigure(errors="replace")  # bytes that are no text
        if isinstance(target, io.TextIOWrapper):
            target.reconfigure(errors="backslashreplace")  # what its encoding does not have
        self._is_terminal = source is not None and source is sys.stdin and source.isatty()
        if self._is_terminal:
            with contextlib.suppress(ImportError):  # not on every system
                importlib.import_module("readline")  # editing and history in `input`

    def say(self, *lines: str) -> None:
        """Prints lines; nothing where nobody could read them."""
        if self._target is None:
            return
        for line in lines:
            print(line, file=self._target)
        self._target.flush()

    def ask(self, prompt: str) -> str | None:
        """The next line, or None at the end. What a script says is printed as if it were typed."""
        if self._is_terminal:
            try:
                return input(prompt)
            except EOFError:
                self.say("")
                return None
        if self._source is None:  # closed, `<&-`
            return None
        line = self._source.readline()
        self.say(prompt + line.rstrip("\n"))
        return line.rstrip("\n") if line else None
