"""Figure 1(b) of Dana, Pydi and Chevaleyre: the share that is held against the dimension of a head."""

from collections.abc import Mapping, Sequence

from experiments.figure import Figure, Finding, Places, chosen, fit, means, seeded, unsaturated
from experiments.points import Point
from experiments.sweep import Result

PRINTED = {"shared maps": [(d, y / 1000) for d, y in enumerate((81, 110, 155, 209, 288, 357, 453, 546, 639, 804), 1)]}
"""What the authors' repository stores; all heads of its program read and write through one map each."""


def _squared(places: Places, name: str) -> Finding:
    """Whether the share grows with the square of d_h, as far as .95."""
    low = unsaturated(places)
    if len(low) < 3:
        return Finding(f"the scaling in d_h is quadratic ({name})", "not reproduced", "too few up to .95", name)
    (_, square), (_, line) = fit(low, 2), fit(low)
    said = f"up to .95, d_h = {max(low)[0]:g}: R^2 of d_h^2 {square:.3f}, of d_h {line:.3f}"
    return chosen(square >= max(0.95, line), f"the scaling in d_h is quadratic ({name})", said, name)


def _nearest(found: Mapping[str, Places]) -> Finding:
    """Which heads are near the numbers that the authors store."""
    stored: dict[float, float] = dict(PRINTED["shared maps"])
    far = {name: max(abs(y - stored[x]) for x, y in places) for name, places in found.items()}
    said = "; ".join(f"{name}: at most {gap:.2f} from them" for name, gap in far.items())
    return chosen(far["own maps"] < far["shared maps"], "the stored numbers are those of equations (1) and (2)", said)


def _optimal(results: Sequence[Result]) -> Finding:
    """Whether heads that share their maps hold most bits a parameter where d_h is d."""
    [(name, places)] = means(
        [each for each in results if each.point.maps == "shared"], FIGURE.curve, FIGURE.abscissa[1], lambda r: r.bits
    ).items()
    most, at = max((y, x) for x, y in places)
    said = f"most bits a parameter, {most:.2f}, at d_h = {at:g}"
    sentence = f"taking d = d_h is optimal in terms of memorization per parameter ({name})"
    return chosen(at == results[0].point.d_model, sentence, said, name)


def _judge(results: Sequence[Result]) -> list[Finding]:
    found = FIGURE.trained(results)
    return [*(_squared(places, name) for name, places in found.items()), _nearest(found), _optimal(results)]


def _points(widths: Sequence[int], seeds: int, steps: int) -> list[Point]:
    each = [{"d_head": d_head, "maps": maps} for maps in ("own", "shared") for d_head in widths]
    return seeded(each, seeds, tokens=50, d_model=10, heads=20, steps=steps)


FIGURE = Figure(
    name="dana.1b",
    title="Bigrams held against the dimension of a head",
    source="Dana, Pydi, Chevaleyre (2024), Figure 1(b)",
    quick=lambda: _points((1, 2, 4, 6, 8, 10), 1, 2048),
    full=lambda: _points(range(1, 11), 5, 4096),
    abscissa=("dimension of a head d_h", lambda point: point.d_head),
    curve=lambda point: f"{point.maps} maps",
    judge=_judge,
    counts=lambda point: point.maps == "own",
    built=True,
    printed=PRINTED,
)
