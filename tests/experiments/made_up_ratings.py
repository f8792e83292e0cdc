"""Finished loss studies whose ratings, and so what is true of the claims, are made up."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

BOARD = "connect_four_6x6"  # value_best and product_above_sum, among others


def rated_study(
    directory: Path,
    means: Mapping[str, float],
    *,
    sd: float = 20.0,
    seeds: Sequence[int] = range(8),
    board: str = BOARD,
    changes: Mapping[str, Any] | None = None,
    without: Sequence[str] = (),
    gain: float = 100.0,
) -> Path:
    """A finished study: ratings around `means` by target; what belongs to a seed is shared."""
    rng = np.random.default_rng(len(directory.name) + 100 * min(seeds))
    shared = {seed: rng.normal(0, 300) for seed in seeds}  # pairing takes it out
    runs = [{"name": f"{t}_seed{s}", "target": t, "seed": s} for t in means for s in seeds]
    players: list[dict[str, Any]] = [{**run, "kind": "trained"} for run in runs]
    elo = [means[r["target"]] + shared[r["seed"]] + rng.normal(0, sd) for r in runs]
    players += [{"name": f"u{s}", "kind": "untrained", "target": None, "seed": s} for s in seeds]
    elo += [-100.0 + shared[s] for s in seeds]
    kept = [i for i, player in enumerate(players) if player["name"] not in without]
    config = {
        "game": board,
        "semantics": "corrected",
        "seed": min(seeds),
        "switches.dropout_inactive": None,
        "study.seeds": len(seeds),
        "train.batch_size": 64,
        "network.name": "convnet",
        "network.channels": 256,
        "network.hidden": [1024, 512],
    } | dict(changes or {})
    nested: dict[str, Any] = {}
    for key, value in config.items():
        section, _, name = key.rpartition(".")
        (nested.setdefault(section, {}) if section else nested)[name] = value
    results = {
        "study": "loss_ablation",
        "game": board,
        "config": nested,
        "switches": {},
        "runs": runs,
        "training_elo": {
            r["name"]: {"iterations": [0, 1, 2], "elo": [0.0, 50.0, gain + rng.normal(0, sd)]}
            for r in runs
        },
        "tournaments": [
            {"name": "low", "players": players[:1], "elo": [9e9]},
            {
                "name": "final",
                "players": [players[i] for i in kept],
                "elo": [elo[i] for i in kept],
                "results": [
                    [a, b, 6, 1, 3] for a in range(len(kept)) for b in range(len(kept)) if a != b
                ],
            },
        ],
        "cost": {
            "runs": {
                r["name"]: {"evaluations": 4e6, "useful_evaluations": 3e6, "gradient_steps": 1e4}
                for r in runs
            }
        },
    }
    directory.mkdir(parents=True)
    (directory / "results.json").write_text(json.dumps(results))
    rows = [
        {"iteration": i, "run": r["name"], "target": r["target"], "seed": r["seed"]}
        | {"loss/minimised": loss, "loss/policy": loss, "loss/value": loss}
        for r in runs
        for i, loss in enumerate((9.0, 2.0, 1.0 + 0.01 * rng.normal()))
    ]
    (directory / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return directory
