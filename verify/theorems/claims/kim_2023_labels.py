"""Kim et al., for labels: one head and deep ReLU blocks hold T sequences with about sqrt(T) parameters.

Page: docs/claims/bits.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from constructions.memories.keyed_words import keyed_words_memory
from constructions.model.blocks import Attention
from constructions.tasks.arrays import array_task
from constructions.tasks.random_facts import random_contexts
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.evidence.words import judge_words
from verify.verdict import decided

CLAIM = Claim(
    id="kim-2023.labels",
    title="Transformers that hold sequences with the square root of their number",
    source="Kim, Kim, Mozafari (2023), abstract, for labels, as Dana et al. (2024) read it",
    kind="statement",
    printed=(
        "Transformers memorize labels of T sequences of S tokens with a number of parameters of the order of S + N + "
        "sqrt(T log T)."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the paper was not read. Proved here: for a label of each of T distinct contexts of S tokens out "
        "of N, and K labels: [[head: one]] head by position, then ReLU blocks, [[entries: 2 N + S + K + 2]] nonzero "
        "entries and those of the blocks, of which there are less than "
        "[[root: 2 sqrt(6 T (8 (r + c) + 21)) + 8 (r + c) + 21]], with codes of r and labels of c bits. Words of "
        "[[words: m (r + c)]] bits are what it costs."
    ),
    reconstructed="the network and its constants: the paper was at hand in its abstract only",
    page="docs/claims/bits.md",
)

_SIZES = ((2, 2, 4, 2), (4, 3, 40, 4), (8, 4, 128, 8))  # N, S, T, K


_SIZES_FULL = ((16, 4, 512, 4),)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab, n_ctx, facts, kinds in _SIZES + (_SIZES_FULL if full else ()):
        yield _memorized(d_vocab, n_ctx, facts, kinds)


def _memorized(d_vocab: int, n_ctx: int, facts: int, kinds: int) -> Evidence:
    contexts = random_contexts(d_vocab=d_vocab, n_ctx=n_ctx, facts=facts, seed=0)
    drawn = np.random.default_rng(facts).integers(0, kinds, facts)
    labels = np.concatenate([np.arange(kinds)[::-1], drawn])[:facts]
    task = array_task(contexts, next_tokens=labels, vocabulary=d_vocab, target="labels")
    model = keyed_words_memory(task).model
    judged = judge_words(model, contexts, labels)
    head = model.blocks[0]
    n_heads = head.n_heads if isinstance(head, Attention) else 0
    sizes = {"r": judged.code_bits, "c": judged.label_bits}
    # The depth is m (r + c + 2) + 1, which gives the number of items of a word.
    items = Fraction(judged.blocks - 1, judged.code_bits + judged.label_bits + 2)
    bits = stated(CLAIM, "words", m=items, **sizes)
    root = stated(CLAIM, "root", T=facts, **sizes)
    others = stated(CLAIM, "entries", N=d_vocab, S=n_ctx, K=kinds)
    return Evidence(
        "part",
        f"{facts} contexts of {n_ctx} tokens out of {d_vocab}, labels out of {kinds}: one head and {judged.blocks} "
        f"ReLU blocks, {judged.entries} entries of the blocks that are not 0 and {judged.other_entries} others",
        "all labels in front",
        f"{judged.memorized} of {facts} in front",
        Method("exact rationals", Means.EXACT),
        decided(judged.memorized == judged.count == facts and len(np.unique(contexts, axis=0)) == facts),
        quantifier=Quantifier.SAMPLED,
        compared=(
            Comparison(n_heads, "=", stated(CLAIM, "head")),
            Comparison(judged.other_entries, "<=", others),
            Comparison(judged.other_entries + 3, ">", others),
            Comparison(judged.entries, "<", root),
            # The least of 6 T / m + m (8 (r + c) + 21) is the root alone; a group and an entry are not counted.
            Comparison(judged.entries + judged.item_entries + 8, ">", root),
            Comparison(items, "=", items.numerator),
            Comparison(bits, ">=", judged.longest),
            Comparison(bits, "<=", judged.longest + judged.code_bits + judged.label_bits),
        ),
    )
