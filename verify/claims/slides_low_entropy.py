"""Evidence on the slides' bound for low entropy: it needs C < 1/2, and then a smaller factor is enough.

Page: docs/claims/theorem_2.md
"""

from collections.abc import Iterator

from constructions.claims.slides_low_entropy import CLAIM
from verify.claims.dana_theorem_2 import negative_bound, printed_holds, rows_exist
from verify.claims.evidence import Evidence
from verify.encoders.low_entropy_bound import paper_factor, slides_factor


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify the bound outside of C < 1/2, and below 1/2 the printed factor and the smaller one.

    Args:
        full: More instances.

    Yields:
        Evidence.
    """
    yield negative_bound(CLAIM, slides_factor, "(1 + 4C)/(1 - 2C)", "the encoder")
    seeds = range(1000, 1900) if full else range(1000, 1045)
    yield printed_holds(CLAIM, slides_factor, "(1 + 4C)/(1 - 2C), as printed", seeds, name="printed")
    yield printed_holds(CLAIM, paper_factor, "(1 + 2C)/(1 - 2C)", seeds, name="smaller")
    yield rows_exist(CLAIM, ((50, 600), (200, 1024)))
