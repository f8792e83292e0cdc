"""Nothing that is loaded can run code: what the product imports and calls, read from its source."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = "jaxzero", "experiments", "benchmarks"
FILES = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
# Modules that run what they read.
MODULES = {
    "_pickle", "cPickle", "cloudpickle", "code", "dill", "joblib", "marshal", "pandas", "pickle",
    "runpy", "shelve", "torch", "yaml",
}  # fmt: skip
BUILTINS = {"eval", "exec", "compile"}
CALLS = {
    "exec_module", "extract", "extractall", "load_module", "popen", "read_pickle", "run_path",
    "system", "unpack_archive",
}  # fmt: skip
PROCESSES = {"run", "Popen", "call", "check_call", "check_output"}
IMPORTS = {"import_module", "__import__"}
# Where it is meant: settings files are Python, as those of ml-collections are, and the user's own;
# a part of a paper is a command of ours.
MEANT = {
    "experiments/reproduce/child.py": ["runpy"],
    "experiments/shell/cli.py": ["runpy", "run_path"],
}


def by_true_names(tree: ast.AST) -> ast.AST:
    """With what is imported under another name called by its own."""
    aliases = {
        name.asname: name.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in node.names
        if name.asname
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = aliases.get(node.id, node.id)
    return tree


def imported(tree: ast.AST) -> set[str]:
    """Top-level names of all imports, those inside functions too."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Call) and called(node)[1] in IMPORTS:
            words = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            found |= {str(word).split(".")[0] for word in words}
    return found


def called(node: ast.Call) -> tuple[str, str]:
    """(what stands before the dot, name) of what is called."""
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        return owner.id if isinstance(owner, ast.Name) else "?", node.func.attr
    return "", node.func.id if isinstance(node.func, ast.Name) else ""


def dangers(tree: ast.AST) -> list[str]:
    """Calls that may run what they are given."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        (owner, name), flags = called(node), {k.arg: k.value for k in node.keywords}
        pickled = flags.get("allow_pickle")
        if pickled is not None and not (isinstance(pickled, ast.Constant) and not pickled.value):
            found.append("allow_pickle")
        if name == "load" and owner in ("np", "numpy") and (len(node.args) > 2 or None in flags):
            found.append("load")
        if name in CALLS or (name in PROCESSES and "shell" in flags):
            found.append(name)
        if name in BUILTINS and owner in ("", "builtins"):
            found.append(name)
    return found


def wrong(source: str) -> list[str]:
    """All of a file that may run what it reads."""
    tree = by_true_names(ast.parse(source))
    return [*sorted(imported(tree) & MODULES), *dangers(tree)]


DANGERS = (
    "np.load(x, allow_pickle=flag)",
    "np.load(x, None, True)",
    "np.load(x, **{'allow_pickle': True})",
    "eval(x)",
    "builtins.eval(x)",
    "subprocess.run(x, shell=True)",
    "from subprocess import run; run(x, shell=True)",
    "os.system(x)",
    "from os import system; system(x)",
    "from os import system as begin; begin(x)",
    "from builtins import eval as value_of; value_of(x)",
    "import numpy as n; n.load(x, None, True)",
    "from importlib import import_module as get; get('pickle')",
    "archive.extractall()",
    "archive.extract(name)",
    "import _pickle",
    "importlib.import_module('pickle')",
    "__import__('pickle')",
    "pd.read_pickle(x)",
    "import yaml",
    "from torch import load",
    "runpy.run_path(x)",
)


@pytest.mark.parametrize("source", DANGERS)
def test_a_danger_is_seen(source: str) -> None:
    assert wrong(source)


@pytest.mark.parametrize(
    "source", ["np.load(x, allow_pickle=False)", "re.compile(x)", "import_module(name)", "run(x)"]
)
def test_what_runs_nothing_is_no_danger(source: str) -> None:
    assert not wrong(source)


def test_nothing_is_unpickled_unpacked_or_run() -> None:
    found = {str(path.relative_to(ROOT)): wrong(path.read_text()) for path in FILES}
    assert {name: calls for name, calls in found.items() if calls} == MEANT
    assert len(FILES) > 300
