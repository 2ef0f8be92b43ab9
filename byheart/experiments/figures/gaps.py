"""Three gaps: between what the theorem spends and what training does, between shapes, and between Adam and weights."""

from collections.abc import Sequence
from math import ceil

from byheart.experiments.built import built
from byheart.experiments.figure import Figure, Finding, chosen, seeded, span
from byheart.experiments.points import Point
from byheart.experiments.sweep import Result


def spent(point: Point) -> int:
    r"""What the heads of Theorem 1' spend on all contexts: $H = \lceil (N^2 - d) / d_h \rceil$ of the same widths."""
    heads = ceil((point.contexts - point.d_model) / point.d_head)
    return Point(tokens=point.tokens, d_model=point.d_model, d_head=point.d_head, heads=heads).parameters()


def _by_table(results: Sequence[Result]) -> dict[int, list[Result]]:
    """The results of each label table."""
    tables = sorted({result.point.data_seed for result in results})
    return {seed: [result for result in results if result.point.data_seed == seed] for seed in tables}


def _theorem(results: Sequence[Result], name: str) -> Finding:
    """Between what Theorem 1' spends and what training does with fewer entries."""
    full = [result for result in results if result.held == result.contexts]
    entries, needed = results[0].parameters, min(spent(result.point) for result in full or results)
    said = f"{len(full)} of {len(results)} models of {entries:,} entries hold all; Theorem 1' spends {needed:,} or more"
    sentence = f"training holds all contexts with fewer entries than Theorem 1' spends ({name})"
    return Finding(sentence, "confirmed" if full and entries < needed else "not reproduced", said, name)


def _shape(results: Sequence[Result], name: str) -> Finding:
    """Between shapes of as many entries."""
    places = FIGURE.trained(results)[name]
    best, square = max((y, x) for x, y in places)[1], results[0].point.d_model
    said = ", ".join(f"d_h = {x:g}: {y:.3f}" for x, y in places)
    widest = max(x for x, _ in places)
    sentence = f"taking d = d_h is optimal in terms of memorization per parameter ({name}, heads with their own maps)"
    return chosen(best == widest == square, sentence, said, name)


def _optimisation(results: Sequence[Result], name: str) -> Finding:
    """Between what Adam finds and what as many entries can hold, by label table."""
    first = results[0].point
    best = {seed: max(result.share for result in own) for seed, own in _by_table(results).items()}
    left = {seed: share for seed, share in best.items() if share < 1}
    ours = {seed: built(first.tokens, seed) for seed in left}
    fits = [seed for seed, (entries, share) in ours.items() if share == 1 and entries <= first.parameters()]
    said = f"{len(best) - len(left)} of {len(best)} label tables are held in full by some model"
    if left:
        said += f"; of the other {len(left)} the best model holds {span(left.values(), '.3f')}"
    if fits:
        sizes = span((ours[seed][0] for seed in fits), ",")
        said += f", and a memory that is built, of {sizes} entries, all of {len(fits)}, in every float32 run"
    sentence = f"Adam holds as much as memories that are built of no more entries, of any architecture ({name})"
    return chosen(not fits, sentence, said, name)


def _judge(results: Sequence[Result]) -> list[Finding]:
    findings = []
    for name in FIGURE.trained(results):
        own = [result for result in results if FIGURE.curve(result.point) == name]
        findings += [judge(own, name) for judge in (_theorem, _shape, _optimisation)]
    return findings


def _points(tokens: int, width: int, shapes: Sequence[tuple[int, int]], seeds: int, steps: int) -> list[Point]:
    each = [{"d_head": d_head, "heads": heads} for d_head, heads in shapes]
    return seeded(each, seeds, tokens=tokens, d_model=width, steps=steps)


_TEN, _FIFTY = ((4, 2), (2, 4), (1, 8)), ((10, 7), (5, 14), (2, 35), (1, 70))

FIGURE = Figure(
    name="gaps",
    title="Bigrams held at equal numbers of parameters against the dimension of a head",
    source="ours, of Theorem 1 and Section 5 of Dana, Pydi, Chevaleyre (2024)",
    quick=lambda: _points(10, 4, _TEN, 4, 4096) + _points(50, 10, _FIFTY, 1, 2048),
    full=lambda: _points(10, 4, _TEN, 20, 4096) + _points(50, 10, _FIFTY, 5, 4096),
    abscissa=("dimension of a head d_h", lambda point: point.d_head),
    curve=lambda point: f"N = {point.tokens}, {point.parameters()} entries",
    judge=_judge,
    counts=lambda point: True,
    built=True,
)
