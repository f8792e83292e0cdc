"""Memory that is free goes back to the system."""

import ctypes
import platform

import psutil
import pytest

from jaxzero.runs import memory

BLOCK, MANY = 4096, 50_000  # 195 MiB, in pieces that the C library keeps


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="is for the GNU C library")
def test_what_is_free_is_given_back() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [libc.malloc(BLOCK) for _ in range(MANY)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK)
    for block in blocks[:-1]:  # the last one, on top of them, stays
        libc.free(ctypes.c_void_p(block))
    held = psutil.Process().memory_info().rss
    memory.trim()
    assert psutil.Process().memory_info().rss < held - MANY * BLOCK / 2
    libc.free(ctypes.c_void_p(blocks[-1]))


def test_nothing_happens_with_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    memory.trim()
