"""Settings of Clausen 2021's mechanisms, of West 2020's player and curriculum, and of Gumbel.

Part of `jaxzero.settings.table`, in a file of their own for their number. By default none of
them acts.
"""

from jaxzero.settings.keys import Key

_MANY = 10_000_000

MECHANISMS: tuple[Key, ...] = (
    Key(
        "network.style",
        "efficiency",
        "of the residual blocks and heads: as in Clausen 2021, or as in West 2020 (ReLU before the "
        "addition, one shared 1x1 convolution)",
        choices=("efficiency", "curriculum"),
    ),
    Key(
        "network.stem_filters",
        64,
        "filters of the first convolution",
        low=1,
        high=4096,
    ),
    Key(
        "network.head_filters",
        32,
        "filters of the heads' convolution; West 2020 does not say",
        low=1,
        high=4096,
    ),
    Key(
        "network.value_hidden",
        256,
        "width of the value head's hidden layer",
        low=1,
        high=1_000_000,
    ),
    Key(
        "network.squeeze_excite",
        False,
        "channels gated by their means, in every block (Clausen 2021, Table 2)",
        needs=("network.name", "resnet"),
    ),
    Key(
        "search.forced_playouts",
        0.0,
        "k: visits that moves of a noisy root are forced to have, sqrt(k P N), and that the policy "
        "target is without (Wu 2020: 2); 0: none",
        low=0,
        high=1e6,
    ),
    Key(
        "search.propagate_results",
        False,
        "proven results are carried up the tree, known lost moves are left out and won ones "
        "played (an MCTS-solver; named in Clausen 2021, section 2.4)",
    ),
    Key(
        "search.stop_when_known",
        False,
        "a search ends as soon as the result of its position is proven",
        needs=("search.propagate_results", True),
    ),
    Key(
        "search.discount",
        1.0,
        "of a win or loss for each ply until it: below 1 a quick win is worth more. Acts in "
        "searches, but for proven results, and in labels, by plies to the game's end. Draws are "
        "not discounted",
        low=0.5,
        high=1,
    ),
    Key(
        "search.gumbel_rescale",
        True,
        "Q stretched to [0, 1] between a node's least and largest (mctx), or as it is",
    ),
    Key(
        "search.gumbel_value_scale",
        0.1,
        "c_scale: Q counts (c_visit + most visits) c_scale beside the log prior",
        low=0,
        high=1e6,
    ),
    Key("search.gumbel_visit_offset", 50.0, "c_visit", low=0, high=1e6),
    Key(
        "search.gumbel_target",
        "improved",
        "policy target: prior and Q together, or the visits of sequential halving",
        choices=("improved", "visits"),
    ),
    Key(
        "search.gumbel_root_value",
        "visits",
        "mean of all simulations, or of the moves' values under the improved policy",
        choices=("visits", "policy"),
    ),
    Key(
        "search.puct_target",
        "visits",
        "policy target: the visits, or prior (without noise) and Q together on the scale of "
        "gumbel_rescale, gumbel_value_scale and gumbel_visit_offset",
        choices=("visits", "improved"),
    ),
    Key(
        "selfplay.opening_plies",
        0,
        "each game begins with 0 to so many random plies, each number as likely; they are not "
        "learned from; 0: none",
        low=0,
        high=1000,
        needs=("selfplay.curriculum", "none"),
    ),
    Key(
        "selfplay.known_labels",
        False,
        "the value learns the first result that a search proved from a position on, in place "
        "of the game's",
        needs=("search.propagate_results", True),
    ),
    Key(
        "selfplay.fast_share",
        0.0,
        "share of plies with a fast search, not learned from but as replies (playout caps; Clausen "
        "2021: 0.75)",
        low=0,
        high=0.999,
    ),
    Key("selfplay.fast_simulations", 30, "simulations of a fast search", low=1, high=100_000),
    Key(
        "selfplay.fast_noise",
        0.1,
        "factor of the root noise, and of k of forced playouts, in a fast search (Clausen 2021: "
        "0.025 of 0.25)",
        low=0,
        high=1,
    ),
    Key(
        "selfplay.drop_draws",
        0.0,
        "share of drawn games not learned from; West 2020: 0.5 (Racing Kings), 0.1 (Reversi)",
        low=0,
        high=1,
    ),
    Key(
        "selfplay.curriculum",
        "none",
        "the end of games first (West 2020): by a schedule over the epochs done, or as far from "
        "the end as the search's value says who wins",
        choices=("none", "schedule", "horizon"),
    ),
    Key(
        "selfplay.curriculum_drop",
        "random",
        "the plies before: played at random without search, or searched and not learned from",
        choices=("random", "trim"),
    ),
    Key(
        "selfplay.curriculum_epochs",
        (0, 1, 100, 500, 800, 1000),
        "epochs done from which each of curriculum_fractions holds (West 2020, Equation 5)",
        low=0,
        high=_MANY,
    ),
    Key(
        "selfplay.curriculum_fractions",
        (0.1, 0.33, 0.5, 0.66, 0.8, 1.0),
        "shares of a game, its end, that are searched and learned from: West 2020's zeta",
        low=0.001,
        high=1,
    ),
    Key(
        "selfplay.curriculum_initial_plies",
        0.0,
        "a game's average length before the first game; 0: that of random games",
        low=0,
        high=100_000,
    ),
    Key(
        "selfplay.curriculum_averaging",
        0.5,
        "weight of the newest games in the average of a game's length; West 2020 does not say",
        low=0,
        high=1,
    ),
    Key(
        "selfplay.curriculum_level",
        0.5,
        "correlation of the search's value with the result up to which it sees",
        low=0,
        high=1,
    ),
    Key(
        "selfplay.curriculum_margin",
        4,
        "plies searched beyond the horizon",
        low=1,
        high=100_000,
    ),
    Key(
        "selfplay.curriculum_least",
        0.1,
        "smallest share of a game that is searched",
        low=0.001,
        high=1,
    ),
    Key(
        "replay.minimum_games",
        (),
        "games that the window holds before training, in iteration 1, 2, ... (West 2020), in "
        "batches of selfplay.episodes, each a slot of replay.window; empty: one an iteration",
        low=1,
        high=_MANY,
        item=int,
    ),
    Key(
        "replay.leaving",
        0.1,
        "share of games, the oldest, that leaves after training (West 2020)",
        low=0,
        high=1,
    ),
    Key(
        "replay.images",
        "all",
        "symmetric images that are learned; none: the positions alone (Clausen 2021, West 2020)",
        choices=("all", "none"),
    ),
    Key(
        "replay.window_positions",
        0,
        "window of newest positions, not replay.window (Clausen 2021: 2,000,000); 0: iterations",
        low=0,
        high=2**30,
    ),
    Key(
        "replay.window_start",
        0,
        "its size at first: the slow window (Clausen 2021: 500,000); 0: full from the beginning",
        low=0,
        high=2**30,
    ),
    Key(
        "replay.window_grows",
        (5, 12),
        "iterations between which the slow window grows",
        low=1,
        high=_MANY,
    ),
    Key(
        "replay.duplicate_weight",
        0.0,
        "w of a repeated position's targets, which are merged (Clausen 2021, equation 4: 0.8); 0: "
        "kept apart; needs replay.window_positions",
        low=0,
        high=1,
    ),
    Key(
        "train.passes",
        0.0,
        "how often an example is learned from on average, in place of epochs over the window, "
        "which then only says among how many minibatches are drawn; 0: train.epochs",
        low=0,
        high=1e6,
        needs=("train.sampling", "replacement"),
    ),
    Key(
        "train.value_weight",
        1.0,
        "weight of l_v in loss=sum, beside l_p (Clausen 2021: 0.01)",
        low=0,
        high=1e6,
    ),
    Key(
        "train.reply_weight",
        0.0,
        "weight of the opponent's reply's cross entropy, a head of its own (Clausen 2021, equation "
        "5: 0.35); 0: no head",
        low=0,
        high=1e6,
        needs=("network.name", "resnet"),
    ),
    Key(
        "train.move_value_weight",
        0.0,
        "weight of the squared error of the played move's value, a head of its own (Gao et al. "
        "2020); 0: no head",
        low=0,
        high=1e6,
        needs=("network.name", "resnet"),
    ),
    Key(
        "train.root_value_share",
        0.0,
        "share of the search's value in the value target, beside the result (Young 2019)",
        low=0,
        high=1,
    ),
    Key(
        "train.average",
        0.0,
        "decay of a running average of the weights, which plays in their place; smaller in the "
        "first steps; 0: none",
        low=0,
        high=0.999999,
    ),
    Key(
        "train.schedule",
        "constant",
        "learning rate: as it is, falling in steps, linearly to anneal_to, or in a cycle with "
        "momentum (Clausen 2021); cyclic needs sgd",
        choices=("constant", "steps", "linear", "cyclic"),
    ),
    Key(
        "train.schedule_steps",
        (7, 14),
        "iterations from which the rate is multiplied by schedule_factor",
        low=1,
        high=_MANY,
    ),
    Key("train.schedule_factor", 0.1, "of each step", low=0, high=1),
    Key("train.cycle_peak", 0.35, "share of a training at which the cycle peaks", low=0, high=1),
    Key("train.cycle_end", 0.7, "share of a training at which it is over", low=0, high=1),
    Key("train.cycle_low", 0.1, "learning rate where it begins and is over", low=0, high=1),
    Key("train.cycle_last", 0.015, "learning rate at the end of a training", low=0, high=1),
    Key(
        "train.cycle_momentum",
        (0.95, 0.85),
        "momentum where the cycle begins and ends, and at its peak",
        low=0,
        high=0.99999,
    ),
    Key(
        "train.anneal_to",
        1.0,
        "factor of the cycles, or of schedule=linear, from iteration anneal_iterations + 1 on, "
        "falling from 1 (Clausen 2021: 0.4)",
        low=0,
        high=1,
    ),
    Key("train.anneal_iterations", 20, "iterations that it falls", low=1, high=_MANY),
)
