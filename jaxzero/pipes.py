"""Standard output into a pipe whose reader leaves before the end: `| head`."""

import contextlib
import os
import select
import signal
import sys
from collections.abc import Iterator

UNREAD = 128 + signal.SIGPIPE  # exit status, as of every program that this signal ends


@contextlib.contextmanager
def reader_may_leave() -> Iterator[None]:
    """Ends a program without a word where nobody reads its output any more; around all of it.

    The signal itself stays off: it would also end a program that loses an engine or a connection.

    Raises:
      SystemExit: with status `UNREAD`, the reader has left.
      BrokenPipeError: of another pipe than standard output.
    """
    try:
        try:
            yield
        finally:  # here, not at exit, where Python would print what goes wrong
            if sys.stdout:
                sys.stdout.flush()
    except BrokenPipeError:
        if not _is_unread():
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # for what is still in the buffer
        os.close(nowhere)
        sys.exit(UNREAD)


def _is_unread() -> bool:
    """Whether standard output has lost its reader."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)  # errors are always told
    return bool(poll.poll(0))
