"""Where metrics go: always to the local files, to Weights & Biases if wanted."""

import importlib
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from jaxzero import workdir
from jaxzero.config import ConfigError, flatten


class Tracker:
    """Writes rows to `metrics.jsonl` and, if asked, to one W&B run for each run of the study."""

    def __init__(self, directory: Path, config: ConfigDict, study: str) -> None:
        self._path = directory / workdir.METRICS
        self._directory = directory
        self._config = config
        self._study = study
        self._runs: dict[str, Any] = {}
        self._wandb: Any = None
        if config.tracking.wandb != "off":
            self._wandb = _import_wandb(config)

    def log(self, rows: list[dict[str, Any]]) -> None:
        """Takes the rows of one iteration: `iteration`, `run` and flat metric names."""
        workdir.append_rows(self._path, rows)
        if self._wandb is None:
            return
        for row in rows:
            run = self._runs.get(row["run"]) or self._start(row)
            scalars = {k: v for k, v in row.items() if "/" in k and isinstance(v, float)}
            run.log(scalars, step=row["iteration"])

    def finish(
        self,
        *,
        figures: list[Path],
        curves: dict[str, list[float]],
        summary: dict[str, dict[str, float]],
    ) -> None:
        """Sends what is known at the end, and closes.

        Args:
          figures: image files.
          curves: training Elo by iteration, from 0, for each run; `elo/training` in W&B.
          summary: single numbers for each run.
        """
        for name, run in self._runs.items():
            run.define_metric("elo/training", step_metric="elo/iteration")
            for iteration, elo in enumerate(curves.get(name, [])):
                run.log({"elo/iteration": iteration, "elo/training": float(elo)})
            run.summary.update(summary.get(name, {}))
            images = {f"figures/{path.stem}": self._wandb.Image(str(path)) for path in figures}
            if images:
                run.log(images)
            run.finish()

    def _start(self, row: dict[str, Any]) -> Any:
        name = row["run"]
        self._runs[name] = self._wandb.init(
            project=self._config.tracking.wandb_project,
            group=f"{self._study}/{self._directory.name}",
            name=name,
            id=f"{self._directory.name}-{name}",
            resume="allow",
            mode=self._config.tracking.wandb,
            dir=str(self._directory),
            config=flatten(self._config) | {"target": row["target"], "seed": row["seed"]},
            reinit="create_new",
        )
        return self._runs[name]


def _import_wandb(config: ConfigDict) -> Any:
    try:
        return importlib.import_module("wandb")
    except ImportError as error:
        raise ConfigError(
            f"config.tracking.wandb={config.tracking.wandb!r}: wandb is not installed, "
            'pip install "jaxzero[wandb]" or set it to off'
        ) from error
