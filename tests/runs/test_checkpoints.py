"""Checkpoints: what comes back, and how damage is noticed."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental import multihost_utils

from jaxzero.runs import checkpoints as checkpoints_lib
from jaxzero.runs.checkpoints import DIGEST, Checkpoints
from jaxzero.runs.population import Layout
from jaxzero.settings.config import ConfigError
from tests import small
from tests.small import assert_equal

STATE = {"weights": np.arange(5000, dtype=np.float32), "step": np.array(3, np.int32)}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Iterations 1, 2 and 3, of which two are kept."""
    directory = tmp_path_factory.mktemp("three")
    checkpoints = Checkpoints(directory, keep=2)
    assert checkpoints.latest() is None
    for number in (1, 2, 3):
        checkpoints.save(number, STATE | {"step": np.array(number, np.int32)})
    checkpoints.close()
    return directory


@pytest.fixture
def copy(three: Path, tmp_path: Path) -> Path:
    """One of them to spoil."""
    shutil.copytree(three, tmp_path / "copy")
    return tmp_path / "copy"


def data_file(directory: Path, step: int) -> Path:
    """The largest file of a checkpoint."""
    files = [p for p in (directory / str(step)).rglob("*") if p.is_file()]
    return max(files, key=lambda p: p.stat().st_size)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def test_a_populations_state_comes_back(tmp_path: Path) -> None:
    spec = small.small_spec()
    program = small.compiled_program(spec, Layout(1, 1), "map")
    seeds = np.array([3, 4], np.int32)
    states = program.init(seeds)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, states)
    restored = checkpoints.restore(1, jax.eval_shape(program.init, seeds))
    checkpoints.close()
    assert_equal(restored, states)
    assert restored.key.dtype == states.key.dtype


def test_the_newest_two_are_kept(three: Path) -> None:
    assert Checkpoints.steps(three) == [2, 3]
    checkpoints = Checkpoints(three)
    assert checkpoints.newest_whole(pytest.fail) == 3
    assert_equal(checkpoints.restore(2, STATE), STATE | {"step": np.array(2, np.int32)})


@pytest.mark.parametrize("spoil", [flip, cut, Path.unlink])
def test_damage_is_found_moved_aside_and_told(spoil: Callable[[Path], Any], copy: Path) -> None:
    damaged = data_file(copy, 3)
    spoil(damaged)
    said: list[str] = []
    checkpoints = Checkpoints(copy)
    with pytest.raises(ConfigError, match=f"3 is damaged: .*{damaged.name}"):
        checkpoints.restore(3, STATE)
    assert checkpoints.newest_whole(said.append) == 2
    assert len(said) == 1
    assert damaged.name in said[0]
    assert (copy / "damaged_3" / DIGEST).is_file()
    assert Checkpoints.steps(copy) == [2]
    again = Checkpoints(copy)
    again.save(3, STATE)
    assert again.newest_whole(pytest.fail) == 3


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(b""), cut])
def test_a_seal_that_a_power_cut_spoilt_is_damage(spoil: Callable[[Path], Any], copy: Path) -> None:
    spoil(copy / "3" / DIGEST)
    said: list[str] = []
    assert Checkpoints(copy).newest_whole(said.append) == 2
    assert f"3 is damaged ({DIGEST} is no seal)" in said[0]
    (copy / "2" / DIGEST).write_text("[]")
    with pytest.raises(ConfigError, match="every checkpoint"):
        Checkpoints(copy).newest_whole(said.append)
    assert f"2 is damaged ({DIGEST} is no seal)" in said[-1]


def test_all_damaged_is_an_error_and_nothing_is_deleted(copy: Path) -> None:
    for step in (2, 3):
        flip(data_file(copy, step))
    with pytest.raises(ConfigError, match=r"every checkpoint in .* is damaged"):
        Checkpoints(copy).newest_whole(lambda text: None)
    assert {p.name for p in copy.glob("damaged_*")} == {"damaged_2", "damaged_3"}


def test_what_was_not_sealed_does_not_count_and_is_written_again(copy: Path) -> None:
    (copy / "3" / DIGEST).unlink()  # the process died between the files and the seal
    checkpoints = Checkpoints(copy)
    assert checkpoints.newest_whole(pytest.fail) == 2
    checkpoints.drop_after(2)
    checkpoints.save(3, STATE | {"step": np.array(30, np.int32)})
    assert_equal(checkpoints.restore(3, STATE), STATE | {"step": np.array(30, np.int32)})


def test_a_state_with_other_parts_is_one_line(copy: Path) -> None:
    checkpoints = Checkpoints(copy, keep=2)
    with pytest.raises(ConfigError, match="another version") as told:
        checkpoints.restore(3, STATE | {"more": np.zeros(2, np.float32)})
    assert "\n" not in str(told.value)
    checkpoints.close()
    assert_equal(
        Checkpoints(copy, keep=2).restore(3, STATE), STATE | {"step": np.array(3, np.int32)}
    )


def test_a_state_of_other_sizes_is_one_line(copy: Path) -> None:
    larger = STATE | {"weights": np.zeros(4000, np.float32)}
    with pytest.raises(ConfigError, match=r"\['weights'\] is \(5000,\), not \(4000,\)") as told:
        Checkpoints(copy, keep=2).restore(3, larger)
    assert "\n" not in str(told.value)


def test_a_directory_that_is_gone_is_not_begun_again(copy: Path) -> None:
    checkpoints = Checkpoints(copy, keep=2)
    shutil.rmtree(copy)
    with pytest.raises(ConfigError, match="is gone: put the directory back"):
        checkpoints.save(4, STATE)
    assert not copy.exists()


def test_what_comes_after_is_dropped(copy: Path) -> None:
    checkpoints = Checkpoints(copy)
    checkpoints.drop_after(2)
    assert Checkpoints.steps(copy) == [2]
    checkpoints.save(3, STATE)
    assert Checkpoints.steps(copy) == [2, 3]


def test_reading_changes_nothing(copy: Path) -> None:
    before = sorted(copy.rglob("*"))
    reader = Checkpoints(copy, read_only=True)
    assert_equal(reader.restore(3, STATE), STATE | {"step": np.array(3, np.int32)})
    reader.close()
    assert sorted(copy.rglob("*")) == before


def test_a_full_disk_is_one_line_and_what_was_saved_stays(copy: Path) -> None:
    lines = [
        "import resource, signal, threading",
        "from pathlib import Path",
        "import numpy as np",
        "from jaxzero.runs.checkpoints import Checkpoints",
        f"checkpoints = Checkpoints(Path({str(copy)!r}))",
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))",  # as a disk that is full
        "draw = np.random.default_rng(0).random",
        "try:",
        "    checkpoints.save(4, {f'{i}': draw(3000) for i in range(30)})",
        "finally:",
        "    print([t.name for t in threading.enumerate() if 'asyncio' not in t.name])",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert "ConfigError: --workdir: " in last
    assert "make room and run the same command again" in last
    assert "ERROR:" not in done.stderr  # of its writers, which fail by themselves
    assert "Event loop is closed" not in done.stderr
    assert done.stdout.strip() == "['MainThread']"  # none waits for what was never written
    assert Checkpoints.steps(copy) == [2, 3]
    again = Checkpoints(copy)
    assert again.newest_whole(pytest.fail) == 3
    again.drop_after(3)
    again.save(4, STATE)
    assert again.newest_whole(pytest.fail) == 4


def test_a_hook_that_was_there_hears_of_other_errors(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []
    monkeypatch.setattr(checkpoints_lib._quiet, "hook", None)
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    Checkpoints(copy).save(4, STATE)
    error = SimpleNamespace(exc_value=ValueError("another"))
    sys.unraisablehook(error)
    assert heard[-1] is error


def test_other_processes_take_the_firsts_word(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would hash files that it moves aside."""
    checkpoints = Checkpoints(three)
    monkeypatch.setattr(jax, "process_index", lambda: 1)
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    monkeypatch.setattr(checkpoints, "damage", lambda _: pytest.fail("read a checkpoint"))

    def says(found: int) -> int | None:
        monkeypatch.setattr(multihost_utils, "broadcast_one_to_all", lambda _: np.int32(found))
        return checkpoints.newest_whole(pytest.fail)

    assert says(2) == 2
    assert says(-1) is None
    with pytest.raises(ConfigError, match="every checkpoint in"):
        says(-2)


def test_restoring_asks_for_no_cpu(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX_PLATFORMS=cuda leaves none."""
    local_devices = jax.local_devices

    def without_cpu(*args: Any, backend: str | None = None, **kwargs: Any) -> Any:
        if backend == "cpu":
            raise RuntimeError("Unknown backend cpu")
        return local_devices(*args, **kwargs)

    monkeypatch.setattr(jax, "local_devices", without_cpu)
    restored = Checkpoints(copy).restore(3, STATE)
    assert all(type(leaf) is np.ndarray for leaf in restored.values())
    assert_equal(restored, STATE | {"step": np.array(3, np.int32)})
