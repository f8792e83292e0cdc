"""How much of the papers' computing a run spent, counted, not timed."""

import itertools
import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments import published
from experiments.pages.study import Study

CHANNELS, HIDDEN = 256, (1024, 512)  # of the authors' network
PASSES: Final = 3  # an example is learned from in a forward and about two backward passes
FORMULA: Final = (
    "Computing: F (evaluations + 3 x gradient steps x batch) of a run over the same of the papers, "
    "I (E + n) L m evaluations and ep E L S (sum over i = 1..I of min(i, rs)) examples, with F the "
    "multiplications of one evaluation of the network (theirs: 256 channels), L the plies of a "
    "random game and S the symmetries."
)


@dataclass(frozen=True)
class Effort:
    """Work of one run: network evaluations, examples learned from (repeats counted), and F."""

    evaluations: float
    examples: float
    multiplications: float

    @property
    def total(self) -> float:
        """Multiplications in all."""
        return self.multiplications * (self.evaluations + PASSES * self.examples)


def multiplications(board: str, channels: int, hidden: tuple[int, ...]) -> float | None:
    """F: of one evaluation of the papers' network; None for a name without a size."""
    size = re.search(r"(\d+)x(\d+)", board)
    if size is None:
        return None
    height, width = int(size[1]), int(size[2])
    actions = width if board.startswith("connect_four") else height * width + 1
    convolutions = sum(
        9 * (height - cut) * (width - cut) * inputs * channels
        for cut, inputs in ((0, 1), (0, channels), (2, channels), (4, channels))
    )
    widths = ((height - 4) * (width - 4) * channels, *hidden, actions + 1)
    return float(convolutions + sum(a * b for a, b in itertools.pairwise(widths)))


def of_papers(board: str) -> Effort | None:
    """One run at the papers' default settings; None for a board that they did not use."""
    plies, cost = published.random_plies(board), multiplications(board, CHANNELS, HIDDEN)
    if plies is None or cost is None:
        return None
    s = published.default_settings(board)
    iterations, episodes = s["train.iterations"], s["selfplay.episodes"]
    symmetries = 2 if board.startswith("connect_four") else 8
    windows = np.minimum(np.arange(1, iterations + 1), s["replay.window"]).sum()
    return Effort(
        evaluations=iterations
        * (episodes + s["arena.games"])
        * plies
        * s["search.num_simulations"],
        examples=float(s["train.epochs"] * episodes * plies * symmetries * windows),
        multiplications=cost,
    )


def of_study(study: Study) -> Effort | None:
    """Mean over a study's runs that did not fail.

    None where it was not recorded, or the network is another kind.
    """
    recorded = (study.results.get("cost") or {}).get("runs") or {}
    counts = [done for name, done in recorded.items() if name not in study.failed]
    channels, hidden = study.setting("network.channels"), study.setting("network.hidden")
    batch = study.setting("train.batch_size")
    known = study.setting("network.name") == "convnet" and channels and hidden and batch
    cost = multiplications(study.game, int(channels), tuple(hidden)) if known else None
    if cost is None or not counts:
        return None
    done = [run.get("useful_evaluations", run.get("evaluations")) for run in counts]
    steps = [run.get("gradient_steps") for run in counts]
    if None in done or None in steps:
        return None
    return Effort(float(np.mean(done)), float(np.mean(steps)) * batch, cost)


def fraction(study: Study) -> float | None:
    """Of the papers' computing for one run on this board, spent on one of the study's runs."""
    ours, theirs = of_study(study), of_papers(study.game)
    return None if ours is None or theirs is None else ours.total / theirs.total
