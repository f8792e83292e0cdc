"""Every setting of a run: Wang 2019, 2020 and 2023's Table 1, corrected semantics, one run.

The only place where a default, a meaning, a letter or a range is written: `default_config`,
`validate`, `--help` and docs/glossary.md come from here. Studies add their own keys in
`experiments/configs`.
"""

from jaxzero.settings.archive import ARCHIVE
from jaxzero.settings.execution import EXECUTION
from jaxzero.settings.features import LEARNED_FEATURES
from jaxzero.settings.growing import GROWING
from jaxzero.settings.keys import Key
from jaxzero.settings.league import LEAGUE
from jaxzero.settings.mechanisms import MECHANISMS
from jaxzero.settings.sharing import SHARING
from jaxzero.settings.switches import SEMANTICS, SWITCHES

TARGETS = ("policy", "value", "sum", "product", "weighted")  # l_p, l_v, l_+, l_x, l_lambda

# Sections in the order in which they are shown, with what they are about.
SECTIONS: dict[str, str] = {
    "": "game, seed, semantics",
    "study": "of this study",
    "network": "board -> policy and value",
    "search": "Monte Carlo tree search, in self-play and in the arena",
    "selfplay": "games that are learned from",
    "replay": "the window of examples",
    "train": "window -> better weights",
    "arena": "candidate against best, and the gate",
    "switches": "what the published programs did differently; unset: as config.semantics says",
    "evaluation": "what is measured beside training",
    "execution": "how it runs; may change when a run directory is resumed",
    "tracking": "where metrics go beside the run directory",
}

_MANY = 10_000_000

KEYS: tuple[Key, ...] = (
    Key("game", "othello_6x6", "any name of jaxzero.make_game, rows x columns"),
    Key(
        "observation",
        "signed",
        "own and other stones as two planes, or with a third of ones that shows the board's edge; "
        "one plane +1/-1/0 (Wang 2020); one plane 1/2/3 (Clausen 2021); racing_kings and pgx have "
        "planes of their own whatever it is",
        choices=("planes", "signed", "cells", "planes_ones"),
    ),
    Key("seed", 0, "first seed; a population counts up from it", low=0, high=2**31 - 1),
    Key(
        "semantics",
        "corrected",
        "what is right, or what the papers' programs did: sets all switches at once",
        choices=SEMANTICS,
    ),
    # ---- network
    Key(
        "network.name",
        "convnet",
        "four convolutions (Wang 2020), or residual blocks (Clausen 2021, West 2020)",
        choices=("convnet", "resnet"),
    ),
    Key(
        "network.channels",
        256,
        "filters of each convolution; 256 in the authors' runs",
        low=1,
        high=4096,
    ),
    Key(
        "network.hidden",
        (1024, 512),
        "widths of the fully connected layers",
        low=1,
        high=1_000_000,
    ),
    Key("network.blocks", 5, "residual blocks", low=1, high=100),
    Key(
        "network.value_head",
        "scalar",
        "one number through tanh, or win/draw/loss (Clausen 2021)",
        choices=("scalar", "wdl"),
    ),
    Key(
        "network.dtype",
        "auto",
        "number format of the computation; auto: bfloat16 where the device multiplies it",
        choices=("auto", "float32", "bfloat16"),
    ),
    Key(
        "network.convolution",
        "auto",
        "as one matrix product over patches, by Winograd's F(2x2, 3x3) (layers of 64 channels or "
        "more, float32 only), or XLA's own; auto: winograd on CPUs in float32, else patches",
        choices=("auto", "patches", "winograd", "lax"),
    ),
    Key(
        "network.batch_norm_momentum",
        0.99,
        "of the running averages; TensorFlow 1's default, which the authors used",
        low=0,
        high=1,
    ),
    Key(
        "network.bias_before_norm",
        True,
        "biases before batch normalisation, which change nothing but the parameter count (Wang "
        "2020 has them) and are not learned",
    ),
    Key(
        "network.matmul_precision",
        "float32",
        "of float32 products on GPUs: as they are, or as TF32 (10 bits of mantissa, faster)",
        choices=("float32", "tensorfloat32"),
    ),
    # ---- search
    Key(
        "search.algorithm",
        "puct",
        "the papers' rule, or Gumbel with sequential halving",
        choices=("puct", "gumbel"),
    ),
    Key("search.loop", "tree", "own loop on mctx's tree, or mctx's loop", choices=("tree", "mctx")),
    Key("search.num_simulations", 100, "simulations of a search", "m", low=1, high=100_000),
    Key("search.c_puct", 1.0, "weight of exploration", "c", low=0, high=1e6),
    Key(
        "search.unvisited_q",
        0.0,
        "value of a move without visits, on the scale of q_scale",
        low=-1,
        high=1,
    ),
    Key(
        "search.q_scale",
        "signed",
        "values in [-1, 1], or in [0, 1] (Clausen 2021)",
        choices=("signed", "unit"),
    ),
    Key(
        "search.exploration",
        "sqrt_total",
        "c P sqrt(N) / (1 + n) (Wang 2020), or with sqrt(N) + 1e-5 (Clausen 2021)",
        choices=("sqrt_total", "sqrt_total_plus"),
    ),
    Key(
        "search.renormalise_prior",
        True,
        "softmax over the legal moves; False: over all, illegal ones cut off (Clausen 2021)",
    ),
    Key(
        "search.dirichlet_fraction",
        0.0,
        "share of root noise in self-play; off in Wang 2019, 2020, 2023; gumbel has its own",
        low=0,
        high=1,
    ),
    Key("search.dirichlet_alpha", 0.3, "concentration of the root noise", low=1e-6, high=1_000_000),
    Key(
        "search.dirichlet_scaling",
        "constant",
        "alpha as it is, or divided by the number of legal moves (Clausen 2021)",
        choices=("constant", "per_legal_move"),
    ),
    Key(
        "search.ties",
        "lowest",
        "equal scores: lowest move (Wang 2020), or a random one (Clausen 2021)",
        choices=("lowest", "random"),
    ),
    Key(
        "search.draw_value",
        0.0,
        "worth of a draw to both sides",
        low=-1,
        high=1,
        needs=("network.value_head", "wdl"),
    ),
    Key(
        "search.max_considered_actions",
        16,
        "moves sampled at the root",
        low=1,
        high=10_000,
    ),
    Key("search.tree_moves", 4, "capacity of a kept tree, in searches of m", low=1, high=1000),
    # ---- self-play and replay
    Key("selfplay.episodes", 50, "games of an iteration", "E", low=1, high=_MANY),
    Key(
        "selfplay.temperature_plies",
        15,
        "plies 1 to T' - 1 are sampled from the visits, later ones take the most visited move",
        "T'",
        low=0,
        high=100_000,
    ),
    Key("replay.window", 20, "iterations whose examples are kept", "rs", low=1, high=100_000),
    Key(
        "replay.max_examples",
        200_000,
        "examples of one iteration at most, symmetric images counted",
        low=1,
        high=2**31 - 1,
    ),
    # ---- training
    Key("train.iterations", 100, "rounds of self-play, training and arena", "I", low=1, high=_MANY),
    Key("train.epochs", 10, "passes over the window in an iteration", "ep", low=1, high=100_000),
    Key("train.batch_size", 64, "examples of a minibatch", "bs", low=1, high=1_000_000),
    Key("train.learning_rate", 0.005, "step size", "lr", low=0, high=1000),
    Key(
        "train.dropout_rate",
        0.3,
        "share of units dropped in the fully connected layers",
        "d",
        low=0,
        high=0.999,
    ),
    Key(
        "train.loss",
        "sum",
        "what is minimised: l_p, l_v, l_+ = l_p + l_v, l_x = l_p l_v, or l_lambda; studies of "
        "several losses have study.targets",
        choices=TARGETS,
    ),
    Key(
        "train.loss_weight",
        0.5,
        "of loss=weighted: lambda l_p + (1 - lambda) l_v",
        "lambda",
        low=0,
        high=1,
    ),
    Key(
        "train.policy_softmax",
        "all",
        "softmax in l_p: over all moves (Wang 2020), or over the legal ones",
        choices=("all", "legal"),
    ),
    Key(
        "train.sampling",
        "replacement",
        "minibatches drawn with replacement (the programs), or full passes",
        choices=("replacement", "epoch"),
    ),
    Key("train.optimizer", "adam", "how gradients are used", choices=("adam", "sgd")),
    Key("train.momentum", 0.9, "share of a step kept in the next", low=0, high=0.99999),
    Key(
        "train.weight_decay",
        0.0,
        "L2 through the optimiser; none in Wang 2020 (section 4.2)",
        low=0,
        high=1000,
    ),
    Key("train.max_gradient_norm", 0.0, "larger norms are scaled to it; 0: never", low=0, high=1e9),
    Key(
        "train.measure",
        "after_step",
        "losses of a minibatch measured once more after its step (the programs), or in it",
        choices=("after_step", "in_step"),
    ),
    # ---- arena
    Key(
        "arena.gate",
        "threshold",
        "a candidate needs a share u of the decisive games, or a score whose interval is above "
        "a half (wilson, West 2020: the match stops once that is known), or is always accepted",
        choices=("threshold", "wilson", "none"),
    ),
    Key(
        "arena.games",
        40,
        "games of candidate against best; wilson: at most, West 2020's rule needs 400",
        "n",
        low=2,
        high=200_000,
    ),
    Key(
        "arena.continue_from",
        "best",
        "the network that training goes on from where a candidate was rejected: the best, or that "
        "candidate, while the best plays (West 2020)",
        choices=("best", "latest"),
    ),
    Key(
        "arena.trees",
        "game",
        "kept trees grow over a game, or over all games of a gate, which then go one after another "
        "(Wang 2020's program)",
        choices=("game", "gate"),
    ),
    Key("arena.threshold", 0.6, "share of decisive games to win", "u", low=0, high=1),
    Key(
        "arena.opening_plies",
        2,
        "random plies from which each colour-swapped pair of games starts",
        low=0,
        high=1000,
    ),
    Key(
        "arena.confidence",
        0.95,
        "of Wilson's two-sided interval",
        low=0.5,
        high=0.9999,
    ),
    Key(
        "arena.width",
        0.1,
        "an interval narrower than this ends the match, the best stays",
        low=0,
        high=1,
    ),
    Key(
        "arena.batch",
        20,
        "pairs of games played at once; changes no decision",
        low=1,
        high=_MANY,
    ),
    *MECHANISMS,
    *SHARING,
    *ARCHIVE,
    *LEAGUE,
    *GROWING,
    *LEARNED_FEATURES,
    # ---- semantics
    *(
        Key(f"switches.{name}", None, switch.described, kind=bool)
        for name, switch in SWITCHES.items()
    ),
    *EXECUTION,
)
