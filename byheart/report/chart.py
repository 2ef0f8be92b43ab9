"""Line charts and histograms as SVG, each a file of its own or a part of a page.

Page: docs/commands.md
"""

import html
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from byheart.report.drawing import Axes, box, dot, figure, line, words
from constructions.numeric.arrays import Float64Array
from verify.arithmetic.decimals import number, power_of_ten

_WIDTH, _HEIGHT = 640, 272
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 28, 52
_KEY, _LETTER, _ROW = 26, 7.4, 20  # of the legend: the width of a key and of a letter, the height of a row
_SMALL = 12
_DOT, _RING = 4, 6.5  # a ring is seen around a dot
_MOST_POINTS, _BINS = 400, 40


@dataclass(frozen=True, eq=False)
class Line:
    """One line of a chart.

    Args:
        name: Shown in the legend; empty for none.
        x: Increasing abscissae.
        y: Ordinates, as many.
        style: One of `drawing.COLOURS`, with " thin" behind it for a thin line.
        dashes: Lengths of dashes and gaps, as SVG has them; empty for none.
        dots: Whether the points are marked.
        joined: Whether a line joins them.
    """

    name: str
    x: Float64Array
    y: Float64Array
    style: str = "first"
    dashes: str = ""
    dots: bool = False
    joined: bool = True

    @property
    def is_line(self) -> bool:
        """Whether a line is drawn."""
        return self.joined and len(self.x) > 1

    @property
    def is_ring(self) -> bool:
        """Whether a ring stands for it: it has a single point, which is not marked."""
        return len(self.x) == 1 and not self.dots

    def marks(self, places: Iterable[tuple[float, float]]) -> list[str]:
        """Return what stands in each place of one of its points: a dot, a ring, or on a mere line nothing."""
        if self.is_line and not self.dots:
            return []
        kind, radius = (self.style, _RING) if self.is_ring else (f"on-{self.style}", _DOT)
        return [dot(*place, kind, radius) for place in places]


def line_chart(
    lines: Sequence[Line], *, title: str, x_label: str, y_label: str, log: bool = False, log_x: bool = False
) -> str:
    """Lines over a common abscissa.

    Args:
        lines: The lines; points that are not finite, or not positive on a logarithmic scale, are left out.
        title: What a screen reader says.
        x_label: Under the abscissa.
        y_label: Above the ordinate.
        log: Logarithmic ordinate.
        log_x: Logarithmic abscissa.

    Returns:
        An ``<svg>`` element, with a legend if lines are named.

    Example:
        >>> svg = line_chart([Line("a", np.arange(3.0), np.array([1.0, 10.0, 100.0]))], title="growth", x_label="n",
        ...                  y_label="size", log=True)
        >>> svg.count("<path"), "10²" in svg
        (1, True)
    """
    drawn = [_drawable(each, log_x=log_x, log=log) for each in lines]
    drawn = [each for each in drawn if len(each.x)]
    if not drawn:
        return _empty(title)
    across = (_Axis.logarithmic if log_x else _Axis.linear)(*_range([each.x for each in drawn]))
    up = (_Axis.logarithmic if log else _Axis.linear)(*_range([each.y for each in drawn]))

    def body(axes: Axes) -> list[str]:
        parts = []
        for each in drawn:
            points = list(zip(each.x.tolist(), each.y.tolist(), strict=True))
            if each.is_line:
                parts.append(axes.curve(points, each.style, each.dashes))
            parts += each.marks(axes.at(*point) for point in points)
        return parts

    return _chart(title, across, up, (x_label, y_label), drawn, body)


def histogram(
    groups: Sequence[tuple[str, ArrayLike, str]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    log: bool,
    share: bool = False,
) -> str:
    """Draw a histogram with one set of bars per group, one over the other.

    Args:
        groups: Name, values and style of each group; values that are not finite, or not positive where `log`, are left
            out.
        title: What a screen reader says.
        x_label: Under the abscissa.
        y_label: Above the ordinate.
        log: Logarithmic abscissa, with bins of equal ratio.
        share: Draw each number of values as a percentage of its group.

    Returns:
        An ``<svg>`` element, with a legend if groups are named.

    Example:
        >>> histogram([("", [1e-3, 1e-2, 1e-2], "first")], title="sizes", x_label="size", y_label="how many",
        ...           log=True).count("<rect")
        2
    """
    kept = []
    for name, values, style in groups:
        array = np.asarray(values, dtype=np.float64)
        array = array[np.isfinite(array) & ((array > 0.0) | (not log))]
        if len(array):
            kept.append((name, np.log10(array) if log else array, style))
    if not kept:
        return _empty(title)
    across = (_Axis.logarithmic if log else _Axis.linear)(*_range([values for _, values, _ in kept]))
    edges = np.linspace(across.low, across.high, _BINS + 1)
    counts = [np.histogram(values, edges)[0] for _, values, _ in kept]
    heights = [100.0 * count / count.sum() if share else 1.0 * count for count in counts]
    up = _Axis.linear(*_range([np.zeros(1), *heights]))

    def body(axes: Axes) -> list[str]:
        parts = []
        for (_, _, style), count, height in zip(kept, counts, heights, strict=True):
            for i in np.flatnonzero(count):
                left, top = axes.at(edges[i], height[i])
                right, bottom = axes.at(edges[i + 1], up.low)
                parts.append(box(left + 0.5, top, right - left - 1.0, bottom - top, f"on-{style}", 0, str(count[i])))
        return parts

    outlines = [Line(name, edges[1:], height, style) for (name, _, style), height in zip(kept, heights, strict=True)]
    return _chart(title, across, up, (x_label, y_label), outlines, body)


@dataclass(frozen=True)
class _Axis:
    """An interval, of the values or of their logarithms, and its ticks with their labels."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    @classmethod
    def linear(cls, low: float, high: float) -> "_Axis":
        """From `low`, and 0 if that is smaller, to `high`."""
        low, high = min(low, 0.0), max(high, low + 1e-9 * abs(low), 1e-300)
        step = nice_step(high - low)
        places = step * np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        return cls(low, high, tuple((place, number(place, digits=4)) for place in places.tolist()))

    @classmethod
    def logarithmic(cls, low: float, high: float) -> "_Axis":
        """Return the axis of the logarithms `low` to `high`, widened to thirds of a decade, at least one."""
        low, high = math.floor(3 * low) / 3, math.floor(3 * high + 1) / 3
        if high - low < 1.0:
            low, high = float(math.floor(low)), float(max(math.ceil(high), math.floor(low) + 1))
        step = max(1, math.ceil(nice_step(high - low)))
        decades = range(math.ceil(low / step - 1e-9) * step, math.floor(high + 1e-9) + 1, step)
        ticks = [(float(decade), power_of_ten(decade)) for decade in decades]
        if high - low <= 2.0:
            multiples = [(m, e) for e in range(math.floor(low), math.ceil(high)) for m in (2, 5)]
            between = [(e + math.log10(m), number(m * 10.0**e, digits=1)) for m, e in multiples]
            ticks += [(place, label) for place, label in between if low <= place <= high]
        return cls(low, high, tuple(ticks))


def nice_step(length: float) -> float:
    """Return a step of 1, 2 or 5 times a power of ten that leaves four to nine ticks."""
    power = 10.0 ** math.floor(math.log10(length / 4.0))
    return max(step * power for step in (1.0, 2.0, 5.0) if step * power <= length / 4.0)


def _drawable(each: Line, *, log_x: bool, log: bool) -> Line:
    """Return what of it can be drawn, in logarithms where the scale has them; of a joined line at most 400 points."""
    x, y = np.asarray(each.x, dtype=np.float64), np.asarray(each.y, dtype=np.float64)
    kept = np.flatnonzero(np.isfinite(x) & np.isfinite(y) & ((y > 0.0) | (not log)) & ((x > 0.0) | (not log_x)))
    if each.joined and len(kept) > _MOST_POINTS:
        kept = kept[np.unique(np.linspace(0, len(kept) - 1, _MOST_POINTS).round().astype(np.int64))]
    return replace(each, x=np.log10(x[kept]) if log_x else x[kept], y=np.log10(y[kept]) if log else y[kept])


def _range(arrays: Sequence[Float64Array]) -> tuple[float, float]:
    return min(float(array.min()) for array in arrays), max(float(array.max()) for array in arrays)


def _chart(
    title: str,
    across: _Axis,
    up: _Axis,
    labels: tuple[str, str],
    lines: Sequence[Line],
    body: Callable[[Axes], list[str]],
) -> str:
    keys, rows = _keys([each for each in lines if each.name])
    frame = _LEFT, _TOP + rows * _ROW, _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    axes = Axes(*frame, (across.low, across.high), (up.low, up.high))
    scales = axes.scales(dict(across.ticks), dict(up.ticks), *labels, _SMALL)
    return figure(title, _WIDTH, _HEIGHT + rows * _ROW, [*keys, *scales, *body(axes)])


def _keys(lines: Sequence[Line]) -> tuple[list[str], int]:
    """Return the legend above the frame, each line as it is drawn there, and how many rows it takes."""
    parts, left, row = [], 0.0, 0
    for each in lines:
        width = _KEY + _LETTER * len(each.name) + _KEY
        if left and left + width > _WIDTH:
            left, row = 0.0, row + 1
        y, right = _ROW * (row + 0.5), left + _KEY - 6
        if each.is_line:
            parts.append(line((left, y), (right, y), each.style, each.dashes))
        parts += each.marks([((left + right) / 2, y)])
        parts.append(words(left + _KEY, y + 4, each.name, "faint", "start", _SMALL + 1))
        left += width
    return parts, (row + 1) * bool(lines)


def _empty(title: str) -> str:
    return f'<p class="quiet">{html.escape(title)}: there is nothing to draw.</p>'
