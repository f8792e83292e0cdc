"""What this machine has and whether it works, in plain text for a report of a defect.

python -m jaxzero.doctor
"""

import functools
import os
import platform
import re
import shutil
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero import arguments, pretrained, search, workdir
from jaxzero.play.display import session
from jaxzero.runs import backend, hardware, memory
from jaxzero.settings import devices
from jaxzero.settings.config import changed, default_config
from jaxzero.training import heldout, iteration, learner
from jaxzero.training.spec import make_hyper, make_spec

_CHECKOUT = Path(__file__).parents[1] / "pyproject.toml"
_PLUGINS = {"cuda12": "jax-cuda12-plugin", "cuda13": "jax-cuda13-plugin", "tpu": "libtpu"}
_PROGRAMS = {"fairy-stockfish": "engine of Racing Kings", "chromium": "tests of pages"}
TINY: dict[str, Any] = {  # the tests' settings too: compiled once
    "game": "connect_four_5x5",
    "network.channels": 4,
    "network.hidden": (16, 8),
    "search.num_simulations": 8,
    "selfplay.episodes": 8,
    "selfplay.temperature_plies": 6,
    "replay.window": 2,
    "train.epochs": 2,
    "train.batch_size": 16,
    "arena.games": 4,
}
_MOVES = 6  # played with the network that the test trains


def chosen_flags() -> str:
    """What the environment asks of JAX; `backend.prepare` adds to it, so this comes before."""
    names = ("JAX_PLATFORMS", "XLA_FLAGS")
    return ", ".join(f"{name}={os.environ[name]}" for name in names if name in os.environ)


def versions(flags: str) -> Iterator[str]:
    """Lines: the code, the machine and its devices; `flags`: the `chosen_flags`."""
    found, machine = workdir.environment(), hardware.look()
    room = "unknown memory"
    if machine.memory is not None:
        room = f"{memory.mebibytes(machine.memory)} of memory" + (" each" * (machine.count > 1))
    yield f"jaxzero {found['jaxzero']}, commit {found['commit']}"
    yield f"Python {found['python']}, {platform.platform()}"
    yield ", ".join(f"{name} {version}" for name, version in found["packages"].items())
    yield f"devices: {machine.described}, {machine.platform}, {room}"
    yield from filter(None, [devices.idle_accelerator()])
    yield f"compiled programs are kept in {jax.config.values['jax_compilation_cache_dir']}"
    yield f"environment: {flags or 'no flags'}"
    yield f"players that ship: {', '.join(pretrained.names())}"


def extras() -> dict[str, tuple[str, ...]]:
    """Packages by extra: of the checkout, else of what is installed."""
    if _CHECKOUT.is_file():
        project = tomllib.loads(_CHECKOUT.read_text("utf-8"))["project"]
        found = dict(project["optional-dependencies"])
    else:
        found = {}
        for line in metadata.requires("jaxzero") or ():
            if extra := re.search(r"extra == ['\"](\w+)['\"]", line):
                found.setdefault(extra[1], []).append(line)
    return {
        extra: (_PLUGINS[extra],)
        if extra in _PLUGINS
        else tuple(re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in lines)
        for extra, lines in found.items()
        if extra != "dev"
    }


def _version(package: str) -> str | None:
    """Of an installed package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def extra_lines() -> Iterator[str]:
    """Lines: which extras are installed, and how to install the others."""
    for extra, packages in extras().items():
        had = {name: version for name in packages if (version := _version(name))}
        if len(had) == len(packages):
            yield f"  {extra}: " + ", ".join(f"{name} {version}" for name, version in had.items())
        else:
            yield f'  {extra}: missing, pip install -e ".[{extra}]"'
    for program, use in _PROGRAMS.items():
        has = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/games")
        yield f"  {program} ({use}): {has or f'missing, apt-get install {program}'}"


def broken_losses(metrics: Mapping[str, Any]) -> list[str]:
    """Names of losses that are not finite numbers."""
    names = (name for name in metrics if name.startswith("loss/"))
    return [name for name in names if not np.isfinite(np.asarray(metrics[name])).all()]


def self_test(say: Callable[[str], None]) -> bool:
    """One tiny iteration, and moves of its network; whether losses are finite and moves legal."""
    config = changed(default_config(), TINY)
    spec, hyper = make_spec(config), make_hyper(config)
    started = time.monotonic()
    held = heldout.make(spec.game, num_games=2, num_simulations=2)
    state = jax.jit(functools.partial(iteration.init, spec))(config.seed)
    iterate = (
        jax.jit(functools.partial(iteration.iterate, spec)).lower(hyper, state, held).compile()
    )
    compiled = time.monotonic()
    state, metrics = jax.block_until_ready(iterate(hyper, state, held))
    took = time.monotonic() - compiled
    say(f"  compiled in {compiled - started:.1f} s, one iteration in {took:.2f} s")
    broken = broken_losses(metrics)
    say(f"  losses: {', '.join(broken) + ' not finite' if broken else 'finite'}")
    game, network = spec.game, learner.acting(spec, state.learner)
    choose = jax.jit(
        lambda key, states: search.search(game, network, key, states, num_simulations=8).action
    )
    now, names = session.begin(game), []
    try:
        for ply in range(_MOVES):
            batch = jax.tree.map(lambda x: jnp.asarray(x)[None], now.now.state)
            action = int(choose(jax.random.key(ply), batch)[0])
            now = session.play(now, action)
            names.append(str(action + 1))
    except ValueError as error:
        say(f"  moves: {error}")
        return False
    say(f"  moves: {' '.join(names)}, legal")
    return not broken


_now = functools.partial(print, flush=True)  # what is said so far is there if the test dies


def main(say: Callable[[str], None] = _now) -> int:
    """Prints everything; exit status 0 if the self-test passes, else 1."""
    flags = chosen_flags()
    backend.prepare(default_config())
    for line in versions(flags):
        say(line)
    say("extras:")
    for line in extra_lines():
        say(line)
    say("self-test (compiles for half a minute the first time):")
    works = self_test(say)
    say("passed" if works else "FAILED")
    if works:
        say("next, to play: python -m jaxzero.play --player=connect_four_5x5")
    return 0 if works else 1


def start() -> None:
    """`python -m jaxzero.doctor`: status 2 for devices that are not here."""

    def program() -> None:
        about = (__doc__ or "").splitlines()[0]
        arguments.Parser(prog="python -m jaxzero.doctor", description=about).parse()
        sys.exit(main())

    arguments.run(program)


if __name__ == "__main__":
    start()
