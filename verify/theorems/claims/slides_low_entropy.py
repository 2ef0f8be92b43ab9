r"""The bound for distributions of low entropy of the slides of June 2024.

Page: docs/claims/theorem_2.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from verify.theorems.claim import Claim
from verify.theorems.claims.dana_theorem_2 import negative_bound, printed_holds, rows_exist
from verify.theorems.encoders.low_entropy_bound import paper_factor, slides_factor
from verify.theorems.evidence import Comparison, Evidence, Means, Method, met, stated

CLAIM = Claim(
    id="slides.low-entropy",
    title="Distributions of low entropy, an earlier form",
    source="Dana (slides of June 2024), Bound on the divergence",
    kind="statement",
    quotation=(
        r"For this choice of f and $C = \sqrt{\frac{32 \log(N+1)}{d}}$, we have the bound $$d_{\mathit{KL}}(\pi, "
        r"f) \leq \mathbb{E}_{t_{1:S}}\left[\left(1 - "
        r"\pi(g(t_{1:S})|t_{1:S})\right)\log\left(\frac{\mathit{N}-1}{e^{-\mathit{H}(\pi_{t_{1:S}})}-1}\right)"
        r"\right]\left(\frac{1+4\mathit{C}}{1-2\mathit{C}}\right)$$"
    ),
    printed=(
        "For E := lambda w_g and C, [[constant: sqrt(32 log(N + 1) / d)]], d_KL(pi, f) is at most the mean of "
        "[[entropy: (1 - p) log((N - 1) / (exp(H) - 1))]] times [[printed: (1 + 4C)/(1 - 2C)]], p the probability of g."
    ),
    reading=(
        "'This choice of f' is in a picture that the copy lacks; it is read as that of Theorem 2 of the paper. For C "
        "> 1/2 no choice will do, as the right-hand side is negative."
    ),
    judgement="hypothesis",
    truth=(
        "For [[small: C < 1/2]], and then with [[smaller: (1 + 2C)/(1 - 2C)]]; for unit vectors of a coherence mu, "
        "[[coherence: mu < 1]], with [[coherent: (1 + mu)/(1 - mu)]]. For [[large: C > 1/2]] the right-hand side is "
        "negative."
    ),
    wrong="needs C < 1/2",
    page="docs/claims/theorem_2.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield negative_bound(CLAIM, slides_factor, "(1 + 4C)/(1 - 2C)", "the encoder")
    seeds = range(1000, 1900) if full else range(1000, 1045)
    yield printed_holds(CLAIM, slides_factor, "(1 + 4C)/(1 - 2C), as printed", seeds, name="printed")
    yield printed_holds(CLAIM, paper_factor, "(1 + 2C)/(1 - 2C)", seeds, name="smaller")
    yield rows_exist(CLAIM, ((50, 600), (200, 1024)))
    yield _coherent()


def _coherent() -> Evidence:
    """Unit vectors (5, 0), (3, 4), (-3, 4) over 5: leads from 1 - mu to 1 + mu."""
    rows = np.array([[5, 0], [3, 4], [-3, 4]])
    products = rows @ rows.T
    size = int(products[0, 0])
    mu = Fraction(int(np.abs(products - np.diag(np.diag(products))).max()), size)
    leads = [Fraction(size - int(products[g, j]), size) for g in range(3) for j in range(3) if g != j]
    return Evidence(
        "with",
        f"unit vectors (5, 0), (3, 4), (-3, 4) over 5, of coherence {mu}: by how much a vector leads another",
        f"leads that differ by a factor of {stated(CLAIM, 'coherent', mu=mu)} at most",
        f"from {min(leads)} to {max(leads)}",
        Method("exact integers", Means.EXACT),
        compared=(
            Comparison(max(leads) / min(leads), "=", stated(CLAIM, "coherent", mu=mu)),
            *met(CLAIM, "coherence", mu=mu),
        ),
    )
