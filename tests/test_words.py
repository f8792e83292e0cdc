"""Words that must not come back (CONTRIBUTING, house style), in pages, help and messages."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CODE = ("jaxzero", "experiments", "benchmarks")

INSTEAD = {
    r"\bmarks (?:of|are|were|included)\b|\b(?:is|are|was|were|been) marked (?:on|with|by)\b": (
        "accuracy, measured"
    ),
    r"\bsure results?\b|\bresults? (?:that )?(?:is|are) sure\b": "proven result",
    r"\blots\b|\bby lot\b": "random seed, at random",
    r"\btold\b(?! apart| from)": "said, shown, decided",
    r"\banew\b": "again",
    r"\b(?:broken|breaks|broke) off\b": "stopped early, failed",
    r"\bcommand goes on\b|\bgone on with\b|\bgoing on from\b": "resumes",
    r"\bpercent points\b": "percentage points",
    r"\bbec[oa]mes? better\b": "improves",
}
OLD = {"results that are sure"}  # what files written earlier say


def lines() -> Iterator[tuple[str, str]]:
    """Prose by place: pages without code, notebooks' text, and all strings of the code."""
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        text = re.sub(r"^```.*?^```$|`[^`\n]+`", "", path.read_text(), flags=re.M | re.S)
        for line in text.splitlines():
            if path.name != "CONTRIBUTING.md" or not line.startswith("|"):  # its table shows them
                yield str(path.relative_to(ROOT)), line
    for path in ROOT.glob("colab/*.ipynb"):
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] == "markdown":
                yield str(path.relative_to(ROOT)), "".join(cell["source"])
    for path in (path for folder in CODE for path in (ROOT / folder).glob("**/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, str) and value not in OLD:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", value


def faults(place: str, text: str) -> list[str]:
    return [
        f"{place}: {found[0]!r}, say: {instead}"
        for pattern, instead in INSTEAD.items()
        if (found := re.search(pattern, " ".join(text.split()), re.IGNORECASE))
    ]


def test_no_word_comes_back() -> None:
    assert not [fault for place, text in lines() for fault in faults(place, text)]


def test_papers_are_named_by_authors_and_years() -> None:
    number = re.compile(r"(?<![\w.,-])00[0-4]\b")
    assert not [place for place, text in lines() if place.endswith(".md") and number.search(text)]


def test_the_check_sees_what_it_forbids_and_no_more() -> None:
    for bad in ("the marks are kept", "a result that is sure", "drawn by lot", "as was told"):
        assert faults("", bad), bad
    for good in ("a mark on each square", "cannot be told apart", "a slot", "sure of it"):
        assert not faults("", good), good
