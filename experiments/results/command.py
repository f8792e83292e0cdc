"""Recorded runs: their data in docs/results/data, and the pages that are made of it.

    python -m experiments.results                                  # makes the pages again
    python -m experiments.results --check                          # would that change them?
    python -m experiments.results --add RUN RUN --group=laptop     # records finished runs
    python -m experiments.results --add RUN --group=laptop --networks=2    # and their networks

Runs of a group are read together: one folder of docs/results/data, a board and semantics once. Of
each are kept results.json, with its settings, environment and games won, what other commands wrote
beside it (absolute_strength.json, ladder.json, cost.json), and every metrics.jsonl, compressed.
With --networks=MIB also the final networks, as `experiments.export` packs them: a seed of each
loss, then the next one, as many as such an archive holds.
Every number of docs/results.md and, in docs/results, of verdicts.md, boards.md and recorded/
comes from these files, but for those of the players that ship, which come from their cards.
"""

import math
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.pages.study import load
from experiments.pages.wording import plural
from experiments.results import data, document, shown
from experiments.results.data import Recorded
from jaxzero import arguments, workdir
from jaxzero.runs.processes import say
from jaxzero.settings.config import ConfigError


def _check(runs: Sequence[Path], group: str) -> None:
    """Refuses runs that the pages could not be made of, alone or beside others (ConfigError)."""
    for run in runs:
        finished = (run / workdir.RESULTS).is_file()
        if finished and (study := workdir.read_results(run)["study"]) not in shown.KINDS:
            raise ConfigError(
                f"--add {run}: a run of {study}, but the pages show {', '.join(shown.KINDS)} only"
            )
    added = [Recorded(run.resolve().name, load(run)) for run in runs if run.is_dir()]
    names = {one.name for one in added}
    others = [one for one in data.read().get(group, []) if one.name not in names]
    shown.of_losses([*others, *added])


def main(words: Sequence[str] | None = None) -> None:
    """The command; with `--check` it exits with 1 where the page is not what the data says."""
    parser = arguments.Parser(prog="python -m experiments.results", description=__doc__)
    parser.add_argument("--add", nargs="+", type=Path, metavar="RUN", help="run directories")
    parser.add_argument("--group", metavar="NAME", help="of the runs that are added")
    parser.add_argument("--networks", type=float, metavar="MIB", help="of an added run's networks")
    parser.add_argument("--check", action="store_true", help="change nothing")
    given = parser.parse(words)
    if bool(given.add) != bool(given.group):
        raise ConfigError("--add and --group: give both, e.g. --add runs/first --group=laptop")
    if given.networks is not None and not (given.add and 0 < given.networks < math.inf):
        raise ConfigError(f"--networks={given.networks:g}: with --add, a size above 0 in MiB")
    if given.group == "index":
        raise ConfigError("--group=index: the page that lists all groups, choose another name")
    if given.check:
        groups = data.read()
        for path, content in document.pages(groups).items():
            if not path.is_file() or path.read_text(encoding="utf-8") != content:
                print(f"{path.name} differs from its data: run python -m experiments.results")
                sys.exit(1)
        print(f"the pages are those of {plural(sum(map(len, groups.values())), 'recorded run')}")
        return
    if given.add:
        _check(given.add, given.group)
        data.add(given.add, given.group, networks_mib=given.networks or 0.0)
    for path in document.write():
        print(f"written: {path}")
    say(f"next: git -C {data.ROOT.parents[1]} add docs/results")
