"""Saving and restoring a population's state with orbax, and noticing when a file was damaged."""

import contextlib
import errno
import hashlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from jax.experimental import multihost_utils

from jaxzero import files
from jaxzero.runs import memory
from jaxzero.settings.config import ConfigError

_NOTHING, _ALL_DAMAGED = -1, -2  # in place of an iteration
DIGEST = "sha256.json"  # in a checkpoint's folder: every file's digest, written last


def _alone() -> ocp.options.MultiprocessingOptions:
    """Of a process that reads by itself: it waits for no other, which may not be reading."""
    own = jax.process_index()
    if jax.process_count() == 1:
        return ocp.options.MultiprocessingOptions()
    return ocp.options.MultiprocessingOptions(
        primary_host=own, active_processes={own}, barrier_sync_key_prefix=f"alone{own}"
    )


def _is_key(x: Any) -> bool:
    return isinstance(x, jax.Array) and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)


def to_plain(tree: Any) -> Any:
    """Typed random keys as the uint32 data that they wrap."""
    return jax.tree.map(lambda x: jax.random.key_data(x) if _is_key(x) else x, tree)


def to_typed(plain: Any, like: Any) -> Any:
    """The reverse of `to_plain`, for a tree of the types of `like`."""

    def wrap(x: Any, model: Any) -> Any:
        if jax.dtypes.issubdtype(model.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(jnp.asarray(x))
        return x

    return jax.tree.map(wrap, plain, like)


class Checkpoints:
    """The checkpoints of one directory, by iteration.

    Each is sealed by the digests of its files. One without a seal (the process died while it was
    written) does not count; one whose files disagree with it is damaged.
    """

    def __init__(self, directory: Path, *, keep: int | None = 2, read_only: bool = False) -> None:
        """Opens or makes a directory that keeps the newest `keep`; None: all.

        `read_only`: another process may be writing there.
        """
        self._directory = directory.absolute()
        with _without_background_log():
            options = ocp.CheckpointManagerOptions(
                max_to_keep=keep,
                create=not read_only,
                read_only=read_only,
                # saved before `save` returns, so that no thread waits for what a full disk prevents
                enable_async_checkpointing=False,
                multiprocessing_options=_alone()
                if read_only
                else ocp.options.MultiprocessingOptions(),
            )
            self._manager = ocp.CheckpointManager(self._directory, options=options)

    @staticmethod
    def steps(directory: Path) -> list[int]:
        """The sealed iterations in a directory, ascending; whether they are whole is not read."""
        if not directory.is_dir():
            return []
        names = (path.parent.name for path in directory.glob(f"*/{DIGEST}"))
        return sorted(int(name) for name in names if name.isdecimal())

    def latest(self) -> int | None:
        """The newest sealed iteration; None where nothing was saved."""
        return max(self.steps(self._directory), default=None)

    def save(self, iteration: int, state: Any) -> None:
        """Saves a state; returns when it is safely on disk. Saved iterations are left as they are.

        ConfigError: the disk takes no more, or is gone; what was saved before stays.
        """
        if not self._directory.is_dir():  # the storage library would begin a new one
            raise ConfigError(
                f"--workdir: {self._directory} is gone: put the directory back and run the same "
                "command again, it resumes from the checkpoint before"
            )
        if iteration in self.steps(self._directory):
            return
        try:
            with _without_background_log():
                self._manager.save(iteration, args=ocp.args.StandardSave(to_plain(state)))
            if jax.process_index() == 0:
                folder = self._directory / str(iteration)
                files.write_json(folder / DIGEST, _digests(folder))
            memory.trim()  # of what writing took; else some of it stays after each save
        except (OSError, ValueError) as error:
            reason = _disk_trouble(error)
            if reason is None:
                raise
            raise ConfigError(
                f"--workdir: {self._directory} can't be written ({reason}): make room and run the "
                "same command again, it resumes from the checkpoint before"
            ) from error

    def drop_after(self, iteration: int) -> None:
        """Forgets what is newer, sealed or not: it will be done again."""
        for step in self._manager.all_steps():
            if step > iteration or step not in self.steps(self._directory):
                self._manager.delete(step)

    def restore(self, iteration: int, like: Any) -> Any:
        """A saved state as NumPy arrays (typed keys on the default device), to be placed anywhere.

        Args:
          iteration: one that was saved.
          like: a tree of `jax.ShapeDtypeStruct` or arrays with the state's structure.

        Raises:
          ConfigError: its files are not what was written, or of a state with other parts or sizes.
        """
        damage = self.damage(iteration)
        if damage:
            raise ConfigError(f"{self._directory / str(iteration)} is damaged: {damage}")
        plain = jax.eval_shape(to_plain, like)
        # NumPy's: no device is asked for, for JAX may have no CPU (JAX_PLATFORMS=cuda)
        target = jax.tree.map(lambda x: np.broadcast_to(np.zeros((), x.dtype), x.shape), plain)
        try:
            with _without_background_log():
                restored = self._manager.restore(iteration, args=ocp.args.StandardRestore(target))
            _require_shapes(restored, plain)
        except (ValueError, KeyError) as error:  # its digest is right, so it is of another program
            reason = str(error).strip().partition("\n")[0].rstrip(":")
            raise ConfigError(
                f"{self._directory / str(iteration)} was saved by another version of the program "
                f"({reason}): go on with the commit that environment.json names, or choose another "
                "--workdir"
            ) from error
        return to_typed(restored, like)

    def damage(self, iteration: int) -> str | None:
        """What is wrong with a sealed checkpoint's files; None if nothing is."""
        folder = self._directory / str(iteration)
        try:
            sealed = files.read_json(folder / DIGEST)
        except ConfigError:  # the machine lost power before the seal was on disk
            return f"{DIGEST} is no seal"
        digests = _digests(folder)
        for name in sorted(sealed.keys() | digests.keys()):
            if name not in digests:
                return f"{name} is missing"
            if sealed.get(name) != digests[name]:
                return f"{name} has changed since it was written"
        return None

    def newest_whole(self, say: Callable[[str], None]) -> int | None:
        """The newest checkpoint that is whole; damaged ones are moved aside, and `say` says so.

        Of several processes the first one looks, and the others take its word: they would read
        files that it moves. ConfigError: there are checkpoints, and all of them are damaged.
        """
        found = self._look(say) if jax.process_index() == 0 else _NOTHING
        if jax.process_count() > 1:
            found = int(multihost_utils.broadcast_one_to_all(np.int32(found)))
        if found == _ALL_DAMAGED:
            raise ConfigError(
                f"every checkpoint in {self._directory} is damaged: choose another --workdir, or "
                "move this directory away to begin again"
            )
        return None if found == _NOTHING else found

    def _look(self, say: Callable[[str], None]) -> int:
        """The newest whole checkpoint's iteration, `_NOTHING` or `_ALL_DAMAGED`."""
        steps = self.steps(self._directory)
        for iteration in reversed(steps):
            damage = self.damage(iteration)
            if damage is None:
                return iteration
            aside = self._directory / f"damaged_{iteration}"
            say(
                f"warning: checkpoint {iteration} is damaged ({damage}): kept as {aside.name} and "
                "not used"
            )
            _move_aside(self._directory / str(iteration), aside)
        return _ALL_DAMAGED if steps else _NOTHING

    def close(self) -> None:
        """Waits for what is under way."""
        self._manager.close()


def _require_shapes(restored: Any, like: Any) -> None:
    """ValueError: an array has another shape than is asked for, which the library lets through."""
    for (path, wanted), found in zip(
        jax.tree.leaves_with_path(like), jax.tree.leaves(restored), strict=True
    ):
        if found.shape != wanted.shape:
            raise ValueError(f"{jax.tree_util.keystr(path)} is {found.shape}, not {wanted.shape}")


def _digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder but the seal itself, by relative path."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p != folder / DIGEST)
    digests = {}
    for path in files:
        with path.open("rb") as file:
            digests[str(path.relative_to(folder))] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def _move_aside(folder: Path, aside: Path) -> None:
    number = 0
    while aside.exists():
        number += 1
        aside = aside.with_name(f"{aside.name.split('.')[0]}.{number}")
    os.rename(folder, aside)


class _Quiet(logging.Filter):
    """Drops what orbax's writers report, with tracebacks, while it is on."""

    on = False
    hook: Any = None  # for what is not dropped: the one before

    def filter(self, record: logging.LogRecord) -> bool:
        return not self.on

    def unraisable(self, found: Any) -> None:
        """For `sys.unraisablehook`: of writers whose event loop is closed."""
        if not (self.on and "Event loop is closed" in str(found.exc_value)):
            self.hook(found)


_quiet = _Quiet()


@contextlib.contextmanager
def _without_background_log() -> Iterator[None]:
    """orbax's writers report errors that saving raises again.

    After such an error it stays quiet until something is saved again: writers that were still at
    work report later.
    """
    for name in ("absl", "asyncio"):
        logging.getLogger(name).addFilter(_quiet)  # once
    if sys.unraisablehook != _quiet.unraisable:
        _quiet.hook, sys.unraisablehook = sys.unraisablehook, _quiet.unraisable
    _quiet.on = True
    yield
    _quiet.on = False


def _disk_trouble(error: Exception) -> str | None:
    """What the disk said, in a few words; None for another error.

    The storage library reports what the system said inside a ValueError.
    """
    if isinstance(error, OSError):
        return error.strerror or str(error)
    reasons = map(os.strerror, (*files.DISK_TROUBLE, errno.ENOENT))
    return next((words for words in reasons if words in str(error)), None)
