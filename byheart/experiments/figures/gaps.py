"""Three gaps: between what the theorem spends and what training does, between shapes, and between Adam and weights."""

from collections.abc import Sequence
from math import ceil

from byheart.experiments.built import built
from byheart.experiments.figure import Figure, Finding, chosen, seeded
from byheart.experiments.points import Point
from byheart.experiments.sweep import Result


def spent(point: Point) -> int:
    r"""What the heads of Theorem 1' spend on all contexts: $H = \lceil (N^2 - d) / d_h \rceil$ of the same widths."""
    heads = ceil((point.contexts - point.d_model) / point.d_head)
    return Point(tokens=point.tokens, d_model=point.d_model, d_head=point.d_head, heads=heads).parameters()


def _judge(results: Sequence[Result]) -> list[Finding]:
    findings = []
    for name, places in FIGURE.trained(results).items():
        mine = [result for result in results if FIGURE.curve(result.point) == name]
        entries, tokens = mine[0].parameters, mine[0].point.tokens
        (low, at_low), (high, at_high) = (pick(places, key=lambda place: place[1]) for pick in (min, max))
        shapes = f"d_h = {low:g}: {at_low:.3f}, d_h = {high:g}: {at_high:.3f}"
        full = [result.point for result in mine if result.held == result.contexts]
        least = min(map(spent, full or [result.point for result in mine]))
        needs, share = built(tokens)
        findings += [
            chosen(at_high - at_low < 0.05, f"at equal parameters d_h does not matter ({name})", shapes),
            chosen(
                not full,
                f"training needs what the theorem spends ({name})",
                f"{'all' if full else 'not all'} contexts by {entries} trained entries; the theorem spends {least}",
            ),
            chosen(
                at_high == 1 or share < 1 or needs > entries,
                f"what Adam leaves out does not fit ({name})",
                f"{at_high:.3f}; {needs} entries of our smallest memory hold {share:.3f}, in every float32 run",
            ),
        ]
    return findings


def _points(tokens: int, width: int, shapes: Sequence[tuple[int, int]], seeds: int, steps: int) -> list[Point]:
    each = [{"d_head": d_head, "heads": heads} for d_head, heads in shapes]
    return seeded(each, seeds, tokens=tokens, d_model=width, steps=steps)


_TEN, _FIFTY = ((4, 2), (2, 4), (1, 8)), ((10, 7), (5, 14), (2, 35), (1, 70))

FIGURE = Figure(
    name="gaps",
    title="Bigrams held at equal parameters against the dimension of a head",
    source="ours, of Theorem 1 and Section 5 of Dana, Pydi, Chevaleyre (2024)",
    quick=lambda: _points(10, 4, _TEN, 4, 4096) + _points(50, 10, _FIFTY, 1, 2048),
    full=lambda: _points(10, 4, _TEN, 20, 4096) + _points(50, 10, _FIFTY, 5, 4096),
    abscissa=("dimension of a head d_h", lambda point: point.d_head),
    curve=lambda point: f"N = {point.tokens}, {point.parameters()} entries",
    judge=_judge,
    counts=lambda point: True,
    built=True,
)
