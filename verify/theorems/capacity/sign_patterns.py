"""Bound how many heads every labelling needs, by counting the labellings that a number of heads can have.

Page: docs/claims/labels_beyond_heads.md
"""

from flint import arb, ctx

from constructions.errors import InputError

_BITS = 128


def heads_for_every_labelling(d_vocab: int, n_ctx: int) -> int:
    r"""Return a number of heads of any widths that some two-token labelling needs.

    On the $m = N^{S-1}$ contexts with one last token the difference of two logits of H heads has the signs of m
    polynomials of degree H in $n = H (2 \tau - 1)$ variables, $\tau = (S-1)(N-1) + 1$; where an order decides between
    equal logits, after a small constant was added to one of them. By Warren's theorem, for $m \ge n$, these have at
    most $(4 e H m / n)^n$ patterns of signs without zeros, while there are $2^m$ labellings. So

    $$ H \ge \frac{m}{(2 \tau - 1) \log_2 (4 e m / (2 \tau - 1))} . $$

    Rigorous because the quotient is enclosed in balls and the number returned is no larger than it, rounded up.

    Args:
        d_vocab: Size of the vocabulary N.
        n_ctx: Length of the contexts S.

    Returns:
        The smallest number of heads that the bound leaves open.

    Raises:
        InputError: Sizes below 1.

    Source: Warren (1968), Theorem 3.

    Example:
        >>> [heads_for_every_labelling(2, n_ctx) for n_ctx in (4, 8, 12, 16, 20)]
        [1, 2, 9, 79, 784]
    """
    if d_vocab < 1 or n_ctx < 1:
        raise InputError("d_vocab", f"= {d_vocab} and n_ctx = {n_ctx}", "at least 1")
    contexts = d_vocab ** (n_ctx - 1)
    if contexts == 1:
        return 0
    parameters = 2 * (n_ctx - 1) * (d_vocab - 1) + 1
    with ctx.workprec(_BITS):
        ratio = arb(contexts) / parameters
        least = ratio * arb(2).log() / (4 * arb(1).exp() * ratio).log()
        # Rounding up a lower bound can only stay below what the theorem says; a ball without an integer says nothing.
        heads = least.lower().ceil().unique_fmpz()
    return 1 if heads is None else max(1, int(heads))
