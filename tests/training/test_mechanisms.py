"""Paper 002's mechanisms, each against what its formula says, written down once more."""

import functools
import math
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from jaxzero.games import make_game
from jaxzero.networks import DRAW, LOSS, WIN, NetworkOutput, make_network
from jaxzero.search.options import SearchOptions
from jaxzero.settings.config import ConfigError
from jaxzero.training import episodes, learner, losses, replay, selfplay
from jaxzero.training import spec as spec_lib
from jaxzero.training.past import NOTHING
from jaxzero.training.replay import Examples
from jaxzero.training.selfplay import PlayoutCaps
from jaxzero.training.trajectory import Trajectory
from tests import small
from tests.oracles.stub_network import jax_stub_evaluate
from tests.training.common import compiled_step, fresh

GAME = make_game("connect_four_4x4", observation="signed")
LANES = 16

# The smallest network with all heads, and 002's optimiser.
TINY: dict[str, Any] = {
    "game": "connect_four_4x4",
    "network.name": "resnet",
    "network.blocks": 1,
    "network.channels": 4,
    "network.value_head": "wdl",
    "train.optimizer": "sgd",
    "train.momentum": 0.9,
    "train.weight_decay": 1e-2,
    "train.max_gradient_norm": 0.5,
    "train.value_weight": 0.01,
    "train.reply_weight": 0.35,
    "train.move_value_weight": 0.2,
    "train.measure": "in_step",
    "replay.images": "none",
    "replay.window_positions": 64,
    "replay.duplicate_weight": 0.8,
    "arena.gate": "none",
}


def spec_of(changes: dict[str, Any] | None = None) -> spec_lib.Spec:
    return small.small_spec(TINY | (changes or {}))


def made_up(count: int = 16) -> Examples:
    """Examples with all targets."""
    rng = np.random.default_rng(3)
    plain = small.random_examples(spec_of().game, count)
    shares, played = rng.dirichlet(np.ones(3), count), np.eye(4)[rng.integers(4, size=count)]
    return plain.replace(
        value=jnp.asarray(shares[:, 0] - shares[:, 2], jnp.float32),
        draw=jnp.asarray(shares[:, 1], jnp.float32),
        reply=jnp.asarray(rng.dirichlet(np.ones(4), count), jnp.float32),
        played=jnp.asarray(played, jnp.float32),
        played_value=jnp.asarray(played * (shares[:, :1] - shares[:, 2:]), jnp.float32),
    )


def test_a_step_is_equation_3_and_5_with_clipped_decayed_sgd() -> None:
    """PyTorch's order: the gradient is clipped, then the weights' decay joins it, then momentum."""
    spec = spec_of()
    hyper = small.small_hyper(TINY | {"train.learning_rate": 0.1})
    start, given = fresh(spec), made_up()

    @jax.jit
    @jax.grad
    def gradient_of(params: Any) -> jax.Array:
        out, _ = spec.network.apply(
            {"params": params, "batch_stats": start.batch_stats},
            given.observation,
            train=True,
            mutable=["batch_stats"],
        )
        log = functools.partial(jax.nn.log_softmax, axis=-1)
        win, lose = (1 - given.draw + given.value) / 2, (1 - given.draw - given.value) / 2
        outcome = jnp.stack([win, given.draw, lose], -1)[:, jnp.array([WIN, DRAW, LOSS])]
        l_m = -(given.policy * log(out.policy_logits)).sum(-1).mean()
        l_o = -(outcome * log(out.outcome_logits)).sum(-1).mean()
        l_r = -(given.reply * log(out.reply_logits)).sum(-1).mean()
        q = (out.move_values * given.played).sum(-1)
        return l_m + 0.01 * l_o + 0.35 * l_r + 0.2 * jnp.square(q - given.value).mean()

    params, velocity = start.params, jax.tree.map(jnp.zeros_like, start.params)
    for _ in range(2):
        gradient = gradient_of(params)
        norm = jnp.linalg.norm(ravel_pytree(gradient)[0])
        assert norm > 0.5  # the clipping acts
        gradient = jax.tree.map(lambda g, p: g * 0.5 / norm + 1e-2 * p, gradient, params)  # noqa: B023
        velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradient)
        params = jax.tree.map(lambda p, v: p - 0.1 * v, params, velocity)
    found, step = start, compiled_step(spec)
    for _ in range(2):
        found, measured = step(
            hyper, found.replace(batch_stats=start.batch_stats), given, jax.random.key(1)
        )
    small.assert_close(found.params, params, 1e-4)
    assert len(measured) == 2


def test_momentum_may_change_from_step_to_step() -> None:
    spec, given = spec_of(), made_up()
    hyper = small.small_hyper(TINY | {"train.learning_rate": 0.1})
    start, step = fresh(spec), compiled_step(spec)
    moved, _ = step(hyper, start, given, jax.random.key(1), momentum=jnp.float32(0.9))
    by_default, _ = step(hyper, moved, given, jax.random.key(1))
    same, _ = step(hyper, moved, given, jax.random.key(1), momentum=jnp.float32(0.9))
    none, _ = step(hyper, moved, given, jax.random.key(1), momentum=jnp.float32(0.0))
    small.assert_close(by_default.params, same.params, 1e-6)
    # Without momentum the step is shorter by 0.9 lr v, v the velocity of the first step.
    velocity = jax.tree.map(lambda a, b: (a - b) / 0.1, start.params, moved.params)
    expected = jax.tree.map(lambda p, v: p - 0.09 * v, none.params, velocity)
    small.assert_close(same.params, expected, 1e-4)


def test_soft_results() -> None:
    """A mean of results is learned as shares of wins, draws and losses."""
    output = NetworkOutput(
        policy_logits=jnp.zeros((2, 4)),
        value=jnp.zeros(2),
        draw_probability=jnp.zeros(2),
        outcome_logits=jnp.array([[2.0, 0.5, -1.0], [0.0, 0.0, 0.0]]),
    )
    log_p = jax.nn.log_softmax(output.outcome_logits)
    # Two wins, a draw and a loss: z = 1/4, a quarter drawn.
    found = losses.value_loss(output, jnp.array([0.25, 0.25]), jnp.array([0.25, 0.25]))
    expected = -(0.5 * log_p[:, WIN] + 0.25 * log_p[:, DRAW] + 0.25 * log_p[:, LOSS])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    pure = losses.value_loss(output, jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0]))
    np.testing.assert_allclose(pure, losses.value_loss(output, jnp.array([1.0, 0.0])), rtol=1e-6)


@functools.cache
def games(caps: PlayoutCaps, **options: Any) -> Trajectory:
    settings = SearchOptions(capacity=13, **options)

    @jax.jit
    def run(keys: jax.Array) -> Any:
        return selfplay.play(
            GAME,
            jax_stub_evaluate(GAME.num_actions, 5),
            keys,
            jnp.ones((LANES,), bool),
            options=settings,
            num_simulations=12,
            c_puct=1.0,
            temperature_plies=100,
            caps=caps,
        )

    return jax.device_get(run(jax.random.split(jax.random.key(0), LANES)))[0]


def test_playout_caps() -> None:
    """A share of the plies has few simulations and is not recorded; all plies are played."""
    played = games(PlayoutCaps(0.75, 3, 0.0), dirichlet_fraction=0.5)
    assert (played.recorded <= played.valid).all()
    valid = int(played.valid.sum())
    share = 1 - played.recorded.sum() / valid
    assert share == pytest.approx(0.75, abs=4 * math.sqrt(0.75 * 0.25 / valid))
    fast = played.valid & ~played.recorded
    for plies, visits in ((fast, 3), (played.recorded, 12)):
        counts = played.policy[plies] * visits  # shares of so many visits are whole numbers
        np.testing.assert_allclose(counts, np.round(counts), atol=1e-4)
    begun = [{row.tobytes() for row in played.policy[0, plies[0]]} for plies in (fast, ~fast)]
    assert len(begun[0]) == 1 < len(begun[1])  # the root noise is in the others alone
    np.testing.assert_array_equal(played.plies, played.valid.sum(0))
    found, count = replay.from_trajectory(played, LANES * GAME.max_plies)
    assert count == played.recorded.sum()
    assert (np.asarray(found.policy[:count]).sum(-1) > 0.999).all()


@pytest.mark.parametrize(
    ("changes", "option", "expected"),
    [
        ({"selfplay.fast_share": 0.5, "selfplay.fast_simulations": 2}, "caps", (0.5, 2, 0.1)),
        ({"search.propagate_results": True, "selfplay.known_labels": True}, "known_labels", True),
        ({"search.kld_step": 2, "selfplay.clock": 40}, "clock", 40),
        ({"train.root_value_share": 0.25}, "root_value_share", 0.25),
    ],
)
def test_settings_reach_the_games_and_what_is_learned_from_them(
    changes: dict[str, Any], option: str, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any, **options: Any) -> Any:
        seen.update(options)
        raise StopIteration

    seen: dict[str, Any] = {}
    spec, network = spec_of(changes), learner.Learner({}, {}, ())
    if option == "root_value_share":
        played = SimpleNamespace(plies=jnp.zeros(3))
        monkeypatch.setattr(episodes, "self_play", lambda *_: (played, {}))
    monkeypatch.setattr(selfplay, "play", stop)
    monkeypatch.setattr(replay, "from_trajectory", stop)
    key = jax.random.key(0)
    with pytest.raises(StopIteration):
        episodes.play_batch(spec, small.small_hyper(), network, NOTHING, jnp.int32(0), key)
    assert seen[option] == expected


def test_without_caps_every_ply_is_recorded() -> None:
    played = games(selfplay.NO_CAPS)
    np.testing.assert_array_equal(played.recorded, played.valid)


def test_reply_targets_are_the_policies_of_the_next_ply() -> None:
    played = games(selfplay.NO_CAPS)
    found, count = replay.from_trajectory(
        played, LANES * GAME.max_plies, extras=("reply", "draw", "played", "played_value")
    )
    row = 0
    for lane in range(LANES):
        last = int(played.plies[lane]) - 1
        drawn = played.outcome[lane, 0] == 0
        for ply in range(last + 1):
            following = played.policy[ply + 1, lane] if ply < last else np.full(4, 1 / 4)
            np.testing.assert_allclose(found.reply[row], following, rtol=1e-6)
            assert found.draw[row] == drawn
            assert int(found.played[row].argmax()) == played.action[ply, lane]
            np.testing.assert_array_equal(
                found.played_value[row], found.played[row] * found.value[row]
            )
            row += 1
    assert row == count
    # Nobody replies where the same player moves again.
    again = played.replace(to_move=jnp.zeros_like(played.to_move))
    nobody, _ = replay.from_trajectory(again, LANES * GAME.max_plies, extras=("reply",))
    np.testing.assert_allclose(nobody.reply[:row], 1 / 4)
    # The next ply may be one that is not learned from.
    even = played.valid & (np.arange(len(played.valid)) % 2 == 0)[:, None]
    fewer, some = replay.from_trajectory(
        played.replace(recorded=even), LANES * GAME.max_plies, extras=("reply",)
    )
    rows = np.flatnonzero(even.T[played.valid.T])
    np.testing.assert_array_equal(fewer.reply[:some], found.reply[rows])


def test_the_searchs_value_in_the_target() -> None:
    """The worth of a draw is in no target, and the search's draw probability in that of draws."""
    played = games(selfplay.NO_CAPS, draw_value=0.4, backs_up_draws=True)
    size = LANES * GAME.max_plies
    plain, count = replay.from_trajectory(played, size)
    mixed, _ = replay.from_trajectory(played, size, root_value_share=0.25, extras=("draw",))
    order = [(p, b) for b in range(LANES) for p in range(int(played.plies[b]))]
    root = np.array([played.root_value[p, b] for p, b in order])
    expected = 0.75 * np.asarray(plain.value[:count]) + 0.25 * root
    np.testing.assert_allclose(mixed.value[:count], expected, atol=1e-6)
    drawn = np.array([played.outcome[b, 0] == 0 for _, b in order])
    searched = np.array([played.root_draw[p, b] for p, b in order])
    np.testing.assert_allclose(mixed.draw[:count], 0.75 * drawn + 0.25 * searched, atol=1e-6)
    shares = np.asarray(losses.outcome_shares(mixed.value[:count], mixed.draw[:count]))
    assert shares.min() > -1e-6
    np.testing.assert_allclose(shares.sum(-1), 1, atol=1e-6)


def test_squeeze_excite_and_heads_have_the_papers_size() -> None:
    network = make_network(
        "resnet", num_actions=7, observation_shape=(6, 7, 1), squeeze_excite=True, reply_head=True
    )
    shapes = jax.eval_shape(
        lambda: network.init(jax.random.key(0), jnp.zeros((1, 6, 7, 1)))["params"]
    )
    assert sum(x.size for x in jax.tree.leaves(shapes)) == 1_594_385


def test_a_whole_iteration_with_everything_on() -> None:
    """All of it at once compiles, learns finite numbers and merges; images are not drawn."""
    changes = {
        "train.schedule": "cyclic",
        "train.anneal_to": 0.4,
        "train.sampling": "epoch",
        "network.squeeze_excite": True,
        "replay.window_start": 32,
        "replay.window_grows": (1, 3),
        "selfplay.fast_share": 0.5,
        "selfplay.fast_simulations": 2,
        "search.forced_playouts": 2.0,
        "search.dirichlet_fraction": 0.25,
        "train.root_value_share": 0.25,
    }
    spec = spec_of(changes)
    assert spec.num_images == 1
    assert spec.arena_search.forced_playouts == 0
    hyper = small.small_hyper(TINY | changes)
    history = small.run_alone(spec, hyper, seed=0, iterations=3)
    sizes = [int(state.replay.count) for state, _ in history]
    assert sizes[0] <= 32
    assert sizes[2] <= 64
    for state, metrics in history:
        assert metrics["count/examples"] == state.replay.count
        assert 0 <= metrics["count/new_positions"] < metrics["selfplay/positions"]
        assert np.isfinite(metrics["loss/policy"]).all()
    window = history[-1][0].replay
    used = np.asarray(window.examples.observation[: int(window.count)]).reshape(sizes[2], -1)
    assert len(np.unique(used, axis=0)) == sizes[2]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"replay.window_positions": 0, "replay.window_start": 0}, "duplicate_weight=0.8"),
        ({"replay.window_start": 65}, "window_start=65"),
        ({"train.schedule": "cyclic", "train.optimizer": "adam"}, "schedule='cyclic'"),
        ({"train.schedule": "cyclic", "train.cycle_peak": 0.8}, "cycle_peak=0.8"),
        ({"train.schedule": "linear"}, "schedule='linear'.*anneal_to"),
        ({"selfplay.fast_share": 0.5}, "fast_simulations=30"),
        ({"search.algorithm": "gumbel", "selfplay.fast_share": 0.5}, "algorithm='gumbel'"),
        (
            {"search.propagate_results": True, "search.forced_playouts": 2.0},
            "propagate_results=True.*forced_playouts=0",
        ),
        ({"search.propagate_results": True, "semantics": "published"}, "small_draw_value=False"),
        ({"network.name": "convnet"}, "reply_weight=0.35"),
        ({"replay.window_grows": (1, 2, 3)}, "give two numbers"),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        spec_of(changes)
