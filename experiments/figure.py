"""A figure of a source: its grid, what the source says of it, the lines beside the trained points, and what refutes it.

Page: docs/experiments.md
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, Literal

import numpy as np

from experiments.built import built
from experiments.layers import AnyPoint
from experiments.points import Point
from experiments.sweep import Result

Verdict = Literal["confirmed", "not so here", "not reproduced"]
Kind = Literal["trained", "count", "bound", "built", "printed"]
Places = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    """A line of a figure.

    Args:
        name: In the legend.
        kind: ``"trained"``; ``"count"``, what frozen heads can hold of any targets, no limit of trained ones;
            ``"bound"``, proved for all weights of a shape; ``"built"``, of a memory of byheart; or ``"printed"``,
            numbers of the source.
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
        verdict: ``"confirmed"``, ``"not so here"`` or ``"not reproduced"``, for these runs alone.
        found: The numbers that say so.
        curve: How the names of the trained curves end that decide it; empty for all.
    """

    sentence: str
    verdict: Verdict
    found: str
    curve: str = ""


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
        counts: Of which points the count is drawn; by default of none.
        built: Whether the smallest memory of byheart is drawn where it has no more parameters than what is trained.
        printed: The numbers of the source, by curve.
        lines: Other lines beside the trained points, from the results.
        smaller: Whether the quick grid has other sizes than the printed one, so that it refutes nothing, and no
            printed number is drawn beside it.
        log: Whether the ordinate is logarithmic.
        places: The trained curves from the results, where they are no means of the ordinate.
    """

    name: str
    title: str
    source: str
    quick: Callable[[], Sequence[AnyPoint]]
    full: Callable[[], Sequence[AnyPoint]]
    abscissa: tuple[str, Callable[[Any], float]]
    curve: Callable[[Any], str]
    judge: Callable[[Sequence[Result]], list[Finding]]
    ordinate: tuple[str, Callable[[Result], float]] = ("share of contexts held, proved", lambda result: result.share)
    printed: Mapping[str, Places] = field(default_factory=dict)
    counts: Callable[[Any], bool] = lambda point: False
    built: bool = False
    lines: Callable[[Sequence[Result]], list[Curve]] = lambda results: []
    smaller: bool = False
    log: bool = False
    places: Callable[[Sequence[Result]], dict[str, Places]] | None = None

    def trained(self, results: Sequence[Result]) -> dict[str, Places]:
        """Return the trained curves: the mean over the seeds at each abscissa."""
        if self.places is not None:
            return self.places(results)
        return means(results, self.curve, self.abscissa[1], self.ordinate[1])

    def of_printed_size(self, points: Iterable[AnyPoint]) -> bool:
        """Whether points are of the sizes that the source prints."""
        return not self.smaller or set(points) <= set(self.full())

    def beside(self, results: Sequence[Result]) -> list[Curve]:
        """Return the lines beside the trained curves."""
        own = [result for result in results if self.counts(result.point)]
        stored = printed(self.printed) if self.of_printed_size(result.point for result in results) else []
        memories = built_beside(results, self.abscissa[1]) if self.built else []
        return [*counted(own, self.curve, self.abscissa[1]), *stored, *memories, *self.lines(results)]


def seen(
    results: Iterable[Result],
    curve: Callable[[Any], str],
    abscissa: Callable[[Any], float],
    ordinate: Callable[[Result], float],
) -> dict[str, Places]:
    """Return what is seen of each result, by curve, in the order of the abscissae."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for result in results:
        found[curve(result.point)].append((abscissa(result.point), ordinate(result)))
    return {name: sorted(places) for name, places in found.items()}


def means(
    results: Iterable[Result],
    curve: Callable[[Any], str],
    abscissa: Callable[[Any], float],
    ordinate: Callable[[Result], float] = lambda result: result.share,
) -> dict[str, Places]:
    """Return the mean of what is seen at each abscissa, by curve."""
    return {
        name: [(x, float(np.mean([y for _, y in at]))) for x, at in groupby(places, key=lambda place: place[0])]
        for name, places in seen(results, curve, abscissa, ordinate).items()
    }


def fit(places: Places, power: float = 1) -> tuple[float, float]:
    r"""Return the slope a and $R^2$ of the least squares $y = a x^p + b$; 0 and 0 where all is level, or nothing is
    there.
    """
    x, y = np.array(places, dtype=np.float64).reshape(-1, 2).T
    if len(x) < 2 or np.ptp(y) == 0:
        return 0.0, 0.0
    line = np.polynomial.Polynomial.fit(x**power, y, 1).convert()
    left = float(((y - line(x**power)) ** 2).sum())
    return float(line.coef[1]), 1 - left / max(float(((y - y.mean()) ** 2).sum()), 1e-300)


def count_share(point: AnyPoint) -> float:
    r"""Mean share of uniform labels that frozen heads are counted to hold, $\frac1N + (1 - \frac1N) \frac KT$.

    K is the certified rank of the features, N the number of answers; no upper limit of what is trained.
    """
    return 1 / point.answers + (1 - 1 / point.answers) * point.rank() / point.contexts


def counted(results: Sequence[Result], curve: Callable[[Any], str], abscissa: Callable[[Any], float]) -> list[Curve]:
    """Return the certified count beside each trained curve; once where it is the same."""
    found = means(results, curve, abscissa, lambda result: count_share(result.point))
    distinct = {tuple((x, round(y, 12)) for x, y in places): name for name, places in found.items()}
    return [
        Curve(f"count, {name}" if len(distinct) > 1 else "count", "count", list(at)) for at, name in distinct.items()
    ]


def built_beside(results: Sequence[Result], abscissa: Callable[[Any], float]) -> list[Curve]:
    """Return the smallest memory of all bigrams, wherever all trained models of as many tokens have as many
    parameters.
    """
    least: dict[int, dict[float, int]] = defaultdict(dict)
    for result in results:
        at, x = least[result.point.tokens], abscissa(result.point)
        at[x] = min(result.parameters, at.get(x, result.parameters))
    curves = []
    for tokens, sizes in least.items():
        parameters, share = built(tokens)
        places = [(x, share) for x, size in sorted(sizes.items()) if size >= parameters]
        name = "built" if len(least) == 1 else f"built, N = {tokens}"
        curves += [Curve(name, "built", places)] if places else []
    return curves


def printed(values: Mapping[str, Places]) -> list[Curve]:
    """Numbers of a source, by the trained curve that they belong to."""
    names = {name: "printed" if name == "trained" else f"printed, {name}" for name in values}
    return [Curve(names[name], "printed", at) for name, at in values.items()]


def ceilings(results: Sequence[Result], curve: Callable[[Any], str], abscissa: Callable[[Any], float]) -> list[Curve]:
    """Return the ceiling beside each trained curve, where one is known."""
    known = [result for result in results if result.ceiling is not None]
    most = means(known, curve, abscissa, lambda result: (result.ceiling or 0) / result.contexts)
    return [Curve(f"ceiling, {name}", "bound", places) for name, places in most.items()]


def unsaturated(places: Places) -> list[tuple[float, float]]:
    """Return the places of a share that is at most .95: beyond, it cannot grow as before."""
    return [place for place in places if place[1] <= 0.95]


def straight(places: Places, curve: str) -> Finding:
    """Whether the share grows linearly in the number of heads as far as .95, its root and square fitting no better."""
    sentence, low = "the scaling in H is linear" + f" ({curve})" * (curve != "trained"), unsaturated(places)
    if len(low) < 4:
        return Finding(sentence, "not reproduced", f"{len(low)} numbers of heads up to .95 are too few", curve)
    fits = {name: fit(low, power) for name, power in (("H", 1), ("its root", 0.5), ("its square", 2))}
    said = f"up to .95 {fits['H'][0]:.3f} a head; R^2 of " + ", of ".join(f"{k} {r:.3f}" for k, (_, r) in fits.items())
    own = fits["H"][1]
    if own >= 0.95 and own < max(share for _, share in fits.values()):
        return Finding(sentence, "not reproduced", said, curve)
    return chosen(own >= 0.95, sentence, said, curve)


def monotone(
    results: Sequence[Result], name: str, figure: Figure, sentence: str, form: str, *, falls: bool = False
) -> Finding:
    """Whether a curve never falls, or never rises: its mean, and each seed alone."""
    own = [result for result in results if figure.curve(result.point) == name]
    mean, seeds = figure.trained(own)[name], sorted({result.point.seed for result in own})
    alone = [figure.trained([result for result in own if result.point.seed == seed])[name] for seed in seeds]
    steady = [all((y >= z) if falls else (y <= z) for (_, y), (_, z) in pairwise(at)) for at in (mean, *alone)]
    letter, so = figure.abscissa[0].split()[-1], f"so in {sum(steady[1:])} of {len(seeds)} seeds"
    said = f"{', '.join(f'{letter} = {x:g}: {y:{form}}' for x, y in mean)}; {so}"
    verdict: Verdict = "confirmed" if all(steady) else "not reproduced" if steady[0] else "not so here"
    return Finding(f"{sentence} ({name})", verdict, said, name)


def span(values: Iterable[float], form: str = ",.9g") -> str:
    """From the least to the largest, or the only one."""
    ends = sorted(values)
    return " to ".join(dict.fromkeys(format(end, form) for end in (ends[0], ends[-1])))


def seeded(points: Iterable[Mapping], seeds: int, kind: type = Point, **common) -> list[Any]:
    """Points with labels and weights of their own for each seed."""
    return [kind(**{**common, **each}, data_seed=seed, seed=seed) for each in points for seed in range(seeds)]


def chosen(holds: bool, sentence: str, found: str, curve: str = "") -> Finding:
    """Return a finding that is confirmed if a condition holds, and not so in these runs if not."""
    return Finding(sentence, "confirmed" if holds else "not so here", found, curve)
