"""Bits a parameter of all models that learn random labels of all bigrams of up to 70 tokens, on one axis."""

from collections.abc import Sequence
from math import log2

from byheart.experiments.built import built
from byheart.experiments.figure import Curve, Figure, Finding
from byheart.experiments.figures import dana_1a, dana_1b, dana_2a, dana_2b, dana_3, dana_4, dana_depth, gaps
from byheart.experiments.points import Point
from byheart.experiments.sweep import Result

_OF = [each.FIGURE for each in (dana_1a, dana_1b, dana_2a, dana_2b, dana_3, dana_4, dana_depth, gaps)]


def _curve(point: Point) -> str:
    return f"N = {point.tokens}"


def _judge(results: Sequence[Result]) -> list[Finding]:
    best = max(results, key=lambda result: result.bits)
    said = f"at most {best.bits:.2f}, by {best.parameters} parameters at {_curve(best.point)}, {best.share:.2f} held"
    memories = ", ".join(f"N = {n}: {bits:.2f}" for n, (_, bits) in sorted(_memories(results).items()))
    said += f"; our smallest memories of the first label tables: {memories}" if memories else ""
    sentence = "training stores two bits a parameter (Allen-Zhu, Li, 2024)"
    return [Finding(sentence, "confirmed" if best.bits >= 2 else "not reproduced", said)]


def _memories(results: Sequence[Result]) -> dict[int, tuple[float, float]]:
    """Parameters a context and bits a parameter of the smallest memory of the first label table of N tokens, by N."""
    sizes = {n: built(n) for n in dict.fromkeys(result.point.tokens for result in results)}
    return {n: (entries / n**2, n**2 * log2(n) / entries) for n, (entries, share) in sizes.items() if share == 1}


FIGURE = Figure(
    name="bits",
    title="Bits a parameter of random labels of all bigrams",
    source="ours, of all models of Dana, Pydi, Chevaleyre (2024)",
    quick=lambda: list(dict.fromkeys(point for figure in _OF for point in figure.quick())),
    full=lambda: list(dict.fromkeys(point for figure in _OF for point in figure.full())),
    abscissa=("parameters a context", lambda point: point.parameters() / point.contexts),
    curve=_curve,
    ordinate=("bits a parameter, proved to be held", lambda result: result.bits),
    judge=_judge,
    lines=lambda results: [Curve(f"built, N = {n}", "built", [place]) for n, place in _memories(results).items()],
    scattered=True,
)
