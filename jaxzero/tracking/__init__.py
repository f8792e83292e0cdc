"""Where metrics go: always to the local files, to Weights & Biases and TensorBoard if wanted."""

from jaxzero.tracking.summary import Sheet, StudySummary
from jaxzero.tracking.tracker import Tracker

__all__ = ["Sheet", "StudySummary", "Tracker"]
