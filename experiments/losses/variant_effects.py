"""What an arm changes: strengths of the same seeds compared between losses and between arms."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from experiments.claims import decision, inference
from experiments.claims.decision import Tested
from experiments.claims.inference import Estimate
from experiments.claims.papers import Contrast
from experiments.configs.arms import PLAIN

VALUE = "value"
RIVALS = ("policy", "sum", "product")  # whom the papers found l_v to beat (000, section 6.3.3)

Strengths: TypeAlias = Mapping[tuple[str, str], Mapping[int, float]]  # (arm, target) -> seed -> Elo


class Effect(NamedTuple):
    """A difference of mean strengths, taken seed by seed.

    Attributes:
      kind: `loss` (two losses in an arm), `arm` (an arm and the plain one, for a loss), `change`
        (of the first kind between an arm and the plain one).
      words: what less what.
      estimate: in Elo.
    """

    kind: str
    arm: str
    target: str
    words: str
    estimate: Estimate


def rows(effects: Sequence[Effect]) -> list[dict[str, Any]]:
    """As results.json has them; effects of one kind are one table, read together.

    `low` and `high` are the ends of the interval of `level`, which say whether there is an effect.
    """
    tests: dict[Effect, Tested] = {}
    for kind in {effect.kind for effect in effects}:
        own = [effect for effect in effects if effect.kind == kind]
        decided = decision.decide([Contrast()] * len(own), [effect.estimate for effect in own])
        tests.update(zip(own, decided, strict=True))
    found = []
    for effect in effects:
        low, high = tests[effect].interval
        row = {name: getattr(effect, name) for name in ("kind", "arm", "target", "words")}
        row |= {key: tests[effect].row()[key] for key in ("effect", "stderr", "level", "seeds")}
        found.append(row | {"low": low, "high": high})
    return found


def final_strengths(
    runs: Sequence[Mapping[str, Any]], curves: Mapping[str, Mapping[str, Any]]
) -> dict[tuple[str, str], dict[int, float]]:
    """Elo of every run after its last measured iteration.

    Args:
      runs: `name`, `arm`, `target`, `seed` of each.
      curves: of a ladder, by name: `elo` by measured iteration; runs without one are left out.
    """
    found: dict[tuple[str, str], dict[int, float]] = {}
    for run in runs:
        curve = curves.get(run["name"])
        if curve is not None and curve["elo"][-1] is not None:
            group = found.setdefault((run["arm"], run["target"]), {})
            group[int(run["seed"])] = float(curve["elo"][-1])
    return found


def difference(strengths: Strengths, sides: Mapping[tuple[str, str], int]) -> Estimate | None:
    """The signed sum over the seeds that all sides have; None if they have none in common.

    Args:
      strengths: by (arm, target) and seed.
      sides: (arm, target) of those that are added (+1) or subtracted (-1).
    """
    sample = inference.paired([strengths.get(side, {}) for side in sides], [*sides.values()])
    return inference.estimate([sample]) if len(sample) else None


def effects(strengths: Strengths) -> list[Effect]:
    """All of the three kinds that the runs allow, in the order of the arms."""
    arms = list(dict.fromkeys(arm for arm, _ in strengths))
    found = []
    for arm in arms:
        targets = [target for a, target in strengths if a == arm]
        asked: list[tuple[str, str, str, dict[tuple[str, str], int]]] = []
        for rival in (r for r in RIVALS if r in targets and VALUE in targets):
            here = {(arm, VALUE): 1, (arm, rival): -1}
            asked.append(("loss", rival, f"{arm}: {VALUE} less {rival}", here))
            if arm != PLAIN:
                there = {(PLAIN, VALUE): -1, (PLAIN, rival): 1}
                words = f"({VALUE} less {rival}) in {arm} less the same in {PLAIN}"
                asked.append(("change", rival, words, here | there))
        if arm != PLAIN:
            for target in targets:
                sides = {(arm, target): 1, (PLAIN, target): -1}
                asked.append(("arm", target, f"{target}: {arm} less {PLAIN}", sides))
        for kind, target, words, sides in asked:
            estimate = difference(strengths, sides)
            if estimate is not None:
                found.append(Effect(kind, arm, target, words, estimate))
    return found
