"""A trained network alone in a folder: a run directory of one member, and its card."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

from jaxzero import files, runs, workdir
from jaxzero.runs import Run, population, weights
from jaxzero.settings import config as config_lib

CARD = "card.json"
LICENCE = "Apache-2.0"
_OF_THE_MACHINE = ("execution.", "tracking.")  # settings that say nothing of the player


def write(run: Run, at: int, folder: Path, card: Mapping[str, Any]) -> None:
    """Writes the first member's network after an iteration, in bfloat16; replaces a folder."""
    part, old = (folder.with_name(f".{folder.name}.{ending}") for ending in ("part", "old"))
    shutil.rmtree(part, ignore_errors=True)
    with files.writing(folder):
        (part / weights.FOLDER).mkdir(parents=True)
        name = run.members[0].name
        network = jax.device_get(population.member(runs.networks(run, at), 0))
        weights.path_of(part, name).write_bytes(weights.to_bytes(network))
        files.write_json(part / weights.FOLDER / weights.INDEX, weights.index([name], at))
        config = config_lib.flatten(run.config)
        kept = {k: v for k, v in config.items() if not k.startswith(_OF_THE_MACHINE)}
        if run.config.network.grow_at:
            channels = run.spec.network.filters
            kept |= {"network.channels": channels, "network.grow_at": (), "network.grow_to": ()}
        files.write_json(part / workdir.CONFIG, kept | {"study": run.study})
        runs.write_members(part, run.config, run.members[:1])
        files.write_json(part / CARD, card)
        shutil.rmtree(old, ignore_errors=True)
        if folder.exists():
            folder.rename(old)  # quick, unlike removing it: there is hardly a moment without one
        part.rename(folder)
        shutil.rmtree(old, ignore_errors=True)


def card(results: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of the player of a finished training."""
    environment, cost, config = results["environment"], results["cost"], results["config"]
    return {
        "game": results["game"],
        "licence": LICENCE,
        "command": results["command"],
        "commit": environment["commit"],
        "hardware": environment["device"],
        "minutes": round(cost["wall_seconds"] / 60, 1),
        "games": int(cost["games"]),
        "iteration": results["best_iteration"],
        "seed": config["seed"],
        # those of the games that measured it
        "simulations": config["study"]["simulations"] or config["search"]["num_simulations"],
        "measured": results["final"],
    }
