"""Ranks of quadratic forms by elimination over GF(2), for the tests."""

import numpy as np


def alternating_matrix(form):
    """B(e_i, e_j) = Q(e_i + e_j) + Q(e_i) + Q(e_j), after a check that Q is a quadratic form with Q(0) = 0."""
    m = len(form).bit_length() - 1
    units = 1 << np.arange(m)
    matrix = (form[units[:, None] ^ units] + form[units][:, None] + form[units]) % 2
    np.fill_diagonal(matrix, 0)
    bits = np.arange(len(form))[:, None] >> np.arange(m) & 1
    values = (np.einsum("xi,ij,xj->x", bits, np.triu(matrix), bits) + bits @ form[units]) % 2
    assert form[0] == 0 and np.array_equal(values, form % 2)
    return matrix


def rank_over_gf2(matrix):
    rows, rank = [int("".join(map(str, row)), 2) for row in matrix.tolist()], 0
    while rows:
        pivot = rows.pop()
        if pivot:
            rank += 1
            lowest = pivot & -pivot
            rows = [row ^ pivot if row & lowest else row for row in rows]
    return rank


def least_rank_of_differences(forms):
    matrices = [alternating_matrix(form) for form in forms]
    return min(rank_over_gf2(a ^ b) for i, a in enumerate(matrices) for b in matrices[:i])
