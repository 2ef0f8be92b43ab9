"""Tables of bits up to symmetry, and the number of heads that each of them takes, from both sides."""

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from constructions.attention.capacity.forbidden_labelling import most_forbidden_heads
from constructions.memories.heads.bit_table_heads import bit_table_heads
from constructions.memories.heads.counting_heads import bit_contexts
from constructions.numeric.arrays import Int64Array
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.capacity.sign_relation import forbids_heads
from verify.verdict import Verdict


def classes(bits: int) -> Iterator[Int64Array]:
    """One labelling of each class, `[2^n]`."""
    contexts = bit_contexts(bits)[:, :-1]
    values = 1 << np.arange(bits)[::-1]
    places = np.array([values[list(p)] @ (contexts ^ flip).T for p in permutations(range(bits)) for flip in (0, 1)])
    seen = np.zeros(2 ** len(contexts), dtype=bool)
    for number in range(len(seen)):
        if not seen[number]:
            labels = number >> np.arange(len(contexts)) & 1
            images = (labels[places] << np.arange(len(contexts))).sum(axis=1)
            seen[images] = seen[len(seen) - 1 - images] = True
            yield labels


def self_dual_classes(bits: int) -> Iterator[Int64Array]:
    """One labelling of each class of those that the exchange of the tokens turns into their opposite, `[2^n]`."""
    contexts = bit_contexts(bits)[:, :-1]
    values, half = 1 << np.arange(bits)[::-1], len(contexts) // 2
    places = np.array([values[list(p)] @ contexts.T for p in permutations(range(bits))])[:, :half]
    seen = np.zeros(2**half, dtype=bool)
    for number in range(len(seen)):
        if not seen[number]:
            first = number >> np.arange(half) & 1
            labels = np.append(first, 1 - first[::-1])
            images = (labels[places] << np.arange(half)).sum(axis=1)
            seen[images] = seen[len(seen) - 1 - images] = True
            yield labels


def heads_from_both_sides(labels: Int64Array, *, draws: int) -> tuple[int, bool]:
    """The threshold degree, proved to be needed; whether so many heads were found and hold the labels, exactly."""
    contexts = bit_contexts(len(labels).bit_length() - 1)
    found = most_forbidden_heads(contexts, labels)
    needed = found.n_heads + 1
    if needed == 0:
        return 0, bool((labels == labels[0]).all())
    if forbids_heads(contexts, labels, found.multipliers, n_heads=found.n_heads) is not Verdict.PROVED:
        raise AssertionError(f"multipliers for {labels.tolist()} prove nothing")
    model = bit_table_heads(labels.tolist(), n_heads=needed, draws=draws)
    if model is None:
        return needed, False
    logits = exact_network_logits(model, contexts).tolist()
    return needed, all(row[label] > row[1 - label] for row, label in zip(logits, labels.tolist(), strict=True))
