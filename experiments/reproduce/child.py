"""Runs a study as a process that does not outlive the one that started it.

python -m experiments.reproduce.child PARENT experiments.loss_ablation --config=... --workdir=...
"""

import ctypes
import os
import runpy
import signal
import sys

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux' prctl

if __name__ == "__main__":
    if sys.platform == "linux":  # elsewhere a killed parent leaves the part to its own end
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != int(sys.argv[1]):  # it ended before that
            sys.exit(1)
    del sys.argv[:2]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
