r"""Hsu (2026): how many heads the parity of n bits takes.

Page: docs/claims/heads_of_any_width.md
"""

from collections.abc import Iterator

from constructions.memories.heads.counting_heads import bit_contexts, counting_heads, parity_labels
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.theorems import PARITY_ERRORS
from verify.verdict import decided

CLAIM = Claim(
    id="hsu-2026.parity-heads",
    title="Parity takes heads in proportion to the bits",
    source="Hsu (2026), arXiv 2605.12171, abstract",
    kind="statement",
    printed=(
        "An attention layer with a rational function of some degree behind it has the parity of n bits as its sign "
        "only if the number of heads times the degree grows linearly in n, however wide the values are."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the paper was not read. Proved here: with a linear readout [[least: n]] heads are needed, and "
        "are enough with [[plane: d = 2]] and [[thin: d_h = 1]]. If the logits are polynomials of degree r of the "
        "stream, r times the heads is at least n. With H heads at most [[right: 2^n - E]] of the [[all: 2^n]] labels "
        "are memorized, and so many are: E is the number of Theorem H3."
    ),
    reconstructed="the constant: the paper was at hand in its abstract only",
    page="docs/claims/heads_of_any_width.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _as_many_as_bits(range(1, 10 if full else 8))
    yield _behind_polynomials(24)
    for bits in (3, 5, *((7,) if full else ())):
        yield _fewer(bits)


def _memorized(bits: int, n_heads: int) -> tuple[int, int]:
    """On how many contexts the best counting heads have the parity in front, and how many heads they are."""
    contexts = bit_contexts(bits)
    labels = (contexts.sum(axis=1) % 2).tolist()
    model = counting_heads(parity_labels(bits, n_heads))
    rows = exact_network_logits(model, contexts).tolist()
    return sum(row[label] > row[1 - label] for row, label in zip(rows, labels, strict=True)), model.n_heads


def _as_many_as_bits(sizes: range) -> Evidence:
    compared = []
    for bits in sizes:
        memorized, n_heads = _memorized(bits, bits)
        least = stated(CLAIM, "least", n=bits)
        fewer = PARITY_ERRORS.at(bits=bits, n_heads=bits - 1)
        model = counting_heads(parity_labels(bits, bits))
        compared += [
            Comparison(fewer, ">", 0),
            Comparison(memorized, "=", stated(CLAIM, "all", n=bits)),
            Comparison(n_heads, "=", least),
            *met(CLAIM, "plane", "thin", d=model.d_model, d_h=model.d_head),
        ]
    return Evidence(
        "part",
        f"the parity of n = {sizes[0]} .. {sizes[-1]} bits: n heads with d = 2 and d_h = 1 hold all labels, n - 1 "
        "heads of any widths do not",
        "a number of heads that grows linearly in n",
        "n heads exactly",
        Method("the least number of errors of polynomials of degree H; exact rationals", Means.EXACT),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=tuple(compared),
    )


def _behind_polynomials(largest: int) -> Evidence:
    compared = []
    for bits in range(2, largest + 1):
        for degree in range(1, bits + 1):
            n_heads = -(-bits // degree) - 1
            errors = PARITY_ERRORS.at(bits=bits, n_heads=degree * n_heads)
            compared += [Comparison(errors, ">", 0), Comparison(degree * n_heads, "<", stated(CLAIM, "least", n=bits))]
    return Evidence(
        "part",
        f"n = 2 .. {largest} bits, logits that are polynomials of degree r = 1 .. n of the stream: fewer than n / r "
        "heads of any widths do not hold all labels",
        "heads times degree grows linearly in n",
        "heads times degree at least n",
        Method("the least number of errors of polynomials of degree r H", Means.EXACT),
        decided(len(compared) > largest),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=tuple(compared),
    )


def _fewer(bits: int) -> Evidence:
    compared, shown = [], []
    for n_heads in range(bits):
        memorized, _ = _memorized(bits, n_heads)
        errors = PARITY_ERRORS.at(bits=bits, n_heads=n_heads)
        compared += [
            Comparison(errors, "=", 2**bits - memorized),
            Comparison(memorized, "=", stated(CLAIM, "right", n=bits, E=errors.value)),
        ]
        shown.append(str(memorized))
    return Evidence(
        "sharper",
        f"the parity of {bits} bits: the most labels that H = 0 .. {bits - 1} heads of any widths hold, and explicit "
        "heads hold",
        "not all",
        f"{', '.join(shown)} of {2**bits}",
        Method("the least number of errors of polynomials of degree H; exact rationals", Means.EXACT),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=tuple(compared),
    )
