"""Recorded runs: their data in docs/results/data, and the pages that are made of it.

`python -m experiments.results`: see `experiments.results.command`.
"""

from experiments.results.command import main
from jaxzero import arguments

if __name__ == "__main__":
    arguments.run(main)
