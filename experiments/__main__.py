"""Lists the studies and the commands of this package: `python -m experiments`."""

import ast
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent


def commands() -> Iterator[tuple[str, str]]:
    """Name and first line of whatever can be called; nothing is imported."""
    for path in sorted([*HERE.glob("*.py"), *HERE.glob("*/__main__.py")]):
        package = path.name == "__main__.py" and path.parent != HERE
        tree = ast.parse(path.read_text("utf-8"))
        called = any(isinstance(node, ast.If) for node in tree.body)  # `if __name__ == ...`
        about = ast.get_docstring(tree)
        if about is None or not (package or called) or path == Path(__file__):
            continue
        yield path.parent.name if package else path.stem, about.splitlines()[0]


def main() -> None:
    found = sorted(commands())
    wide = max(len(name) for name, _ in found)
    print("python -m experiments.NAME, each with --help. To play: python -m jaxzero.play\n")
    for name, about in found:
        print(f"  {name:{wide}}  {about}")


if __name__ == "__main__":
    main()
