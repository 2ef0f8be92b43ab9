r"""Remarks 1 of Dana et al.: the open question how large the constant C of Theorem 1 is.

Page: docs/claims/theorem_1_tail.md
"""

from collections.abc import Iterator
from fractions import Fraction

from flint import fmpq, fmpq_mat

from constructions.model.exact_network import ExactFrontEnd, as_rationals
from constructions.tasks.arrays import all_contexts
from verify.forward.in_rationals import exact_outputs
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, met, stated
from verify.verdict import decided

CLAIM = Claim(
    id="dana.constant-of-the-tail",
    title="How large the constant of Theorem 1 is",
    source="Dana, Pydi, Chevaleyre (2024), Remarks 1",
    kind="remark",
    quotation=(
        "It is still an open challenge to provide better bounds using the attention properties, as for ReLU MLPs, "
        "especially, to upper bound C."
    ),
    printed=(
        "It is an open challenge to provide better bounds with the properties of attention, especially to upper bound "
        "C."
    ),
    judgement="open",
    truth=(
        "Open for the best choice of attention. No bound by the sizes alone holds for every choice: with "
        "[[sizes: N = S = 2]], [[widths: d = d_h = 1]] and [[heads: two]] heads whose scores are k and [[next: k + 1]] "
        "in units of ln 2, the coefficients of the context that is left out have a sum of squares above "
        "[[growth: 256^k]], for [[from: k >= 4]], and C is larger than its root. If the contexts that are kept may be "
        "chosen, those of the largest volume have coefficients of at most [[volume: 1]] in absolute value, whatever "
        "attention is; but their probability may be tiny."
    ),
    page="docs/claims/theorem_1_tail.md",
)

_SCORES = (4, 8, 16)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for score in _SCORES + ((64, 256) if full else ()):
        yield _large(score)


def _large(score: int) -> Evidence:
    one = as_rationals([[1]])
    front_end = ExactFrontEnd(
        W_E=as_rationals([[1], [2]]),
        W_pos=as_rationals([[0], [1]]),
        W_Q=(as_rationals([[score]]), as_rationals([[score + 1]])),
        W_K=(one, one),
        W_V=(one, one),
    )
    features = exact_outputs(front_end, all_contexts(2, 2))
    rows = features.tolist()
    kept, left_out = fmpq_mat(rows[1:]), fmpq_mat(rows[:1])
    independent = kept.det() != 0
    z = left_out * kept.inv() if independent else fmpq_mat(1, 3)
    square = sum((entry * entry for entry in z.tolist()[0]), fmpq(0))
    exact = Fraction(int(square.p), int(square.q))
    # The three contexts of the largest determinant, and the coefficients of the other one.
    others = [fmpq_mat([row for s, row in enumerate(rows) if s != t]) for t in range(len(rows))]
    best = max(range(len(rows)), key=lambda t: abs(others[t].det()))
    volume = fmpq_mat([rows[best]]) * others[best].inv() if others[best].det() != 0 else kept
    entry = max(abs(x) for x in volume.entries())
    largest = Fraction(int(entry.p), int(entry.q))
    return Evidence(
        "known",
        f"N = S = 2, d = d_h = 1, H = 2, scores {score} and {score + 1} times log 2, the context 00 left out: the "
        "features of the others are independent, and z are its coefficients",
        "no bound of C by the sizes alone",
        f"|z|^2 > 10^{len(str(int(exact))) - 1}; {float(largest):.3f} at most for the three of the largest volume",
        Method("exact rationals", Means.EXACT),
        decided(independent and z * kept == left_out),
        compared=(
            Comparison(exact, ">", stated(CLAIM, "growth", k=score)),
            Comparison(exact * Fraction(14, 15), "<", stated(CLAIM, "growth", k=score)),
            *met(CLAIM, "from", k=score),
            *met(CLAIM, "sizes", N=front_end.d_vocab, S=front_end.n_ctx),
            *met(CLAIM, "widths", d=front_end.d_model, d_h=front_end.d_head),
            Comparison(front_end.n_heads, "=", stated(CLAIM, "heads")),
            Comparison(Fraction(int(front_end.W_Q[1][0, 0].p)), "=", stated(CLAIM, "next", k=score)),
            Comparison(largest, "<=", stated(CLAIM, "volume")),
            Comparison(2 * largest, ">", stated(CLAIM, "volume")),
        ),
    )
