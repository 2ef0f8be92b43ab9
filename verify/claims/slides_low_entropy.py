r"""The bound for laws of low entropy of the slides of June 2024.

Page: docs/claims/theorem_2.md
"""

from collections.abc import Iterator

from verify.claim import Claim
from verify.claims.dana_theorem_2 import negative_bound, printed_holds, rows_exist
from verify.encoders.low_entropy_bound import paper_factor, slides_factor
from verify.evidence import Evidence

CLAIM = Claim(
    id="slides.low-entropy",
    title="Laws of low entropy, an earlier form",
    source="Dana (slides of June 2024), Bound on the divergence",
    printed=(
        "For E = lambda w_g and C = [[constant: sqrt(32 log(N + 1) / d)]], d_KL(pi, f) <= E[(1 - p_g) log((N - 1)/"
        "(e^H - 1))] [[printed: (1 + 4C)/(1 - 2C)]]."
    ),
    judgement="hypothesis",
    truth=(
        "For C < 1/2, and then with [[smaller: (1 + 2C)/(1 - 2C)]]; for unit vectors of coherence mu < 1 with (1 + "
        "mu)/(1 - mu). For C > 1/2 the right-hand side is negative."
    ),
    page="docs/claims/theorem_2.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield negative_bound(CLAIM, slides_factor, "(1 + 4C)/(1 - 2C)", "the encoder")
    seeds = range(1000, 1900) if full else range(1000, 1045)
    yield printed_holds(CLAIM, slides_factor, "(1 + 4C)/(1 - 2C), as printed", seeds, name="printed")
    yield printed_holds(CLAIM, paper_factor, "(1 + 2C)/(1 - 2C)", seeds, name="smaller")
    yield rows_exist(CLAIM, ((50, 600), (200, 1024)))
