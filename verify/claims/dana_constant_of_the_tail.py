"""What is known of the constant C of Theorem 1: attention of the same sizes makes it as large as one likes.

Page: docs/claims/theorem_1_tail.md
"""

from collections.abc import Iterator
from fractions import Fraction

from flint import fmpq, fmpq_mat

from constructions.claims.dana_constant_of_the_tail import CLAIM
from constructions.models.exact_network import ExactFrontEnd, as_rationals
from constructions.tasks.arrays import all_contexts
from verify.claims.comparison import Comparison
from verify.claims.evidence import Evidence, Means, Method
from verify.claims.formula import stated
from verify.forward.in_rationals import exact_outputs
from verify.verdict import decided

_SCORES = (1, 2, 4, 8, 16)


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify how large the coefficients of the context that is left out are.

    Args:
        full: Larger scores.

    Yields:
        Evidence.
    """
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
    return Evidence(
        "known",
        f"N = S = 2, d = d_h = 1, H = 2, scores {score} and {score + 1} times log 2, the context 00 left out: the "
        "features of the others are independent, and z are its coefficients",
        "no bound of C by the sizes alone",
        f"|z|^2 > 10^{len(str(int(exact))) - 1}",
        Method("exact rationals", Means.EXACT),
        decided(independent and z * kept == left_out),
        compared=(Comparison(exact, ">", stated(CLAIM, "growth", k=score)),),
    )
