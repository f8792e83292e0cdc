"""Floating-point operations of a network: `jaxzero.flops`, by the name that the cases use."""

from jaxzero.flops import TRAINING, count, forward

__all__ = ["TRAINING", "count", "forward"]
