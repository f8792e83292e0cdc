"""One report of several finished loss ablations: boards and semantics side by side.

    python -m experiments.loss_report runs/othello_6x6 runs/connect_four_5x5 --out=runs/losses

Writes report.html with the joint verdicts on the papers' claims (corrected for all boards and
contrasts of a claim, each semantics apart), the figures that need several boards, figures/ and
claims.json. Further seeds of the same settings, in directories of their own, are counted together.
Nothing is trained or played. See docs/studies.md.
"""

from collections.abc import Sequence
from pathlib import Path

from experiments.claims import command as claims
from experiments.claims import measured
from experiments.claims.losses import decide
from experiments.losses import joint_report
from experiments.pages import page
from experiments.shell.next_command import suggest
from experiments.strength import contestants
from jaxzero import arguments, files
from jaxzero.runs.processes import say
from jaxzero.settings.config import ConfigError


def write(directories: Sequence[Path], out: Path, command: str) -> Path:
    """Writes the joint report that a command asked for; returns the path of `report.html`.

    ConfigError: a directory that is no finished loss ablation, two that cannot be counted together,
    or an `out` that is a run's own directory or can't be written.
    """
    if out.resolve() in [directory.resolve() for directory in directories]:
        raise ConfigError(f"--out={out} is one of the runs: choose another directory")
    contestants.refuse_run(out)
    groups = measured.load(directories)
    with files.writing(out):
        out.mkdir(parents=True, exist_ok=True)
        files.write_json(out / claims.FILE, claims.as_json(decide(groups)))
        return page.write(joint_report.build(groups, command), out)


def main(words: Sequence[str] | None = None) -> None:
    parser = arguments.Parser(prog="python -m experiments.loss_report", description=__doc__)
    parser.add_runs("runs", "directory of a finished loss ablation")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="directory for the report"
    )
    given = parser.parse(words)
    say(f"report: {write(given.runs, given.out, parser.command)}")
    suggest("what strength costs", "experiments.cost", given.runs[0])


if __name__ == "__main__":
    arguments.run(main)
