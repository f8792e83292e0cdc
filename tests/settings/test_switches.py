"""Every switch has a test of the difference that it makes, and arrives where it acts.

`SHOWN` names the tests that play, train or rate both ways; a switch without one fails here. Below
it, each switch is set in the settings and looked for in the call that it is to change.
"""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments import loss_ablation
from experiments.strength import pool
from experiments.strength.opponents import Entry
from jaxzero.matches import arena
from jaxzero.matches.arena import Match
from jaxzero.players import no_cost
from jaxzero.settings.config import SWITCHES, resolve_switches
from jaxzero.training import episodes, gate, learner, selfplay
from jaxzero.training.spec import Spec
from tests import small
from tests.experiments.losses.test_loss_ablation import tiny
from tests.small import assert_equal

ROOT = Path(__file__).resolve().parents[1]

# switch: tests that hold the published against the corrected, `file::function`
SHOWN: dict[str, tuple[str, ...]] = {
    "one_hot_after_temperature": ("training/test_selfplay.py::test_one_hot_after_temperature",),
    "root_expansion_counts": (
        "training/test_selfplay.py::test_root_expansion_counts",
        "search/test_against_oracle.py::test_visit_counts_equal",
    ),
    "keep_tree": (
        "training/test_selfplay.py::test_a_greedy_game_equals_a_plain_python_search",
        "matches/test_searching_players.py::test_searching_players_equal_the_plain_python_search",
    ),
    "arena_random_openings": ("matches/test_arena.py::test_arena_random_openings",),
    "accept_all_drawn": (
        "matches/test_gate.py::test_accept_all_drawn",
        "settings/test_switches.py::test_a_gate_of_draws",
    ),
    "othello_tie_is_loss_of_asked": (
        "training/test_labels.py::test_every_game_is_played_to_its_end_and_labelled_with_its_result",
        "training/test_labels.py::test_othello_tie_is_loss_of_asked_in_the_search",
        "matches/test_arena.py::test_othello_tie_is_loss_of_asked_in_the_arena",
    ),
    "small_draw_value": (
        "training/test_labels.py::test_every_game_is_played_to_its_end_and_labelled_with_its_result",
        "matches/test_arena.py::test_small_draw_value_stays_a_draw_in_the_arena",
    ),
    "gobang_absolute_labels": (
        "training/test_labels.py::test_gobang_defect_depends_on_the_side_to_move_alone",
        "settings/test_switches.py::test_published_gobang_labels_are_learned_without_looking_at_the_board",
    ),
    "mirror_without_policy": (
        "training/test_replay.py::test_mirror_without_policy",
        "training/test_epochs.py::test_mirror_without_policy",
    ),
    "dropout_inactive": ("training/test_steps.py::test_dropout_inactive",),
    "tournament_one_model_per_target": (
        "settings/test_switches.py::test_the_published_tournament_is_one_more",
    ),
    "elo_first_listed_advantage": (
        "matches/test_tournament.py::test_elo_first_listed_advantage",
        "experiments/losses/test_loss_ablation.py::"
        "test_training_elo_gives_the_advantage_to_the_newer_or_to_the_mover",
    ),
}


def test_every_switch_has_a_test_of_its_difference() -> None:
    assert set(SHOWN) == set(SWITCHES), "name the test of a new switch here"
    for switch, tests in SHOWN.items():
        assert tests, switch
        for named in tests:
            file, _, function = named.partition("::")
            tree = ast.parse((ROOT / file).read_text())
            functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert function in functions, f"{switch}: there is no {named}"


# ---- from the settings to where a switch acts


BOARD = {"othello": "othello_5x5", "connect_four": "connect_four_5x5", "gobang": "gobang_5x5"}


def spec_with(switch: str, on: bool) -> Spec:
    """Of a game that the switch concerns; the others are corrected."""
    families = SWITCHES[switch].families
    board = BOARD[families[0]] if families else "connect_four_5x5"
    return small.small_spec({"game": board, f"switches.{switch}": on})


NOBODY = learner.Learner({}, {}, ())


class Called(Exception):
    """Carries the options of a call that is not to be made."""

    def __init__(self, *_: Any, **options: Any) -> None:
        super().__init__()
        self.options = options


def stop(*given: Any, **options: Any) -> None:
    raise Called(*given, **options)


def self_play_options(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What an iteration's self-play is called with."""
    monkeypatch.setattr(selfplay, "play", stop)
    with pytest.raises(Called) as caught:
        episodes.self_play(spec, small.small_hyper(), NOBODY, jax.random.key(0))
    return caught.value.options


def gate_options(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What an iteration's arena is called with, and the search of its players as `options`."""
    seen: list[Any] = []

    def note(game: Any, evaluate: Any, searchers: Any, options: Any, **more: Any) -> None:
        seen.append({"options": options, **more})

    monkeypatch.setattr(gate, "search_players", note)
    monkeypatch.setattr(arena, "play_match", stop)
    network = jax.eval_shape(lambda: learner.init(spec, jax.random.key(0)))
    network = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), network)
    with pytest.raises(Called) as caught:
        gate.gate(spec, small.small_hyper(), network, network, jax.random.key(0))
    return caught.value.options | seen[0]


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize(
    ("switch", "option"),
    [
        ("one_hot_after_temperature", "one_hot_after_temperature"),
        ("keep_tree", "keep_tree"),
        ("gobang_absolute_labels", "first_player_always_loses"),
    ],
)
def test_switches_of_self_play(
    switch: str, option: str, on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert self_play_options(spec_with(switch, on), monkeypatch)[option] is on


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize(
    ("switch", "field", "published", "corrected"),
    [
        ("root_expansion_counts", "root_expansion_counts", True, False),
        ("othello_tie_is_loss_of_asked", "draw_for_asked", -1.0, 0.0),
        ("small_draw_value", "draw_for_asked", 1e-4, 0.0),
    ],
)
def test_switches_of_the_search_act_in_self_play_and_in_the_arena(
    switch: str,
    field: str,
    published: Any,
    corrected: Any,
    on: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec, expected = spec_with(switch, on), published if on else corrected
    assert getattr(self_play_options(spec, monkeypatch)["options"], field) == expected
    arena_options = gate_options(spec, monkeypatch)
    assert getattr(arena_options["options"], field) == expected
    if field == "draw_for_asked":
        assert arena_options[field] == expected


@pytest.mark.parametrize("on", [False, True])
def test_switches_of_the_arena(on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = gate_options(spec_with("arena_random_openings", on), monkeypatch)
    assert opened["opening_plies"] == (2 if on else 0)
    assert gate_options(spec_with("keep_tree", on), monkeypatch)["keep_tree"] is on


@pytest.mark.parametrize("on", [False, True])
def test_a_gate_of_draws(on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole gate, its games replaced by draws."""
    spec = spec_with("accept_all_drawn", on)
    games = (2, spec.arena.games // 2)
    drawn = Match(
        outcome=jnp.zeros((*games, 2)),
        played=jnp.ones(games, bool),
        actions=jnp.zeros((spec.game.max_plies, *games), jnp.int16),
        cost=no_cost(),
    )
    monkeypatch.setattr(gate, "arena_players", lambda *_: None)
    monkeypatch.setattr(arena, "play_match", lambda *_, **options: drawn)
    network = small.compiled_init(small.small_spec())(0).learner
    accepted, metrics = gate.gate(spec, small.small_hyper(), network, network, jax.random.key(0))
    assert bool(accepted) is on
    assert float(metrics["arena/draws"]) == spec.arena.games


@pytest.mark.parametrize("winner", [0, 1])
def test_the_gate_is_passed_by_a_candidate_that_wins(
    winner: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole gate, its games replaced: the candidate is player 0, who wins all or none."""
    spec, seen = small.small_spec(), []
    first = jnp.broadcast_to(jnp.array([[1.0], [-1.0]]), (2, spec.arena.games // 2))
    first = first * (1 - 2 * winner)  # player 0 moves first in the first row
    match = Match(
        outcome=jnp.stack([first, -first], -1),
        played=jnp.ones(first.shape, bool),
        actions=jnp.zeros((spec.game.max_plies, *first.shape), jnp.int16),
        cost=no_cost(),
    )
    monkeypatch.setattr(gate, "arena_players", lambda *given: seen.append(given[2]))
    monkeypatch.setattr(arena, "play_match", lambda *_, **options: match)
    candidate, best = (small.compiled_init(spec)(seed).learner for seed in (0, 1))
    accepted, metrics = gate.gate(spec, small.small_hyper(), candidate, best, jax.random.key(0))
    assert bool(accepted) == (winner == 0)
    counts = [float(metrics[f"arena/{kind}"]) for kind in ("wins", "losses")]
    assert counts == [spec.arena.games * (winner == who) for who in (0, 1)]
    assert_equal(jax.tree.map(lambda x: x[0], seen[0].params), candidate.params)
    broken = candidate.replace(params=jax.tree.map(lambda x: x * jnp.nan, candidate.params))
    assert not gate.gate(spec, small.small_hyper(), broken, best, jax.random.key(0))[0]


@pytest.mark.parametrize("on", [False, True])
def test_switches_of_the_tournament(on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rated: list[bool] = []
    config = tiny({"switches.elo_first_listed_advantage": on})
    trained: Any = SimpleNamespace(spec=spec_with("elo_first_listed_advantage", on))
    monkeypatch.setattr(pool, "final_networks", lambda *_: ([], None))
    monkeypatch.setattr(pool.Pool, "match", lambda *_: None)
    monkeypatch.setattr(pool, "rate", lambda *_, published: rated.append(published))
    loss_ablation.play_tournaments(config, pool.of_trained(config, trained, []))
    assert rated == [on, on]


def test_the_published_tournament_is_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [Entry(f"{t}_seed{s}", "trained", t, s) for t in ("sum", "value") for s in (0, 1)]
    entries.append(Entry("untrained_seed0", "untrained", None, 0))
    monkeypatch.setattr(pool, "final_networks", lambda *_: (entries, jnp.arange(5)))
    monkeypatch.setattr(pool.Pool, "play", lambda self, *_: self._networks.tolist())
    for on in (False, True):
        spec = spec_with("tournament_one_model_per_target", on)
        players = pool.of_trained(tiny({}), SimpleNamespace(spec=spec), [])  # type: ignore[arg-type]
        played = loss_ablation.play_tournaments(tiny({}), players)
        assert played["final"] == played["low"] == [0, 1, 2, 3, 4]
        assert played.get("published") == ([1, 1, 3, 3, 4] if on else None)


def test_published_gobang_labels_are_learned_without_looking_at_the_board() -> None:
    """The number of stones tells whose move it is, and that tells the label of every decisive game:
    l_v can fall to 0 while nothing is known of who wins (what 000, section 6.3, reports)."""
    spec = spec_with("gobang_absolute_labels", True)
    hyper = small.small_hyper({"selfplay.temperature_plies": 100})
    network = small.compiled_init(spec)(0).learner
    play = jax.jit(lambda key: episodes.self_play(spec, hyper, network, key)[0])
    labels, stones, results = [], [], []
    for seed in range(4):
        games = jax.device_get(play(jax.random.key(seed)))
        decided = games.valid & (games.outcome[:, 0] != 0)[None]
        truth = np.where(games.to_move == 0, games.outcome[:, 0], games.outcome[:, 1])
        results.append(truth[decided])
        labels.append(games.value[decided])
        stones.append(np.abs(games.observation[..., 0]).sum((-1, -2))[decided])
    label, true, odd = (np.concatenate(part) for part in (labels, results, stones))
    for parity, always in ((0, -1.0), (1, 1.0)):
        side = odd.astype(int) % 2 == parity
        assert set(label[side].tolist()) == {always}
        assert set(true[side].tolist()) == {-1.0, 1.0}  # what the corrected label says


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_is_set_by_semantics_and_alone(switch: str) -> None:
    families = SWITCHES[switch].families
    board = BOARD[families[0]] if families else "connect_four_5x5"
    for semantics in ("published", "corrected"):
        config = small.small_config({"game": board, "semantics": semantics})
        expected = getattr(SWITCHES[switch], semantics)
        assert getattr(resolve_switches(config), switch) is expected
        other = small.changed(config, {f"switches.{switch}": not expected})
        assert getattr(resolve_switches(other), switch) is not expected
        changed = {
            name
            for name, value in vars(resolve_switches(other)).items()
            if value != getattr(resolve_switches(config), name)
        }
        assert changed == {switch}
