r"""Kajitsuka and Sato (2025), for sequences: how many numbers answers of several tokens take.

Page: docs/claims/bits.md
"""

from collections.abc import Iterator

from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, stated

CLAIM = Claim(
    id="kajitsuka-sato-2025.sequences",
    title="Sequences as answers, and hard attention",
    source="Kajitsuka, Sato (2025), abstract",
    kind="statement",
    printed=(
        "For N sequences of length n as answers a number of parameters of the order of sqrt(n N), up to logarithms, is "
        "sufficient, and with hard attention it is necessary."
    ),
    judgement="not-judged",
    truth=(
        "Not judged. In a format of b bits answers of n tokens out of K after T contexts take no fewer than "
        "[[content: n T log K / (b log 2)]] numbers, soft attention or hard: so the square root asks for numbers of "
        "ever more bits."
    ),
    reconstructed="the statement: the paper was at hand in its abstract only",
    page="docs/claims/bits.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for n_ctx, facts, kinds, bits in ((2, 20, 2, 32), (5, 100, 7, 16), (16, 1000, 50, 64)):
        yield _content(n_ctx, facts, kinds, bits)


def _content(n_ctx: int, facts: int, kinds: int, bits: int) -> Evidence:
    """Weights of P numbers are one of 2^(b P): fewer than there are answers, unless P is as large as the content."""
    answers = kinds ** (n_ctx * facts)
    least = -(-(answers - 1).bit_length() // bits)  # the least P with 2^(b P) >= K^(n T)
    content = stated(CLAIM, "content", n=n_ctx, T=facts, K=kinds, b=bits)
    return Evidence(
        "part",
        f"all answers of {n_ctx} tokens out of {kinds} after {facts} contexts, numbers of {bits} bits: the fewest "
        "numbers that tell them apart",
        f"no fewer than {content}",
        f"{least}",
        Method("counting in integers", Means.EXACT),
        compared=(Comparison(least, ">=", content), Comparison(least - 1, "<", content)),
    )
