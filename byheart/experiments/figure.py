"""A figure of a source: its grid, what the source says of it, the lines beside the trained points, and what refutes it.

Page: docs/experiments.md
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from byheart.experiments.points import Point
from byheart.experiments.sweep import Result

Kind = Literal["trained", "count", "bound", "printed"]
Places = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    """A line of a figure.

    Args:
        name: In the legend.
        kind: ``"trained"``; ``"count"``, what frozen heads can hold of any targets, no limit of trained ones;
            ``"bound"``, proved for all weights of a shape; or ``"printed"``, numbers of the source.
        places: Abscissa and ordinate.
    """

    name: str
    kind: Kind
    places: Places


@dataclass(frozen=True)
class Finding:
    """What came out of one sentence of a source.

    Args:
        sentence: What is said, in its own terms.
        verdict: ``"confirmed"``, ``"refuted"`` or ``"not reproduced"``, for these runs alone.
        found: The numbers that say so.
    """

    sentence: str
    verdict: Literal["confirmed", "refuted", "not reproduced"]
    found: str


@dataclass(frozen=True)
class Figure:
    """A figure, or a table, of a source.

    Args:
        name: As it is asked for.
        title: What it shows.
        source: Where it is printed; ours where nobody has printed it.
        quick: The points of the quick grid.
        full: The points of the full grid, the printed one.
        abscissa: Its label, and what of a point it is.
        curve: Which line a point belongs to.
        judge: What the results say of the printed sentences.
        ordinate: Its label, and what of a result it is; by default the share of contexts proved to be held.
        printed: The numbers of the source, by curve.
        lines: The lines beside the trained points, from the results; by default, where numbers are printed, these and
            the count for heads with maps of their own.
        log: Whether the ordinate is logarithmic.
        places: The trained curves from the results, where they are no means of the ordinate.
    """

    name: str
    title: str
    source: str
    quick: Callable[[], list[Point]]
    full: Callable[[], list[Point]]
    abscissa: tuple[str, Callable[[Point], float]]
    curve: Callable[[Point], str]
    judge: Callable[[Sequence[Result]], list[Finding]]
    ordinate: tuple[str, Callable[[Result], float]] = ("share of contexts held, proved", lambda result: result.share)
    printed: Mapping[str, Places] = field(default_factory=dict)
    lines: Callable[[Sequence[Result]], list[Curve]] | None = None
    log: bool = False
    places: Callable[[Sequence[Result]], dict[str, Places]] | None = None

    def trained(self, results: Sequence[Result]) -> dict[str, Places]:
        """The trained curves: the mean over the seeds at each abscissa."""
        if self.places is not None:
            return self.places(results)
        return means(results, self.curve, self.abscissa[1], self.ordinate[1])

    def beside(self, results: Sequence[Result]) -> list[Curve]:
        """The lines beside the trained curves."""
        if self.lines is not None:
            return self.lines(results)
        own = [result for result in results if self.printed and result.point.maps == "own"]
        return counted(own, self.curve, self.abscissa[1]) + printed(self.printed)


def means(
    results: Iterable[Result],
    curve: Callable[[Point], str],
    abscissa: Callable[[Point], float],
    ordinate: Callable[[Result], float] = lambda result: result.share,
) -> dict[str, Places]:
    """The mean of what is seen at each abscissa, by curve."""
    seen: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        seen[curve(result.point)][abscissa(result.point)].append(ordinate(result))
    return {name: [(x, float(np.mean(ys))) for x, ys in sorted(at.items())] for name, at in seen.items()}


def fit(places: Places, power: float = 1) -> tuple[float, float]:
    r"""The slope a and $R^2$ of the least squares $y = a x^p + b$."""
    x, y = np.array(places).T
    line = np.polynomial.Polynomial.fit(x**power, y, 1).convert()
    left = float(((y - line(x**power)) ** 2).sum())
    return float(line.coef[1]), 1 - left / max(float(((y - y.mean()) ** 2).sum()), 1e-300)


def count_share(point: Point) -> float:
    r"""Mean share of uniform labels that frozen heads are counted to hold, $\frac1N + (1 - \frac1N) \frac KT$.

    $K = \min(T, \min(d, N) + H \min(d_h, N))$, the certified rank of the features (Theorem F); no upper limit of what
    is trained.
    """
    n = point.tokens
    facts = min(point.contexts, min(point.d_model, n) + point.heads * min(point.d_head, n))
    return 1 / n + (1 - 1 / n) * facts / point.contexts


def counted(
    results: Sequence[Result], curve: Callable[[Point], str], abscissa: Callable[[Point], float]
) -> list[Curve]:
    """The certified count beside each trained curve; once where it is the same."""
    found = means(results, curve, abscissa, lambda result: count_share(result.point))
    distinct = {tuple(places): name for name, places in found.items()}
    return [
        Curve(f"count, {name}" if len(distinct) > 1 else "count", "count", list(at)) for at, name in distinct.items()
    ]


def printed(values: Mapping[str, Places]) -> list[Curve]:
    """Numbers of a source."""
    return [Curve(f"printed, {name}" if len(values) > 1 else "printed", "printed", at) for name, at in values.items()]


def seeded(points: Iterable[Mapping], seeds: int, **common) -> list[Point]:
    """Points with labels and weights of their own for each seed."""
    return [Point(**{**common, **each}, data_seed=seed, seed=seed) for each in points for seed in range(seeds)]


def chosen(holds: bool, sentence: str, found: str) -> Finding:
    """A finding that is confirmed if a condition holds, and refuted, for these runs, if not."""
    return Finding(sentence, "confirmed" if holds else "refuted", found)
