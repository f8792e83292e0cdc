"""The players that ship: whole, small, with a card, and stronger than what never learned."""

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxzero
from experiments.strength import opponents
from jaxzero import files, pretrained, runs
from jaxzero.matches import round_robin, tournament
from jaxzero.settings.config import ConfigError

CHEAP = "connect_four_5x5"
ROLLOUTS = "mcts_20"
GAMES = 16


@pytest.mark.parametrize("name", pretrained.names())
def test_a_shipped_player_is_whole_and_small(name: str) -> None:
    place = jaxzero.player_directory(name)
    run = runs.open_run(place)
    assert run.spec.game.name == name
    assert run.iterations[-1] > 0
    assert sum(file.stat().st_size for file in place.rglob("*")) <= 2**20
    card: dict[str, Any] = files.read_json(place / pretrained.CARD)
    assert card["game"] == name
    assert card["licence"] == "Apache-2.0"
    for fact in ("command", "commit", "hardware", "minutes", "games", "simulations"):
        assert card[fact], fact
    assert card["measured"]["points"]
    for file in place.glob("*.json"):
        assert "/home/" not in file.read_text()


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n == CHEAP else pytest.mark.slow) for n in pretrained.names()],
)
def test_a_shipped_player_beats_what_never_learned(name: str) -> None:
    """Weaker than it ships, and by far more than chance: all but 3 of 16 points would be luck."""
    player = jaxzero.load_player(name, simulations=16)
    game = runs.open_run(f"{pretrained.PREFIX}{name}").spec.game
    _, others = opponents.build(game, ["random", ROLLOUTS])
    kinds = [player, *others]
    match = round_robin.compile_round_robin(
        game, kinds, games_per_direction=GAMES // 2, opening_plies=1
    )([kind.params for kind in kinds], jax.random.key(0))
    rows = tournament.result_rows(
        match.outcome, match.played, round_robin.arena.ordered_pairs(len(kinds) + 0)
    )
    for other in (1, 2):
        first = rows[(rows[:, 0] == 0) & (rows[:, 1] == other), 2:].sum(axis=0)
        second = rows[(rows[:, 1] == 0) & (rows[:, 0] == other), 2:].sum(axis=0)
        points = first @ np.array([1, 0.5, 0]) + second @ np.array([0, 0.5, 1])
        assert points >= GAMES - 3


def test_a_search_that_visits_no_move_is_refused() -> None:
    run = runs.open_run(jaxzero.player_directory(CHEAP))
    search = dataclasses.replace(run.spec.search, root_expansion_counts=True)
    published = dataclasses.replace(run, spec=dataclasses.replace(run.spec, search=search))
    for opened, m, least in ((run, 0, 1), (published, 1, 2)):
        with pytest.raises(ConfigError, match=f"simulations={m}: .* at least {least}"):
            runs.player_of(opened, m)


def test_who_does_not_ship_is_named_with_those_who_do() -> None:
    with pytest.raises(ConfigError, match=f"no such player ships, there are .*{CHEAP}"):
        jaxzero.player_directory("chess")
    with pytest.raises(ConfigError, match="no such player ships"):
        opponents.check(["pretrained:chess"], "--opponents", "chess")
    with pytest.raises(ConfigError, match=f"plays {CHEAP}, not othello_6x6"):
        opponents.check([f"pretrained:{CHEAP}"], "--opponents", "othello_6x6")
    for name in pretrained.names():
        assert pretrained.named(pretrained.directory(name)) == f"pretrained:{name}"
    assert pretrained.resolve("runs/first") == Path("runs/first")


def test_importing_the_library_opens_no_player() -> None:
    told = "import sys, jaxzero; print(sorted(m for m in sys.modules if m.startswith('jaxzero.')))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert "jaxzero.games" in done.stdout
    assert "jaxzero.runs" not in done.stdout
