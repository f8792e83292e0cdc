"""A study that takes no time: it counts to a number in a file, then writes results and a report.

If its directory's name begins with `fails`, it ends with status 1; one of `talks` prints a line,
one of `floods` more than a pipe holds while it saves.
SIGTERM: it saves, which takes a moment, and ends; a second one ends it at once. It waits after a
step while there is a file `hold` beside its directory.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

STEPS = 40
FLOOD = 1 << 18  # bytes


def report(directory: Path) -> None:
    """What `experiments.pages.page.write` leaves behind, without drawing."""
    table = {
        "title": "The papers' claims", "headers": ["claim", "where", "verdict"],
        "rows": [["A is above B.", "000 and 003, section 6.2", "undecided"]],
        "note": "", "text_columns": 3, "folded": True,
    }  # fmt: skip
    plate = {"name": "curve", "figure": "", "title": "A curve", "caption": "Seen."}
    section = {"title": "All", "text": [], "plates": [plate], "tables": [table]}
    page = {
        "title": "Fake", "subtitle": "", "verdicts": [], "missing": [], "facts": [],
        "sections": [section], "headline": "", "numbers": [], "lead": "",
    }  # fmt: skip
    (directory / "figures").mkdir(exist_ok=True)
    (directory / "figures" / "curve.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt"><path id="p"/></svg>'
    )
    (directory / "report.html").write_text("<p>fake</p>")
    (directory / "report.json").write_text(json.dumps(page))


def main() -> None:
    flags = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[1:])
    directory = Path(flags["workdir"])
    directory.mkdir(exist_ok=True)
    (directory / "gpu").write_text(os.environ.get("CUDA_VISIBLE_DEVICES", ""))

    def save(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        time.sleep(0.3)
        if directory.name.startswith("floods"):
            print("saving...\n" * (FLOOD // 10 + 1), flush=True)
        (directory / "saved").touch()
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, save)
    steps, begun = directory / "steps", directory / "begun"
    if directory.name.startswith("talks"):
        print("running", flush=True)
    begun.write_text(begun.read_text() + "x" if begun.exists() else "x")
    until = time.monotonic() + 60 * float(flags.get("max-minutes", 1e9))
    while len(steps.read_text() if steps.exists() else "") < STEPS:
        with steps.open("a") as file:
            file.write("s")
        time.sleep(float(flags.get("pause", 0)))
        while (directory.parent / "hold").exists():
            time.sleep(0.01)
        if time.monotonic() > until:
            print("--max-minutes are over")
            return
    if directory.name.startswith("fails"):
        print("error: it is too hot")
        sys.exit(1)
    results = {"study": "fake", "cost": {"wall_seconds": 90.0}}
    (directory / "results.json").write_text(json.dumps(results))
    report(directory)


if __name__ == "__main__":
    main()
