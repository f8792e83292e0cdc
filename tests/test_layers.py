"""Who may import whom: rooms on floors, no import upwards, no circle, no file too long."""

import ast
import collections
import functools
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# From the ground up. A room imports from floors below its own and from itself, never from a
# neighbour or from above. It is a package of `jaxzero` or `experiments`, or a file beside them.
FLOORS = (
    {"jaxzero.loops", "jaxzero.games", "jaxzero.ratings", "jaxzero.networks", "jaxzero.settings"}
    | {"jaxzero.pipes"},
    {"jaxzero.files"},
    {"jaxzero.workdir", "jaxzero.arguments"},
    {"jaxzero.pretrained"},
    {"jaxzero.search"},
    {"jaxzero.players"},
    {"jaxzero.solvers"},
    {"jaxzero.matches"},
    {"jaxzero.training"},
    {"jaxzero.tracking"},
    {"jaxzero.runs"},
    {"jaxzero.play"},
    {"jaxzero"},
    {"experiments.published", "experiments.configs"},
    {"experiments.pages"},
    {"experiments.shell"},
    {"experiments.claims"},
    {"experiments.costs"},
    {"experiments.strength"},
    {
        "experiments.losses",
        "experiments.hyperparameters",
        "experiments.connect_four",
        "experiments.endgame",
    },
    {"experiments"},
    {"experiments.reproduce"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
LINES = 350


@functools.cache
def product_files() -> dict[str, Path]:
    """Every module of the product, by its dotted name."""
    paths = [
        path for top in ("jaxzero", "experiments") for path in sorted((ROOT / top).rglob("*.py"))
    ]
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in paths
    }


def imported_names(module: str, path: Path) -> list[str]:
    """Dotted names that the file imports anywhere, in functions too, all absolute."""
    names = []
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = (
                package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            )
            source = ".".join([*parents, *filter(None, [node.module])])
            names += [f"{source}.{alias.name}" for alias in node.names]
    return [name for name in names if name != "jaxzero.__version__"]  # which lies at the door


@functools.cache
def imports() -> dict[str, frozenset[str]]:
    """What each module of the product imports of the product: the longest name that is a module."""
    modules = product_files()
    edges: dict[str, frozenset[str]] = {}
    for module, path in modules.items():
        used = set()
        for name in imported_names(module, path):
            while name and name not in modules:
                name = name.rpartition(".")[0]
            used.add(name)
        edges[module] = frozenset(used - {"", module})
    return edges


def room(module: str) -> str:
    """The package or file just below the top; the top itself for its other files."""
    first_two = ".".join(module.split(".")[:2])
    return first_two if first_two in FLOOR else module.split(".")[0]


def circles(edges: dict[str, set[str]]) -> list[str]:
    """Groups of more than one node that all reach each other, each as one sorted line."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for after in edges.get(waiting.pop(), set()) - seen:
                seen.add(after)
                waiting.append(after)
        return seen

    reach = {node: reached(node) for node in edges}
    groups = {
        frozenset(other for other in reach[node] if node in reach.get(other, ())) for node in edges
    }
    return sorted(" ".join(sorted(group)) for group in groups if len(group) > 1)


def test_imports_run_downwards_only() -> None:
    assert all(room(module) in FLOOR for module in product_files())
    upwards = {
        f"{module} -> {used}"
        for module, others in imports().items()
        for used in others
        if room(used) != room(module) and FLOOR[room(used)] >= FLOOR[room(module)]
    }
    assert not upwards


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a b c"]
    assert not circles({module: set(used) for module, used in imports().items()})


def test_rules_search_and_networks_do_not_know_each_other() -> None:
    """Rules import nothing of ours; search gets a function, networks get arrays."""
    used: dict[str, set[str]] = collections.defaultdict(set)
    for module, others in imports().items():
        used[room(module)] |= {room(other) for other in others}
    assert used["jaxzero.games"] <= {"jaxzero.games"}
    assert "jaxzero.networks" not in used["jaxzero.search"]
    assert "jaxzero.games" not in used["jaxzero.networks"]
    assert not any(
        other.startswith("experiments")
        for name in used
        if name.startswith("jaxzero")
        for other in used[name]
    )


def test_every_room_has_a_floor_and_every_floor_its_rooms() -> None:
    assert set(map(room, product_files())) == set(FLOOR)


def test_no_file_asks_for_a_second_noun() -> None:
    long = {
        module
        for module, path in product_files().items()
        if len(path.read_text().splitlines()) > LINES
    }
    assert not long


def test_text_files_are_utf8_wherever_it_runs() -> None:
    """A machine's locale may be another one; ruff's rule knows few of the paths for paths."""
    needed = {"read_text": 1, "write_text": 2}  # arguments, the encoding among them
    tops = ("jaxzero", "experiments", "benchmarks", "docs")
    left = [
        f"{path}:{node.lineno}"
        for path in sorted(path for top in tops for path in (ROOT / top).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and len(node.args) + len(node.keywords) < needed.get(node.func.attr, 0)
    ]
    assert not left


def test_the_architecture_page_shows_every_room_and_names_what_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    picture = set(re.findall(r"\w+", text.split("```")[1]))
    assert {name.rpartition(".")[2] for name in FLOOR} <= picture
    named = re.findall(r"`((?:jaxzero|experiments)/[a-z\d_/.]*)`", text)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []
