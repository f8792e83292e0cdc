"""Makes the figures and the report of a study again, from what lies in its run directory.

    python -m experiments.report runs/quick

Takes a finished run of any study, or of the loss ablation one that is still going on. Nothing is
trained or played.
"""

from collections.abc import Sequence
from pathlib import Path

from experiments.pages import reports
from experiments.shell.next_command import play_it, suggest
from jaxzero import arguments, workdir
from jaxzero.runs.processes import say


def main(words: Sequence[str] | None = None) -> None:
    parser = arguments.Parser(prog="python -m experiments.report", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory of a study")
    run: Path = parser.parse(words).run
    print(reports.write(run))
    if reports.study_of(run) == reports.FIRST and (run / workdir.RESULTS).is_file():
        suggest("which claims hold", "experiments.claims", run)
    elif (run / workdir.CONFIG).is_file():
        say(play_it(run, workdir.read_config(run)["game"]))


if __name__ == "__main__":
    arguments.run(main)
