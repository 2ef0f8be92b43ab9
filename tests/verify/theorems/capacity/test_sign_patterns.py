"""The count of the labellings that heads can have."""

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.theorems.capacity.sign_patterns import heads_for_every_labelling


@given(st.integers(1, 6), st.integers(1, 12))
def test_the_count_excludes_one_head_fewer_and_no_more(d_vocab, n_ctx):
    n_heads, contexts = heads_for_every_labelling(d_vocab, n_ctx), d_vocab ** (n_ctx - 1)
    free = 2 * (n_ctx - 1) * (d_vocab - 1) + 1
    if contexts == 1:
        assert n_heads == 0
        return

    def too_few(count):
        variables = count * free
        if count == 0:
            return True  # one distribution for all contexts
        with mpmath.workprec(300):
            patterns = variables * mpmath.log(4 * mpmath.e * count * contexts / mpmath.mpf(variables), 2)
            return contexts >= variables and patterns < contexts

    assert too_few(n_heads - 1)
    assert not too_few(n_heads)


def test_the_heads_grow_exponentially():
    found = [heads_for_every_labelling(2, n_ctx) for n_ctx in (8, 16, 32, 64)]
    assert found[:2] == [2, 79]
    assert found[2] > 10**6
    assert found[3] > 10**15
    for n_ctx, n_heads in zip((8, 16, 32, 64), found, strict=True):
        free = 2 * n_ctx - 1
        assert n_heads >= 2 ** (n_ctx - 1) / (free * (n_ctx + 2.45 - math.log2(free)))


def test_one_context_needs_no_head():
    assert heads_for_every_labelling(1, 9) == 0
    assert heads_for_every_labelling(9, 1) == 0
    for d_vocab, n_ctx in ((0, 1), (1, 0)):
        with pytest.raises(InputError, match="at least 1"):
            heads_for_every_labelling(d_vocab, n_ctx)
