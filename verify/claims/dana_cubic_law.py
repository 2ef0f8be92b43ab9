r"""The conclusion of Dana et al.: the law d^3 H of what heads memorize, at a fixed number of bits.

Page: docs/claims/conclusions.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from constructions.models.shapes import dana_network
from verify.claim import Claim
from verify.evidence import Comparison, Evidence, Means, Method, met, stated

CLAIM = Claim(
    id="dana.cubic-law",
    title="A law of the cube of the width",
    source="Dana, Pydi, Chevaleyre (2024), section 7, from trained models",
    printed="For [[square: d = d_h]] the number of associations scales like [[printed: C d^3 H]], C depending on N.",
    judgement="false",
    truth=(
        "No such law goes on in a format of b bits: P numbers have P b bits, and T random labels out of N have "
        "[[content: T log N / log 2]], so that no more than that are held. With [[entries: d (S + 2 N + 4 d H)]] "
        "numbers and many heads that bounds the width by [[most: 4 b log 2 / (C log N)]]."
    ),
    page="docs/claims/conclusions.md",
)

_CASES = ((32, 50, Fraction(1, 2)), (16, 100, Fraction(1, 10)), (64, 10, Fraction(2)))  # b, N, C


def evidence(*, full: bool) -> Iterator[Evidence]:
    for bits, d_vocab, constant in _CASES:
        yield _too_many(bits, d_vocab, constant)
    yield _counts(50)


def _too_many(bits: int, d_vocab: int, constant: Fraction) -> Evidence:
    """Just beyond the width, for heads enough; and just below it the count says nothing."""
    most = stated(CLAIM, "most", b=bits, C=constant, N=d_vocab)
    d_model, n_ctx, n_heads = int(float(most.value)) + 1, 2, 10**6
    shapes = {"N": d_vocab, "S": n_ctx, "d": d_model}
    held = stated(CLAIM, "printed", C=constant, d=d_model, H=n_heads)
    content = stated(CLAIM, "content", T=held.value, N=d_vocab)
    entries = stated(CLAIM, "entries", **shapes, H=n_heads)
    narrower = stated(CLAIM, "printed", C=constant, d=d_model - 1, H=n_heads)
    room = stated(CLAIM, "entries", N=d_vocab, S=n_ctx, d=d_model - 1, H=n_heads)
    return Evidence(
        "counterexample",
        f"b = {bits}, N = {d_vocab}, C = {constant}, d = d_h = {d_model}, H = {n_heads}: labellings of so many "
        "contexts, "
        "beside what the weights can be",
        f"{held} associations of any labels",
        f"their labels have {content} bits, the weights {entries} numbers of {bits} bits",
        Method("counting, logarithms in balls", Means.EXACT, Means.BALLS),
        compared=(
            Comparison(content, ">", bits * entries.value),
            Comparison(stated(CLAIM, "content", T=narrower.value, N=d_vocab), "<", bits * room.value),
            Comparison(Fraction(d_model - 1), "<", most),
            Comparison(Fraction(d_model), ">", most),
            Comparison(constant * d_model * d_model * d_model * n_heads, "=", held),
        ),
    )


def _counts(d_vocab: int) -> Evidence:
    """Bits that tell all labellings of a thousand contexts apart, and entries of a model with heads as wide as d."""
    bits, n_heads, d_model, n_ctx = (d_vocab**1000 - 1).bit_length(), 2, 3, 4
    content = stated(CLAIM, "content", T=1000, N=d_vocab)
    maps = np.zeros((n_heads, d_model, d_model))
    model = dana_network(
        W_E=np.zeros((d_vocab, d_model)), W_pos=np.zeros((n_ctx, d_model)), W_Q=maps, W_K=maps, W_V=maps, W_O=maps,
        W_U=np.zeros((d_model, d_vocab)),
    )  # fmt: skip
    entries = sum(tensor.size for tensor in model.tensors().values())
    return Evidence(
        "repair",
        f"all labels out of {d_vocab} of a thousand contexts, and a model with d = d_h = {d_model}, H = {n_heads}",
        f"{content} bits",
        f"{bits} bits tell them apart, and no fewer; {entries} entries",
        Method("counting in integers", Means.EXACT),
        compared=(
            Comparison(bits, ">=", content),
            Comparison(bits - 1, "<", content),
            Comparison(entries, "=", stated(CLAIM, "entries", N=d_vocab, S=n_ctx, d=model.d_model, H=model.n_heads)),
            *met(CLAIM, "square", d=model.d_model, d_h=model.d_head),
        ),
    )
