"""Pieces of SVG: put beside and below each other, and made a page. Plain text, no library.

A page brings its own cards to stand on, light or dark as its reader prefers; discs and boards have
the same colours on both.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

MARGIN, GAP = 24, 20
_STYLE = """
.card{fill:#ffffff;stroke:#d1d9e0}.ink{fill:#1f2328}.faint{fill:#59636e}
@media(prefers-color-scheme:dark){
.card{fill:#0d1117;stroke:#3d444d}.ink{fill:#f0f6fc}.faint{fill:#9198a1}}
"""


class Picture(NamedTuple):
    """A piece of SVG whose upper left corner is the origin."""

    width: float
    height: float
    body: str


def captioned(picture: Picture, caption: str, *, size: int = 12) -> Picture:
    """With a line of text below."""
    text = (
        f'<text x="{short(picture.width / 2)}" y="{short(picture.height + size + 4)}" '
        f'class="faint" text-anchor="middle" font-size="{size}">{escaped(caption)}</text>'
    )
    return Picture(picture.width, picture.height + size + 8, picture.body + text)


def beside(pictures: Sequence[Picture], gap: float = GAP) -> Picture:
    """From left to right."""
    x, parts = 0.0, []
    for picture in pictures:
        parts.append(f'<g transform="translate({short(x)} 0)">{picture.body}</g>')
        x += picture.width + gap
    return Picture(x - gap, max(picture.height for picture in pictures), "\n".join(parts))


def below(pictures: Sequence[Picture], gap: float) -> Picture:
    """From top to bottom."""
    y, parts = 0.0, []
    for picture in pictures:
        parts.append(f'<g transform="translate(0 {short(y)})">{picture.body}</g>')
        y += picture.height + gap
    return Picture(max(picture.width for picture in pictures), y - gap, "\n".join(parts))


def page(pictures: Sequence[Picture]) -> str:
    """A whole SVG file: the pictures one below the other, each on its card."""
    width = max(picture.width for picture in pictures) + 2 * MARGIN
    y, parts = 0.0, []
    for picture in pictures:
        height = picture.height + 2 * MARGIN
        parts.append(
            f'<g transform="translate(0 {short(y)})"><rect class="card" x="0.5" y="0.5" '
            f'width="{short(width - 1)}" height="{short(height - 1)}" rx="10"/>'
            f'<g transform="translate({MARGIN} {MARGIN})">{picture.body}</g></g>'
        )
        y += height + GAP / 2
    size = f"{short(width)} {short(y - GAP / 2)}"
    across, down = size.split()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across}" height="{down}" '
        f'viewBox="0 0 {size}" font-family="system-ui, Helvetica, Arial, sans-serif">\n'
        f"<style>{_STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def circle(x: float, y: float, radius: float) -> str:
    """A disc; its colour is its group's."""
    return f'<circle cx="{short(x)}" cy="{short(y)}" r="{short(radius)}"/>'


def rectangle(x: float, y: float, width: float, height: float, *, radius: float, fill: str) -> str:
    """With round corners."""
    return (
        f'<rect x="{short(x)}" y="{short(y)}" width="{short(width)}" height="{short(height)}" '
        f'rx="{short(radius)}" fill="{fill}"/>'
    )


def line(x: float, y: float, *, across: float = 0, down: float = 0) -> str:
    """A straight piece of a path's `d`, to the right or downwards."""
    return f"M{short(x)} {short(y)}" + (f"h{short(across)}" if across else f"v{short(down)}")


def text(x: float, y: float, text: str) -> str:
    """Text whose middle is at y: `dominant-baseline` is not understood everywhere."""
    return f'<text x="{short(x)}" y="{short(y)}" dy=".36em">{escaped(text)}</text>'


def group(items: Iterable[str], name: str, **attributes: str) -> str:
    """Items of one class and look, texts centred; nothing where there are none."""
    content = "".join(items)
    given = " ".join(f'{key.replace("_", "-")}="{value}"' for key, value in attributes.items())
    return f'<g class="{name}" text-anchor="middle" {given}>{content}</g>' if content else ""


def escaped(text: str) -> str:
    """Text as XML takes it."""
    return escape("".join(c for c in text if c.isprintable()))


def short(number: float) -> str:
    """A number with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")
