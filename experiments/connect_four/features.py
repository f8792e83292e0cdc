"""Features of a small network that supervised networks learn too (Clausen 2021, section 4.2)."""

import dataclasses

import jax

from jaxzero.settings.features import Features, Learned
from jaxzero.training import features, learner
from jaxzero.training.learner import Learner
from jaxzero.training.replay import Examples
from jaxzero.training.spec import Spec


def teacher_of(spec: Spec) -> Spec:
    """The small network, as the authors'."""
    small = features.teacher_network(spec.network)
    return dataclasses.replace(spec, network=small, features=None)


def pupil_of(spec: Spec, learned: Learned) -> Spec:
    """The larger network, with its features to be seen and learned."""
    seen = spec.network.clone(**features.exposing(learned))
    return dataclasses.replace(spec, network=seen, features=learned)


def taught(
    spec: Spec, teacher: Learner, wanted: Features, examples: Examples, positions: list[jax.Array]
) -> Examples:
    """Examples with the features of a teacher.

    Args:
      spec: the teacher's.
      examples: [N].
      positions: `[N, H, W, C]` for each layer: the examples' own, then later ones.
    """
    acts = learner.without_optimiser(teacher)
    variables = {"params": acts.params, "batch_stats": acts.batch_stats}
    look = jax.jit(lambda x: features.seen_by(spec.network, variables, x))
    seen = features.stacked(wanted, lambda k: look(positions[k]))
    return dataclasses.replace(examples, features=seen)
