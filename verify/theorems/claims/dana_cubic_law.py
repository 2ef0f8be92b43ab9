r"""The conclusion of Dana et al.: the law d^3 H of what heads memorize, at a fixed number of bits.

Page: docs/claims/bits.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from constructions.model.shapes import dana_network
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, met, stated

CLAIM = Claim(
    id="dana.cubic-law",
    title="A law of the cube of the width",
    source="Dana, Pydi, Chevaleyre (2024), section 7, from trained models",
    kind="fit",
    quotation=(
        "meaning that the best performances per parameter is acheived for $d = d_h$. In that case, we found the "
        "scaling to be $C(N)d^3H$."
    ),
    printed="For [[square: d = d_h]] the scaling was found to be [[printed: C d^3 H]], C depending on N.",
    reading=(
        "A fit to trained models with d up to about twenty, as 'we found' and figure 2 say; no constant is printed, "
        "and nothing is said of larger d."
    ),
    judgement="measured",
    truth=(
        "Beside the fit: in a format of b bits no such law can go on for ever, as P numbers have P b bits, and T "
        "random labels out of N have [[content: T log N / log 2]]. With [[entries: d (S + 2 N + 4 d H)]] numbers and "
        "many heads it ends at the width [[most: 4 b log 2 / (C log N)]] at the latest. With the largest constant "
        "that the first figure allows for [[vocabulary: N = 50]], which is [[constant: 1/8]] as [[bigrams: 2500]] "
        "bigrams and [[heads: 20]] heads with [[width: d = 10]] are all there are, that is far above the widths of "
        "the figure."
    ),
    page="docs/claims/bits.md",
)

_CASES = ((32, 50, Fraction(1, 8)), (16, 50, Fraction(1, 8)))  # b, N, C
_FIGURE = 20  # the largest d of figure 2, about


def evidence(*, full: bool) -> Iterator[Evidence]:
    for bits, d_vocab, constant in _CASES:
        yield _too_many(bits, d_vocab, constant)
    yield _counts(50)


def _too_many(bits: int, d_vocab: int, constant: Fraction) -> Evidence:
    """Compare the bits of labels and of weights just beyond the width, for enough heads, and just below it."""
    most = stated(CLAIM, "most", b=bits, C=constant, N=d_vocab)
    d_model, n_ctx, n_heads = int(float(most.value)) + 1, 2, 10**6
    shapes = {"N": d_vocab, "S": n_ctx, "d": d_model}
    memorized = stated(CLAIM, "printed", C=constant, d=d_model, H=n_heads)
    content = stated(CLAIM, "content", T=memorized.value, N=d_vocab)
    entries = stated(CLAIM, "entries", **shapes, H=n_heads)
    narrower = stated(CLAIM, "printed", C=constant, d=d_model - 1, H=n_heads)
    room = stated(CLAIM, "entries", N=d_vocab, S=n_ctx, d=d_model - 1, H=n_heads)
    return Evidence(
        "measurement",
        f"b = {bits}, N = {d_vocab}, C = {constant}, d = d_h = {d_model}, H = {n_heads}: labellings of so many "
        "contexts, "
        "beside what the weights can be",
        f"if the law went on: {memorized} associations of any labels",
        f"their labels have {content} bits, the weights {entries} numbers of {bits} bits",
        Method("counting, logarithms in balls", Means.EXACT, Means.BALLS),
        compared=(
            Comparison(content, ">", bits * entries.value),
            Comparison(stated(CLAIM, "content", T=narrower.value, N=d_vocab), "<", bits * room.value),
            Comparison(Fraction(d_model - 1), "<", most),
            Comparison(Fraction(d_model), ">", most),
            Comparison(constant * d_model * d_model * d_model * n_heads, "=", memorized),
            Comparison(_FIGURE, "<", most),
            *_largest_constant(constant, d_vocab),
        ),
    )


def _largest_constant(constant: Fraction, d_vocab: int) -> tuple[Comparison, ...]:
    """All bigrams of the figure are C d^3 H associations at its width and number of heads."""
    d_model, n_heads = 10, 20
    return (
        Comparison(constant, "=", stated(CLAIM, "constant")),
        Comparison(constant * d_model**3 * n_heads, "=", stated(CLAIM, "bigrams")),
        Comparison(d_vocab**2, "=", stated(CLAIM, "bigrams")),
        Comparison(n_heads, "=", stated(CLAIM, "heads")),
        *met(CLAIM, "vocabulary", N=d_vocab),
        *met(CLAIM, "width", d=d_model),
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
        "measurement",
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
