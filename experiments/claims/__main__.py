"""Do the papers' claims hold? About the four losses, or about supervised networks.

`python -m experiments.claims`: see `experiments.claims.command`.
"""

from experiments.claims.command import main
from jaxzero import arguments

if __name__ == "__main__":
    arguments.run(main)
