"""Which extensions make AlphaZero cheaper on Connect Four? Clausen 2021, sections 3.3 and 3.4.

    python -m experiments.connect_four_efficiency \\
        --config=experiments/configs/connect_four_efficiency.py:quick --workdir=runs/efficiency

Trains the authors' plain AlphaZero, each extension alone and all together, measures every kept
network, with search, on solved positions, and counts cost as the paper does: positions played times
the time of a move, training free. Writes `results.json` and `report.html`.
"""

from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from experiments.configs.connect_four_efficiency import KEYS, WITHOUT_ARMS, get_config
from experiments.connect_four import arms, claims
from experiments.connect_four import efficiency_report as report
from experiments.connect_four.baselines import EXTENDED, extended, extensions
from experiments.shell import cli
from experiments.shell import study as shell
from jaxzero.settings.config import ConfigError

STUDY = "connect_four_efficiency"


def changes(config: ConfigDict, arm: str) -> dict[str, Any]:
    """What an arm does otherwise than the baseline, dotted keys (002, section 3.3)."""
    if arm == EXTENDED or arm in WITHOUT_ARMS:
        return extended(config, without=arm.removeprefix("without_"))
    # The authors' single run of the cycle was annealed to 0.5 in iteration 25.
    grows = config.study.slow_window_grows
    known = extensions(config, grows=grows, anneal_to=0.5, anneal_iterations=25)
    known |= {f"dedupe_{weight}": {"replay.duplicate_weight": weight} for weight in (0.2, 0.5)}
    return (known | {"baseline": {}})[arm]


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    shell.check(config, KEYS, "arms", "extended")
    for arm in set(config.study.arms) & set(WITHOUT_ARMS):
        if arm.removeprefix("without_") not in config.study.extended:
            raise ConfigError(
                f"config.study.arms={arm}: the arm extended does not have it, add it to "
                f"config.study.extended={','.join(config.study.extended)}"
            )
    arms.check(config, KEYS, _arms, get_config(config.preset))


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """The whole study, or the rest of it: (config, workdir) -> results.json, report.html."""
    study = shell.begin(STUDY, config, directory, command, validate=validate, fixed=arms.FIXED)
    results = arms.measure(study, _arms(config))
    print(report.accuracy_and_cost({arm["arm"]: arm for arm in results["arms"]}, {}).text())
    results = study.header() | results
    study.conclude(results | {"claims": claims.rows(results)})


def _arms(config: ConfigDict) -> dict[str, dict[str, Any]]:
    return {arm: changes(config, arm) for arm in config.study.arms}


if __name__ == "__main__":
    cli.run(run, STUDY)
