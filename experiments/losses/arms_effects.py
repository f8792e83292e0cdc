"""What an arm changes: strengths of the same seeds compared between losses and between arms."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from experiments.claims import decision, inference
from experiments.claims.inference import Estimate
from experiments.claims.papers import Contrast
from experiments.configs.arms import ARMS

VALUE = "value"
RIVALS = ("policy", "sum", "product")  # whom the papers found l_v to beat (000, section 6.3.3)

Strengths: TypeAlias = Mapping[tuple[str, str], Mapping[int, float]]  # (arm, target) -> seed -> Elo
Sides: TypeAlias = dict[tuple[str, str], int]  # (arm, target) of what is added (+1) or taken (-1)


class Scale(NamedTuple):
    """The ladder that an arm was measured on."""

    ladder: int  # its number
    stderr: float  # Elo, of its zero as seen from the networks: the same for all of them


def final_strengths(
    runs: Sequence[Mapping[str, Any]], curves: Mapping[str, Mapping[str, Any]]
) -> dict[tuple[str, str], dict[int, float]]:
    """Elo of every run (`name`, `arm`, `target`, `seed`) after its last measured iteration.

    `curves`: of a ladder, by name: `elo` by measured iteration; runs without one are left out.
    """
    found: dict[tuple[str, str], dict[int, float]] = {}
    for run in runs:
        curve = curves.get(run["name"])
        if curve is not None and curve["elo"][-1] is not None:
            group = found.setdefault((run["arm"], run["target"]), {})
            group[int(run["seed"])] = float(curve["elo"][-1])
    return found


def effects(
    strengths: Strengths, scales: Mapping[str, Scale] | None = None
) -> list[dict[str, Any]]:
    """All differences that the runs allow, as results.json has them.

    Seed by seed, over the seeds that all sides have. Of three kinds, each one table, read together:
    `loss` (l_v less a rival, in an arm), `change` (of that between an arm and its reference) and
    `arm` (a loss in an arm less the same in its reference). `low` and `high` are the ends of the
    interval of `level`, which say whether there is an effect. `scales`: by arm, where arms were
    measured on several ladders; a loss on one less the same on another has the error of both.
    """
    arms = list(dict.fromkeys(arm for arm, _ in strengths))
    asked: dict[str, list[tuple[str, str, str, Estimate]]] = {"loss": [], "change": [], "arm": []}

    def ask(kind: str, arm: str, target: str, words: str, sides: Sides) -> None:
        sample = inference.paired([strengths.get(side, {}) for side in sides], [*sides.values()])
        if len(sample):
            found = inference.estimate([sample])
            used = {scales[arm] for arm, _ in sides} if scales and kind == "arm" else set()
            if len(used) > 1:
                error = math.hypot(found.stderr, *(one.stderr for one in used))
                found = dataclasses.replace(found, stderr=error)
            asked[kind].append((arm, target, words, found))

    for arm in arms:
        reference = ARMS[arm].reference if arm in ARMS else arm  # a recorded one may be gone
        targets = [target for a, target in strengths if a == arm]
        for rival in (r for r in RIVALS if r in targets and VALUE in targets):
            here = {(arm, VALUE): 1, (arm, rival): -1}
            ask("loss", arm, rival, f"{arm}: {VALUE} less {rival}", here)
            if arm != reference:
                there = {(reference, VALUE): -1, (reference, rival): 1}
                words = f"({VALUE} less {rival}) in {arm} less the same in {reference}"
                ask("change", arm, rival, words, here | there)
        for target in targets if arm != reference else ():
            sides = {(arm, target): 1, (reference, target): -1}
            ask("arm", arm, target, f"{target}: {arm} less {reference}", sides)
    found = []
    for kind, rows in asked.items():
        tests = decision.decide([Contrast()] * len(rows), [estimate for *_, estimate in rows])
        for (arm, target, words, _), test in zip(rows, tests, strict=True):
            low, high = test.interval
            numbers = {key: test.row()[key] for key in ("effect", "stderr", "level", "seeds")}
            head = {"kind": kind, "arm": arm, "target": target, "words": words}
            found.append(head | numbers | {"low": low, "high": high})
    return found
