r"""Kim et al., for sequences: answers of several tokens, as one label.

Page: docs/claims/bits.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.memories.keyed_words import keyed_words_memory
from constructions.tasks.arrays import array_task
from constructions.tasks.random_facts import random_contexts
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.evidence.words import judge_words
from verify.verdict import decided

CLAIM = Claim(
    id="kim-2023.sequences",
    title="Sequences as answers with the square root of their number",
    source="Kim, Kim, Mozafari (2023), abstract",
    kind="statement",
    printed=(
        "Transformers memorize N sequence-to-sequence mappings of length n and dimension d with a number of parameters "
        "of the order of d + n + sqrt(n N) up to logarithms."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: no model here writes a sequence. A part: an answer of n tokens out of K is a label out of "
        "[[answers: K^n]], of [[bits: n c]] bits for c of a token, and the blocks that hold it have fewer than "
        "[[root: 2 sqrt(6 T (8 (r + n c) + 21)) + 8 (r + n c) + 21]] nonzero entries."
    ),
    reconstructed="the network and its constants: the paper was at hand in its abstract only",
    page="docs/claims/bits.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for facts, kinds, answer in ((20, 2, 2), (32, 2, 3), *(((64, 4, 2),) if full else ())):
        yield _memorized(facts, kinds, answer)


def _memorized(facts: int, kinds: int, answer: int) -> Evidence:
    contexts = random_contexts(d_vocab=4, n_ctx=4, facts=facts, seed=0)
    sequences = np.random.default_rng(facts).integers(0, kinds, (facts, answer))
    sequences[0] = kinds - 1  # the largest label occurs
    labels = sequences @ kinds ** np.arange(answer)
    task = array_task(contexts, next_tokens=labels, vocabulary=max(4, kinds**answer), target="labels")
    judged = judge_words(keyed_words_memory(task).model, contexts, labels)
    bits = (kinds - 1).bit_length()
    root = stated(CLAIM, "root", T=facts, r=judged.code_bits, n=answer, c=bits)
    return Evidence(
        "part",
        f"{facts} contexts of 4 tokens out of 4, answers of {answer} tokens out of {kinds} as labels: entries of the "
        "blocks that are not 0",
        f"all answers in front, with fewer than {root}",
        f"{judged.memorized} of {facts} in front, {judged.entries} entries",
        Method("exact rationals", Means.EXACT),
        decided(judged.memorized == judged.count == facts),
        quantifier=Quantifier.SAMPLED,
        compared=(
            Comparison(int(labels.max()) + 1, "=", stated(CLAIM, "answers", K=kinds, n=answer)),
            Comparison(judged.label_bits, "=", stated(CLAIM, "bits", n=answer, c=bits)),
            Comparison(judged.entries, "<", root),
            Comparison(judged.entries + judged.item_entries + 8, ">", root),
        ),
    )
