"""One of several that share a run: `python -m tests.distributed_worker PORT ID COUNT FOLDER`.

Process 0 prints the metrics of one iteration as its last line. All save the networks in the folder;
process 0 alone reads them, as it does after training.
"""

import json
import sys
from pathlib import Path

import jax
import numpy as np

from tests import conftest  # noqa: F401, the settings of every test


def main(port: str, process: int, count: int, folder: Path) -> None:
    """Joins the others and trains for one iteration."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        coordinator_address=f"127.0.0.1:{port}", num_processes=count, process_id=process
    )
    from jaxzero.runs import population
    from jaxzero.runs.checkpoints import Checkpoints
    from tests import small

    layout = population.plan(1, jax.device_count())
    spec = small.for_devices(layout.data_devices)
    program = small.compiled_program(spec, layout, "map")
    hypers = population.place(
        population.stack([small.small_hyper(small.FOR_DEVICES)]), program.sharding
    )
    held = population.place(small.heldout(spec.game), program.replicated)
    states = program.init(population.place(np.array([0], np.int32), program.sharding))
    states, metrics = program.iterate(hypers, states, held)
    found = population.fetch(metrics)
    answer = {
        "devices": layout.data_devices,
        "count": population.fetch(states.replay.count).tolist(),
        "metrics": {name: np.ravel(value).tolist() for name, value in found.items()},
    }
    learner = population.fetch(states.learner)
    Checkpoints(folder).save(1, states.learner)
    if process == 0:
        saved = Checkpoints(folder, read_only=True)
        read = saved.restore(1, states.learner)
        saved.close()
        small.assert_equal(read, learner)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
