"""The skip connection as one more head: what is printed, what is true, and a network at the exact capacity.

Page: docs/claims/skip_connection.md
"""

import numpy as np
from flint import fmpq, fmpq_mat

from constructions.arrays import Int64Array
from constructions.claims.claim import Claim, Hypothesis
from constructions.errors import CapacityError, HypothesisError
from constructions.features.exact_skip_connection import ExactSkipConnection, exact_change_of_basis, without_shifts
from constructions.models.construction import Construction
from constructions.models.exact_network import ExactFrontEnd, rounded
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.task import Task

_ATTEMPTS = 64  # random front ends of too small a rank, or contexts, before giving up
_CANDIDATES = 4  # of those that work, the one with the smallest output is taken


def integer_front_end(
    *, tokens: int, length: int, width: int, head_width: int, heads: int, seed: int | tuple[int, ...] = 0
) -> ExactFrontEnd:
    r"""Draw small integer weights, with scores of modest size in units of ln 2.

    Embeddings are integers of absolute value at most 2 and values at most 1; queries select two random coordinates,
    one key for each, so that scores stay small and attention weights different.

    Args:
        tokens: N.
        length: S.
        width: d.
        head_width: $d_h$.
        heads: H.
        seed: Seed of every random choice.

    Returns:
        The front end, with $d_{qk} = 2$.

    Example:
        >>> front_end = integer_front_end(tokens=3, length=2, width=3, head_width=2, heads=1)
        >>> front_end.W_Q[0].ncols(), front_end.d_head
        (2, 2)
    """
    rng = np.random.default_rng(seed)

    def drawn(rows: int, columns: int, largest: int) -> fmpq_mat:
        return fmpq_mat(rows, columns, rng.integers(-largest, largest + 1, rows * columns).tolist())

    def selected() -> fmpq_mat:
        rows = rng.integers(0, width, 2)
        return fmpq_mat(width, 2, [int(rows[j] == i) for i in range(width) for j in range(2)])

    return ExactFrontEnd(
        drawn(tokens, width, 2),
        drawn(length, width, 2),
        tuple(selected() for _ in range(heads)),
        tuple(drawn(width, 2, 1) for _ in range(heads)),
        tuple(drawn(width, head_width, 1) for _ in range(heads)),
    )


def label_targets(labels: Int64Array, tokens: int) -> tuple[fmpq_mat, fmpq_mat]:
    r"""A stream and an unembedding of two coordinates whose logits favour each label by 1/2 or more, exactly.

    $E_t = (l_t, 1)$ and the columns $(i, -i^2/2)$ of the unembedding give the logits
    $l_t^2 / 2 - (i - l_t)^2 / 2$, without their means.

    Args:
        labels: The labels $l_t$ in 0 .. N - 1, `[T]`.
        tokens: N.

    Returns:
        E, `[T, 2]`, and the unembedding, `[2, N]`.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 3.

    Example:
        >>> E, W_U = label_targets(np.array([2]), 3)
        >>> E * W_U
        [-7/6, 1/3, 5/6]
    """
    stream = fmpq_mat(len(labels), 2, [entry for label in labels.tolist() for entry in (label, 1)])
    columns = [fmpq(i) for i in range(tokens)], [fmpq(-i * i, 2) for i in range(tokens)]
    return stream, without_shifts(fmpq_mat(2, tokens, [*columns[0], *columns[1]]))


def _build(*, tokens: int, length: int, width: int, head_width: int, heads: int, seed: int) -> Construction[Task]:
    facts = width + heads * head_width
    everything = all_contexts(tokens, length)
    best: tuple[fmpq, ExactSkipConnection, Int64Array, Int64Array] | None = None
    found = 0
    for attempt in range(_ATTEMPTS):
        rng = np.random.default_rng((seed, attempt))
        contexts = everything[np.sort(rng.permutation(len(everything))[:facts])]
        labels = rng.integers(0, tokens, facts)
        front_end = integer_front_end(
            tokens=tokens, length=length, width=width, head_width=head_width, heads=heads, seed=(seed, attempt, 1)
        )
        try:
            made = exact_change_of_basis(front_end, contexts, *label_targets(labels, tokens))
        except HypothesisError:
            continue
        if made.condition.with_skip < facts:
            continue
        size = np.abs(made.model.W_O).max()
        if best is None or size < best[0]:
            best = size, made, contexts, labels
        found += 1
        if found == _CANDIDATES:
            break
    if best is None:
        raise CapacityError(
            "The skip connection at full capacity",
            f"contexts and integer weights with features [X, Y] of rank d + H d_h = {facts}",
            f"{_ATTEMPTS} random choices have a smaller rank; try another seed",
        )
    _, made, contexts, labels = best
    task = array_task(contexts, next_tokens=labels, vocabulary=tokens, target="labels")
    return Construction(
        task,
        rounded(made.model),
        f"{facts} contexts with {heads} heads of width {head_width}, which alone reach rank {heads * head_width}: the "
        f"skip connection carries {width}",
    )


CLAIM = Claim(
    id="dana.skip-head",
    title="The skip connection as one more head",
    source="Dana, Pydi, Chevaleyre (2024), Section 4.1 and Appendix A.2 (proof of Theorem 1)",
    printed=(
        "For every invertible W_OV, with x' = W_OV^-1 x and one more head with W_QK = lambda I: "
        "x_S = W_OV sum_s a_s x'_s + o(exp(-lambda alpha)) for some alpha > 0, as lambda grows. So the skip connection "
        "is a head of inner dimension d: by Lemma 2 the augmented features A' have rank T_0, and solving for all "
        "outputs reaches E up to a slack gamma > 0."
    ),
    judgement="false",
    truth=(
        "The head converges to the mean of the x_s with the largest <x'_S, x'_s>: to x_S if <x'_S, x'_S - x'_s> > 0 "
        "for all s < S with x_s != x_S, which a long last position (or W_QK = lambda u u^T of rank one) forces; never "
        "where one such product is negative. It is not needed: an invertible change of basis x = x' M with "
        "[E, free columns] = X' M + Y' W_O, gamma = 0, exists if and only if rank [X', E, Y'] = rank [X', Y'] <= "
        "rank [E, Y'] + d - k, for E with k independent columns; if rank [X', Y'] = T_0 and k = d: if and only if "
        "rank [E, Y'] = T_0; and then, for T_0 = d + H d_h, det M = det [E, Y'] / det [X', Y']. "
        "On all N^2 contexts of S = 2, with d_h <= d <= N and N^2 <= d + H d_h, gamma = 0 for the laws of every E."
    ),
    page="docs/claims/skip_connection.md",
    hypotheses=(
        Hypothesis(
            "sizes of at least 1, and heads and a seed of at least 0",
            lambda tokens, length, width, head_width, heads, seed, **_: (
                min(tokens, length, width, head_width) >= 1 and min(heads, seed) >= 0
            ),
        ),
        Hypothesis("d_h <= d <= N", lambda tokens, width, head_width, **_: head_width <= width <= tokens),
        Hypothesis("S >= 2 or H = 0", lambda length, heads, **_: length >= 2 or heads == 0),
        Hypothesis(
            "d + H d_h <= N^S",
            lambda tokens, length, width, head_width, heads, **_: width + heads * head_width <= tokens**length,
        ),
        Hypothesis("d >= 2 or N <= 2", lambda tokens, width, **_: width >= 2 or tokens <= 2),
    ),
    parameters={"tokens": 5, "length": 2, "width": 4, "head_width": 2, "heads": 5, "seed": 0},
    build=_build,
)
