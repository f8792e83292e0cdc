"""What tests of the Python loop compare with."""

from pathlib import Path

import pytest

from jaxzero.runs.runner import Trained
from tests.runs.trained import train


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trained]:
    """Four iterations at once."""
    directory = tmp_path_factory.mktemp("uninterrupted")
    return directory, train(directory, {"train.iterations": 4})
