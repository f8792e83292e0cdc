"""Files of the repository that lie outside of `docs/` and that pages link to, as pages of the site.

A hook of MkDocs (`mkdocs.yml`): links stay as they work where the repository is read.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "repository"  # of the site, for those files
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)[^)\s#]+")


def on_files(files: Any, config: Any) -> Any:
    """Adds what pages link to, and what that links to."""
    texts = {_source(file.src_uri): file.content_string for file in files.documentation_pages()}
    todo = list(texts)
    while todo:
        source = todo.pop()
        for link in _LINK.findall(texts[source]):
            target = _target(source, link)
            if target in texts or target.startswith("docs/") or not (ROOT / target).is_file():
                continue  # of what does not exist, MkDocs warns
            texts[target] = (ROOT / target).read_text("utf-8")
            shown = texts[target]
            if target.endswith(".py"):
                shown = f"# {target}\n\n~~~~python\n{shown}~~~~\n"
            files.append(File.generated(config, _page(target), content=shown))
            todo += [target] if target.endswith(".md") else []
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links of a page to where their targets lie in the site."""
    source, folder = _source(page.file.src_uri), posixpath.dirname(page.file.src_uri)

    def moved(link: re.Match[str]) -> str:
        return posixpath.relpath(_page(_target(source, link[0])), folder or ".")

    return _LINK.sub(moved, markdown)


def _source(uri: str) -> str:
    """Where a page of the site lies in the repository."""
    return uri.removeprefix(f"{FOLDER}/") if uri.startswith(f"{FOLDER}/") else f"docs/{uri}"


def _page(path: str) -> str:
    """Where a file of the repository lies in the site."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{FOLDER}/{path}" + (".md" if path.endswith(".py") else "")


def _target(source: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
