"""Build encoders and unembeddings with given integer logits, and distributions with a gap.

Page: docs/claims/sequence_encoder.md
"""

import numpy as np
from flint import fmpz_mat

from constructions.errors import HypothesisError, require_at_least
from constructions.numeric.arrays import Float64Array


def exact_factors(d_vocab: int) -> tuple[fmpz_mat, fmpz_mat]:
    r"""Return the integer matrices D and W with $E = L D$, $F = E W^\top$ for all distributions at once.

    $D$ takes the logarithms to $\log \pi_{t,j} - \log \pi_{t,N}$, and $W^\top = [I \mid 0]$, so that
    $D W^\top = I - e_N \mathbf{1}^\top$ takes from each row of L its last entry, which the softmax does not see.

    Args:
        d_vocab: N, at least 1.

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
    require_at_least(1, d_vocab=d_vocab)
    rank = d_vocab - 1
    differences = [[int(i == j) - int(i == rank) for j in range(rank)] for i in range(d_vocab)]
    unembedding = [[int(i == j) for j in range(d_vocab)] for i in range(rank)]
    return (
        fmpz_mat(d_vocab, rank, [entry for row in differences for entry in row]),
        fmpz_mat(rank, d_vocab, [entry for row in unembedding for entry in row]),
    )


def gap_distributions(d_vocab: int, rank: int) -> Float64Array:
    r"""Return d + 1 distributions that no encoder of rank d reaches, each with twice the mass at its own token.

    The centred logarithms are multiples of $e_t - \mathbf{1}/N$, independent for $t = 1, \dots, d + 1 \le N - 1$.

    Args:
        d_vocab: N.
        rank: d < N - 1.

    Returns:
        Integers in proportion to the distributions, `[d + 1, N]`.

    Raises:
        HypothesisError: d >= N - 1.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 2.

    Example:
        >>> gap_distributions(3, 1).tolist()
        [[2.0, 1.0, 1.0], [1.0, 2.0, 1.0]]
    """
    if not 0 <= rank < d_vocab - 1:
        raise HypothesisError(
            "Dana et al. (2024), Proposition 2, converse", "0 <= d < N - 1", f"d = {rank}, N = {d_vocab}"
        )
    return np.ones((rank + 1, d_vocab)) + np.eye(rank + 1, d_vocab)
