"""Is one run directory stronger than another? Its networks of all seeds together, in a tournament.

Ratings of single networks can't say: seeds differ by more than a rating's own error.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from experiments.claims import decision
from experiments.claims.decision import METHOD, Tested, coverage
from experiments.claims.papers import Contrast
from experiments.claims.ranking import Rated, difference, ranking
from experiments.pages.tables import Table, table
from experiments.pages.wording import NONE, interval, plus_minus

_WORDS = {decision.REPRODUCED: "stronger", decision.CONTRADICTED: "weaker"}


class Mean(NamedTuple):
    """Networks of a run that differ in the seed alone, after its last iteration that played."""

    rated: Rated
    baseline: Rated | None  # the same of the first run; None for the first run itself
    tested: Tested | None  # this less the baseline


def means(played: Mapping[str, Any]) -> list[Mean]:
    """Of every run, in their order; empty where no difference has two seeds.

    `played`: an entry of results.json, its players in the order in which they were named. The
    baseline is what the first run calls alike (its loss), or all that the first run has.
    """
    groups = _groups(played["players"])
    players = [
        {**player, "target": group, "kind": "trained" if group else "other"}
        for player, group in zip(played["players"], groups, strict=True)
    ]
    rated = {one.target: one for one in ranking({**played, "players": players})}
    order = dict.fromkeys(group for group in groups if group)
    runs = {group: group.rpartition("/")[0] for group in order}
    first = [group for group in order if runs[group] == next(iter(runs.values()))]
    compared = {}
    for group in order:
        alike = [base for base in first if base.rpartition("/")[2] == group.rpartition("/")[2]]
        if group not in first and (found := alike or (first if len(first) == 1 else [])):
            compared[group] = rated[found[0]]
    estimates = [difference(rated[group], base) for group, base in compared.items()]
    if all(estimate.seeds < 2 for estimate in estimates):
        return []
    tests = decision.decide([Contrast()] * len(estimates), estimates)
    verdicts = dict(zip(compared, tests, strict=True))
    return [Mean(rated[group], compared.get(group), verdicts.get(group)) for group in order]


def _groups(players: Sequence[Mapping[str, Any]]) -> list[str]:
    """`run/sum` of a trained network of a run's last iteration; of all others empty."""
    last: dict[Any, int] = {}
    for player in players:
        if player["kind"] == "trained":
            last[player["run"]] = max(player["iteration"], last.get(player["run"], 0))
    return [
        player["name"].rpartition("@")[0].removesuffix(f"_seed{player['seed']}")
        if player["kind"] == "trained" and player["iteration"] == last[player["run"]]
        else ""
        for player in players
    ]


def means_table(played: Mapping[str, Any]) -> Table | None:
    """Mean ratings over seeds, and each run less the first one; None where nothing is compared."""
    found = means(played)
    if not found:
        return None
    return table(
        "Runs, over their seeds",
        found,
        {
            "networks": lambda mean: mean.rated.target,
            "less": lambda mean: mean.baseline and mean.baseline.target,
            "verdict": lambda mean: mean.tested and _WORDS.get(mean.tested.verdict, "undecided"),
            "seeds": lambda mean: str(mean.rated.seeds),
            "mean Elo": lambda mean: plus_minus(mean.rated.mean, mean.rated.stderr),
            "difference": lambda mean: (
                mean.tested and plus_minus(mean.tested.estimate.effect, mean.tested.estimate.stderr)
            ),
            "interval": lambda mean: mean.tested and interval(mean.tested.interval),
            "of": lambda mean: (
                coverage(mean.tested.level) if mean.tested and mean.tested.estimate.tested else NONE
            ),
        },
        "Networks after the last iteration that played, those that differ in the seed alone taken "
        "together; the runs named later are compared with the first. ±: standard error over "
        f"seeds, no smaller than the ratings' own. {METHOD} The rows are read together.",
        text_columns=3,
    )
