r"""Section 2 of Dana et al.: heads wider than the stream compute nothing more, and store more numbers.

Page: docs/claims/parameters.md
"""

from flint import fmpq_mat

from constructions.claims.claim import Claim
from constructions.models.exact_network import ExactFrontEnd, ExactNetwork, as_rationals

CLAIM = Claim(
    id="dana.head-width",
    title="Heads wider than the stream",
    source="Dana, Pydi, Chevaleyre (2024), section 2",
    printed=(
        "Since W_O, W_V and W_Q, W_K are multiplied together, d_h <= d lowers their rank to d_h; d_h > d leaves them "
        "of full rank, and is suboptimal compared to d = d_h."
    ),
    judgement="holds",
    truth=(
        "The products have rank [[rank: min(d, d_h)]] at most, and reach it. A head with d_h > d is one with d_h = d "
        "that has the products for its W_Q and W_V and the identity for W_K and W_O: the logits are the same, and "
        "[[saved: 4 d (d_h - d)]] numbers fewer are stored for each head."
    ),
    page="docs/claims/parameters.md",
)


def folded(network: ExactNetwork) -> ExactNetwork:
    """The same network with heads as wide as the stream: each holds its two products, and identities.

    Args:
        network: A rational network with heads of any widths.

    Returns:
        A network with $d_h = d_{qk} = d$ and the same logits.

    Page: docs/claims/parameters.md

    Example:
        >>> two, wide = as_rationals([[1], [2]]), as_rationals([[1, 2, 3]])
        >>> front_end = ExactFrontEnd(two, two, (wide,), (wide,), (wide,))
        >>> found = folded(ExactNetwork(front_end, (wide.transpose(),), two.transpose()))
        >>> front_end.d_head, found.front_end.d_head, found.front_end.W_V
        (3, 1, ([14],))
    """
    given, width = network.front_end, network.front_end.d_model
    identity = as_rationals([[int(i == j) for j in range(width)] for i in range(width)])
    bilinear = tuple(query * key.transpose() for query, key in zip(given.W_Q, given.W_K, strict=True))
    written: list[fmpq_mat] = [value * output for value, output in zip(given.W_V, network.W_O, strict=True)]
    same = (identity,) * given.n_heads
    return ExactNetwork(ExactFrontEnd(given.W_E, given.W_pos, bilinear, same, tuple(written)), same, network.W_U)
