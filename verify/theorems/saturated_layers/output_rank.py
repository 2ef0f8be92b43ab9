r"""Bound the rank of a layer's outputs by the widths of its values and outputs, for all weights.

Page: docs/claims/saturated_heads.md
"""

from constructions.errors import InputError


def output_rank_ceiling(*, n_heads: int, d_value: int, d_inner: int) -> int:
    r"""Return an upper bound of the rank of the outputs $Z \, W_V W_O W_D$, for all weights of these widths.

    The outputs are a product through H heads of width $d_v$, and then through $d_o$ dimensions.

    Args:
        n_heads: H.
        d_value: $d_v$.
        d_inner: $d_o$.

    Returns:
        $\min(H d_v, d_o)$.

    Raises:
        InputError: A size below 1.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Theorem 1.

    Example:
        >>> output_rank_ceiling(n_heads=1, d_value=1, d_inner=2)
        1
    """
    if min(n_heads, d_value, d_inner) < 1:
        raise InputError("n_heads", f"= {n_heads}, d_value = {d_value}, d_inner = {d_inner}", "at least 1")
    return min(n_heads * d_value, d_inner)
