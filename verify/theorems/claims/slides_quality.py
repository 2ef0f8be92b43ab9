r"""Slides of Dana: whether memorization is limited in quality only.

Page: docs/claims/heads_of_any_width.md
"""

from collections.abc import Iterator

import numpy as np
from flint import fmpz_mat

from constructions.encoders.parabola import parabola, stream
from constructions.memories.heads.counting_heads import bit_contexts, counting_heads, parity_labels
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.theorems import ENCODER_DIVERGENCE, PARITY_ERRORS
from verify.verdict import decided

CLAIM = Claim(
    id="slides.quality",
    title="A limit of quality and none of quantity",
    source="Dana (2024), slides, Experimental validation",
    kind="remark",
    quotation="No memorization limit in term of quantity, but in term of quality !",
    printed="No memorization limit in terms of quantity, but in terms of quality.",
    reading=(
        "A line below a plot, without an object or a quantifier: it says too little to be judged. Of attention with "
        "a given number of heads it would not hold, of sequence encoders it would."
    ),
    judgement="not-judged",
    truth=(
        "Not judged. Of what can be meant: attention with a given number of heads has a limit of quantity, whatever "
        "its widths, as the parity of n bits takes [[heads: n]] heads exactly. Sequence encoders have none: "
        "[[plane: d = 2]] is enough for any number of labels. With [[few: d < N - 1]] they have one of quality: some "
        "distributions cost a certified divergence, for all encoders."
    ),
    page="docs/claims/heads_of_any_width.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for bits in (11, 3):
        yield _parity(bits)
    for d_vocab, contexts in ((3, 27), (100, 2000), *(((1000, 3000),) if full else ())):
        yield _any_number(d_vocab, contexts)
    for d_vocab, d_model in ((3, 1), (6, 2), (10, 4), *(((24, 8),) if full else ())):
        yield _quality(d_vocab, d_model)


def _parity(bits: int) -> Evidence:
    """Parity of n bits: n heads hold it, and n - 1 of any widths do not."""
    contexts = bit_contexts(bits)
    labels = contexts.sum(axis=1) % 2
    model = counting_heads(parity_labels(bits, bits))
    rows = exact_network_logits(model, contexts).tolist()
    memorized = sum(row[label] > row[1 - label] for row, label in zip(rows, labels.tolist(), strict=True))
    fewer = PARITY_ERRORS.at(bits=bits, n_heads=bits - 1)
    return Evidence(
        "part",
        f"the parity of {bits} bits after the {len(contexts)} contexts of {bits + 1} tokens out of 2 with one last "
        f"token: {bits} heads with d = 2, d_h = 1 hold it, {bits - 1} of any widths do not",
        "memorized by any heads: no limit of quantity",
        f"H >= {bits}; {memorized} labels in front with H = {model.n_heads}",
        Method("the least number of errors of polynomials of degree H; exact rationals", Means.EXACT),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(fewer, ">", 0),
            Comparison(memorized, "=", len(contexts)),
            Comparison(model.n_heads, "=", stated(CLAIM, "heads", n=bits)),
        ),
    )


def _any_number(d_vocab: int, contexts: int) -> Evidence:
    """The integer encoder on the parabola: the label of every context is in front, in two dimensions."""
    labels = np.random.default_rng([d_vocab, contexts]).integers(0, d_vocab, contexts)
    W, E = parabola(d_vocab), stream(labels, power=0)
    rows = (fmpz_mat(E.astype(np.int64).tolist()) * fmpz_mat(W.astype(np.int64).tolist()).transpose()).tolist()
    memorized = sum(
        all(row[label] > other for j, other in enumerate(row) if j != label)
        for row, label in zip(rows, labels.tolist(), strict=True)
    )
    return Evidence(
        "part",
        f"{contexts} contexts with random labels out of {d_vocab} tokens: the integer encoder on the parabola, d = 2",
        f"{contexts} labels in front",
        f"{memorized} labels in front",
        Method("exact integers", Means.EXACT),
        decided(W.shape[1] == E.shape[1] == 2),
        compared=(Comparison(memorized, "=", contexts), *met(CLAIM, "plane", d=W.shape[1])),
    )


def _quality(d_vocab: int, d_model: int) -> Evidence:
    """Distributions that give one token half: their logarithms have the centred rank N - 1."""
    distributions = np.eye(d_vocab) * (d_vocab - 2) + np.ones((d_vocab, d_vocab))
    floor = ENCODER_DIVERGENCE.at("lower", distributions=distributions, d_model=d_model)
    return Evidence(
        "part",
        f"N = {d_vocab}, the distributions that give one token {d_vocab - 1}/{2 * (d_vocab - 1)} and the others equal "
        f"shares: d = {d_model}",
        "a divergence that is not 0",
        f"KL >= {floor.value:.3g} nats",
        Method("enclosures of singular values", Means.ENCLOSURES),
        decided(d_model < d_vocab - 1),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=(Comparison(floor, ">", 0), *met(CLAIM, "few", d=d_model, N=d_vocab)),
    )
