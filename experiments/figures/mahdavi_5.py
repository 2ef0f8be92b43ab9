"""Figure 5 of Mahdavi, Liao and Thrampoulidis: numbers in the place of classes."""

from collections.abc import Sequence

from experiments.figure import Figure, Finding, monotone, seeded
from experiments.layers import PRINTED_SIZE, LayerPoint
from experiments.sweep import Result


def _judge(results: Sequence[Result]) -> list[Finding]:
    sentence = "the mean square falls with H"
    return [monotone(results, name, FIGURE, sentence, ".2e", falls=True) for name in FIGURE.trained(results)]


FIGURE = Figure(
    name="mahdavi.5",
    title="Mean squared distance from random numbers against heads",
    source="Mahdavi, Liao, Thrampoulidis (2024), Figure 5, printed with n = 32, d = 64",
    quick=lambda: seeded(
        [{"context": c, "heads": H} for c in ("shared", "own") for H in (1, 2, 4, 8)],
        2, LayerPoint, examples=160, n_ctx=8, d_model=16, d_head=8, targets="numbers",
    ),
    full=lambda: seeded(
        [
            {"context": context, "examples": T, "heads": H}
            for context, T in (("shared", 10_000), ("own", 30_000))
            for H in (1, 5, *range(10, 61, 10))
        ],
        6, LayerPoint, n_ctx=32, **{**PRINTED_SIZE, "targets": "numbers"},
    ),
    abscissa=("heads H", lambda point: point.heads),
    curve=lambda point: f"{point.context} context",
    judge=_judge,
    smaller=True,
    ordinate=("mean squared distance, proved", lambda result: result.loss_upper),
    log=True,
)  # fmt: skip
