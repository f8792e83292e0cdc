"""What do the extensions of Clausen 2021's section 4 save on Connect Four?

    python -m experiments.connect_four_extensions \\
        --config=experiments/configs/connect_four_extensions.py:quick --workdir=runs/extensions

Trains the paper's extended baseline and what its section 4 adds to it, an arm each; measures every
kept network with its search on solved positions, and counts what it had cost. Writes
`results.json` and `report.html`.

`results.json` has under `arms` a list of

    {"arm": NAME, "changes": {KEY: VALUE, ...}, "runs": [RUN, ...],
     "seconds_per_search": {CHANNELS: SECONDS, ...}, "seconds_per_move": that of the last width}

and each RUN (a seed) its `name`, `seed`, `ended` and `points`, one for each kept network:

    iteration    n, the index of the network: 0 is untrained, n was trained in iteration n
    asked        searches asked for until then (moves played)
    searches     searches made until then: Clausen 2021's cost, times the time of one
    hours        that product, on this machine, alone on it
    evaluations  of networks in self-play until then
    flop         floating-point operations of these: narrower networks take fewer
    seconds      wall time of the arm's training until then, all its seeds together
    channels     width of network n
    positions    moves played in iteration n; null for n = 0
    new_share    of these, the share that the window did not hold: diversity; null for n = 0
    league/...   ratings and numbers of the players after iteration n, where they evolve
    search       share of solved test positions in which search with the network plays a best move
    weak         in which that keeps the result
    network      in which the network alone plays a best move
    result       whose result the network knows

The runs of the arms `population` and `population_alone` are members of one population, with
constants of their own; these arms also have `generations`, a list of

    iteration    after which the runs were compared; 0 is the beginning
    fitness      of each run: share of other solved positions in which search with its network plays
                 a best move; null at the beginning
    donor        whose state each run went on with
    constants    that it went on with: {NAME: [NUMBER, ...], ...}

`channels`, `positions` and `new_share` are of iteration n, all other costs of 1 to n: what it took
to get network n, not what it played afterwards (the paper's figures place it one later).
"""

from pathlib import Path

from ml_collections import ConfigDict

from experiments.configs.connect_four_extensions import KEYS, POPULATIONS, TEACHER, get_config
from experiments.connect_four import arms, claims, extension_arms, populations
from experiments.shell import cli
from experiments.shell import study as shell
from jaxzero.runs import generations

STUDY = "connect_four_extensions"


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    shell.check(config, KEYS, "arms", "extended", "evolves")
    extension_arms.check(config)
    arms.check(config, KEYS, extension_arms.changes, get_config(config.preset), TEACHER)
    populations.check(config)


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """The whole study, or the rest of it: (config, workdir) -> results.json, report.html."""
    # A teacher's newest network, and the room for positions seen, go by the number of iterations.
    bound = {TEACHER, "novelty", "novel_wins"} & {*config.study.arms}
    fixed = (*arms.FIXED, *(["train.iterations"] if bound else []))
    study = shell.begin(STUDY, config, directory, command, validate=validate, fixed=fixed)
    results = arms.measure(study, extension_arms.changes(config), populations.group_of)
    for arm in results["arms"]:
        arm["changes"] = extension_arms.added(config)[arm["arm"]]
        if arm["arm"] in POPULATIONS:
            arm["generations"] = generations.read(directory / arms.ARMS / arm["arm"])
    results = study.header() | results
    study.conclude(results | {"claims": claims.rows(results)})


if __name__ == "__main__":
    cli.run(run, STUDY)
