"""The matrix of the counts, against sequences that are counted one by one."""

from itertools import permutations

import pytest

from constructions.errors import InputError
from verify.theorems.capacity.counting_matrix import counted_sequences, counting_matrix, counting_rank


@pytest.mark.parametrize(("n_ctx", "largest"), [(2, 1), (2, 2), (3, 1)])
def test_sequences_are_counted_as_they_are_listed(n_ctx, largest):
    n = 2
    for first in range(1, n_ctx + 1):
        if sum(n**k for k in range(1, n_ctx + 1) if k != largest) > 8:
            n = 1
        memorized = [k for k in range(1, n_ctx + 1) if k != largest for _ in range(n**k - (k == first))]
        listed = {(first, *rest) for rest in permutations(memorized)}
        assert counted_sequences(n, n_ctx=n_ctx, largest=largest, first=first) == len(listed)


@pytest.mark.parametrize("largest", [1, 2, 3, 4])
def test_the_column_of_the_largest_is_the_sum_of_the_others(largest):
    for row in counting_matrix(n_ctx=4, d_model=5, largest=largest).tolist():
        assert 2 * row[largest - 1] == sum(row)
    assert counting_rank(n_ctx=4, d_model=5, largest=largest) == 3
    assert counting_rank(n_ctx=4, d_model=2, largest=largest) == 2


def test_an_index_that_is_none_is_refused():
    with pytest.raises(InputError, match="largest = 3"):
        counting_matrix(n_ctx=2, d_model=1, largest=3)
