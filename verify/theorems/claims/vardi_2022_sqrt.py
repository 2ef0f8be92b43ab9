r"""Vardi et al.: a deep ReLU network of about sqrt(T) parameters for T labels, by words of bits that layers unpack.

Page: docs/claims/bits.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from constructions.memories.keyed_words import rounded_integers
from constructions.rational.word_network import word_network
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.evidence.words import Words, judge_words
from verify.verdict import decided

CLAIM = Claim(
    id="vardi-2022.sqrt",
    title="Labels by the square root of their number of parameters",
    source="Vardi, Yehudai, Shamir (2022), abstract",
    kind="statement",
    printed=(
        "ReLU networks memorize any N separated points with a number of parameters of the order of sqrt(N), up to "
        "logarithms, which is optimal. Weights of large bit complexity are necessary and sufficient for fewer "
        "parameters than points."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the paper was not read. Proved here: with T distinct codes of r bits and labels of c bits, "
        "words of m items take [[depth: m (r + c + 2) + 1]] residual ReLU blocks of width [[width: 6]] with "
        "[[entries: 6 (ceil(T / m) - 1) + m (8 (r + c) + 21)]] nonzero entries at most; for the best m that is less "
        "than [[root: 2 sqrt(6 T (8 (r + c) + 21)) + 8 (r + c) + 21]]. Words have [[bits: m (r + c)]] bits: rounded "
        "to float64, weights of more than [[significand: 53]] bits lose labels. P numbers of b bits hold all "
        "labellings with K labels only if P b is at least [[content: T log K / log 2]]."
    ),
    reconstructed="the network and its constants: the paper was at hand in its abstract only",
    page="docs/claims/bits.md",
)

_SIZES = ((1, 1, 2, 1), (2, 1, 2, 1), (16, 2, 4, 2), (64, 3, 50, 4), (144, 3, 2, 5))  # T, d, K, m


_SIZES_FULL = ((256, 3, 50, 16), (1024, 3, 2, 8))


_BEST = (16, 64, 144)


_BEST_FULL = (576, 1024)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for count, width, kinds, items in _SIZES + (_SIZES_FULL if full else ()):
        yield _memorized(count, width, kinds, items)
    yield _grows(_BEST + (_BEST_FULL if full else ()))
    yield _rounded(64, 4)
    yield _rounded(64, 2)


def drawn(count: int, width: int, kinds: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw distinct integer points and random labels; every label occurs if there are enough points."""
    rng = np.random.default_rng([count, width, kinds])
    points = rng.permutation(np.unique(rng.integers(-40, 41, (8 * count, width)), axis=0))[:count]
    return points, np.concatenate([np.arange(kinds)[::-1], rng.integers(0, kinds, count)])[:count]


def _judged(count: int, width: int, kinds: int, items: int | None) -> Words:
    points, labels = drawn(count, width, kinds)
    return judge_words(word_network(points, labels, items=items), np.arange(count)[:, None], labels)


def _memorized(count: int, width: int, kinds: int, items: int) -> Evidence:
    judged = _judged(count, width, kinds, items)
    sizes = {"m": items, "r": judged.code_bits, "c": judged.label_bits}
    return Evidence(
        "part",
        f"{count} points of R^{width}, labels out of {kinds}, words of {items} items: {judged.blocks} residual ReLU "
        f"blocks with {judged.entries} entries that are not 0",
        "all labels in front",
        f"{judged.memorized} of {count} in front",
        Method("exact rationals", Means.EXACT),
        decided(judged.memorized == judged.count == count),
        quantifier=Quantifier.SAMPLED,
        compared=(
            Comparison(judged.blocks, "=", stated(CLAIM, "depth", **sizes)),
            Comparison(judged.entries, "<=", stated(CLAIM, "entries", **sizes, T=count)),
            Comparison(judged.entries + 4, ">", stated(CLAIM, "entries", **sizes, T=count)),
        ),
    )


def _grows(counts: tuple[int, ...]) -> Evidence:
    """The entries for the best words, next to the bound, from the least number of points to the largest."""
    by_count = {count: _judged(count, 3, 2, None) for count in counts}
    bounds = {
        count: stated(CLAIM, "root", T=count, r=words.code_bits, c=words.label_bits)
        for count, words in by_count.items()
    }
    few, many = counts[0], counts[-1]
    factor = Fraction(by_count[many].entries, by_count[few].entries)
    return Evidence(
        "part",
        f"labels out of 2 of {', '.join(map(str, counts))} points of R^3, words of the best length: nonzero entries",
        f"less than the bound, and from {few} to {many} points a factor below half of {many // few}",
        "; ".join(f"{count} points: {words.entries}, {words.memorized} in front" for count, words in by_count.items()),
        Method("exact rationals", Means.EXACT),
        decided(all(words.memorized == words.count == count for count, words in by_count.items())),
        quantifier=Quantifier.SAMPLED,
        compared=(
            *(Comparison(words.entries, "<", bounds[count]) for count, words in by_count.items()),
            # The least of 6 T / m + m (8 (r + c) + 21) is the root alone; a group and an entry are not counted.
            *(
                Comparison(words.entries + words.item_entries + 8, ">", bounds[count])
                for count, words in by_count.items()
            ),
            Comparison(2 * factor, "<", Fraction(many, few)),
        ),
    )


def _rounded(count: int, items: int) -> Evidence:
    points, labels = drawn(count, 3, 50)
    exact = word_network(points, labels, items=items)
    contexts = np.arange(count)[:, None]
    before, after = judge_words(exact, contexts, labels), judge_words(rounded_integers(exact, 53), contexts, labels)
    bits = stated(CLAIM, "bits", m=items, r=before.code_bits, c=before.label_bits)
    content = stated(CLAIM, "content", T=count, K=50)
    long = items * (before.code_bits + before.label_bits) > 53
    return Evidence(
        "boundary",
        f"{count} points of R^3, labels out of 50, words of {items} items and {bits} bits: the weights rounded to "
        f"float64, of {before.entries} nonzero entries, for {content} bits of content",
        "some labels lost" if long else "nothing rounded, all labels in front",
        f"{before.memorized} of {count} in front before, {after.memorized} after",
        Method("exact rationals, with the rounded weights too", Means.EXACT),
        decided(before.memorized == count and (after.memorized < count if long else after.memorized == count)),
        compared=(
            Comparison(bits, ">" if long else "<=", stated(CLAIM, "significand")),
            Comparison(int(np.finfo(np.float64).nmant) + 1, "=", stated(CLAIM, "significand")),
            Comparison(exact.W_U.shape[0], "=", stated(CLAIM, "width")),
            Comparison(bits, ">=", before.longest),
            Comparison(content, "<=", before.entries * min(53, before.longest)),
            Comparison(content, "<", (50**count).bit_length()),
            Comparison(content, ">=", (50**count).bit_length() - 1),
        ),
    )
