"""Build a transformer that matches an encoder with logits of bounded range on some contexts: Theorem LR1.

Page: docs/claims/logit_range.md
"""

from fractions import Fraction

import numpy as np

from constructions.encoders.approximating_sequences import FIRST, SECOND, Distribution, within_range
from constructions.errors import require_at_least
from constructions.heads_of_theorem_1.left_out import PartialMemory, hold_exactly
from constructions.model.construction import Construction
from constructions.model.exact_network import ExactFrontEnd, as_rationals, rounded
from constructions.tasks.arrays import all_contexts
from constructions.tasks.task import Counts, Task, make_task

KEPT = 6
"""How many of the nine contexts are memorized: those of two different tokens."""


def bounded_transformer(largest: Fraction, *, occurrences: int) -> PartialMemory:
    r"""Memorize six of the nine contexts of two tokens over three, for a one-dimensional encoder of range R.

    The distribution after (a, b) is `FIRST` for even a + b and `SECOND` for odd, so that the encoder of `within_range`
    fits all contexts. Embeddings are 1, -2 and -3, positions 0; head h of five has the scores $(h + 1) x_S x_s \ln 2$,
    values are the embeddings themselves. On (0, 0), (1, 1) and (2, 2), left out, $C_1 = 5/2$ for every R.

    Args:
        largest: R, at least 2.
        occurrences: How often each kept context occurs; the others occur once each.

    Returns:
        The rational transformer next to the encoder: N = 3, S = 2, d = d_h = 1, H = 5.

    Raises:
        InputError: R below 2, or fewer than one occurrence.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Theorem 3.

    Example:
        >>> memorized = bounded_transformer(Fraction(10), occurrences=50)
        >>> memorized.kept, memorized.contexts[memorized.kept :].tolist()
        (6, [[0, 0], [1, 1], [2, 2]])
    """
    require_at_least(1, occurrences=occurrences)
    weights, embeddings = within_range(largest)
    contexts, one = ordered_contexts(), as_rationals([[1]])
    heads = range(2, 7)
    front_end = ExactFrontEnd(
        W_E=as_rationals([[1], [-2], [-3]]),
        W_pos=as_rationals([[0], [0]]),
        W_Q=tuple(as_rationals([[h]]) for h in heads),
        W_K=tuple(one for _ in heads),
        W_V=tuple(one for _ in heads),
    )
    return hold_exactly(
        front_end,
        contexts,
        kept=KEPT,
        stream=as_rationals([[embeddings[int(row.sum()) % 2]] for row in contexts]),
        unembedding=as_rationals([weights]),
        occurrences=np.array([occurrences] * KEPT + [1] * (len(contexts) - KEPT)),
    )


def distributions_of_contexts() -> list[Distribution]:
    """Return the distribution after each of the nine contexts, in the order of `ordered_contexts`.

    Example:
        >>> distributions_of_contexts()[-1] == FIRST
        True
    """
    return [(FIRST, SECOND)[int(row.sum()) % 2] for row in ordered_contexts()]


def ordered_contexts() -> np.ndarray:
    """Return the nine contexts of two of three tokens, equal tokens last, `[9, 2]`.

    Example:
        >>> ordered_contexts()[:2].tolist()
        [[0, 1], [0, 2]]
    """
    contexts = all_contexts(3, 2)
    return contexts[np.argsort(contexts[:, 0] == contexts[:, 1], kind="stable")]


def bounded_range_memory(*, largest_range: int, occurrences: int) -> Construction[Task]:
    r"""Return the transformer of Theorem LR1: the distributions of an encoder of range R, memorized on six of nine
    contexts.

    Args:
        largest_range: R.
        occurrences: How often each of the six contexts occurs; the other three occur once each.

    Returns:
        The weights, and the encoder's distributions on the six contexts as the task.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Theorem 3.

    Example:
        >>> bounded_range_memory(largest_range=20, occurrences=50).summary
        '6 of 9 contexts memorized, those of probability 1/101 left out: N = 3, S = 2, d = d_h = 1, H = 5, range 20'
    """
    memorized = bounded_transformer(Fraction(largest_range), occurrences=occurrences)
    weights, embeddings = (np.array(part, dtype=float) for part in within_range(Fraction(largest_range)))
    logits = np.outer(embeddings[memorized.contexts.sum(axis=1) % 2], weights)
    powers = np.exp(logits)
    distributions = powers / powers.sum(axis=1, keepdims=True)
    rows = [
        {int(distribution.argmax()): int(count)}
        for distribution, count in zip(distributions, memorized.occurrences, strict=True)
    ]
    task = make_task(
        memorized.contexts,
        Counts.from_rows(rows),
        vocabulary=("0", "1", "2"),
        facts=memorized.kept,
        distributions=distributions,
        target="distributions",
    )
    summary = (
        f"{memorized.kept} of {len(memorized.contexts)} contexts memorized, those of probability "
        f"{Fraction(1, 2 * occurrences + 1)} "
        f"left out: N = 3, S = 2, d = d_h = 1, H = 5, range {largest_range}"
    )
    return Construction(task, rounded(memorized.model), summary)
