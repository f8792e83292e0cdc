"""One self-contained HTML page out of sections, figures and tables, and the same for programs."""

import dataclasses
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup
from matplotlib.figure import Figure

from experiments.pages import draw, style
from experiments.pages.tables import Table
from experiments.pages.wording import ABSENT
from jaxzero import files
from jaxzero.settings.config import ConfigError

_PNG_DPI = 160


Facts = list[tuple[str, str]]  # what was run, on what, at what cost: name and words


@dataclass(frozen=True)
class Plate:
    """A figure, or the SVG of one that was drawn, with its caption.

    `name` is its file name and its anchor.
    """

    name: str
    figure: Figure | str
    title: str
    caption: str


@dataclass(frozen=True)
class Section:
    """A heading with sentences, figures and tables, shown in this order."""

    title: str
    text: tuple[str, ...] = ()
    plates: tuple[Plate, ...] = ()
    tables: tuple[Table, ...] = ()

    @property
    def anchor(self) -> str:
        return "section-" + re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class Page:
    """Everything that the template shows."""

    title: str
    subtitle: str
    verdicts: Sequence[str]
    missing: Sequence[str]
    facts: Facts
    sections: Sequence[Section]
    headline: str = ""  # the answer, in a sentence
    numbers: Sequence[tuple[str, str]] = ()  # the few that matter, with what they are
    lead: str = ""  # name of the figure that is shown first


def origin(results: Mapping[str, Any]) -> Facts:
    """Facts about where a study's numbers come from, from its `results.json`."""
    environment = results.get("environment") or {}
    return [
        ("Device", str(environment.get("device", ABSENT))),
        ("Commit", str(environment.get("commit", ABSENT))),
        ("Command", results.get("command") or ABSENT),
    ]


def plate(name: str, figure: Figure | None, title: str, caption: str) -> Plate | None:
    """A figure with its caption, or None where nothing was drawn."""
    return None if figure is None else Plate(name, figure, title, " ".join(caption.split()))


def section(title: str, *content: str | Plate | Table | None) -> Section:
    """A section of sentences, figures and tables; what is None or without rows is left out."""
    return Section(
        title,
        tuple(one for one in content if isinstance(one, str) and one),
        tuple(one for one in content if isinstance(one, Plate)),
        tuple(one for one in content if isinstance(one, Table) and one.rows),
    )


def write(page: Page, workdir: Path, *, name: str = "report.html") -> Path:
    """Writes `figures/*.svg`, `figures/*.png` and the page; returns the path of the latter.

    Sections without content are left out. Beside the page lies what `read` needs, `report.json`.
    """
    shown_sections = [s for s in page.sections if s.text or s.plates or s.tables]
    page = replace(page, sections=shown_sections)
    folder = workdir / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    inlined: dict[str, str] = {}
    for section in page.sections:
        for shown in section.plates:
            svg = save(shown.figure, folder / shown.name)
            inlined[shown.name] = inline(svg, shown.name, f"p{len(inlined)}")
    path = workdir / name
    svgs, looks = _with_classes(inlined)
    without = [
        replace(one, plates=tuple(replace(shown, figure="") for shown in one.plates))
        for one in page.sections
    ]
    files.write_json(path.with_suffix(".json"), dataclasses.asdict(replace(page, sections=without)))
    text = _template().render(page=page, svg=svgs, looks=looks)
    files.write_text(path, text)  # the last, see `read`
    return path


def read(path: Path) -> Page:
    """A page that `write` wrote, its figures as SVG. ConfigError: a part of it is not there."""
    try:
        stored = files.read_json(path.with_suffix(".json"))
        sections = [_read_section(one, path.parent / "figures") for one in stored["sections"]]
    except OSError as error:
        raise ConfigError(
            f"{error.filename} is missing: python -m experiments.report {path.parent}"
        ) from error
    pairs = {key: [tuple(pair) for pair in stored[key]] for key in ("facts", "numbers")}
    return Page(**stored | pairs | {"sections": sections})


def _read_section(stored: Mapping[str, Any], figures: Path) -> Section:
    drawn = {p["name"]: (figures / f"{p['name']}.svg").read_text("utf-8") for p in stored["plates"]}
    return Section(
        stored["title"],
        tuple(stored["text"]),
        tuple(Plate(**p | {"figure": drawn[p["name"]]}) for p in stored["plates"]),
        tuple(
            Table(**t | {"headers": tuple(t["headers"]), "rows": tuple(map(tuple, t["rows"]))})
            for t in stored["tables"]
        ),
    )


@style.styled
def save(figure: Figure | str, stem: Path) -> str:
    """Writes `<stem>.svg` and, of what is no SVG yet, `<stem>.png`; returns the SVG's text."""
    drawn, image = (stem.with_name(stem.name + ending) for ending in (".svg", ".png"))
    if isinstance(figure, str):
        drawn.write_text(figure, encoding="utf-8")
        return figure
    style.lighten(figure)
    stem.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = re.sub(f'<g id="{draw.HOVER}([^"]*)">', r"<g><title>\1</title>", buffer.getvalue())
    svg = _compact(svg)
    drawn.write_text(svg, encoding="utf-8")
    figure.savefig(image, dpi=_PNG_DPI)
    return svg


def _compact(svg: str) -> str:
    """Shorter numbers, paths and names: a fifth of the size, with no difference to be seen."""
    found = dict.fromkeys(re.findall(r'(?:url\(|href=")#([^")]+)', svg))
    used = {name: f"i{place}" for place, name in enumerate(found)}
    svg = re.sub(r' id="([^"]*)"', lambda m: f' id="{used[m[1]]}"' if m[1] in used else "", svg)
    svg = re.sub(r'((?:url\(|href=")#)([^")]+)', lambda m: m[1] + used[m[2]], svg)
    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", re.sub(r"\n\s+", "\n", svg))
    svg = svg.replace("xlink:href=", "href=")
    for _ in range(2):  # groups of one, and of one such group
        svg = re.sub(r"<g>\n(<(?:use|path|text)[^>]*(?:/>|>[^<]*</text>))\n</g>", r"\1", svg)
    svg = re.sub(r' d="([^"]*)"', lambda match: f' d="{_path(match.group(1))}"', svg)
    svg = _ALIKE.sub(lambda m: f'<path d="{m[1]}{"".join(_SHAPE.findall(m[3]))}"{m[2]}/>', svg)
    return re.sub(r' ([xy])="(-?\d+\.\d+)"', lambda m: f' {m[1]}="{round(float(m[2]), 1):g}"', svg)


_SHAPE: Final = re.compile(r' d="([^"]*)"')
_ALIKE: Final = re.compile(  # lines of one look that follow each other: single seeds of a metric
    r'<path d="([^"]*)"([^>]*fill: none[^>]*)/>((?:\n<path d="[^"]*"\2/>)+)'
)


def _path(d: str) -> str:
    """A path with its straight lines relative, in steps of a tenth of a point (a hundredth for
    small shapes such as markers). Steps are taken between rounded points, so errors do not add up.
    """
    tokens = re.findall(r"[A-Za-z]|-?[\d.]+(?:e-?\d+)?", d)
    digits = 2 if len(tokens) < 60 else 1
    if set("CQ") & set(tokens):
        return " ".join(t if t.isalpha() else f"{float(t):.{digits}f}" for t in tokens)
    scale, out, place, at = 10**digits, [], 0, (0, 0)
    while place < len(tokens):
        command = tokens[place]
        if command not in "ML":
            out.append(command)
            place += 1
            continue
        x, y = (round(float(t) * scale) for t in tokens[place + 1 : place + 3])
        step = (x, y) if command == "M" else (x - at[0], y - at[1])
        out.append(f"{command if command == 'M' else 'l'}{step[0] / scale:g} {step[1] / scale:g}")
        place, at = place + 3, (x, y)
    return re.sub(r"(?<!\d)0\.", ".", "".join(out)).replace(" -", "-")


def inline(svg: str, name: str, prefix: str) -> str:
    """An SVG for the middle of a page: no prolog, no metadata, scalable, its ids with a prefix.

    `name`: its plate's, whose title says what it shows.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # One and a half pixels a point at most: lettering is of one size in all figures of a page.
    svg = re.sub(
        r'(<svg[^>]*?) width="([\d.]+)pt"',
        lambda match: f'{match[1]} style="max-width: {1.5 * float(match[2]):.0f}px"',
        svg,
        count=1,
    )
    svg = re.sub(
        r'(<svg[^>]*?) height="[^"]*"',
        rf'\1 role="img" aria-labelledby="{name}-title"',
        svg,
        count=1,
    )
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", svg)


def _with_classes(svgs: Mapping[str, str]) -> tuple[dict[str, Markup], Markup]:
    """The SVGs with classes of the page in place of styles, a third of the size; their rules."""
    names: dict[str, str] = {}  # of classes, by what they say

    def named(match: re.Match[str]) -> str:
        return f'class="{names.setdefault(match[1], f"s{len(names)}")}"'

    classed = {name: Markup(re.sub(r'style="([^"]*)"', named, svg)) for name, svg in svgs.items()}
    return classed, Markup("\n".join(f".{name} {{ {look} }}" for look, name in names.items()))


@cache
def _template() -> jinja2.Template:
    loader = jinja2.PackageLoader("experiments.pages", package_path="")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("report.html.jinja")
