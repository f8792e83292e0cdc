"""A paper, whole: its studies on its boards, one after another, and one page of what came out.

    python -m experiments.reproduce 001 --scale=quick

Prints the plan, runs its parts, writes SCALE/NAME.html in the work directory and an index of all
papers there. The same command resumes; parts that are finished, for whichever paper, are not run
again. See docs/reproduce.md.
"""

import math
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import jax

from experiments.hyperparameters.groups import parse_shard
from experiments.reproduce import forecast, launch, pages, parts, plan
from experiments.reproduce.launch import LAUNCHERS, Share
from experiments.reproduce.papers import PAPERS, SCALES, Paper, find
from experiments.shell.next_command import suggest
from jaxzero.arguments import Parser, words
from jaxzero.runs.processes import say
from jaxzero.settings.config import ConfigError


def parser() -> Parser:
    made = Parser(prog="python -m experiments.reproduce", description=__doc__)
    named = "; ".join(f"{paper.number} or {paper.name}" for paper in PAPERS)
    made.add_argument("paper", metavar="PAPER", help=named)
    made.add_argument("--scale", choices=SCALES, default=SCALES[0], help="presets (default quick)")
    made.add_argument(
        "--only", type=words, default=(), metavar="NAMES", help="parts, boards, studies, semantics"
    )
    made.add_argument("--shard", default="1/1", metavar="I/K", help="the I-th of K shares of parts")
    made.add_argument(
        "--max-minutes", type=float, default=0.0, metavar="N", help="save and stop after N minutes"
    )
    made.add_argument(
        "--launcher", choices=LAUNCHERS, default="", help="parts as jobs, side by side"
    )
    made.add_argument(
        "--workers",
        type=int,
        default=0,
        metavar="K",
        help="jobs (default one for each part, local ones one for each GPU)",
    )
    made.add_argument(
        "--slurm",
        default="",
        metavar="OPTIONS",
        help="of its jobs: partition=gpu,gpus_per_node=1,time=600 (minutes)",
    )
    made.add_argument(
        "--workdir", type=Path, default=Path("runs/reproduce"), metavar="DIR",
        help="of all papers and scales (default runs/reproduce)",
    )  # fmt: skip
    made.add_argument("--plan", action="store_true", help="print the plan, run nothing")
    made.add_argument("--page", action="store_true", help="write the page of what is there")
    return made


def main(given_words: Sequence[str] | None = None) -> None:
    """The command; exits with 1 if a part failed, 130 and 143 after Ctrl-C and SIGTERM."""
    given = parser().parse(given_words)
    if not 0 <= given.max_minutes < math.inf:  # nan is neither
        raise ConfigError(
            f"--max-minutes={given.max_minutes:g}: a number of minutes is needed, 0 for no limit"
        )
    if given.page:
        _refuse_beside_page(given)
    paper = find(given.paper)
    plan.chosen(paper, given.only)  # before anything that takes time
    parse_shard(given.shard)
    slurm = launch.options(given.slurm)
    launch.check(given.launcher, given.workers, slurm)
    if given.launcher and given.shard != "1/1":
        raise ConfigError(f"--shard={given.shard}: --launcher shares the parts out itself")
    jax.config.update("jax_platforms", "cpu")  # the devices are the parts'
    folder, status = given.workdir / given.scale, 0
    if not given.page:
        machine = forecast.look()
        at_once = launch.at_once(given.launcher, given.workers, machine)
        say(f"planning {paper.name} for {machine.described}")
        own = launch.of_a_job(given.launcher, machine)
        planned = plan.make(paper, given.scale, given.only, given.shard, folder, own)
        shown = plan.shown(planned, given.max_minutes)
        print(f"{shown.text()}\n{shown.note}", flush=True)
        if given.plan:
            return
        mine = [one.part for one in planned]
        if given.launcher:
            todo = [part for part in mine if parts.state_of(part, folder).state != parts.FINISHED]
            dealt = plan.deal(todo, given.scale, at_once or len(todo))
            shares = [Share(own, given.scale, folder, given.max_minutes) for own in dealt]
            status = launch.run(shares, given.launcher, slurm, machine)
        else:
            status = parts.run(mine, given.scale, folder, given.max_minutes)
    if status < 128:  # else whoever stopped it waits
        say(f"page: {pages.write(paper, given.scale, given.workdir)}")
        say(f"index: {pages.write_index(given.workdir)}")
        _suggest(paper, given.scale, given.workdir)
    if status:
        sys.exit(status)


def _refuse_beside_page(given: Namespace) -> None:
    """ConfigError: flags of what is run or planned, where nothing is."""
    usual = parser().parse([given.paper])
    for name in ("only", "shard", "max_minutes", "launcher", "workers", "slurm", "plan"):
        if (value := getattr(given, name)) != getattr(usual, name):
            said = ",".join(value) if isinstance(value, tuple) else value
            flag = f"--{name.replace('_', '-')}" + ("" if value is True else f"={said}")
            raise ConfigError(f"{flag}: --page runs and plans nothing, leave one of the two out")


def _suggest(paper: Paper, scale: str, root: Path) -> None:
    """What to run next: the rest, or what the next larger scale would take."""
    states = [parts.state_of(part, root / scale).state for part in paper.parts]
    larger = SCALES[SCALES.index(scale) + 1 :]
    words, where = (paper.number, f"--scale={scale}"), f"--workdir={root}"
    if set(states) != {parts.FINISHED}:
        suggest("the parts that are missing", "experiments.reproduce", *words, where)
    elif larger:
        words = (paper.number, f"--scale={larger[0]}")
        suggest("what more would take", "experiments.reproduce", *words, where, "--plan")
