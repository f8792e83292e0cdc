"""A paper, whole: its studies on its boards, one after another, and one page of what came out.

`python -m experiments.reproduce`: see `experiments.reproduce.command`.
"""

from experiments.reproduce.command import main
from jaxzero import arguments

if __name__ == "__main__":
    arguments.run(main)
