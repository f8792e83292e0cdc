"""Where metrics go: always to the local files, to Weights & Biases and TensorBoard if wanted."""

from jaxzero.tracking.final import Final, Table
from jaxzero.tracking.tracker import Tracker

__all__ = ["Final", "Table", "Tracker"]
