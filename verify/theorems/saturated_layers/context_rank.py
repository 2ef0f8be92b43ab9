"""Decide exactly whether the tokens of each context are linearly independent.

Page: docs/claims/assumptions.md
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array
from verify.linear_algebra.exact_rows import Relation, decide_independence
from verify.verdict import Verdict


@dataclass(frozen=True)
class ContextRanks:
    """The contexts whose rank equals their number of tokens.

    Args:
        n_contexts: Number of contexts.
        n_ctx: Tokens in each, n.
        verdict: PROVED: all contexts have rank n; REFUTED: some have not; UNDECIDED otherwise.
        full: How many are proved to have rank n.
        relations: For each context that is proved to have a smaller rank, a relation between its tokens.
    """

    n_contexts: int
    n_ctx: int
    verdict: Verdict
    full: int
    relations: Mapping[int, Relation] = field(default_factory=dict)


def certify_context_ranks(contexts: Float64Array) -> ContextRanks:
    r"""Decide for each context whether its tokens are linearly independent: Assumption 2.

    Args:
        contexts: $E^{(t)}$, `[T, n, d]`, or `[1, n, d]` if all examples share one.

    Returns:
        The outcome, with a relation for each context that has one.

    Raises:
        InputError: Not a three-dimensional array of finite numbers with at least one context.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Assumption 2.

    Example:
        >>> found = certify_context_ranks(np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [0.5, 1.0]]]))
        >>> found.verdict.value, found.full, dict(found.relations)
        ('REFUTED', 1, {1: Relation(rows=(0, 1), coefficients=(1, -2))})
    """
    array = np.asarray(contexts)
    if array.ndim != 3 or 0 in array.shape[:2]:
        raise InputError("contexts", f"has shape {array.shape}", "[T, n, d] with T and n at least 1")
    full, relations = 0, {}
    for t, context in enumerate(array):
        decision = decide_independence(context)
        full += decision.verdict is Verdict.PROVED
        if decision.relation is not None:
            relations[t] = decision.relation
    count, tokens = array.shape[:2]
    verdict = Verdict.REFUTED if relations else Verdict.PROVED if full == count else Verdict.UNDECIDED
    return ContextRanks(count, tokens, verdict, full, relations)
