"""Draws `loss_finding.svg` from the first table of `losses.md`; takes no arguments."""

import re
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
LOSSES = {
    "l_v": r"$l_v$ value",
    "l_+": r"$l_+$ sum",
    "l_x": r"$l_\times$ product",
    "l_p": r"$l_p$ policy",
}
PANELS = ("full search, m = 100", "hardly any search, m = 5")
KINDS = {"as published, defects included": ("o", "#8a9099"), "corrected": ("D", "#0b5a93")}


def read() -> dict[str, list[tuple[float, float]]]:
    """Mean and standard error by loss: corrected and published with m = 100, then with m = 5."""
    text = (HERE / "losses.md").read_text().split("| claim")[0]  # the first table
    rows = re.findall(r"^\| (l_[v+xp]) \|((?: -?\d+ \+- \d+ \|){4})", text, re.MULTILINE)
    return {
        name: [(float(a), float(b)) for a, b in re.findall(r"(-?\d+) \+- (\d+)", cells)]
        for name, cells in rows
    }


def draw() -> None:
    """Writes the figure."""
    found = read()
    assert list(found) == list(LOSSES), found
    plt.rcParams.update({"font.size": 10, "svg.hashsalt": "loss_finding"})
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.1), sharey=True, layout="constrained")
    for panel, axis in enumerate(axes):
        for kind, (label, (marker, colour)) in enumerate(reversed(KINDS.items())):
            means, errors = zip(*(found[name][2 * panel + kind] for name in LOSSES), strict=True)
            places = [n + (0.12 if kind == 0 else -0.12) for n in range(len(LOSSES))]
            intervals = [2.36 * error for error in errors]  # Student's t, 7 degrees of freedom
            axis.errorbar(
                places, means, intervals, fmt=marker, color=colour, capsize=3, label=label
            )
        axis.axhline(0, color="#d9dcdf", zorder=0)
        axis.set(title=PANELS[panel], xticks=range(len(LOSSES)), xticklabels=LOSSES.values())
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("Elo above untrained networks")
    figure.legend(
        *axes[0].get_legend_handles_labels(), frameon=False, ncols=2, loc="outside lower center"
    )
    figure.savefig(HERE / "loss_finding.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw()
