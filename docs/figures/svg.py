"""Drawings as SVG that are read in the light and in the dark: on GitHub as images, in the site as part of the page."""

import html
from collections.abc import Iterable

STYLE = """\
svg.figure { --ink: #1f2328; --faint: #6e7781; --line: #d0d7de; --paper: #ffffff;
  --first: #0969da; --second: #bc4c00; --third: #1a7f37; --fourth: #8250df; }
@media (prefers-color-scheme: dark) { svg.figure { --ink: #e6edf3; --faint: #9198a1; --line: #3d444d; --paper: #0d1117;
  --first: #58a6ff; --second: #f0883e; --third: #56d364; --fourth: #bc8cff; } }
body[data-theme="light"] svg.figure { --ink: #1f2328; --faint: #6e7781; --line: #d0d7de; --paper: #ffffff;
  --first: #0969da; --second: #bc4c00; --third: #1a7f37; --fourth: #8250df; }
body[data-theme="dark"] svg.figure { --ink: #e6edf3; --faint: #9198a1; --line: #3d444d; --paper: #0d1117;
  --first: #58a6ff; --second: #f0883e; --third: #56d364; --fourth: #bc8cff; }
svg.figure { font-family: system-ui, "Liberation Sans", Arial, sans-serif; font-size: 14px; }
svg.figure text { fill: var(--ink); }
svg.figure .letter { font-family: "Byheart Math", "Latin Modern Math", Georgia, serif; font-style: italic; }
svg.figure .faint { fill: var(--faint); }
svg.figure .line { stroke: var(--line); fill: none; stroke-width: 1.5; }
svg.figure .ink { stroke: var(--ink); fill: none; stroke-width: 1.5; }
svg.figure .box { stroke: var(--line); fill: var(--paper); stroke-width: 1.5; }
"""
COLOURS = ("first", "second", "third", "fourth")
STYLE += "".join(
    f"svg.figure .{name} {{ stroke: var(--{name}); fill: none; stroke-width: 2.5; }}\n"
    f"svg.figure .on-{name} {{ fill: var(--{name}); }}\n"
    for name in COLOURS
)
STYLE += """\
svg.figure .thin { stroke-width: 1.1; opacity: 0.6; }
svg.figure a { text-decoration: none; }
svg.figure a:hover text { text-decoration: underline; }
"""


def figure(title: str, width: float, height: float, parts: Iterable[str]) -> str:
    """A drawing of the given size in pixels, with a title that is read aloud."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" role="img" viewBox="0 0 {number(width)} '
        f'{number(height)}" width="{number(width)}" height="{number(height)}">\n<title>{html.escape(title)}</title>\n'
        f"<style>\n{STYLE}</style>\n" + "".join(f"{part}\n" for part in parts) + "</svg>\n"
    )


def number(value: float) -> str:
    """Two decimals, the same on every machine."""
    return f"{float(value):.2f}".rstrip("0").rstrip(".").replace("-0", "0" if abs(value) < 0.005 else "-0")


def words(x: float, y: float, text: str, kind: str = "", anchor: str = "middle", size: float = 14) -> str:
    return (
        f'<text x="{number(x)}" y="{number(y)}" class="{kind}" text-anchor="{anchor}" font-size="{number(size)}">'
        f"{html.escape(text)}</text>"
    )


def line(start: tuple[float, float], end: tuple[float, float], kind: str, dashes: str = "") -> str:
    (x, y), (u, v) = start, end
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{number(x)}" y1="{number(y)}" x2="{number(u)}" y2="{number(v)}" class="{kind}"{dashed}/>'


def dot(x: float, y: float, kind: str, radius: float = 5) -> str:
    return f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" class="{kind}"/>'


def box(x: float, y: float, width: float, height: float, kind: str = "box", radius: float = 6) -> str:
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
        f'rx="{number(radius)}" class="{kind}"/>'
    )


def curve(start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
    """A line that leaves and arrives level."""
    (x, y), (u, v) = start, end
    half = number((x + u) / 2)
    path = f"M{number(x)} {number(y)} C{half} {number(y)} {half} {number(v)} {number(u)} {number(v)}"
    return f'<path d="{path}" class="{kind}"/>'


def linked(address: str, part: str) -> str:
    """A part that leads to a page of the site; in an image that is no part of a page it leads nowhere."""
    return f'<a href="{html.escape(address)}">{part}</a>'
