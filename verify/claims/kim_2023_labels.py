"""Evidence on one head and deep ReLU blocks: labels of sequences held exactly, with few entries that are not 0.

Page: docs/claims/bits.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from constructions.claims.kim_2023_labels import CLAIM
from constructions.claims.zhang_2017_theorem import random_contexts
from constructions.memories.keyed_words import keyed_words_memory
from constructions.models.blocks import Attention
from constructions.tasks.arrays import array_task
from verify.claims.comparison import Comparison
from verify.claims.evidence import Evidence, Means, Method
from verify.claims.formula import stated
from verify.claims.quantifier import Quantifier
from verify.claims.words import judge_words
from verify.verdict import decided

_SIZES = ((2, 2, 4, 2), (4, 3, 40, 4), (8, 4, 128, 8))  # N, S, T, K
_SIZES_FULL = ((16, 4, 512, 4),)


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify the labels and count the entries.

    Args:
        full: More sequences.

    Yields:
        Evidence.
    """
    for tokens, length, facts, kinds in _SIZES + (_SIZES_FULL if full else ()):
        yield _held(tokens, length, facts, kinds)


def _held(tokens: int, length: int, facts: int, kinds: int) -> Evidence:
    contexts = random_contexts(tokens=tokens, length=length, facts=facts, seed=0)
    drawn = np.random.default_rng(facts).integers(0, kinds, facts)
    labels = np.concatenate([np.arange(kinds)[::-1], drawn])[:facts]
    task = array_task(contexts, next_tokens=labels, vocabulary=tokens, target="labels")
    model = keyed_words_memory(task).model
    found = judge_words(model, contexts, labels)
    head = model.blocks[0]
    one = isinstance(head, Attention) and head.n_heads == 1
    sizes = {"r": found.code_bits, "c": found.label_bits}
    # The depth is m (r + c + 2) + 1, which gives the number of items of a word.
    items = Fraction(found.blocks - 1, found.code_bits + found.label_bits + 2)
    bits = stated(CLAIM, "words", m=items, **sizes)
    root = stated(CLAIM, "root", T=facts, **sizes)
    others = stated(CLAIM, "entries", N=tokens, S=length, K=kinds)
    return Evidence(
        "claim",
        f"{facts} contexts of {length} tokens out of {tokens}, labels out of {kinds}: one head and {found.blocks} "
        f"ReLU blocks, {found.entries} entries of the blocks that are not 0 and {found.other_entries} others",
        "all labels in front",
        f"{found.held} of {facts} in front",
        Method("exact rationals", Means.EXACT),
        decided(found.held == found.count == facts and one and len(np.unique(contexts, axis=0)) == facts),
        quantifier=Quantifier.SAMPLED,
        compared=(
            Comparison(found.other_entries, "<=", others),
            Comparison(found.other_entries + 3, ">", others),
            Comparison(found.entries, "<", root),
            # The least of 6 T / m + m (8 (r + c) + 21) is the root alone; a group and an entry are not counted.
            Comparison(found.entries + found.item_entries + 8, ">", root),
            Comparison(items, "=", items.numerator),
            Comparison(bits, ">=", found.longest),
            Comparison(bits, "<=", found.longest + found.code_bits + found.label_bits),
        ),
    )
