"""Does learning the end of games first make AlphaZero learn faster? West 2020.

`python -m experiments.curriculum`: see `experiments.curriculum.study`.
"""

from experiments.curriculum.study import STUDY, run
from experiments.shell import cli

if __name__ == "__main__":
    cli.run(run, STUDY)
