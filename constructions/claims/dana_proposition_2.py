"""Proposition 2 of Dana et al.: N - 1 dimensions reach every law, and no fewer do.

Page: docs/claims/sequence_encoder.md
"""

import numpy as np
from flint import fmpz_mat

from constructions.arrays import Float64Array
from constructions.capacity.head_counts import fewest_heads
from constructions.claims.claim import Claim, Hypothesis
from constructions.errors import HypothesisError, require_at_least
from constructions.memories.memory import build_memory, default_heads
from constructions.models.construction import Construction
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task


def exact_factors(tokens: int) -> tuple[fmpz_mat, fmpz_mat]:
    r"""The integer matrices D and W with $E = L D$, $F = E W^\top$ for all laws at once.

    $D$ takes the logarithms to $\log \pi_{t,j} - \log \pi_{t,N}$, and $W^\top = [I \mid 0]$, so that
    $D W^\top = I - e_N \mathbf{1}^\top$ takes from each row of L its last entry, which the softmax does not see.

    Args:
        tokens: N, at least 1.

    Returns:
        D, `[N, N - 1]`, and W transposed, `[N - 1, N]`.

    Raises:
        InputError: N < 1.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 2.

    Example:
        >>> D, W_U = exact_factors(3)
        >>> D * W_U
        [ 1,  0, 0]
        [ 0,  1, 0]
        [-1, -1, 0]
    """
    require_at_least(1, tokens=tokens)
    rank = tokens - 1
    differences = [[int(i == j) - int(i == rank) for j in range(rank)] for i in range(tokens)]
    unembedding = [[int(i == j) for j in range(tokens)] for i in range(rank)]
    return (
        fmpz_mat(tokens, rank, [entry for row in differences for entry in row]),
        fmpz_mat(rank, tokens, [entry for row in unembedding for entry in row]),
    )


def gap_laws(tokens: int, rank: int, *, sharpness: int = 2) -> Float64Array:
    r"""Laws that no encoder of rank d reaches: d + 1 of them, each with more mass at a token of its own.

    The centred logarithms are multiples of $e_t - \mathbf{1}/N$, independent for $t = 1, \dots, d + 1 \le N - 1$.

    Args:
        tokens: N.
        rank: d < N - 1.
        sharpness: How many times the mass of the others the own token has, at least 2.

    Returns:
        Integers in proportion to the laws, `[d + 1, N]`.

    Raises:
        HypothesisError: d >= N - 1.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 2.

    Example:
        >>> gap_laws(3, 1).tolist()
        [[2.0, 1.0, 1.0], [1.0, 2.0, 1.0]]
    """
    if not 0 <= rank < tokens - 1:
        raise HypothesisError(
            "Dana et al. (2024), Proposition 2, converse", "0 <= d < N - 1", f"d = {rank}, N = {tokens}"
        )
    return np.ones((rank + 1, tokens)) + (sharpness - 1) * np.eye(rank + 1, tokens)


def build(*, tokens: int, length: int, head_width: int, seed: int) -> Construction[Task]:
    r"""Weights of $d = N - 1$ dimensions that hold random laws after all $N^S$ contexts, exactly but for rounding.

    Args:
        tokens: N, at least 2.
        length: S.
        head_width: $d_h \le N - 1$.
        seed: Of the laws and the weights.

    Returns:
        The weights, and the laws that they hold.

    Raises:
        InputError: An argument out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 2.

    Example:
        >>> build(tokens=3, length=2, head_width=1, seed=0).model.d_model
        2
    """
    task = enumerated_task(tokens, length, target="laws", seed=seed)
    width = tokens - 1
    alone = fewest_heads(task.contexts, d_model=width, d_head=head_width, with_skip=False).sufficient
    heads = default_heads(alone, task.n_contexts, head_width, "none")
    built = build_memory(task, d_model=width, d_head=head_width, n_heads=heads, seed=seed)
    return Construction(
        task,
        built.model,
        f"laws over N = {tokens} tokens after {task.n_contexts} contexts, exact in d = N - 1 = {width} dimensions, in "
        f"{heads} heads of width {head_width}",
    )


CLAIM = Claim(
    id="dana.proposition-2",
    title="N - 1 dimensions reach every law",
    source="Dana, Pydi, Chevaleyre (2024), Proposition 2",
    printed=(
        "If d >= N - 1, then d_KL(pi, L(N, S, d)) = 0 for every pi; if d < N - 1, there is a pi with "
        "d_KL(pi, L(N, S, d)) > 0."
    ),
    judgement="holds",
    truth=(
        "True, and sharper: under full support the infimum is 0 if and only if rank(diag(sqrt rho) L J) <= d, L the "
        "logarithms and J the uniform centring; it is 0 for all pi if and only if d >= min(N - 1, number of contexts "
        "with rho_t > 0). With s_i the singular values: c sum_{i>d} s_i^2 <= inf <= (1/4) sum_{i>d} s_i^2, where c > 0 "
        "is explicit (Theorem L), and sharper bounds weight the tokens."
    ),
    page="docs/claims/sequence_encoder.md",
    hypotheses=(
        Hypothesis(
            "sizes of at least 1 and a seed of at least 0",
            lambda tokens, length, head_width, seed, **_: min(tokens, length, head_width) >= 1 and seed >= 0,
        ),
        Hypothesis("S >= 2 (features of rank N^S)", lambda length, **_: length >= 2),
        Hypothesis("N >= 2", lambda tokens, **_: tokens >= 2),
        Hypothesis("d_h <= d = N - 1", lambda tokens, head_width, **_: head_width <= tokens - 1),
    ),
    parameters={"tokens": 5, "length": 2, "head_width": 2, "seed": 0},
    build=build,
)
