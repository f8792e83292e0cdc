"""The claims about the four losses (Wang 2019, 2020, 2023), decided from finished loss studies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.claims import decision, effort, inference, measured, papers
from experiments.claims.decision import Decided
from experiments.claims.inference import Estimate
from experiments.claims.measured import BoardStudies, Key
from experiments.claims.papers import Claim, Contrast


@dataclass(frozen=True)
class Findings:
    """All that was decided, and from what."""

    groups: tuple[BoardStudies, ...]
    decided: tuple[Decided, ...]

    def compute(self, one: Decided, contrast: Contrast) -> float | None:
        """Share of the papers' computing that a run of it spent, the smallest of the boards."""
        spent = [
            effort.fraction(study)
            for group in self.groups
            if group.semantics == one.semantics and group.board in contrast.boards
            for study in group.studies
        ]
        return min((share for share in spent if share is not None), default=None)


def decide(groups: Sequence[BoardStudies]) -> Findings:
    """All claims that the runs say something about, for each semantics apart."""
    by_semantics: dict[str, dict[str, BoardStudies]] = {}
    for group in groups:
        by_semantics.setdefault(group.semantics, {})[group.board] = group
    decided = []
    for claim in papers.claims(papers.LOSSES):
        for semantics, boards in by_semantics.items():
            contrasts = [c for c in claim.contrasts if {*c.boards} <= {*boards}]
            if contrasts:
                decided.append(_decide(claim, semantics, contrasts, boards))
    return Findings(tuple(groups), tuple(decided))


def _decide(
    claim: Claim, semantics: str, contrasts: Sequence[Contrast], boards: Mapping[str, BoardStudies]
) -> Decided:
    missing: list[str] = []
    estimates = [_estimate(contrast, boards, missing) for contrast in contrasts]
    needed = {board for contrast in claim.contrasts for board in contrast.boards}
    return Decided(
        claim,
        decision.decide(contrasts, estimates),
        semantics,
        absent=tuple(sorted(needed - {*boards})),
        missing=tuple(dict.fromkeys(missing)),
    )


def _estimate(
    contrast: Contrast, boards: Mapping[str, BoardStudies], missing: list[str]
) -> Estimate | None:
    """Seed by seed on a board, boards independent; notes in words what is missing."""

    def values(board: str, target: str) -> dict[Key, float]:
        found, absent = boards[board].values(contrast.statistic, target)
        missing.extend(absent)
        return found

    samples = [
        decision.differences(contrast, lambda target, board=board: values(board, target))  # type: ignore[misc]
        for board in contrast.boards
    ]
    whole = all(len(sample) for sample in samples)
    return inference.estimate(samples, (1.0, -1.0)[: len(samples)]) if whole else None


def published_effect(contrast: Contrast) -> float | None:
    """The contrast in the papers' numbers."""
    if contrast.statistic == "training_elo_bias" and not contrast.minus:
        return None  # the untrained networks were not rated
    parts = [
        (sign * weight, measured.published_value(contrast.statistic, board, target))
        for board, sign in zip(contrast.boards, (1.0, -1.0), strict=False)
        for target, weight in contrast.sides
    ]
    known = [weight * value for weight, value in parts if value is not None]
    return sum(known) - contrast.than if len(known) == len(parts) else None
