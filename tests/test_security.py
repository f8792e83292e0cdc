"""Nothing that is loaded can run code: what the product imports and calls, read from its source."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = "jaxzero", "experiments", "benchmarks"
FILES = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
# Modules that run what they read.
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "code"}
BUILTINS = {"eval", "exec", "compile"}
METHODS = {"system", "popen", "extractall", "unpack_archive", "load_module"}
PROCESSES = {"run", "Popen", "call", "check_call", "check_output"}


def imported(tree: ast.AST) -> set[str]:
    """Top-level names of all imports, those inside functions too."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").split(".")[0])
    return found


def dangers(tree: ast.AST) -> list[str]:
    """Calls that may run what they are given."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        flags = {k.arg: k.value for k in node.keywords}
        pickled = flags.get("allow_pickle")
        if pickled is not None and not (isinstance(pickled, ast.Constant) and not pickled.value):
            found.append(f"line {node.lineno}: allow_pickle")
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in METHODS or (name in PROCESSES and "shell" in flags):
            found.append(f"line {node.lineno}: {name}")
        if isinstance(node.func, ast.Name) and node.func.id in BUILTINS:
            found.append(f"line {node.lineno}: {node.func.id}")
    return found


DANGERS = (
    "np.load(x, allow_pickle=flag)",
    "eval(x)",
    "subprocess.run(x, shell=True)",
    "os.system(x)",
    "archive.extractall()",
)


@pytest.mark.parametrize("source", DANGERS)
def test_a_danger_is_seen(source: str) -> None:
    assert dangers(ast.parse(source))


def test_nothing_is_unpickled_unpacked_or_run() -> None:
    found = {}
    for path in FILES:
        tree = ast.parse(path.read_text())
        wrong = [*sorted(imported(tree) & MODULES), *dangers(tree)]
        if wrong:
            found[str(path.relative_to(ROOT))] = wrong
    assert found == {}
    assert len(FILES) > 300
