"""The page of several loss studies: verdicts over boards and semantics, and figures of all."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments import published
from experiments.claims import section as claims_section
from experiments.claims.losses import decide
from experiments.claims.measured import BoardStudies
from experiments.losses import joint_figures
from experiments.pages import drawings
from experiments.pages.page import Page, Section, plate, section
from experiments.pages.wording import ABSENT, NO_DATA, PICTURE, game_title, joined, plural
from jaxzero.games import Game, make_game
from jaxzero.settings.config import ConfigError

TITLE = "Which loss to minimise, over boards"


def build(groups: Sequence[BoardStudies], command: str = ABSENT) -> Page:
    """The page of all groups, figures drawn, nothing written yet; `command`: that made it."""
    order = {board: place for place, board in enumerate(published.boards())}
    groups = sorted(groups, key=lambda group: order.get(group.board, len(order)))
    findings = decide(groups)
    boards = list(dict.fromkeys(group.board for group in groups))
    semantics = list(dict.fromkeys(group.semantics for group in groups))
    studies = [study for group in groups for study in group.studies]
    sections = [
        claims_section.section(findings),
        _losses(groups),
        _elo(groups),
        _tournaments(groups),
        games({g.board: g.directories[0] for g in groups}, {}),
        section("Runs", joint_figures.runs(groups)),
    ]
    nothing = ["The papers claim nothing about the losses on these boards."]
    return Page(
        title=TITLE,
        subtitle=joined([game_title(board) for board in boards]),
        verdicts=claims_section.summary(findings) or nothing,
        missing=[f"{study.name}: {text}" for study in studies for text in study.missing],
        facts=[
            ("Runs", plural(sum(len(study.runs) for study in studies), "run")),
            ("Studies", plural(len(studies), "directory", "directories")),
            ("Semantics", joined(semantics)),
            ("Command", command),
        ],
        sections=sections,
    )


def _losses(groups: Sequence[BoardStudies]) -> Section:
    caption = (
        "Wang 2020, Figs. 7 to 9; Wang 2019, Figs. 2 to 4; Wang 2023, Fig. 8. A row for each "
        "board, a column for each minimised loss (drawn thicker): mean over seeds of the last "
        "epoch of each iteration, band ± 1 standard deviation, thin lines single seeds of the "
        "minimised loss. Of many iterations every second, third, ... is drawn; a study's own "
        "report has all. Dotted: published mean of 8 runs, whose settings may differ; diamonds: "
        f"the first and last values of a text; where there is neither, {PICTURE} or {NO_DATA}."
    )
    drawn = joint_figures.losses(groups)
    return section("Losses", plate("losses", drawn, "Training losses", caption))


def _elo(groups: Sequence[BoardStudies]) -> Section:
    caption = (
        "Wang 2020, Fig. 10; Wang 2019, Fig. 5; Wang 2023, Fig. 9. Left: a run's networks rated "
        "from its own arena games as the authors did it (32.8 Elo for the newer network), the mean "
        "of each run 0, so that levels of runs cannot be compared. Middle: as published. Right: "
        "Elo above the random player from games against opponents that do not learn, one scale for "
        f"all runs of a study ({NO_DATA}). Mean over seeds, band ± 1 standard deviation."
    )
    title, drawn = "Training Elo against anchored Elo", joint_figures.training_elo(groups)
    return section("Training Elo", plate("training_elo", drawn, title, caption))


def _tournaments(groups: Sequence[BoardStudies]) -> Section:
    sizes = joint_figures.sizes(groups)
    return section(
        "Tournaments",
        plate(
            "tournaments",
            joint_figures.tournaments(groups),
            "The papers' tournament by board",
            "Wang 2020, Fig. 11; Wang 2019, Fig. 6; Wang 2023, Fig. 10. Final networks and a "
            "random player, full search, rated without a study's other entrants. Diamonds: the "
            "published ratings, mean ± standard deviation of eight entries of one model; in "
            "published semantics ours are one model too.",
        ),
        plate(
            "othello_sizes",
            sizes,
            "Elo over Othello's board size",
            "Wang 2023, Fig. 11. Mean tournament Elo (mean of the pool 0) of the networks of each "
            "loss, ± standard error over seeds (in published semantics too), over the size of the "
            "board; dotted: published means.",
        ),
        "Elo over the size of Othello's board (Wang 2023, Fig. 11) needs finished runs on two "
        "sizes or more."
        if sizes is None
        else None,
        joint_figures.ratings(groups),
    )


def games(directories: Mapping[str, Path | None], values: Mapping[str, str]) -> Section:
    """What was played and how it is learned, in pictures.

    `directories`: by board a run directory whose recorded games may serve as examples; `values`: of
    the settings by the papers' letters, none where studies differ.
    """
    shown = {name: found for name, path in directories.items() if (found := _game(name, path))}
    return section(
        "Games and algorithm",
        plate(
            "boards",
            drawings.positions(shown),
            "Boards",
            "Wang 2019, 2020 and 2023, Fig. 1. The position in which a game starts, and the end of "
            "a short recorded one where there is one.",
        ),
        plate(
            "schema",
            drawings.schema(values),
            "The algorithm",
            "Wang 2023, Fig. 2. One iteration: self-play fills the window D with positions, a "
            "candidate learns from it, the arena decides whether it becomes the best network.",
        ),
    )


def _game(name: str, directory: Path | None) -> tuple[Game, np.ndarray | None] | None:
    """A game with an example; None for a name that is no game's."""
    try:
        game = make_game(name)
    except (ConfigError, ValueError):
        return None
    recorded = None if directory is None else directory / "games" / "final.npz"
    return game, None if recorded is None else drawings.example_end(game, recorded)
