"""Choosing and naming devices, and noticing one that lies idle."""

import os
from pathlib import Path

import jax
import pytest

from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError
from tests import small


def test_more_devices_than_there_are_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"execution\.devices=9: this machine shows 8"):
        devices.choose(small.small_config({"execution.devices": 9}))
    assert len(devices.choose(small.small_config({"execution.devices": 0}))) == 8


def test_cores_become_devices_unless_somebody_said_how_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "cores", lambda: 3)
    chosen = "--xla_force_host_platform_device_count=2"
    for before, after in (
        ("--xla_a=1", "--xla_a=1 --xla_force_host_platform_device_count=3"),
        (chosen, chosen),
    ):
        monkeypatch.setenv("XLA_FLAGS", before)
        devices.one_for_each_core()
        assert os.environ["XLA_FLAGS"] == after
    monkeypatch.setenv("XLA_FLAGS", "")
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "4")
    devices.one_for_each_core()
    assert os.environ["XLA_FLAGS"] == ""


def test_devices_are_named_with_their_number() -> None:
    assert devices.describe(jax.devices()[:3]).startswith("3 x cpu (")
    assert devices.describe().startswith("8 x cpu (")


def test_an_idle_gpu_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    assert devices.idle_accelerator(backend="cpu", root=tmp_path) is None
    (tmp_path / "proc/driver/nvidia/gpus").mkdir(parents=True)
    assert devices.idle_accelerator(backend="cpu", root=tmp_path) is None  # driver, but no GPU
    (tmp_path / "proc/driver/nvidia/gpus/0000:01:00.0").mkdir()
    said = devices.idle_accelerator(backend="cpu", root=tmp_path)
    assert said is not None
    assert ".[cuda12]" in said
    monkeypatch.setattr(devices.importlib.util, "find_spec", lambda name: "cuda13" in name)
    said = devices.idle_accelerator(backend="cpu", root=tmp_path)
    assert said is not None
    assert "jax_cuda13_plugin is installed, but it did not start" in said
    assert devices.idle_accelerator(backend="gpu", root=tmp_path) is None
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert devices.idle_accelerator(backend="cpu", root=tmp_path) is None


@pytest.mark.parametrize("nvidia", [True, False])
def test_an_idle_gpu_of_windows_is_warned_of(
    nvidia: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    monkeypatch.setattr(devices.shutil, "which", lambda _: "nvidia-smi" if nvidia else None)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/dxg").touch()
    assert bool(devices.idle_accelerator(backend="cpu", root=tmp_path)) == nvidia


@pytest.mark.parametrize(("device", "is_tpu"), [("0x0063", True), ("0x0042", False)])
def test_an_idle_tpu_is_told_from_a_network_card(
    device: str, is_tpu: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    at = tmp_path / "sys/bus/pci/devices/0000:00:04.0"
    at.mkdir(parents=True)
    (at / "vendor").write_text("0x1ae0\n")
    (at / "device").write_text(f"{device}\n")
    said = devices.idle_accelerator(backend="cpu", root=tmp_path)
    assert (said is not None and "a TPU is present" in said) == is_tpu


def test_a_platform_that_is_not_here_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> list[object]:
        raise RuntimeError("Unable to initialize backend 'cuda'")

    def program(error: Exception) -> None:
        with devices.known_platforms():
            raise error

    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    with pytest.raises(ZeroDivisionError):
        program(ZeroDivisionError())
    with pytest.raises(RuntimeError, match="something else"):  # the devices are here
        program(RuntimeError("something else"))
    monkeypatch.setattr(jax, "devices", nothing)
    with pytest.raises(ConfigError, match="JAX_PLATFORMS='cuda': JAX finds no such devices") as it:
        program(AssertionError())
    assert "\n" not in str(it.value)
    monkeypatch.delenv("JAX_PLATFORMS")
    with pytest.raises(RuntimeError, match="something else"):
        program(RuntimeError("something else"))
