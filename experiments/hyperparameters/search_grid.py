"""The front of a search against the front of the grid: one tournament, and areas under fronts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from experiments.hyperparameters import group_training, pareto
from experiments.hyperparameters.setting_study import Player, make_pool
from jaxzero import files, workdir
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError


def check_grid(config: ConfigDict) -> None:
    """Refuses a grid that is not there, or of another board or network (ConfigError)."""
    if not config.study.grid:
        return
    named = f"config.study.grid={config.study.grid!r}"
    grid = files.from_home(config.study.grid)
    if not (grid / workdir.RESULTS).is_file():
        raise ConfigError(f"{named}: holds no {workdir.RESULTS}, give a finished correlation study")
    results = workdir.read_results(grid)
    if "correlation" not in results:
        raise ConfigError(f"{named}: is a {results.get('study')}, give a correlation study")
    theirs = files.plain(config_lib.with_defaults(results["config"]))
    for key, ours in files.plain(config_lib.flatten(config)).items():
        if key.partition(".")[0] in ("game", "observation", "network") and theirs[key] != ours:
            raise ConfigError(
                f"{named}: its {key} is {theirs[key]}, not {ours}: give them the same"
            )
    kept = group_training.places(files.from_home(config.study.grid))
    if any(player["training"] not in kept for player in results["correlation"]["players"]):
        raise ConfigError(f"{named}: its networks are gone, give a study with its groups")


def against_grid(
    config: ConfigDict, directory: Path, front: Sequence[dict[str, Any]], key: Any
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Plays both fronts against each other, all with the same search; the key is consumed.

    Returns:
      Tournaments for results.json, and `grid`: players with cost, Elo and side, and the area
      between each front and the worst player (`pareto.hypervolume`), in Elo seconds.
    """
    grid = files.from_home(config.study.grid)
    theirs = workdir.read_results(grid)
    rated = {t["name"]: t for t in theirs["tournaments"]}["same_simulations"]
    candidates = theirs["correlation"]["players"]
    elo = {p["name"]: e for p, e in zip(rated["players"], rated["elo"], strict=True)}
    chosen = pareto.front(
        [p["seconds"]["total"] for p in candidates], [elo[p["name"]] for p in candidates]
    )
    places = {f"grid/{name}": place for name, place in group_training.places(grid).items()}
    places |= {f"search/{name}": at for name, at in group_training.places(directory).items()}
    players, seconds = [], []
    for trial in front:
        name = f"search/{trial['name']}"
        players.append(Player(name, "search", trial["seed"], name, trial["values"]["I"]))
        seconds.append(float(trial["seconds"]))
    for i in chosen:
        p = candidates[i]
        training = f"grid/{p['training']}"
        players.append(Player(f"grid/{p['name']}", "grid", p["seed"], training, p["iterations"]))
        seconds.append(float(p["seconds"]["total"]))
    m = config.study.tournament_simulations
    pool = make_pool(config, players, places, most=m)
    played = pool.play([m] * len(players), key, "fronts")
    elos = [float(x) for x in played.ratings.elo[: len(players)]]
    entry = pool.entry(played, "fronts", "Front of the search against front of the grid", m)
    corner = {"most": max(seconds), "least": min(elos)}
    areas = {}
    for side in ("search", "grid"):
        own = [i for i, p in enumerate(players) if p.setting == side]
        areas[side] = pareto.hypervolume(
            [seconds[i] for i in own], [elos[i] for i in own], **corner
        )
    described = {
        "directory": str(grid),
        "players": [
            {"name": p.name, "side": p.setting, "seconds": s, "elo": e}
            for p, s, e in zip(players, seconds, elos, strict=True)
        ],
        "area": areas,
        "trials": {"search": config.study.trials, "grid": len(candidates)},
    }
    return [entry], described
