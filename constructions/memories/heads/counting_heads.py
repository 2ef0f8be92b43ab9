"""Memorize labels that depend only on the number of ones, with as many heads as the labels change.

Page: docs/claims/heads_of_any_width.md
"""

import math
from collections.abc import Sequence

import numpy as np
from flint import fmpq, fmpq_mat

from constructions.errors import InputError, require_at_least
from constructions.model.exact_network import ExactFrontEnd, exact_network
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array


def bit_contexts(bits: int) -> Int64Array:
    """Return all contexts of bits with the last token 0, `[2^n, n + 1]`.

    Args:
        bits: $n$, at least 1.

    Returns:
        The contexts, in the order of binary numbers.

    Raises:
        InputError: No bits.

    Example:
        >>> bit_contexts(2).tolist()
        [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]]
    """
    require_at_least(1, bits=bits)
    numbers = np.arange(2**bits)[:, np.newaxis]
    return np.hstack([numbers >> np.arange(bits - 1, -1, -1) & 1, np.zeros_like(numbers)])


def counting_heads(labels: Sequence[int]) -> Model:
    r"""Memorize labels of bits $b_1 \dots b_n 0$ that depend only on the number m of ones, in rationals.

    Let the label change H times as m goes from 0 to n. Head $h = 1..H$ gives the token 1 the score $h \ln 2$ and all
    else 0, and reads a flag of the last position: it writes $c_h / D_h(m)$, $D_h(m) = n + 1 + (2^h - 1) m$. With the
    constant of the skip connection the flag is $1 + \sum_h c_h / D_h(m) = P(m) / \prod_h D_h(m)$, where $c_h$ are the
    partial fractions of the polynomial P of degree H with the leading coefficient $\prod_h (2^h - 1)$ and a root half
    way wherever the label changes.

    Args:
        labels: The label, 0 or 1, of every number of ones, `[n + 1]`, $n \ge 1$.

    Returns:
        The rational model: $d = 2$, $d_h$ = `d_qk` = 1, H heads (a silent one if the label never changes).

    Raises:
        InputError: Other labels, or fewer than two.

    Example:
        >>> from verify.forward.in_rationals import exact_network_logits
        >>> exact_network_logits(counting_heads([0, 1, 0]), bit_contexts(2))
        [  1/4,  -1/4]
        [-1/32,  1/32]
        [-1/32,  1/32]
        [ 1/20, -1/20]
    """
    n = len(labels) - 1
    if n < 1 or any(label not in (0, 1) for label in labels):
        raise InputError("labels", f"= {list(labels)}", "0 or 1 for every number of ones, 0 .. n with n >= 1")
    roots = [fmpq(2 * m + 1, 2) for m in range(n) if labels[m] != labels[m + 1]]
    slopes = [2**h - 1 for h in range(1, len(roots) + 1)]
    scale = math.prod(slopes)
    outputs = []
    for h, slope in enumerate(slopes):
        pole = fmpq(-(n + 1), slope)
        above = math.prod((pole - root for root in roots), start=fmpq(scale))
        below = math.prod((n + 1 + other * pole for g, other in enumerate(slopes) if g != h), start=fmpq(1))
        outputs.append(above / below)
    front_end = ExactFrontEnd(
        W_E=fmpq_mat(2, 2, [0, 0, 1, 0]),
        W_pos=fmpq_mat(n + 1, 2, [0] * (2 * n) + [0, 1]),
        W_Q=tuple(fmpq_mat(2, 1, [0, h]) for h in range(1, len(slopes) + 1)),
        W_K=(fmpq_mat(2, 1, [1, 0]),) * len(slopes),
        W_V=(fmpq_mat(2, 1, [0, 1]),) * len(slopes),
    )
    sign = 1 if labels[n] == 0 else -1
    return exact_network(front_end, [fmpq_mat(1, 2, [0, c]) for c in outputs], fmpq_mat(2, 2, [0, 0, sign, -sign]))


def parity_labels(bits: int, n_heads: int) -> list[int]:
    r"""Return the labels of the counts 0..n with at most H changes that agree with parity on the most contexts.

    The $H + 1$ counts in the middle have their parity; beyond them the label stays.

    Args:
        bits: $n$, at least 1.
        n_heads: $H$, at least 0; n or more heads have room for all changes.

    Returns:
        `[n + 1]`, 0 or 1.

    Raises:
        InputError: Numbers below these.

    Example:
        >>> parity_labels(5, 2), parity_labels(5, 9)
        ([1, 1, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1])
    """
    require_at_least(1, bits=bits)
    require_at_least(0, n_heads=n_heads)
    changes = min(n_heads, bits)
    first = (bits - changes) // 2
    return [min(max(m, first), first + changes) % 2 for m in range(bits + 1)]
