"""What networks of the supervised study know: accuracy on positions that were held back."""

from typing import Any

import jax
import numpy as np
from ml_collections import ConfigDict

from experiments.connect_four.solved_accuracy import answers_of
from jaxzero import solvers
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Spec


def measure(
    spec: Spec, best: Learner, test: solvers.Labelled, config: ConfigDict
) -> list[dict[str, Any]]:
    """Accuracy of networks [S] on the test positions, alone and with search, and their mistakes."""
    alone, with_search = answers_of(
        spec,
        best,
        test,
        jax.random.key(config.seed),
        options=spec.arena_search,
        num_simulations=config.study.searches,
        c_puct=config.search.c_puct,
    )
    most = config.study.mistakes
    measured: list[dict[str, Any]] = [
        {
            "network": solvers.answer_accuracy(test, answers),
            "mistakes": [m._asdict() for m in solvers.mistakes(test, answers.actions, most=most)],
        }
        for answers in alone
    ]
    for one, answers in zip(measured, with_search, strict=False):  # none without simulations
        one["search"] = solvers.answer_accuracy(test, answers)
    return measured


def mean_and_error(values: list[float]) -> dict[str, float]:
    """Mean over networks, standard deviation and standard error (NaN of one)."""
    many = len(values) > 1
    sd = float(np.std(values, ddof=1)) if many else float("nan")
    return {"mean": float(np.mean(values)), "sd": sd, "stderr": sd / len(values) ** 0.5}
