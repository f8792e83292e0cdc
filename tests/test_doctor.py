"""What a report of a defect begins with."""

import importlib.metadata
import sys

import jax
import pytest

from jaxzero import doctor


def test_everything_is_said_and_works(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.metadata.version

    def without_werkzeug(package: str) -> str:
        if package == "werkzeug":
            raise importlib.metadata.PackageNotFoundError(package)
        return real(package)

    monkeypatch.setattr(importlib.metadata, "version", without_werkzeug)
    assert jax.devices()  # begun, with the flags of all tests
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.delenv("XLA_FLAGS")  # `prepare` adds its own
    lines: list[str] = []
    assert doctor.main(lines.append) == 0
    said = "\n".join(lines)
    for text in ("jaxzero 0.1.0, commit ", "devices: ", "of memory", "losses: finite", "legal"):
        assert text in said
    assert "environment: JAX_PLATFORMS=cpu" in lines  # not what jaxzero adds
    assert '  web: missing, pip install -e ".[web]"' in lines
    assert f"  search: optuna {real('optuna')}" in lines
    assert lines[-2:] == [
        "passed",
        "next, to play: python -m jaxzero.play --player=connect_four_5x5",
    ]


@pytest.mark.parametrize(("word", "status"), [("--help", 0), ("--hlep", 2)])
def test_help_tests_nothing(word: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["doctor", word])
    monkeypatch.setattr(doctor, "main", lambda: pytest.fail("tests all the same"))
    with pytest.raises(SystemExit) as stopped:
        doctor.start()
    assert stopped.value.code == status


def test_losses_that_are_not_finite_are_named() -> None:
    metrics = {"loss/sum": [1.0, 2.0], "loss/value": [1.0, float("nan")], "elo": float("nan")}
    assert doctor.broken_losses(metrics) == ["loss/value"]
