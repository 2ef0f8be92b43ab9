"""Figure 4 of Dana, Pydi and Chevaleyre: ten tokens, two dimensions, and the factor above the count."""

from collections.abc import Sequence

import numpy as np

from experiments.figure import (
    Figure,
    Finding,
    Places,
    Verdict,
    ceilings,
    fit,
    seeded,
    span,
    straight,
    unsaturated,
)
from experiments.points import TEXT, Point
from experiments.sweep import Result

PRINTED = {"fixed sample": [(1, 0.330), (5, 0.497), (9, 0.633), (13, 0.734), (17, 0.857), (21, 0.858)]}
"""What the authors' repository stores, of 20 runs each."""

_WIDE = ", d_h = 5"
_FACTORS = {
    "the true scaling at d = 2 seems to be around 1.7 H d_h": (1.7, 0.05),
    "even with d = 2 the empirical scaling law is around twice as fast": (2.0, 0.5),
    "a slope relative difference of 1.3 (of the summary, read as a ratio)": (1.3, 0.05),
}
"""What is said of the slope over that of the count, and half of its last digit."""


def _heads(point: Point) -> float:
    return point.heads


def _curve(point: Point) -> str:
    if not point.heads:
        return "no heads"
    return point.protocol + _WIDE * (point.d_head > point.d_model)


def _text_count(point: Point) -> float:
    """Return what Corollary 2 counts, though a head reads no more than the d dimensions of its input."""
    facts = min(point.contexts, point.heads * point.d_head + point.d_model)
    return 1 / point.tokens + (1 - 1 / point.tokens) * facts / point.contexts


def _times(results: Sequence[Result], places: Places) -> tuple[float, float]:
    """Return the slope at some of the places, over that of the text's count, and twice its standard error over the
    seeds.
    """
    each = []
    for seed in sorted({result.point.seed for result in results}):
        own = {_heads(result.point): result.share for result in results if result.point.seed == seed}
        each.append(fit([(x, own[x]) for x, _ in places])[0])
    first = results[0].point
    times = np.array(each) / ((1 - 1 / first.tokens) * first.d_head / first.contexts)
    return float(times.mean()), 2 * float(times.std(ddof=len(each) > 1)) / len(each) ** 0.5


def _slope(results: Sequence[Result], name: str) -> list[Finding]:
    """Whether the slope over that of the count is what is printed, within two standard errors and half a digit.

    A share that is not linear has a slope that depends on where one stops: what some part of it meets is open.
    """
    low = unsaturated(FIGURE.trained(results)[name])
    if len(low) < 2:
        return []
    ends = sorted({most for most in (9, 17, max(low)[0]) if most <= max(low)[0]}, reverse=True)
    times = [_times(results, [at for at in low if at[0] <= most]) for most in ends]
    said = ", ".join(f"{a:.2f} +- {b:.2f} up to H = {most:g}" for most, (a, b) in zip(ends, times, strict=True))
    said += f"; R^2 of H {fit(low)[1]:.3f}, of its root {fit(low, 0.5)[1]:.3f}"
    wide = results[0].point.d_head / results[0].point.d_model
    said += f"; {times[0][0] * wide:.2f} times the count by rank up to H = {ends[0]:g}" if wide > 1 else ""
    findings = []
    for sentence, (factor, digit) in _FACTORS.items():
        met = [abs(a - factor) <= b + digit for a, b in times]
        linear = straight(low, name).verdict == "confirmed"
        verdict: Verdict = "not so here" if not any(met) else "confirmed" if all(met) and linear else "not reproduced"
        findings.append(Finding(f"{sentence} ({name})", verdict, said, name))
    return findings[:1] if wide > 1 else findings


def _below(results: Sequence[Result], name: str) -> Finding:
    """Whether the count lies below what is trained: a count says what exists, so that training does not refute it."""
    count = {_heads(result.point): _text_count(result.point) for result in results}
    places = FIGURE.trained(results)[name]
    below = [x for x, y in places if y > count[x]]
    over = "; ".join(f"H = {x:g}: {count[x]:.3f} against {y:.3f} trained" for x, y in places if x not in below)
    said = f"above it at {len(below)} of {len(places)} numbers of heads" + f"; {over}" * bool(over)
    verdict: Verdict = "not reproduced" if over else "confirmed"
    return Finding(f"trained models lie above the lower bound of Corollary 2 ({name})", verdict, said, name)


def _exactly_one(results: Sequence[Result], name: str) -> Finding:
    """With H = 20, as in the text, for every label table."""
    shares = [result.share for result in results if result.point.heads == 20]
    others = [share for share in shares if share < 1]
    said = f"{len(shares) - len(others)} of {len(shares)} label tables are held in full"
    said += f"; of the others {span(others, '.2f')} of the contexts" if others else ""
    sentence = f"with H = 20 the model should be able to obtain exactly 1 accuracy, for every label table ({name})"
    return Finding(sentence, "not reproduced" if others else "confirmed", said, name)


def _chance(results: Sequence[Result]) -> Finding:
    """Without heads, whether trained models hold what chance does."""
    chance, shares = 1 / results[0].point.tokens, [result.share for result in results]
    most = [(result.ceiling or 0) / result.contexts for result in results]
    better, mean = sum(share > chance for share in shares), float(np.mean(shares))
    said = f"{better} of {len(results)} hold more, {mean:.3f} on average; ceilings {span(most, '.2f')}"
    verdict: Verdict = "confirmed" if abs(mean - chance) <= 0.05 else "not reproduced"
    return Finding("without heads a trained model holds 1/N, as chance does (our reading)", verdict, said, "no heads")


def _judge(results: Sequence[Result]) -> list[Finding]:
    findings = []
    for name in FIGURE.trained(results):
        own = [result for result in results if _curve(result.point) == name]
        if name == "no heads":
            findings += [_chance(own)]
        else:
            findings += [*_slope(own, name), _below(own, name)]
            findings += [_exactly_one(own, name)] if name.endswith(_WIDE) else []
    return findings


def _points(seeds: int, *, by_text: bool) -> list[Point]:
    each = [{"heads": H, "protocol": p} for p in ("all contexts", "fixed sample") for H in range(1, 22, 4)]
    wide = [{"heads": H, "d_head": 5} for H in (*range(1, 18, 4), 20)]
    text = [{**setting, **TEXT} for setting in wide] if by_text else []
    return seeded([*each, {"heads": 0}, *wide, *text], seeds, tokens=10, d_model=2, d_head=2)


FIGURE = Figure(
    name="dana.4",
    title="Bigrams held against heads",
    source="Dana, Pydi, Chevaleyre (2024), Figure 4: d_h = 2 by its program, d_h = 5 by its text",
    quick=lambda: _points(8, by_text=False),
    full=lambda: _points(20, by_text=True),
    abscissa=("heads H", _heads),
    curve=_curve,
    judge=_judge,
    counts=lambda point: point.heads > 0,
    built=True,
    printed=PRINTED,
    lines=lambda results: ceilings(results, _curve, _heads),
)
