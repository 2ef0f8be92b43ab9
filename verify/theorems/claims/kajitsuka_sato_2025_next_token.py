"""Kajitsuka and Sato (2025): next tokens by about sqrt(T) parameters, almost independent of the length.

Page: docs/claims/bits.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from constructions.memories.keyed_words import keyed_words_memory
from constructions.tasks.arrays import array_task
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.evidence.words import Words, judge_words
from verify.verdict import decided

CLAIM = Claim(
    id="kajitsuka-sato-2025.next-token",
    title="Next tokens by the square root of the number of sequences",
    source="Kajitsuka, Sato (2025), abstract",
    kind="statement",
    printed=(
        "Transformers memorize the labels of N sequences of length n with a number of parameters of the order of "
        "sqrt(N) up to logarithms, which is optimal up to logarithms and almost independent of n."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the paper was not read. Proved here: the number is reached by the network of kim-2023.labels: "
        "the length adds S scores, and a bit of the code for each position, so [[code: S + b]] bits at most with "
        "values of b bits. For many facts there are fewer nonzero entries than facts, of integers whose length grows "
        "with the square root too. In a format of b bits no fewer than [[content: T log K / (b log 2)]] numbers are "
        "enough."
    ),
    reconstructed="the network and its constants: the paper was at hand in its abstract only",
    page="docs/claims/bits.md",
)

_TOKENS = 8


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _lengths(48, (4, 8, 16))
    yield _few(144, more=False)
    if full:
        yield _few(8192, more=True)


def drawn(n_ctx: int, facts: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw distinct contexts and binary labels, both of which occur."""
    rng = np.random.default_rng([n_ctx, facts])
    contexts = np.unique(rng.integers(0, _TOKENS, (4 * facts, n_ctx)), axis=0)
    return rng.permutation(contexts)[:facts], np.concatenate([[1, 0], rng.integers(0, 2, facts)])[:facts]


def _judged(n_ctx: int, facts: int) -> tuple[Words, int]:
    contexts, labels = drawn(n_ctx, facts)
    task = array_task(contexts, next_tokens=labels, vocabulary=_TOKENS, target="labels")
    if len(np.unique(contexts, axis=0)) < facts:
        raise ArithmeticError("some of the contexts that were drawn are equal")
    model = keyed_words_memory(task).model
    values = max(int(value.p) for value in model.W_E[:, 0]).bit_length()
    return judge_words(model, contexts, labels), values


def _lengths(facts: int, lengths: tuple[int, ...]) -> Evidence:
    by_length = {n_ctx: _judged(n_ctx, facts) for n_ctx in lengths}
    entries = {n_ctx: words.entries + words.other_entries for n_ctx, (words, _) in by_length.items()}
    factor = Fraction(entries[lengths[-1]], entries[lengths[0]])
    return Evidence(
        "part",
        f"{facts} sequences of {', '.join(map(str, lengths))} tokens out of {_TOKENS}, labels out of 2: entries that "
        "are not 0",
        f"a factor below 2 for sequences {lengths[-1] // lengths[0]} times as long",
        "; ".join(
            f"S = {n_ctx}: {entries[n_ctx]}, codes of {words.code_bits} bits, {words.memorized} in front"
            for n_ctx, (words, _) in by_length.items()
        ),
        Method("exact rationals", Means.EXACT),
        decided(all(words.memorized == words.count == facts for words, _ in by_length.values())),
        quantifier=Quantifier.SAMPLED,
        compared=(
            Comparison(factor, "<", 2),
            *(
                Comparison(words.code_bits, "<=", stated(CLAIM, "code", S=n_ctx, b=values))
                for n_ctx, (words, values) in by_length.items()
            ),
            *(
                Comparison(words.code_bits + 2, ">", stated(CLAIM, "code", S=n_ctx, b=values))
                for n_ctx, (words, values) in by_length.items()
            ),
        ),
    )


def _few(facts: int, *, more: bool) -> Evidence:
    words, _ = _judged(6, facts)
    entries = words.entries + words.other_entries
    content = stated(CLAIM, "content", T=facts, K=2, b=words.longest)
    return Evidence(
        "part",
        f"{facts} sequences of 6 tokens out of {_TOKENS}, labels out of 2: entries that are not 0, integers of "
        f"{words.longest} bits at most",
        f"{'fewer entries than facts' if more else 'the labels'}, and {content} numbers of so many bits at least",
        f"{entries} entries, {words.memorized} of {facts} in front",
        Method("exact rationals", Means.EXACT),
        decided(words.memorized == words.count == facts and (entries < facts) >= more),
        quantifier=Quantifier.SAMPLED,
        compared=(
            Comparison(content, "<=", entries),
            Comparison(content, ">", Fraction(facts - 1, words.longest)),
            Comparison(content, "<", Fraction(facts + 1, words.longest)),
        ),
    )
