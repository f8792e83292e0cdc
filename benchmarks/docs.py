"""Writes the tables of docs/performance.md from the files of figures beside it.

python -m benchmarks.docs
"""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import targets
from benchmarks.markdown import as_table, big, short
from benchmarks.records import Record
from jaxzero import arguments, files

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
_MARK = re.compile(r"(<!-- table (\w+) (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(page: str, folder: Path) -> str:
    """The page with every `<!-- table FILE KIND --> ... <!-- end -->` made again.

    Args:
      page: Markdown.
      folder: where FILE.json lies; a table without its file says so.
    """

    def table(match: re.Match[str]) -> str:
        path = folder / f"{match[2]}.json"
        found = files.read_json(path) if path.exists() else None
        body = "Not measured yet.\n" if found is None else _KINDS[match[3]](found)
        return f"{match[1]}\n{body}\n{match[4]}"

    return _MARK.sub(table, page)


def _over_floor(details: dict[str, Any]) -> str:
    """The best of all turns, and the median where it was kept."""
    best = f"{details['over_floor']:.2f}"
    median = details.get("over_floor_median")
    return best if median is None else f"{best} ({median:.2f})"


def _family(found: dict[str, Any], name: str) -> list[Record]:
    return [f for f in found["figures"] if f["case"].startswith(f"{name}/")]


def _about(found: dict[str, Any]) -> str:
    figures = found["figures"]
    loads = sorted(f["load_average"] for f in figures)
    commits = sorted({f["commit"] for f in figures})
    dates = sorted(f["date"] for f in figures)
    packages = found["environment"]["packages"]
    return (
        f"{found['environment']['device']}; Python {found['environment']['python']}, "
        f"JAX {packages['jax']}, mctx {packages['mctx']}; commit {', '.join(commits)}; "
        f"{dates[0][:16].replace('T', ' ')} to {dates[-1][11:16]} UTC; load average "
        f"{loads[0]:.1f} to {loads[-1]:.1f} (the suite's own threads included).\n"
    )


def _targets(found: dict[str, Any]) -> str:
    rows = []
    for target in targets.TARGETS:
        number = targets.measured(target, found["figures"])
        limit = f"{'at most' if target.at_most else 'at least'} {target.limit:,g} {target.unit}"
        said, met = "not measured", ""
        if number is not None:
            said, met = short(number), "yes" if targets.is_met(target, number) else "**no**"
        rows.append((target.what, limit.strip(), said, met))
    return as_table(("figure", "target", "measured", "met"), rows)


def _device(found: dict[str, Any]) -> str:
    rows = [
        (f["figure"].removeprefix("device/rates "), short(f["value"]), f["unit"])
        for f in _family(found, "device")
    ]
    return as_table(("floor", "value", "unit"), rows)


def _games(found: dict[str, Any]) -> str:
    figures = _family(found, "games")
    batches = sorted({f["settings"]["batch"] for f in figures})
    cells: dict[str, dict[int, Record]] = {}
    for f in figures:
        rival = " (pgx)" if f["figure"].endswith(" pgx") else ""
        cells.setdefault(f["settings"]["game"] + rival, {})[f["settings"]["batch"]] = f
    rows = [
        (name, *(f"{_steps(row[b])} ({row[b]['fraction']:.2f})" for b in batches))
        for name, row in cells.items()
    ]
    return as_table(("steps/s (of copying states)", *(f"{b:,} boards" for b in batches)), rows)


def _steps(record: Record) -> str:
    return f"{record['value'] / 1e6:.2f} M"


def _search(found: dict[str, Any]) -> str:
    rows = []
    for f in sorted(_family(found, "search"), key=_search_order):
        s, d = f["settings"], f["details"]
        members = f"{s['members']} x " if s["members"] else ""
        rows.append(
            (
                s["game"],
                f"{s['channels']}{' sharp' if s['sharp'] else ''}",
                f"{members}{s['games']}",
                s["algorithm"],
                s["m"],
                short(1e3 * f["value"]),
                _over_floor(d),
                short(d["simulations_per_second"]),
                f"{d['depth_mean']:.1f} / {d['depth_max']}",
                short(d["tree_bytes"] / 2**20),
            )
        )
    return as_table(
        (
            "game", "channels", "games", "rule", "m", "ms a move", "over bare network (median)",
            "simulations/s", "depth mean / largest", "tree MiB",
        ),
        rows,
    )  # fmt: skip


def _search_order(record: Record) -> tuple:
    s = record["settings"]
    return (s["game"] != "othello_6x6", s["game"], s["channels"], s["sharp"], s["members"],
            s["games"], s["m"], s["algorithm"] != "puct")  # fmt: skip


def _selfplay(found: dict[str, Any]) -> str:
    rows = []
    for f in _family(found, "selfplay"):
        s, d = f["settings"], f["details"]
        members = f"{s['members']} x " if s["members"] else ""
        useful = f"{d['useful_share']:.2f}" if "useful_share" in d else ""
        what = "whole games" if s["whole"] else "one move"
        rows.append(
            (s["game"], s["channels"], f"{members}{s['games']}, {what}", s["m"],
             short(f["value"]), f"{f['fraction']:.2f}", useful)
        )  # fmt: skip
    head = ("game", "channels", "games", "m", "simulations/s", "of the bare network", "useful")
    return as_table(head, rows)


def _training(found: dict[str, Any]) -> str:
    rows = []
    figures = [f for f in _family(found, "training") if not f["settings"]["members"]]
    for f in sorted(figures, key=_training_order):
        s, d = f["settings"], f["details"]
        depth = f", {s['blocks']} blocks" if s["blocks"] else ""
        rows.append(
            (" ".join([f"{s['network']}{depth}", *_own_form(s)]), s["channels"], s["batch"],
             s["measure"], short(f["value"]), short(d["mflop_per_example"]), short(d["gflops"]),
             f"{d['matmul_fraction']:.2f}")
        )  # fmt: skip
    head = ("network", "channels", "batch", "losses measured", "examples/s", "MFLOP an example",
            "GFLOP/s", "of matmul rate")  # fmt: skip
    return as_table(head, rows)


def _own_form(settings: dict[str, Any]) -> list[str]:
    """Convolution and number format, where they were chosen."""
    return [
        settings[key] for key in ("convolution", "dtype") if settings.get(key, "auto") != "auto"
    ]


def _training_order(record: Record) -> tuple:
    s = record["settings"]
    return s["network"], s["channels"], s["blocks"], s["measure"] != "in_step"


def _populations(found: dict[str, Any]) -> str:
    figures = [f for f in _family(found, "training") if f["settings"]["members"]]
    rows = []
    for f in sorted(figures, key=lambda f: (f["settings"]["members"], f["settings"]["channels"])):
        s, d = f["settings"], f["details"]
        rows.append(
            (s["members"], s["channels"], " ".join([s["mode"], *_own_form(s)]),
             short(d["examples_per_second"]),
             _over_floor(d), f"{d['matmul_fraction']:.2f}")
        )  # fmt: skip
    head = (
        "members",
        "channels",
        "mode",
        "examples/s",
        "over one after another (median)",
        "of matmul rate",
    )
    return as_table(head, rows)


def _iteration(found: dict[str, Any]) -> str:
    text = []
    for case in dict.fromkeys(f["case"] for f in _family(found, "iteration")):
        own = {
            f["figure"].removeprefix(f"{case} "): f for f in found["figures"] if f["case"] == case
        }
        phases = [
            (name, short(f["value"]), short(f["details"]["units"]),
             short(1e3 * f["details"]["unit_seconds"]), f"{f['fraction']:.2f}")
            for name, f in own.items()
            if f["unit"] == "s"
        ]  # fmt: skip
        head = ("phase", "s an iteration", "units", "ms a unit", "of matmul rate")
        text.append(f"**{case.removeprefix('iteration/')}**\n\n" + as_table(head, phases))
        text.append(_shares(own))
        hours = {name: f for name, f in own.items() if f["unit"] == "h"}
        one = next(f["details"] for f in hours.values() if "iterations" in f["details"])
        said = "; ".join(f"{name}: {short(f['value'])}" for name, f in hours.items())
        text.append(
            f"{said}. First iteration {short(one['first_iteration_seconds'])} s, with a full "
            f"window {short(one['full_window_seconds'])} s.\n"
        )
    return "\n".join(text)


def _shares(own: dict[str, Record]) -> str:
    rows = []
    for phase in ("selfplay", "arena"):
        values = [own[f"share {phase} {kind}"]["value"] for kind in _SHARES]
        rows.append((phase, *(f"{value:.3f}" for value in values)))
    return as_table(("of all lanes' evaluations", *_SHARES), rows)


_SHARES = ("useful", "in finished games", "of finished leaves", "made")


def _start(found: dict[str, Any]) -> str:
    rows = []
    for f in _family(found, "start"):
        floor = "" if f["floor"] is None else f"{f['against']}: {short(f['floor'])} {f['unit']}"
        details = [
            f"{name.replace('_', ' ')} {short(value) if isinstance(value, float | int) else value}"
            for name, value in f["details"].items()
        ]
        said = "; ".join([floor] * bool(floor) + details)
        rows.append((f["figure"].removeprefix("start/"), short(f["value"]), f["unit"], said))
    return as_table(("figure", "value", "unit", "details"), rows)


def _parts(found: dict[str, Any]) -> str:
    rows = []
    for case in dict.fromkeys(f["case"] for f in _family(found, "parts")):
        own = {
            f["figure"].removeprefix(f"{case} "): f for f in found["figures"] if f["case"] == case
        }
        steps = [own[name] for name in _STEPS]
        over = sum(step["details"]["over_network"] for step in steps)
        settings = own["network"]["settings"]
        rows.append(
            (settings["algorithm"], settings["m"], settings["games"],
             short(own["network"]["value"]), *(short(step["value"]) for step in steps),
             f"{1 + over:.2f}")
        )  # fmt: skip
    head = ("rule", "m", "games", "network", *_STEPS, "all over network")
    return as_table(head, rows)


_STEPS = ("descend", "rules and priors", "expand", "backup")


def _predicted(found: dict[str, Any]) -> str:
    """One table for each kind of figure: the same counts, the same values."""
    kinds: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for f in found["figures"]:
        kinds.setdefault(tuple(f["counted"]), []).append(f)
    return "\n".join(_predicted_kind(found, figures) for figures in kinds.values())


def _predicted_kind(found: dict[str, Any], figures: list[dict[str, Any]]) -> str:
    machines = [machine["name"] for machine in found["machines"]]
    counted, values = list(figures[0]["counted"]), list(figures[0][machines[0]])
    head = ["predicted", *counted, *(f"{m}: {value}" for m in machines for value in values)]
    rows = [
        (f["figure"].removeprefix("search/").removeprefix("training/"),
         *(big(f["counted"][name]) for name in counted),
         *(short(f[m][value]) for m in machines for value in values))
        for f in figures
    ]  # fmt: skip
    return as_table([cell.replace("_", " ") for cell in head], rows)


def _assumed(found: dict[str, Any]) -> str:
    rows = [
        (m["name"], short(m["matmul"] / 1e12), short(m["bandwidth"] / 1e12),
         short(1e6 * m["start"]), short(1e6 * m["round_trip"]))
        for m in found["machines"]
    ]  # fmt: skip
    head = ("assumed", "TFLOP/s", "TB/s", "us a kernel", "us an end of a loop")
    return as_table(head, rows)


def _all(found: dict[str, Any]) -> str:
    """Every family that was measured, under its own heading."""
    parts = [_about(found)]
    for kind in (
        "device",
        "games",
        "search",
        "selfplay",
        "training",
        "populations",
        "iteration",
        "start",
    ):
        family = "training" if kind == "populations" else kind
        if _family(found, family):
            parts.append(f"### {kind.capitalize()}, on this device\n\n{_KINDS[kind](found)}")
    return "\n".join(parts)


_KINDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "all": _all,
    "about": _about,
    "targets": _targets,
    "device": _device,
    "games": _games,
    "search": _search,
    "parts": _parts,
    "selfplay": _selfplay,
    "training": _training,
    "populations": _populations,
    "iteration": _iteration,
    "start": _start,
    "predicted": _predicted,
    "assumed": _assumed,
}


def main(words: Sequence[str] | None = None) -> None:
    """Writes the page; it takes no words but `--help`."""
    arguments.Parser(prog="python -m benchmarks.docs", description=__doc__).parse(words)
    PAGE.write_text(fill(PAGE.read_text("utf-8"), PAGE.with_suffix("")), "utf-8")
    print(f"wrote {PAGE}", file=sys.stderr)


if __name__ == "__main__":
    arguments.run(main)
