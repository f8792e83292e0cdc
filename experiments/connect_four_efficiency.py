"""Which extensions make AlphaZero cheaper on Connect Four? Paper 002, sections 3.3 and 3.4.

    python -m experiments.connect_four_efficiency \\
        --config=experiments/configs/connect_four_efficiency.py:quick --workdir=runs/efficiency

Trains the authors' plain AlphaZero, each extension alone and all together, marks every iteration's
network with its search on solved positions, and counts cost as the paper does: positions played
times the time of a move, training free. Writes `results.json` and `report.html`.
"""

import functools
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from ml_collections import ConfigDict

from experiments import cli, connect_four_data
from experiments.configs.connect_four_efficiency import KEYS
from experiments.connect_four import solved_positions
from experiments.connect_four.solved_games import Recipe
from experiments.reporting.efficiency import write_report
from jaxzero import config as config_lib
from jaxzero import iteration, learner, parts, runner, runs, solvers, workdir
from jaxzero import spec as spec_lib
from jaxzero.compute import devices
from jaxzero.config import ConfigError
from jaxzero.games import ConnectFour
from jaxzero.learner import Learner
from jaxzero.runs import Run
from jaxzero.solvers import Labelled
from jaxzero.tracking import Final, Tracker

STUDY = "connect_four_efficiency"
ARMS = "arms"  # folder of the arms' run directories
ACCURACY = "accuracy.json"
_AT_ONCE = 256  # positions searched together
_TIMED = 3  # self-play programs, of which the fastest counts


def changes(config: ConfigDict, arm: str) -> dict[str, Any]:
    """What an arm does otherwise than the baseline, dotted keys (002, section 3.3)."""
    s = config.study
    start = round(s.slow_window_share * config.replay.window_positions)
    slow = {"replay.window_start": start, "replay.window_grows": tuple(s.slow_window_grows)}
    dedupe = {"replay.duplicate_weight": 0.8}
    # The authors' single run of the cycle was annealed to 0.5 in iteration 25.
    cyclic = {"train.schedule": "cyclic", "train.anneal_to": 0.5, "train.anneal_iterations": 25}
    reply = {"train.reply_weight": 0.35}
    squeeze = {"network.squeeze_excite": True}
    annealed = {"train.anneal_to": s.extended_anneal_to, "train.anneal_iterations": 20}
    later = {"replay.window_grows": tuple(s.extended_window_grows)}
    known: dict[str, dict[str, Any]] = {
        "baseline": {},
        "dedupe_0.2": {"replay.duplicate_weight": 0.2},
        "dedupe_0.5": {"replay.duplicate_weight": 0.5},
        "dedupe": dedupe,
        "cyclic": cyclic,
        "slow_window": slow,
        "reply": reply,
        "squeeze_excite": squeeze,
        "extended": dedupe | cyclic | slow | reply | squeeze | annealed | later,
        "playout_caps": {
            "selfplay.fast_share": 0.75,
            "selfplay.fast_simulations": min(30, config.search.num_simulations),
        },
        "move_values": {"train.move_value_weight": 0.01},
        "mixed_values": {"train.root_value_share": 0.5},
        "forced_playouts": {"search.forced_playouts": 2.0},
        "symmetric_images": {"replay.images": "all"},
    }
    return known[arm]


def arm_config(config: ConfigDict, arm: str) -> ConfigDict:
    """An arm's settings, locked."""
    own = config.copy_and_resolve_references()
    own.update_from_flattened_dict(changes(config, arm))
    return own.lock()


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    config_lib.validate(config, KEYS)
    config_lib.require_extras(config)
    arms = config.study.arms
    config_lib.require_distinct(config, "study.arms")
    if not config.replay.window_positions:
        raise ConfigError(
            "config.replay.window_positions=0: this study's windows are counted in positions, "
            "give a number"
        )
    for arm in arms:
        own = arm_config(config, arm)
        config_lib.validate(own, KEYS)
        spec = spec_lib.make_spec(own)
    if not isinstance(spec.game, ConnectFour):
        raise ConfigError(f"config.game={config.game!r}: this study is about Connect Four")
    devices.choose(config)


def test_positions(config: ConfigDict, directory: Path) -> Labelled:
    """Solved positions: of the paper's recipe on the usual board, of random games on others."""
    game = parts.build_game(config)
    count = config.study.test_positions
    if config.game == solved_positions.GAME:
        recipe = Recipe(best_move_probability=0.5, one_per_game=True, seed=0)
        folder = Path(config.study.data)
        if solved_positions.describe(folder) is None:
            folder /= connect_four_data.default_directory(recipe).name
            held = solved_positions.describe(folder)
            if held is None or held["positions"] < count:
                print(f"making {count} test positions in {folder}", file=sys.stderr)
                connect_four_data.make(recipe, count, folder)
        found = solved_positions.load(folder).labelled
        some = np.arange(min(count, len(found.plies)))
        states = jax.tree.map(lambda x: x[some], found.states)
        return Labelled(game, states, found.scores[some], found.plies[some])
    path = directory / "positions.npz"
    if not path.is_file():
        squares = int(np.prod(game.observation_shape[:2]))
        plies = solvers.default_plies(game)
        plies = range(max(plies.start, squares // 2), plies.stop)  # earlier ones take too long
        states = solvers.sample(game, positions=count, plies=plies, seed=0)
        solvers.save(path, solvers.label(game, states), {"positions": count})
    labelled, _ = solvers.load(path)
    return Labelled(game, labelled.states, labelled.scores, labelled.plies)


def run(config: ConfigDict, directory: Path) -> None:
    """The whole study, or the rest of it: (config, workdir) -> results.json, report.html."""
    runner.prepare(config)
    validate(config)
    workdir.claim(directory, config, STUDY)
    environment = workdir.environment()
    workdir.write_json(directory / workdir.ENVIRONMENT, environment)
    test = test_positions(config, directory)
    found = []
    for arm in config.study.arms:
        place = directory / ARMS / arm
        path = place / ACCURACY
        if not path.is_file():
            train(config, arm, place)
            print(f"marking {arm}...", file=sys.stderr)
            workdir.write_json(path, mark(runs.open_run(place), test, config))
        found.append({"arm": arm} | workdir.read_json(path))
    results = {
        "study": STUDY,
        "game": config.game,
        "preset": config.preset,
        "command": shlex.join(["python", "-m", f"experiments.{STUDY}", *sys.argv[1:]]),
        "config": config.to_dict(),
        "environment": environment,
        "positions": {
            "number": len(test.plies),
            "random": solvers.mark_policy(test, solvers.uniform(test))["all"],
        },
        "arms": found,
    }
    workdir.write_json(directory / workdir.RESULTS, results)
    print(table(found))
    print(f"report: {write_report(directory)}", file=sys.stderr)


def train(config: ConfigDict, arm: str, directory: Path) -> None:
    """All seeds of an arm as one population, from the newest checkpoint on."""
    own = arm_config(config, arm)
    workdir.claim(directory, own, STUDY)
    workdir.write_json(directory / workdir.ENVIRONMENT, workdir.environment())
    with Tracker(directory, own, STUDY) as tracker:
        runner.train(own, runs.one_for_each_seed(arm_config(config, arm), arm), directory, tracker)
        tracker.finish(Final(iteration=own.train.iterations))  # marks are the study's, not a run's


def mark(opened: Run, test: Labelled, config: ConfigDict) -> dict[str, Any]:
    """Marks of every kept network, alone and with its search, and what it had cost until then.

    Returns:
      `seconds_per_move`, `runs`: for each its `name`, `seed` and, by iteration, `hours`,
      `evaluations`, `positions`, `new_share`, `search` and `network` (strong accuracies),
      `weak` (with search) and `result` (network alone).
    """
    spec, game = opened.spec, opened.spec.game
    at = list(opened.iterations)
    snapshots = [runs.networks(opened, i) for i in at]
    stacked = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *snapshots)  # [I x R]
    key = jax.random.key(config.seed)

    def alone(network: Learner) -> solvers.Respond:
        return solvers.network_alone(game, learner.acting(spec, network))

    def searching(network: Learner) -> solvers.Respond:
        return solvers.with_search(
            game,
            learner.acting(spec, network),
            spec.arena_search,
            num_simulations=config.search.num_simulations,
            c_puct=config.search.c_puct,
        )

    answers = {
        "network": solvers.ask(alone, stacked, test.states, key),
        "search": solvers.ask(searching, stacked, test.states, key, at_once=_AT_ONCE),
    }
    marks = {k: [solvers.mark(test, a)["all"] for a in given] for k, given in answers.items()}
    seconds = seconds_per_move(opened, snapshots[-1])
    rows = workdir.read_rows(opened.directory / workdir.METRICS)
    number = len(opened.members)
    found = []
    for j, member in enumerate(opened.members):
        own = {r["iteration"]: r for r in rows if r["run"] == member.name and r["iteration"]}
        points, hours, evaluations = [], 0.0, 0.0
        for k, i in enumerate(at):
            for step in range(at[k - 1] + 1 if k else 1, i + 1):
                hours += own[step]["selfplay/positions"] * seconds / 3600
                evaluations += own[step]["count/selfplay_evaluations"]
            row = own.get(i, {})
            played = row.get("selfplay/positions")
            points.append(
                {
                    "iteration": i,
                    "hours": hours,
                    "evaluations": evaluations,
                    "positions": played,
                    "new_share": row["count/new_positions"] / played if played else None,
                    "search": marks["search"][k * number + j]["strong"],
                    "weak": marks["search"][k * number + j]["weak"],
                    "network": marks["network"][k * number + j]["strong"],
                    "result": marks["network"][k * number + j]["result"],
                }
            )
        found.append({"name": member.name, "seed": member.seed, "points": points})
    return workdir.plain({"seconds_per_move": seconds, "runs": found})


def seconds_per_move(opened: Run, networks: Learner) -> float:
    """Wall seconds of a move in self-play of the first run's newest network, compiled alone.

    The paper measures the time of a move on one card that does nothing else.
    """
    spec, hyper = opened.spec, spec_lib.make_hyper(opened.members[0].config)
    network = jax.tree.map(lambda x: x[0], networks)
    play = jax.jit(functools.partial(iteration.self_play, spec))
    times = []
    for i in range(_TIMED + 1):  # the first one compiles
        started = time.monotonic()
        _, metrics = jax.block_until_ready(play(hyper, network, jax.random.key(i)))
        times.append((time.monotonic() - started) / float(metrics["selfplay/positions"]))
    return min(times[1:])


def table(found: list[dict[str, Any]]) -> str:
    """Arms, for people: best accuracy with search, and its cost."""
    lines = [f"{'':18}{'best, %':>10}{'last, %':>10}{'hours':>10}{'ms a move':>11}{'new':>8}"]
    for arm in found:
        ends = [run["points"][-1] for run in arm["runs"]]
        best = np.mean([max(p["search"] for p in run["points"]) for run in arm["runs"]])
        last = np.mean([p["search"] for p in ends])
        hours = np.mean([p["hours"] for p in ends])
        new = np.mean([p["new_share"] for p in ends])
        lines.append(
            f"{arm['arm']:18}{100 * best:>10.2f}{100 * last:>10.2f}{hours:>10.4f}"
            f"{1000 * arm['seconds_per_move']:>11.3f}{new:>8.2f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    cli.run(run, f"experiments/configs/{STUDY}.py:quick")
