"""Evidence on quantity and quality: what one head does not hold, and what sequence encoders hold.

Page: docs/claims/conclusions.md
"""

from collections.abc import Iterator

import numpy as np
from flint import fmpz_mat

from constructions.encoders.parabola import parabola, stream
from verify.claims.comparison import Comparison
from verify.claims.evidence import Evidence, Means
from verify.claims.quantifier import Quantifier
from verify.claims.theorems import ENCODER_DIVERGENCE, HEADS_FOR_EVERY_LABELLING
from verify.verdict import Verdict, decided


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify the limit of quantity of attention, its absence for encoders, and their limit of quality.

    Args:
        full: Longer contexts, more labels and laws.

    Yields:
        Evidence.

    Page: docs/claims/conclusions.md
    """
    for length in (12, *((16, 20) if full else ())):
        yield _quantity(length)
    for tokens, contexts in ((3, 27), (100, 2000), *(((1000, 3000),) if full else ())):
        yield _any_number(tokens, contexts)
    for tokens, width in ((3, 1), (6, 2), (10, 4), *(((24, 8),) if full else ())):
        yield _quality(tokens, width)


def _quantity(length: int) -> Evidence:
    least = HEADS_FOR_EVERY_LABELLING.at(n_tokens=2, length=length)
    return Evidence(
        "counterexample",
        f"one head, of any widths: some labelling of the {2 ** (length - 1)} contexts of {length} tokens out of 2 with "
        "one last token",
        "held: no limit of quantity",
        f"not held: H >= {least.value}",
        Verdict.PROVED,
        "Warren's count of sign patterns, in balls",
        means=(Means.BALLS,),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(Comparison(least, ">", 1),),
    )


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
        decided(W.shape[1] == E.shape[1] == 2),
        "exact integers",
        means=(Means.EXACT,),
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
        decided(width < tokens - 1),
        "enclosures of singular values",
        means=(Means.ENCLOSURES,),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=(Comparison(floor, ">", 0),),
    )
