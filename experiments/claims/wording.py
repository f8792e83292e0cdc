"""Contrasts in words."""

from typing import Final

from experiments.claims.papers import Contrast
from experiments.pages.style import SYMBOLS
from experiments.pages.wording import game_title, number

_RELATIONS: Final = {
    "greater": "> 0",
    "less": "< 0",
    "equal": "= 0",
    "different": "≠ 0",
    "not_greater": "≤ 0",
}
# Statistics whose names in the files of claims do not say by themselves what they are.
_STATISTICS: Final = {
    "slope": "Elo for a doubling",
    "slope_at_cost": "Elo for a doubling of the cost",
    "slope_at_published_cost": "Elo for a doubling of the papers' hours",
    "time_slope": "Elo for a doubling of the time",
    "top_slope": "Elo for a doubling at the largest I and E",
    "corner": "Elo at the largest I, E and m",
    "front_epochs": "log2 of ep on the Pareto front",
    "selfplay_front_epochs": "log2 of ep on the Pareto front over self-play's time",
    "early": "share of games won early",
    "late": "share of games won late",
    "late_gain": "gain in the share of games won late",
    "after_curriculum": "gain in the share of games won as the curriculum ends",
    "final_loss": "last training loss",
    "loss_at_70": "training loss at 70 % of I",
    "loss_at_80": "training loss at 80 % of I",
    "loss_at_85": "training loss at 85 % of I",
    "early_loss": "mean training loss in the first half",
    "loss_fluctuation": "spread of the changes of the training loss",
    "rise_after": "rise of the training loss after 1.2 I",
    "fall_after": "fall of the training loss later on",
    "loss_fall": "fall of the training loss",
    "second_half_loss_fall": "fall of the training loss in the second half",
    "late_loss_fall": "fall of the training loss in the last quarter",
    "policy_loss_fall": "fall of the policy loss",
    "policy_loss_fall_after_10": "fall of the policy loss after iteration 10",
    "value_loss_fall": "fall of the value loss",
    "value_loss_fall_after_10": "fall of the value loss after iteration 10",
    "second_half_value_loss_fall": "fall of the value loss in the second half",
    "final_policy_loss": "last policy loss",
    "final_value_loss": "last value loss",
    "value_less_policy": "last value loss less last policy loss",
    "epoch_fall": "fall of the loss over an iteration's epochs",
    "training_elo_gain": "gain in training Elo",
    "second_half_training_elo_gain": "gain in training Elo in the second half",
    "training_elo_bias": "bias of training Elo",
    "accuracy": "best moves with search, %",
    "early_accuracy": "best moves with search early, %",
    "late_accuracy": "best moves with search late, %",
    "best_accuracy": "best moves with search at best, %",
    "network_accuracy": "best moves with search by networks, %",
    "early_network_accuracy": "best moves with search by the first networks, %",
    "late_network_accuracy": "best moves with search by the last networks, %",
    "growth_drop": "best moves lost where the network grows, %",
    "last_growth_drop": "best moves lost where it grows last, %",
    "early_diversity": "share of new positions early",
    "late_diversity": "share of new positions late",
    "search_gain": "best moves with search less without, %",
    "moves": "right moves, %",
    "results": "right results, %",
}


def words_of(contrast: Contrast) -> str:
    """What is compared and what is claimed of it: `training Elo gain: l+ - lp > 0`."""
    claimed = _RELATIONS[contrast.direction].replace("0", f"{contrast.than:g}")
    return f"{subject_of(contrast)} {claimed}".strip()


def subject_of(contrast: Contrast) -> str:
    """What is compared: `training Elo gain: l+ - lp`."""
    sides = [[SYMBOLS.get(t, t) for t in side] for side in (contrast.plus, contrast.minus) if side]
    named = [side[0] if len(side) == 1 else f"mean({', '.join(side)})" for side in sides]
    what = f" {number(-1)[0]} ".join(named)
    if contrast.against:
        what = f"({what}, more than on {game_title(contrast.against)})"
    name = contrast.statistic
    statistic = _STATISTICS.get(name, name.replace("_", " ").replace("elo", "Elo"))
    return ": ".join(filter(None, [statistic, what]))
