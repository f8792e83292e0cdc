"""Drawings without data: boards as the papers show them, and the schema of the algorithm."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

from experiments.pages import style
from experiments.pages.wording import game_title, joined
from jaxzero import files
from jaxzero.games import Game, RacingKings
from jaxzero.games.racing_kings import glyph
from jaxzero.play.display import boards, drawing, session

_STAGE: Final = ("#E8F1F8", "#FBEFE6", "#E9F5EF")  # fills of the three stages


def example_end(game: Game, recorded: Path) -> np.ndarray | None:
    """int8[H, W]: the end of the last shortest game in `games/final.npz`; None without it."""
    if not recorded.is_file():
        return None
    remedy = "delete it, and play the tournament again"
    actions = files.read_arrays(recorded, ("actions",), remedy)["actions"]
    games = actions.reshape(len(actions), -1)
    lengths: np.ndarray = (games >= 0).sum(axis=0)
    if not len(games) or not lengths.any():
        return None
    last = np.flatnonzero(lengths == lengths[lengths > 0].min())[-1]
    moves: np.ndarray = games[:, last]
    end = session.replay(game, moves[moves >= 0].tolist())
    return boards.stones(game, end.now.state)


@style.styled
def positions(games: Mapping[str, tuple[Game, np.ndarray | None]]) -> Figure | None:
    """Start positions, and the end of a game beside them (000, 001, 003 and 004, Fig. 1).

    `games`: by board's name the game and the stones of an example, int8[H, W], or None.
    """
    shown: list[tuple[str, Any, drawing.Look]] = []
    for name, (game, example) in games.items():
        state, look = jax.device_get(game.init()), drawing.look_of(game)
        chess = game.letters(state) if isinstance(game, RacingKings) else None
        start = boards.stones(game, state) if chess is None else chess
        if start is not None:
            shown.append((game_title(name), start, look))
            if example is not None:
                shown.append(("end of a game", example, look))
    if not shown:
        return None
    figure, panels = style.new_figure(len(shown), panel=(2.3, 2.4))
    for axes, (title, content, look) in zip(panels, shown, strict=True):
        _board(axes, content, look)
        axes.set_title(title, fontsize=8.5)
    return figure


def _board(axes: Axes, content: np.ndarray | Sequence[str], look: drawing.Look) -> None:
    """Stones int[H, W], or H rows of letters for chess pieces."""
    rows, columns = len(content), len(content[0])
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(-0.55, columns - 0.45)
    axes.set_ylim(rows - 0.45, -0.55)
    axes.add_patch(Rectangle((-0.5, -0.5), columns, rows, facecolor=look.board, linewidth=0))
    if not isinstance(content, np.ndarray):
        for row, column in np.ndindex(rows, columns):
            if (row + column) % 2:
                corner = (column - 0.5, row - 0.5)
                axes.add_patch(Rectangle(corner, 1, 1, facecolor=look.line, linewidth=0))
            if (letter := content[row][column]) != ".":
                axes.text(column, row, glyph(letter), ha="center", va="center", fontsize=15)
        return
    lines: dict[str, Any] = {"color": look.line, "linewidth": 1.0}
    if look.kind == "points":
        for row in range(rows):
            axes.plot([0, columns - 1], [row, row], **lines)
        for column in range(columns):
            axes.plot([column, column], [0, rows - 1], **lines)
    elif look.kind == "squares":
        for row in range(1, rows):
            axes.plot([-0.5, columns - 0.5], [row - 0.5] * 2, **lines)
        for column in range(1, columns):
            axes.plot([column - 0.5] * 2, [-0.5, rows - 0.5], **lines)
    for row, column in np.ndindex(rows, columns):
        player = int(content[row, column])
        if player or look.kind in ("holes", "hexagons"):
            face = look.discs[player - 1] if player else look.line
            edge = "#333333" if player else face
            axes.add_patch(
                Circle((column, row), 0.41, facecolor=face, edgecolor=edge, lw=0.7, zorder=3)
            )


@style.styled
def schema(values: Mapping[str, str]) -> Figure:
    """The three stages of an iteration and their settings (003, Fig. 2).

    `values`: of the settings by the papers' letters, in words; none for letters alone.
    """

    def told(*letters: str) -> str:
        return ", ".join(f"{x} = {values[x]}" if x in values else x for x in letters)

    plies = told("T'")
    losses = joined([style.SYMBOLS[name] for name in ("policy", "value", "sum", "product")])
    figure = style.canvas(Figure(figsize=(8.6, 3.0), layout="constrained"))
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 37)
    stages = (
        (2, "1  Self-play", f"games of the best network\nagainst itself\n{told('E')}\n"
         f"search: {told('m', 'c')}\nmoves by chance: {plies}"),
        (37, "2  Training", f"the candidate learns\nfrom minibatches of D\n{told('ep', 'bs')}\n"
         f"{told('lr', 'd')}\nminimise {losses}"),
        (72, "3  Arena", f"the candidate against\nthe best network\n{told('n')}\n"
         f"accepted at a share\nof at least {told('u')}"),
    )  # fmt: skip
    for fill, (x, title, words) in zip(_STAGE, stages, strict=True):
        box = FancyBboxPatch(
            (x, 12),
            26,
            23,
            boxstyle="round,pad=0.3,rounding_size=1.5",
            facecolor=fill,
            edgecolor="#555555",
            linewidth=1.0,
        )
        axes.add_patch(box)
        axes.text(x + 13, 32.6, title, ha="center", fontsize=10.5, fontweight="bold")
        axes.text(x + 13, 20.8, words, ha="center", va="center", fontsize=8.8, linespacing=1.5)
    arrows = (
        ((28.4, 23.5), (36.4, 23.5), f"D\n{told('rs')}", (32.4, 26.2)),
        ((63.4, 23.5), (71.4, 23.5), "candidate", (67.4, 25.0)),
    )
    for start, end, words, where in arrows:
        _arrow(axes, start, end)
        axes.text(*where, words, ha="center", fontsize=8.6)
    for start, end in (((85, 11.6), (85, 5)), ((15, 5), (15, 11.6))):
        _arrow(axes, start, end, head=end[1] > start[1])
    axes.plot([15, 85], [5, 5], color="#444444", linewidth=1.3, solid_capstyle="round")
    text = f"next iteration with the better network; {told('I')} iterations"
    axes.text(50, 1.6, text, ha="center", fontsize=8.8)
    return figure


def _arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], *, head: bool = True
) -> None:
    arrow = FancyArrowPatch(
        start,
        end,
        arrowstyle="-|>" if head else "-",
        mutation_scale=12,
        color="#444444",
        linewidth=1.3,
        shrinkA=0,
        shrinkB=0,
    )
    axes.add_patch(arrow)
