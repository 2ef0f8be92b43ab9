"""Drawings as SVG that are read in the light and in the dark: text alone, and the same bytes for the same numbers.

Page: docs/commands.md
"""

import html
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

STYLE = """\
svg.figure { --ink: #1f2328; --faint: #6e7781; --line: #d0d7de; --paper: #ffffff;
  --first: #0969da; --second: #bc4c00; --third: #1a7f37; --fourth: #8250df; }
@media screen and (prefers-color-scheme: dark) { svg.figure { --ink: #e6edf3; --faint: #9198a1; --line: #3d444d;
  --paper: #0d1117; --first: #58a6ff; --second: #f0883e; --third: #56d364; --fourth: #bc8cff; } }
body[data-theme="light"] svg.figure { --ink: #1f2328; --faint: #6e7781; --line: #d0d7de; --paper: #ffffff;
  --first: #0969da; --second: #bc4c00; --third: #1a7f37; --fourth: #8250df; }
@media screen { body[data-theme="dark"] svg.figure { --ink: #e6edf3; --faint: #9198a1; --line: #3d444d;
  --paper: #0d1117; --first: #58a6ff; --second: #f0883e; --third: #56d364; --fourth: #bc8cff; } }
svg.figure { font-family: system-ui, "Liberation Sans", Arial, sans-serif; font-size: 14px; }
svg.figure text { fill: var(--ink); }
svg.figure .letter { font-family: "Byheart Math", "Latin Modern Math", Georgia, serif; font-style: italic; }
svg.figure .faint { fill: var(--faint); }
svg.figure .on-ink { fill: var(--ink); }
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


_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'


def part_of_page(drawing: str) -> str:
    """Return a drawing within a page that has `STYLE` and needs no namespace."""
    return drawing.replace(_NAMESPACE, "").replace(f"<style>\n{STYLE}</style>\n", "")


def figure(title: str, width: float, height: float, parts: Iterable[str]) -> str:
    """Return a drawing of the given size in pixels, with a title that is read aloud."""
    return (
        f'<svg{_NAMESPACE} class="figure" role="img" viewBox="0 0 {number(width)} '
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


def turned(x: float, y: float, text: str, size: float = 13) -> str:
    """Words from below to above, with their middle in a place."""
    place = f"{number(x)} {number(y)}"
    return f'<g transform="translate({place}) rotate(-90)">{words(0, 0, text, size=size)}</g>'


def line(start: tuple[float, float], end: tuple[float, float], kind: str, dashes: str = "") -> str:
    (x, y), (u, v) = start, end
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{number(x)}" y1="{number(y)}" x2="{number(u)}" y2="{number(v)}" class="{kind}"{dashed}/>'


def dot(x: float, y: float, kind: str, radius: float = 5) -> str:
    return f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" class="{kind}"/>'


def box(x: float, y: float, width: float, height: float, kind: str = "box", radius: float = 6, title: str = "") -> str:
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
        f'rx="{number(radius)}" class="{kind}"' + (f"><title>{html.escape(title)}</title></rect>" if title else "/>")
    )


def cell(x: float, y: float, width: float, height: float, kind: str, strength: float) -> str:
    """Return a cell of a heat map, from 0 for the paper's colour to 1 for that of its kind."""
    size = f'width="{number(width)}" height="{number(height)}"'
    return f'<rect x="{number(x)}" y="{number(y)}" {size} class="{kind}" fill-opacity="{number(strength)}"/>'


def curve(start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
    """Return a line that leaves and arrives level."""
    (x, y), (u, v) = start, end
    half = number((x + u) / 2)
    path = f"M{number(x)} {number(y)} C{half} {number(y)} {half} {number(v)} {number(u)} {number(v)}"
    return f'<path d="{path}" class="{kind}"/>'


def linked(address: str, part: str) -> str:
    """Return a part that leads to a page of the site; in an image that is no part of a page it leads nowhere."""
    return f'<a href="{html.escape(address)}">{part}</a>'


def path(points: Iterable[tuple[float, float]], kind: str, dashes: str = "") -> str:
    """Straight lines from point to point."""
    places = " L".join(f"{number(x)} {number(y)}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="M{places}" class="{kind}"{dashed}/>'


def arrow(start: tuple[float, float], end: tuple[float, float], kind: str, head: float = 9) -> str:
    """Return a line with a head at its end."""
    (x, y), (u, v) = start, end
    length = math.hypot(u - x, v - y)
    a, b = (u - x) / length * head, (v - y) / length * head
    sides = [(u - a - b / 2, v - b + a / 2), (u, v), (u - a + b / 2, v - b - a / 2)]
    return path([start, end], kind) + path(sides, kind)


@dataclass(frozen=True)
class Axes:
    """A rectangle of a drawing in which numbers have their places; a scale may be logarithmic."""

    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]
    log_x: bool = False
    log_y: bool = False

    def at(self, x: float, y: float) -> tuple[float, float]:
        across, up = _share(x, self.x, self.log_x), _share(y, self.y, self.log_y)
        return self.left + across * self.width, self.top + (1 - up) * self.height

    def curve(self, points: Iterable[tuple[float, float]], kind: str, dashes: str = "") -> str:
        return path((self.at(x, y) for x, y in points), kind, dashes)

    def scales(
        self, across: Mapping[float, str], up: Mapping[float, str], x_label: str, y_label: str, size: float = 14
    ) -> list[str]:
        """Return the two scales with their ticks, what is counted to the right below and above on the left."""
        right, bottom = self.left + self.width, self.top + self.height
        parts = [line((self.left, bottom), (right, bottom), "ink")]
        for place, label in up.items():
            y = self.at(self.x[0], place)[1]
            parts += [line((self.left, y), (right, y), "line"), words(self.left - 7, y + 5, label, "", "end", size)]
        for place, label in across.items():
            x = self.at(place, self.y[0])[0]
            parts += [line((x, bottom), (x, bottom + 5), "ink"), words(x, bottom + 21, label, "", "middle", size)]
        parts.append(words(right, bottom + 41, x_label, "faint", "end", size))
        parts.append(words(self.left - 30, self.top - 12, y_label, "faint", "start", size))
        return parts


def ticks(*places: float) -> dict[float, str]:
    """Places of a scale, labelled by themselves."""
    return {place: f"{place:,g}" for place in places}


def _share(value: float, ends: tuple[float, float], log: bool) -> float:
    low, high = (math.log(end) for end in ends) if log else ends
    return ((math.log(value) if log else value) - low) / (high - low)


Case = TypeVar("Case")


def side_by_side(cases: Mapping[str, Case], draw: Callable[[float, Case], list[str]]) -> list[str]:
    """Drawings 150 wide, each from where it begins on the left and below its name."""
    parts = []
    for place, (name, case) in enumerate(cases.items()):
        left = 25 + 195 * place
        parts += [words(left + 75, 24, name, "faint"), *draw(left, case)]
    return parts
