"""What a finished study says to run next."""

from pathlib import Path

import pytest

from experiments.shell import study


@pytest.mark.parametrize(
    ("folders", "run"),
    [
        ([".", "player"], "/player"),
        (["."], ""),
        (["gumbel", "dirichlet"], "/dirichlet"),
        (["arms/extended"], "/arms/extended"),
    ],
)
def test_a_network_of_the_study_is_played(tmp_path: Path, folders: list[str], run: str) -> None:
    assert study.play_it(tmp_path) is None
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "members.json").write_text("{}")
    assert study.play_it(tmp_path) == f"next: python -m jaxzero.play --run={tmp_path}{run}"
