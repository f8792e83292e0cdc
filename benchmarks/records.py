"""The JSON file of figures: written after every case, continued by the next command."""

import datetime
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.cases import Case, Measured
from jaxzero import files, workdir
from jaxzero.settings.config import ConfigError

Record = dict[str, Any]
_ROOT = Path(__file__).resolve().parents[1]
_SHARED = ("device", "python", "packages")  # of all figures of a file


def code() -> str:
    """A digest of the measured and the measuring code: finer than a commit, and without git."""
    digest = hashlib.sha256()
    for package in ("benchmarks", "experiments", "jaxzero"):
        for path in sorted((_ROOT / package).rglob("*.py")):
            digest.update(path.relative_to(_ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


class Records:
    """The figures of one device and one set of package versions.

    Attributes:
      figures: as in the file, see `put`.
    """

    def __init__(self, path: Path | None) -> None:
        """Reads what is there.

        Args:
          path: of the file; None keeps the figures in memory.

        Raises:
          ConfigError: the file holds something else, or figures of another device or version.
        """
        environment = workdir.environment()
        self._path = path
        self._environment = {key: environment[key] for key in _SHARED}
        self._commit, self._code = environment["commit"], code()
        self.figures: list[Record] = []
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        try:
            found = files.read_json(path)
            theirs, self.figures = found["environment"], found["figures"]
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"--json={path}: no figures of this suite, name another") from error
        for key, ours in files.plain(self._environment).items():
            if theirs.get(key) != ours:
                raise ConfigError(
                    f"--json={path}: measured with another {key} ({theirs.get(key)}, now {ours}), "
                    "name another file or remove it"
                )

    def has(self, case: Case) -> bool:
        """Whether a case was measured before, with these settings and this code."""
        return any(
            record["case"] == case.name
            and record["settings"] == files.plain(case.settings)
            and record["code"] == self._code
            for record in self.figures
        )

    def put(self, case: Case, measured: Mapping[str, Measured], taken: float) -> list[Record]:
        """Takes a case's figures in place of its earlier ones, and writes the file."""
        self.figures = [record for record in self.figures if record["case"] != case.name]
        new = [
            files.plain(
                {
                    "figure": f"{case.name}{' ' if suffix else ''}{suffix}",
                    "value": figure.value,
                    "unit": figure.unit,
                    "floor": figure.floor,
                    "against": figure.against,
                    "fraction": figure.fraction,
                    "settings": case.settings,
                    "details": figure.details,
                    "case": case.name,
                    "commit": self._commit,
                    "code": self._code,
                    "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                    "load_average": round(os.getloadavg()[0], 2),
                    "seconds_measuring": round(taken, 1),
                }
            )
            for suffix, figure in measured.items()
        ]
        self.figures = sorted(self.figures + new, key=lambda record: record["figure"])
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            files.write_json(
                self._path, {"environment": self._environment, "figures": self.figures}
            )
        return new
