"""Figure 1(b) of Dana, Pydi and Chevaleyre: the share that is held against the dimension of a head."""

from collections.abc import Sequence

from byheart.experiments.figure import Figure, Finding, chosen, fit, seeded
from byheart.experiments.points import Point
from byheart.experiments.sweep import Result

PRINTED = {"shared maps": [(d, y / 1000) for d, y in enumerate((81, 110, 155, 209, 288, 357, 453, 546, 639, 804), 1)]}
"""What the authors' repository stores; all heads of its program read and write through one map each."""


def _judge(results: Sequence[Result]) -> list[Finding]:
    found = FIGURE.trained(results)
    squares = {name: (fit(places, 2)[1], fit(places)[1]) for name, places in found.items()}
    said = "; ".join(f"{name}: R^2 of d_h^2 {a:.3f}, of d_h {b:.3f}" for name, (a, b) in squares.items())
    own, shared = squares["own maps"], squares["shared maps"]
    more = ", ".join(
        f"d_h = {x:g}: {y:.2f} against {z:.2f}"
        for (x, y), (_, z) in zip(found["own maps"], found["shared maps"], strict=True)
    )
    return [
        chosen(shared[0] > shared[1], "accuracy grows with the square of d_h (heads that share their maps)", said),
        chosen(own[0] > own[1], "accuracy grows with the square of d_h (equations (1) and (2))", said),
        chosen(
            all(y <= z for (_, y), (_, z) in zip(found["own maps"], found["shared maps"], strict=True)),
            "the program trains the heads of equations (1) and (2)",
            more,
        ),
    ]


def _points(widths: Sequence[int], seeds: int, steps: int) -> list[Point]:
    each = [{"d_head": d_head, "maps": maps} for maps in ("own", "shared") for d_head in widths]
    return seeded(each, seeds, tokens=50, d_model=10, heads=20, steps=steps)


FIGURE = Figure(
    name="dana.1b",
    title="Bigrams held against the dimension of a head, N = 50, d = 10, H = 20",
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
