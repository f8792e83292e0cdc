"""How much is examined: positions and iterations within what training took."""

from jaxzero.runs import learning

KEPT = [0, 10, 20, 30, 40]


def planned(budget: float, *, asked: int = 200, labelling: int = 0) -> tuple[int, list[int]]:
    return learning.plan(asked, KEPT, fewest=50, each=100, labelling=labelling, budget=budget)


def test_everything_is_examined_where_there_is_room() -> None:
    assert planned(200 * 5 * 100) == (200, KEPT)
    assert planned(1e9) == (200, KEPT)
    assert planned(200 * (5 * 100 + 300), labelling=300) == (200, KEPT)


def test_positions_go_before_iterations_and_iterations_before_everything() -> None:
    assert planned(80 * 5 * 100) == (80, KEPT)
    assert planned(50 * 3 * 100) == (50, [0, 20, 40])
    assert planned(50 * 2 * 100) == (50, [0, 40])
    assert planned(50 * 1 * 100) == (50, [40])
    assert planned(50 * 1 * 100 - 1) == (50, [])
    assert planned(50 * 100, labelling=1) == (50, [])


def test_what_is_planned_takes_no_more_than_the_budget() -> None:
    for budget in range(0, 150_000, 7_001):
        for labelling in (0, 512):
            count, chosen = planned(budget, labelling=labelling)
            assert not chosen or count * (len(chosen) * 100 + labelling) <= budget


def test_gradient_steps_count_as_the_evaluations_that_they_are_worth() -> None:
    rows = [
        {"run": "a", "iteration": 0},
        {"run": "a", "iteration": 1, "count/evaluations": 100.0, "count/gradient_steps": 4.0},
    ]
    assert learning.work(rows, batch_size=8) == 100 + 3 * 4 * 8
