"""Figure 2(a) of Dana, Pydi and Chevaleyre: the share that is held against the embedding dimension."""

from collections.abc import Sequence

from experiments.figure import Figure, Finding, Places, chosen, fit, seeded
from experiments.points import Point
from experiments.sweep import Result

_STORED = (264, 362, 460, 578, 697, 809, 777, 789, 786, 812, 814)
PRINTED = {"shared maps": [(d, y / 1000) for d, y in enumerate(_STORED, 5)]}
"""What the authors' repository stores."""

_D_HEAD = 10


def _faster(places: Places, name: str) -> Finding:
    """Whether the share grows faster up to d = d_h than beyond; unknown where nearly all is held there."""
    up, beyond = (fit([(x, y) for x, y in places if lo <= x <= hi])[0] for lo, hi in ((0, _D_HEAD), (_D_HEAD, 99)))
    sentence, there = f"the scaling is greater up to d = d_h than beyond ({name})", dict(places)[_D_HEAD]
    said = f"{up:.3f} a dimension up to d = d_h, {beyond:.4f} beyond, from {there:.3f} held"
    if there > 0.95:
        return Finding(sentence, "not reproduced", said, name)
    return chosen(beyond < up, sentence, said, name)


def _judge(results: Sequence[Result]) -> list[Finding]:
    return [_faster(places, name) for name, places in FIGURE.trained(results).items()]


def _points(widths: Sequence[int], seeds: int, steps: int) -> list[Point]:
    each = [{"d_model": d_model, "maps": maps} for maps in ("own", "shared") for d_model in widths]
    return seeded(each, seeds, tokens=50, d_head=_D_HEAD, heads=20, steps=steps)


FIGURE = Figure(
    name="dana.2a",
    title="Bigrams held against the embedding dimension",
    source="Dana, Pydi, Chevaleyre (2024), Figure 2(a)",
    quick=lambda: _points((5, 7, 10, 12, 15), 1, 2048),
    full=lambda: _points(range(5, 16), 5, 4096),
    abscissa=("embedding dimension d", lambda point: point.d_model),
    curve=lambda point: f"{point.maps} maps",
    judge=_judge,
    counts=lambda point: point.maps == "own",
    built=True,
    printed=PRINTED,
)
