"""Attach random labels to contexts, for the weights of a theorem to memorize.

Page: docs/constructions.md
"""

import numpy as np

from constructions.errors import HypothesisError, InputError, require_at_least
from constructions.named.context_rows import ContextRows
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.contexts import checked_contexts
from constructions.tasks.task import Task

_LISTED = 2**22  # contexts; of more, some are drawn one by one


def random_contexts(*, d_vocab: int, n_ctx: int, n_contexts: int, seed: int) -> ContextRows:
    r"""Draw pairwise distinct contexts, in lexicographic order.

    Args:
        d_vocab: Number of tokens, N.
        n_ctx: Tokens in a context, S.
        n_contexts: How many contexts, T; 0 for all $N^S$.
        seed: Seed of the draw.

    Returns:
        The contexts, over the tokens 0 to N - 1.

    Raises:
        InputError: A size out of range, or more contexts than there are.

    Example:
        >>> random_contexts(d_vocab=2, n_ctx=2, n_contexts=3, seed=0).tokens.tolist()
        [[0, 1], [1, 0], [1, 1]]
    """
    require_at_least(1, d_vocab=d_vocab, n_ctx=n_ctx)
    require_at_least(0, n_contexts=n_contexts, seed=seed)
    names = tuple(map(str, range(d_vocab)))
    if n_contexts > d_vocab**n_ctx:
        raise InputError("n_contexts", f"= {n_contexts}", f"at most N^S = {d_vocab}^{n_ctx} = {d_vocab**n_ctx}")
    rng = np.random.default_rng([seed, 6])
    if n_contexts == 0 or d_vocab**n_ctx <= _LISTED:
        everything = all_contexts(d_vocab, n_ctx)
        chosen = rng.permutation(len(everything))[: n_contexts or len(everything)]
        return ContextRows(everything[np.sort(chosen)], names)
    drawn = np.zeros((0, n_ctx), dtype=np.int64)
    while len(drawn) < n_contexts:
        more = rng.integers(0, d_vocab, (n_contexts, n_ctx))
        drawn = np.unique(np.concatenate([drawn, more]), axis=0)
    return ContextRows(drawn[np.sort(rng.permutation(len(drawn))[:n_contexts])], names)


def as_rows(contexts: ContextRows | Int64Array) -> ContextRows:
    """Return contexts of numbered tokens, `[T, S]`, with the numbers as texts; others unchanged.

    Raises:
        InputError: No integers of at least 0.

    Example:
        >>> as_rows(np.array([[0, 2]])).vocabulary
        ('0', '1', '2')
    """
    if isinstance(contexts, ContextRows):
        return contexts
    tokens = checked_contexts(contexts)
    return ContextRows(tokens, tuple(map(str, range(int(tokens.max()) + 1))))


def require_distinct(contexts: ContextRows, *, theorem: str) -> None:
    """Raise `HypothesisError` unless the contexts are pairwise distinct; names the first two that are equal.

    Example:
        >>> require_distinct(ContextRows(np.array([[0, 1], [0, 1]]), ("a", "b")), theorem="Lemma 2")
        Traceback (most recent call last):
        ...
        constructions.errors.HypothesisError: Lemma 2 needs pairwise distinct contexts, but rows 1 and 2 are both 'a b'
    """
    first: dict[tuple[int, ...], int] = {}
    for place, context in enumerate(map(tuple, contexts.tokens.tolist()), 1):
        earlier = first.setdefault(context, place)
        if earlier != place:
            shown = " ".join(contexts.vocabulary[token] for token in context)
            value = f"rows {earlier} and {place} are both {shown!r}"
            raise HypothesisError(theorem, "pairwise distinct contexts", value)


def labelled(contexts: ContextRows, *, theorem: str, seed: int, kinds: int | None = None) -> Task:
    """Give each context a random label; label frequencies differ by at most one.

    Args:
        contexts: Pairwise distinct.
        theorem: What needs them to be.
        seed: Seed of the labels.
        kinds: How many labels there are: tokens where there are as many, else names of their own; by default all N
            tokens.

    Returns:
        The task; its contexts are in lexicographic order.

    Raises:
        HypothesisError: Equal contexts.
        InputError: A seed that is none.

    Example:
        >>> rows = ContextRows(np.array([[0, 1], [1, 1], [1, 0]]), ("a", "b"))
        >>> [labelled(rows, theorem="", seed=0, kinds=kinds).answers for kinds in (2, 3)]
        [('a', 'b'), ('y0', 'y1', 'y2')]
    """
    require_at_least(0, seed=seed)
    require_distinct(contexts, theorem=theorem)
    names = contexts.vocabulary
    kinds = len(names) if kinds is None else kinds
    labels = np.random.default_rng([seed, 7]).permutation(np.arange(len(contexts.tokens)) % kinds)
    answers = None if kinds <= len(names) else tuple(f"y{label}" for label in range(kinds))
    return array_task(contexts.tokens, next_tokens=labels, vocabulary=names, answers=answers, target="labels")


def part_of(task: Task, rows: Int64Array) -> Task:
    """Return some of the contexts with their labels."""
    return array_task(
        task.contexts[rows],
        next_tokens=task.labels[rows],
        vocabulary=task.vocabulary,
        answers=task.answers if task.apart else None,
        target="labels",
    )
