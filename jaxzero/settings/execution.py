"""Settings that change nothing that is learned: what is measured, how it runs, where metrics go.

Part of `jaxzero.settings.table`, in a file of their own for their number.
"""

from jaxzero.settings.keys import Key

_MANY = 10_000_000

EXECUTION: tuple[Key, ...] = (
    Key(
        "evaluation.heldout_games",
        64,
        "games of plain MCTS in the fixed held-out set",
        low=1,
        high=1_000_000,
    ),
    Key(
        "evaluation.heldout_simulations",
        50,
        "simulations of each of its searches",
        low=1,
        high=100_000,
    ),
    Key(
        "evaluation.max_distinct_positions",
        200_000,
        "positions among which distinct ones are counted",
        low=1,
        high=2**31 - 1,
    ),
    Key(
        "evaluation.learning_positions",
        200,
        "positions that kept networks are examined on after training, fewer where it would take "
        "longer than a thirtieth of training; 0: none",
        low=0,
        high=1_000_000,
    ),
    Key(
        "execution.population",
        "auto",
        "members one after another (map), together (vmap); auto: map on a CPU",
        choices=("auto", "map", "vmap"),
    ),
    Key(
        "execution.evaluate_at_once",
        None,
        "positions that a search evaluates together, finished ones and those of finished games "
        "left out; 0: all games'; unset: 32 on a CPU (16 on one core), else 0",
        kind=int,
        low=0,
        high=1_000_000,
    ),
    Key(
        "execution.tree_steps",
        "loops",
        "the way down and up a search's trees: XLA's loops, or one Pallas kernel each, for GPUs "
        "(NVIDIA's from Ampere on), predicted faster there and not measured yet; on CPUs "
        "interpreted, slowly",
        choices=("loops", "kernels"),
    ),
    Key(
        "execution.devices",
        0,
        "devices to use; 0: all (of a CPU's cores as many as divide the runs)",
        low=0,
        high=1_000_000,
    ),
    Key(
        "execution.distributed",
        False,
        "one of several processes that train together (jax.distributed)",
    ),
    Key(
        "execution.checkpoint_every",
        10,
        "iterations between checkpoints that a run resumes from",
        low=1,
        high=_MANY,
    ),
    Key("execution.keep_checkpoints", 2, "newest checkpoints that are kept", low=2, high=1000),
    Key(
        "execution.snapshot_every",
        10,
        "iterations between networks that are kept for good",
        low=1,
        high=_MANY,
    ),
    Key(
        "execution.max_minutes",
        0.0,
        "save and stop after so long (also --max-minutes=N); 0: no limit",
        low=0,
        high=1e9,
    ),
    Key(
        "execution.grace",
        0.0,
        "seconds after Ctrl-C or SIGTERM in which the iteration may end and be saved (also "
        "--grace=N), then the process ends at once; 0: no limit",
        low=0,
        high=1e9,
    ),
    Key("execution.compilation_cache", True, "keep compiled programs on disk for the next time"),
    Key("execution.deterministic_gpu", False, "the same bits again on a GPU; slower"),
    Key(
        "tracking.wandb",
        "off",
        "Weights & Biases (extra wandb)",
        choices=("off", "offline", "online"),
    ),
    Key("tracking.wandb_project", "jaxzero", "name of the project there"),
    Key("tracking.tensorboard", False, "event files in the run directory too (extra tensorboard)"),
)
