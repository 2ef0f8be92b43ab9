"""Small line charts and histograms as inline SVG: text alone, no script, and the same bytes for the same numbers.

Page: docs/report.md
"""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from constructions.arrays import Float64Array
from verify.arithmetic.decimals import number, power_of_ten

_WIDTH, _HEIGHT = 640, 272
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 28, 52
_MOST_POINTS = 400


@dataclass(frozen=True, eq=False)
class Line:
    """One line of a chart.

    Args:
        name: Shown in the legend; empty for none.
        x: Increasing abscissae.
        y: Ordinates, as many.
        style: A class of the style sheet, which gives the colour.
    """

    name: str
    x: Float64Array
    y: Float64Array
    style: str = "first"


def line_chart(lines: Sequence[Line], *, title: str, x_label: str, y_label: str, log: bool = False) -> str:
    """Lines over a common abscissa.

    Args:
        lines: The lines; points that are not finite, or not positive where `log`, are left out.
        title: What a screen reader says.
        x_label: Under the abscissa.
        y_label: Above the ordinate.
        log: Logarithmic ordinate.

    Returns:
        An ``<svg>`` element, after a legend if lines are named.

    Example:
        >>> svg = line_chart([Line("a", np.arange(3.0), np.array([1.0, 10.0, 100.0]))], title="growth", x_label="n",
        ...                  y_label="size", log=True)
        >>> svg.count("<polyline"), "10²" in svg
        (1, True)
    """
    drawn = [(line, *_drawable(line.x, line.y, log=log)) for line in lines]
    drawn = [(line, x, y) for line, x, y in drawn if len(x)]
    if not drawn:
        return _empty(title)
    across = _Axis.linear(*_range([x for _, x, _ in drawn]))
    heights = [np.log10(y) if log else y for _, _, y in drawn]
    up = (_Axis.logarithmic if log else _Axis.linear)(*_range(heights))
    body = [_grid(across, up, x_label, y_label)]
    for (line, x, _), y in zip(drawn, heights, strict=True):
        places = list(zip(_x(across, x).tolist(), _y(up, y).tolist(), strict=True))
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        shape = f'<polyline points="{points}" class="line {line.style}"/>'
        dot = f'<circle cx="{places[0][0]:.1f}" cy="{places[0][1]:.1f}" r="4" class="dot {line.style}"/>'
        body.append(shape if len(places) > 1 else dot)
    return _legend([(line.name, line.style) for line, _, _ in drawn]) + _svg(title, body)


def histogram(
    groups: Sequence[tuple[str, ArrayLike, str]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    log: bool,
    share: bool = False,
    bins: int = 40,
) -> str:
    """How often values fall where, one set of bars per group, drawn over each other.

    Args:
        groups: Name, values and style of each group; values that are not finite, or not positive where `log`, are left
            out.
        title: What a screen reader says.
        x_label: Under the abscissa.
        y_label: Above the ordinate.
        log: Logarithmic abscissa, with bins of equal ratio.
        share: Draw each number of values as a percentage of its group.
        bins: Number of bins.

    Returns:
        An ``<svg>`` element, after a legend if groups are named.

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
    edges = np.linspace(across.low, across.high, bins + 1)
    counts = [np.histogram(values, edges)[0] for _, values, _ in kept]
    heights = [100.0 * count / count.sum() if share else 1.0 * count for count in counts]
    up = _Axis.linear(*_range([np.zeros(1), *heights]))
    body = [_grid(across, up, x_label, y_label)]
    lefts = _x(across, edges)
    bottom = _HEIGHT - _BOTTOM
    for (_, _, style), count, height in zip(kept, counts, heights, strict=True):
        tops = _y(up, height)
        body += [
            f'<rect x="{lefts[i] + 0.5:.1f}" y="{tops[i]:.1f}" width="{lefts[i + 1] - lefts[i] - 1.0:.1f}" '
            f'height="{bottom - tops[i]:.1f}" class="bar {style}"><title>{count[i]}</title></rect>'
            for i in np.flatnonzero(count)
        ]
    return _legend([(name, style) for name, _, style in kept]) + _svg(title, body)


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
        step = _nice_step(high - low)
        places = step * np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        return cls(low, high, tuple((place, number(place, digits=4)) for place in places.tolist()))

    @classmethod
    def logarithmic(cls, low: float, high: float) -> "_Axis":
        """Around the logarithms `low` to `high`, widened to thirds of a decade, and to a whole one at least."""
        low, high = math.floor(3 * low) / 3, math.floor(3 * high + 1) / 3
        if high - low < 1.0:
            low, high = float(math.floor(low)), float(max(math.ceil(high), math.floor(low) + 1))
        step = max(1, math.ceil(_nice_step(high - low)))
        decades = range(math.ceil(low / step - 1e-9) * step, math.floor(high + 1e-9) + 1, step)
        ticks = [(float(decade), power_of_ten(decade)) for decade in decades]
        if high - low <= 2.0:
            multiples = [(m, e) for e in range(math.floor(low), math.ceil(high)) for m in (2, 5)]
            between = [(e + math.log10(m), number(m * 10.0**e, digits=1)) for m, e in multiples]
            ticks += [(place, label) for place, label in between if low <= place <= high]
        return cls(low, high, tuple(ticks))


def _nice_step(length: float) -> float:
    """A step of 1, 2 or 5 times a power of ten that leaves four to nine ticks."""
    power = 10.0 ** math.floor(math.log10(length / 4.0))
    return max(step * power for step in (1.0, 2.0, 5.0) if step * power <= length / 4.0)


def _drawable(x: Float64Array, y: Float64Array, *, log: bool) -> tuple[Float64Array, Float64Array]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    kept = np.flatnonzero(np.isfinite(x) & np.isfinite(y) & ((y > 0.0) | (not log)))
    if len(kept) > _MOST_POINTS:
        kept = kept[np.unique(np.linspace(0, len(kept) - 1, _MOST_POINTS).round().astype(np.int64))]
    return x[kept], y[kept]


def _range(arrays: Sequence[Float64Array]) -> tuple[float, float]:
    return min(float(array.min()) for array in arrays), max(float(array.max()) for array in arrays)


def _x(axis: _Axis, values: Float64Array) -> Float64Array:
    return _LEFT + (values - axis.low) / (axis.high - axis.low) * (_WIDTH - _LEFT - _RIGHT)


def _y(axis: _Axis, values: Float64Array) -> Float64Array:
    return _HEIGHT - _BOTTOM - (values - axis.low) / (axis.high - axis.low) * (_HEIGHT - _TOP - _BOTTOM)


def _grid(across: _Axis, up: _Axis, x_label: str, y_label: str) -> str:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = [f'<path d="M{_LEFT} {bottom}H{right}" class="axis"/>']
    for place, label in up.ticks:
        y = float(_y(up, np.array(place)))
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{right}" class="grid"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" class="tick end">{label}</text>')
    for place, label in across.ticks:
        x = float(_x(across, np.array(place)))
        parts.append(f'<path d="M{x:.1f} {bottom}v5" class="axis"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 22}" class="tick middle">{label}</text>')
    parts.append(f'<text x="{right}" y="{_HEIGHT - 4}" class="label end">{html.escape(x_label)}</text>')
    parts.append(f'<text x="{_LEFT}" y="{_TOP - 12}" class="label">{html.escape(y_label)}</text>')
    return "".join(parts)


def _legend(entries: Sequence[tuple[str, str]]) -> str:
    named = [f'<span class="key {style}">{html.escape(name)}</span>' for name, style in entries if name]
    return f'<div class="legend">{"".join(named)}</div>' if named else ""


def _svg(title: str, body: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(title)}" class="chart">'
        f"{''.join(body)}</svg>"
    )


def _empty(title: str) -> str:
    return f'<p class="quiet">{html.escape(title)}: there is nothing to draw.</p>'
