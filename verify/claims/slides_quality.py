"""Evidence on quantity and quality: what one head does not hold, and what sequence encoders hold.

Page: docs/claims/conclusions.md
"""

from collections.abc import Iterator

import numpy as np
from flint import fmpz_mat

from constructions.encoders.parabola import parabola, stream
from verify.claims.comparison import Comparison
from verify.claims.dana_corollary_1 import too_few_heads
from verify.claims.evidence import Evidence, Means, Method
from verify.claims.quantifier import Quantifier
from verify.claims.theorems import ENCODER_DIVERGENCE
from verify.verdict import decided


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify the limit of quantity of attention, its absence for encoders, and their limit of quality.

    Args:
        full: Longer contexts, more labels and laws.

    Yields:
        Evidence.
    """
    for length in (12, *((16, 20) if full else ())):
        yield too_few_heads(length, "held: no limit of quantity")
    for tokens, contexts in ((3, 27), (100, 2000), *(((1000, 3000),) if full else ())):
        yield _any_number(tokens, contexts)
    for tokens, width in ((3, 1), (6, 2), (10, 4), *(((24, 8),) if full else ())):
        yield _quality(tokens, width)


def _any_number(tokens: int, contexts: int) -> Evidence:
    """The integer encoder on the parabola: the label of every context is in front, in two dimensions."""
    labels = np.random.default_rng([tokens, contexts]).integers(0, tokens, contexts)
    W, E = parabola(tokens), stream(labels, power=0)
    rows = (fmpz_mat(E.astype(np.int64).tolist()) * fmpz_mat(W.astype(np.int64).tolist()).transpose()).tolist()
    held = sum(
        all(row[label] > other for j, other in enumerate(row) if j != label)
        for row, label in zip(rows, labels.tolist(), strict=True)
    )
    return Evidence(
        "repair",
        f"{contexts} contexts with random labels out of {tokens} tokens: the integer encoder on the parabola, d = 2",
        f"{contexts} labels in front",
        f"{held} labels in front",
        Method("exact integers", Means.EXACT),
        decided(W.shape[1] == E.shape[1] == 2),
        compared=(Comparison(held, "=", contexts),),
    )


def _quality(tokens: int, width: int) -> Evidence:
    """Laws that give one token half: their logarithms have the centred rank N - 1."""
    laws = np.eye(tokens) * (tokens - 2) + np.ones((tokens, tokens))
    floor = ENCODER_DIVERGENCE.at("lower", laws=laws, d_model=width)
    return Evidence(
        "repair",
        f"N = {tokens}, the laws that give one token {tokens - 1}/{2 * (tokens - 1)} and the others equal shares: "
        f"d = {width}",
        "a divergence that is not 0",
        f"KL >= {floor.value:.3g} nats",
        Method("enclosures of singular values", Means.ENCLOSURES),
        decided(width < tokens - 1),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=(Comparison(floor, ">", 0),),
    )
