"""Memorize random distributions with the heads of Theorem 1', given only sizes and a seed.

Pages: docs/claims/theorem_1.md, docs/claims/distribution_memory.md
"""

import numpy as np

from constructions.attention.capacity.head_counts import fewest_heads
from constructions.attention.families import random_attention
from constructions.heads_of_theorem_1.memory import build_memory, default_heads
from constructions.heads_of_theorem_1.parameters import paper_heads
from constructions.model.attention import logits
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.random_facts import drawn_contexts
from constructions.tasks.task import Task

_OWN_SHARE = 0.6  # of each distribution at its mode


def distributions_with_a_mode(rows: int, d_vocab: int, *, seed: int = 0) -> Float64Array:
    """Draw distributions with more than half of their mass at a random token, so that missing it is costly.

    Args:
        rows: Number of distributions, T.
        d_vocab: Number of tokens, N.
        seed: Seed of what is drawn.

    Returns:
        Positive distributions, `[T, N]`.

    Example:
        >>> distributions = distributions_with_a_mode(3, 4)
        >>> distributions.shape, bool((distributions.max(axis=1) > 0.6).all())
        ((3, 4), True)
    """
    rng = np.random.default_rng(seed)
    masses = rng.standard_exponential((rows, d_vocab)) + 0.25
    distributions = (1.0 - _OWN_SHARE) * masses / masses.sum(axis=1, keepdims=True)
    distributions[np.arange(rows), rng.integers(0, d_vocab, rows)] += _OWN_SHARE
    return distributions / distributions.sum(axis=1, keepdims=True)


def low_rank_distributions_memory(
    *, d_vocab: int, n_ctx: int, d_model: int, d_head: int, seed: int
) -> Construction[Task]:
    r"""Return weights for the best encoder of rank d that is found, for random distributions after all $N^S$ contexts.

    Args:
        d_vocab: N.
        n_ctx: S.
        d_model: d.
        d_head: $d_h \le d$.
        seed: Seed of the distributions, the search and the weights.

    Returns:
        The weights, and the distributions that they hold as well as was found.

    Raises:
        InputError: An argument out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 1.

    Example:
        >>> low_rank_distributions_memory(d_vocab=4, n_ctx=2, d_model=2, d_head=2, seed=0).summary[:69]
        'distributions over N = 4 tokens after 16 contexts, by an encoder of r'
    """
    task = enumerated_task(
        d_vocab,
        n_ctx,
        target="distributions",
        distributions=distributions_with_a_mode(d_vocab**n_ctx, d_vocab, seed=seed),
        seed=seed,
    )
    model, n_heads = _with_default_heads(task, d_model=d_model, d_head=d_head, seed=seed)
    return Construction(
        task,
        model,
        f"distributions over N = {d_vocab} tokens after {task.n_contexts} contexts, by an encoder of rank d = "
        f"{d_model} in {n_heads} heads of width {d_head}",
        Criterion.at_most(_reached(model, task)),
    )


def full_rank_distributions_memory(*, d_vocab: int, n_ctx: int, d_head: int, seed: int) -> Construction[Task]:
    r"""Return weights with $d = N - 1$ that memorize random distributions after all $N^S$ contexts, up to rounding.

    Args:
        d_vocab: N, at least 2.
        n_ctx: S.
        d_head: $d_h \le N - 1$.
        seed: Seed of the distributions and the weights.

    Returns:
        The weights, and the distributions that they hold.

    Raises:
        InputError: An argument out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 2.

    Example:
        >>> full_rank_distributions_memory(d_vocab=3, n_ctx=2, d_head=1, seed=0).model.d_model
        2
    """
    task = enumerated_task(d_vocab, n_ctx, target="distributions", seed=seed)
    d_model = d_vocab - 1
    model, n_heads = _with_default_heads(task, d_model=d_model, d_head=d_head, seed=seed)
    return Construction(
        task,
        model,
        f"distributions over N = {d_vocab} tokens after {task.n_contexts} contexts, exact in d = N - 1 = {d_model} "
        "dimensions, in "
        f"{n_heads} heads of width {d_head}",
    )


def _with_default_heads(task: Task, *, d_model: int, d_head: int, seed: int) -> tuple[Model, int]:
    """Return weights whose heads, without a skip connection, have a rank of T, and the number of these heads."""
    sufficient = fewest_heads(task.contexts, d_model=d_model, d_head=d_head, with_skip=False).sufficient
    n_heads = default_heads(sufficient, task.n_contexts, d_head, "none")
    return build_memory(task, d_model=d_model, d_head=d_head, n_heads=n_heads, seed=seed).model, n_heads


def random_distributions_memory(
    *, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int = 0, facts: int = 0, seed: int = 0
) -> Construction[Task]:
    r"""Return weights with logits $\log \pi_t$, up to rounding, on $T \le d + H d_h$ contexts: Theorem 1'.

    Args:
        d_vocab: Size of the vocabulary, $N \le d + 1$.
        n_ctx: Tokens in a context, $S$.
        d_model: $d$.
        d_head: $d_h \le d$.
        n_heads: $H$; 0 for the paper's number, $\lceil (T - d) / d_h \rceil$ and at least 1.
        facts: How many contexts, drawn from all; 0 for all $N^S$.
        seed: Seed of the contexts, the distributions and the weights.

    Returns:
        The weights, and the distributions that they hold.

    Raises:
        HypothesisError: The contexts do not have rank T with this many heads, or another hypothesis fails.
        CapacityError: No draw of the weights did.
        InputError: An argument out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1, repaired.

    Example:
        >>> made = random_distributions_memory(d_vocab=4, n_ctx=2, d_model=4, d_head=4)
        >>> made.summary
        'distributions on 16 of 16 contexts of 2 tokens with 16 = d + H d_h dimensions: N = 4, d = 4, d_h = 4, H = 3'
    """
    task = random_distributions(d_vocab, n_ctx, facts, seed)
    count = n_heads or paper_heads(task.n_contexts, d_model, d_head)
    built = build_memory(task, d_model=d_model, d_head=d_head, n_heads=count, front_end=random_attention, seed=seed)
    summary = (
        f"distributions on {task.n_contexts} of {d_vocab**n_ctx} contexts of {n_ctx} tokens with "
        f"{d_model + count * d_head} = d + H d_h dimensions: N = {d_vocab}, d = {d_model}, d_h = {d_head}, "
        f"H = {count}"
    )
    return Construction(task=task, model=built.model, summary=summary)


def random_distributions(d_vocab: int, n_ctx: int, facts: int, seed: int) -> Task:
    """Draw positive distributions after all $N^S$ contexts, or after some drawn ones.

    Args:
        d_vocab: N.
        n_ctx: S.
        facts: How many contexts, T; 0 for all.
        seed: Seed of the contexts and the distributions.

    Raises:
        InputError: An argument out of range.

    Example:
        >>> random_distributions(3, 2, 5, seed=0).distributions.shape
        (5, 3)
    """
    contexts = drawn_contexts(d_vocab, n_ctx, facts, seed)
    positive = np.random.default_rng([seed, 1]).standard_exponential((len(contexts), d_vocab)) + 2.0**-20
    return array_task(contexts, distributions=positive / positive.sum(axis=1, keepdims=True), vocabulary=d_vocab)


def _reached(network: Model, task: Task) -> float:
    """Return the mean divergence of the network in nats, raised above the rounding of float64.

    It is the tolerance that the weights are then certified for.
    """
    assert task.distributions is not None
    stream = logits(network, task.contexts)
    stream -= stream.max(axis=1, keepdims=True)
    predicted = stream - np.log(np.exp(stream).sum(axis=1, keepdims=True))
    return float(
        (task.distributions * (np.log(task.distributions) - predicted)).sum(axis=1).mean() * (1.0 + 2.0**-20) + 2.0**-40
    )
