r"""Section 2 of Dana et al.: heads wider than the stream compute nothing more, and store more numbers.

Page: docs/claims/parameters.md
"""

from dataclasses import replace

import numpy as np

from constructions.claims.claim import Claim
from constructions.models.model import Model

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


def folded(network: Model) -> Model:
    """The same network with heads as wide as the stream: each holds its two products, and identities.

    Args:
        network: A rational network of one attention, with heads of any widths.

    Returns:
        A network with $d_h = d_{qk} = d$ and the same logits.

    Example:
        >>> from constructions.models.exact_network import ExactFrontEnd, as_rationals, exact_network
        >>> two, wide = as_rationals([[1], [2]]), as_rationals([[1, 2, 3]])
        >>> front_end = ExactFrontEnd(two, two, (wide,), (wide,), (wide,))
        >>> found = folded(exact_network(front_end, (wide.transpose(),), two.transpose()))
        >>> front_end.d_head, found.d_head, found.W_V.tolist()
        (3, 1, [[[14]]])
    """
    given = network.attention
    same = np.stack([np.eye(given.d_model, dtype=np.int64).astype(object)] * given.n_heads)
    W_Q, W_V = given.W_Q @ given.W_K.transpose(0, 2, 1), given.W_V @ given.W_O
    return replace(network, blocks=(replace(given, W_Q=W_Q, W_K=same, W_V=W_V, W_O=same),))
