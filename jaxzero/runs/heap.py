"""The C library's heap."""

import ctypes


def trim() -> None:
    """Gives the system back what is free there: compiling a program leaves a gigabyte and more.

    Does something with the GNU C library only, which otherwise keeps it for later.
    """
    try:
        give_back = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library; Windows
        return
    give_back(0)
