"""Runs compared over their seeds in a tournament."""

from typing import Any

import pytest

from experiments import tournament
from experiments.pages.wording import NONE
from experiments.strength.run_means import means_table

SPREAD = (-40.0, 10.0, 30.0, -20.0, 20.0)  # of seeds, mean 0


def made_up(levels: dict[str, tuple[float, ...]], iterations: tuple[int, ...] = (3, 9)) -> Any:
    """A tournament: Elo of each network after the last iteration, by run and loss; earlier 0."""
    players, elo = [{"name": "random", "kind": "random"}], [-300.0]
    for group, ratings in levels.items():
        run, target = group.split("/")
        for seed, rating in enumerate(ratings):
            for at in iterations:
                name = f"{run}/{target}_seed{seed}@{at}"
                own = {"name": name, "kind": "trained", "target": target, "seed": seed}
                players.append(own | {"run": run, "iteration": at})
                elo.append(rating if at == iterations[-1] else 0.0)
    return {"players": players, "elo": elo, "stderr": [8.0] * len(elo)}


def test_each_run_is_compared_with_the_first_one_seed_by_seed() -> None:
    raised = tuple(100 + elo + own for elo, own in zip(SPREAD, (9, -9, 0, 6, -6), strict=True))
    shuffled = tuple(10 + elo for elo in reversed(SPREAD))
    table = means_table(
        made_up({"a/sum": SPREAD, "a/value": SPREAD, "b/sum": raised, "b/value": shuffled})
    )
    assert table is not None
    cells = {row[0]: dict(zip(table.headers[1:], row[1:], strict=True)) for row in table.rows}
    assert list(cells) == ["a/sum", "a/value", "b/sum", "b/value"]
    assert {name: own["less"] for name, own in cells.items()} == {
        "a/sum": NONE,
        "a/value": NONE,
        "b/sum": "a/sum",
        "b/value": "a/value",
    }
    assert cells["b/sum"]["verdict"] == "stronger"
    assert cells["b/value"]["verdict"] == "undecided"
    # Ten seeds share their errors of 8: sqrt(2 * 8 ** 2 / 5) bounds the difference's error.
    assert cells["b/sum"]["difference"].split() == ["100", "±", "5"]
    assert cells["b/sum"]["seeds"] == "5"


@pytest.mark.parametrize("seeds", [2, 4])
def test_few_seeds_decide_nothing(seeds: int) -> None:
    higher = tuple(500 + elo for elo in SPREAD[:seeds])
    table = means_table(made_up({"a/sum": SPREAD[:seeds], "b/value": higher}))
    assert table is not None
    *_, row = table.rows
    assert row[:4] == ("b/value", "a/sum", "undecided", str(seeds))  # of the only kind there is
    assert row[-2:] == (NONE, NONE)


def test_nothing_is_compared_within_a_run_or_with_one_seed() -> None:
    assert means_table(made_up({"a/sum": SPREAD, "a/value": SPREAD})) is None
    assert means_table(made_up({"a/sum": (0.0,), "b/sum": (50.0,)})) is None


def test_runs_may_be_called_as_seeds_are() -> None:
    table = means_table(made_up({"a_seed0/sum": SPREAD, "a_seed1/sum": SPREAD}))
    assert table is not None
    assert [row[0] for row in table.rows] == ["a_seed0/sum", "a_seed1/sum"]


def test_the_terminal_shows_it() -> None:
    played = made_up({"a/sum": SPREAD, "b/sum": SPREAD[::-1]}, iterations=(9,))
    nobody = [[0.5] * len(played["elo"])] * len(played["elo"])
    circles = {"of": 0, "count": 0, "triples": []}
    played |= {"results": [], "superiority": nobody, "intransitive": circles}
    [line] = [line for line in tournament.summary(played).splitlines() if line.startswith("b/sum ")]
    assert line.split()[:4] == ["b/sum", "a/sum", "undecided", "5"]
