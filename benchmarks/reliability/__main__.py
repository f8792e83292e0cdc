"""`python -m benchmarks.reliability`, see `command`."""

import sys

from benchmarks.reliability import command
from jaxzero import arguments

if __name__ == "__main__":
    arguments.run(lambda: sys.exit(command.main()))
