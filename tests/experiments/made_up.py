"""A made-up loss study: what its files would hold."""

import json
from pathlib import Path
from typing import Any

import numpy as np

TARGETS = ("policy", "value", "sum", "product")


def losses(rng: np.random.Generator) -> dict[str, float]:
    policy, value = rng.uniform(0.3, 1.6), rng.uniform(0.1, 0.9)
    return {"policy": policy, "value": value, "sum": policy + value, "product": policy * value}


def metrics(targets: tuple[str, ...], seeds: int, iterations: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(7)
    rows = []
    for target in targets:
        for seed in range(seeds):
            for i in range(iterations + 1):
                row: dict[str, Any] = {"iteration": i, "run": f"{target}_seed{seed}"}
                row |= {"target": target, "seed": seed, "seconds": 3.5 * i}
                row |= {f"loss/{name}": value for name, value in losses(rng).items()}
                row |= {f"heldout/{name}": value for name, value in losses(rng).items()}
                row["loss/minimised"] = row.get(f"loss/{target}", 0.5)
                if i > 0:
                    row |= {
                        f"loss_epochs/{name}": rng.uniform(0.1, 2, 2).tolist() for name in TARGETS
                    }
                    row |= {
                        "arena/wins": 5,
                        "arena/draws": 1,
                        "arena/losses": 4,
                        "arena/accepted": i % 2,
                        "arena/first_mover_wins": 6,
                    }
                    row |= {
                        "selfplay/plies": 14.5,
                        "selfplay/first_player_wins": 0.6,
                        "selfplay/draws": 0.1,
                        "selfplay/distinct_games": 20,
                        "selfplay/policy_entropy": 1.1,
                        "search/depth_mean": 3.2,
                        "search/depth_max": 7,
                    }
                    row |= {"count/evaluations": 1000, "count/useful_evaluations": 700}
                rows.append(row)
    return rows


def results(targets: tuple[str, ...], seeds: int, iterations: int, game: str) -> dict[str, Any]:
    runs = [{"name": f"{t}_seed{s}", "target": t, "seed": s} for t in targets for s in range(seeds)]
    players: list[dict[str, Any]] = [{**run, "kind": "trained"} for run in runs]
    players += [
        {"name": kind, "kind": kind, "target": None, "seed": None}
        for kind in ("untrained", "random")
    ]
    count = len(players)
    elo = np.linspace(200.25, -150.75, count) if count else np.empty(0)
    return {
        "study": "loss_ablation",
        "game": game,
        "preset": "quick",
        "command": "python -m a <b>",
        "config": {
            "semantics": "corrected",
            "train": {
                "iterations": iterations,
                "epochs": 2,
                "batch_size": 64,
                "learning_rate": 0.005,
                "dropout_rate": 0.3,
                "loss": "sum",
            },
            "selfplay": {"episodes": 21, "temperature_plies": 15},
            "search": {"num_simulations": 25, "c_puct": 1.0},
            "replay": {"window": 20},
            "arena": {"games": 10, "threshold": 0.6},
        },
        "environment": {"device": "cpu", "jax": "0.10.2", "commit": "0123abc", "python": "3.11"},
        "cost": {
            "wall_seconds": 812.3,
            "compile_seconds": 41.2,
            "phases": {"selfplay": 410.5},
            "runs": {
                run["name"]: {"evaluations": 4321, "gradient_steps": 99, "games": 63}
                for run in runs
            },
        },
        "runs": runs,
        "training_elo": {
            run["name"]: {
                "iterations": list(range(iterations + 1)),
                "elo": [10.0 * i for i in range(iterations + 1)],
                "stderr": [5.0] * (iterations + 1),
            }
            for run in runs
        },
        "ladder": {
            "settings": {"games": 8, "simulations": None},
            "games": 3456,
            "distinct_games": 3210,
            "anchors": [
                {"name": "random", "elo": 0.0, "stderr": 0.0},
                {"name": "mcts_50", "elo": 512.25, "stderr": 33.5},
            ],
            "runs": {
                run["name"]: {
                    "iterations": [0, iterations],
                    "elo": [101.0, 402.0 + 10 * run["seed"]],
                    "stderr": [20.0, 30.0],
                }
                for run in runs
            },
        },
        "tournaments": [
            {
                "name": "final",
                "title": "Final networks",
                "num_simulations": 25,
                "games_per_pair": 20,
                "players": players,
                "elo": elo.tolist(),
                "stderr": [17.75] * count,
                "results": [[a, b, 6, 1, 3] for a in range(count) for b in range(count) if a != b],
                "advantage": 31.2,
                "draw_elo": 60.1,
                "games": 900,
                "distinct_games": 765,
            }
        ],
        "checks": [
            {
                "name": "stronger",
                "statement": "trained beats untrained",
                "value": 253.2,
                "stderr": 22.1,
                "bar": 50.0,
                "holds": True,
            },
            {
                "name": "order",
                "statement": "value is best",
                "value": -3.5,
                "stderr": 30.0,
                "bar": 0.0,
                "holds": False,
            },
        ],
    }


def write(folder: Path, rows: list[dict[str, Any]], results: dict[str, Any] | None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if results is not None:
        (folder / "results.json").write_text(json.dumps(results))
    return folder
