"""A table of sums solves every equation, or says that it has none."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from constructions.memories.probes import sparse_sums
from constructions.memories.probes.sparse_sums import table_of_sums


@given(st.integers(1, 80), st.integers(1, 4), st.floats(0.2, 0.95), st.integers(1, 14), st.integers(0, 2**32 - 1))
def test_what_is_found_solves_every_equation(count, probes, load, bits, seed):
    rng = np.random.default_rng(seed)
    size = int(count / load) + probes
    cells, wanted = rng.integers(0, size, (count, probes)), rng.integers(0, 1 << bits, count)
    table = table_of_sums(cells, wanted, size, bits, rng)
    if table is not None:
        assert (table >= 0).all() and (table < 1 << bits).all()
        assert ((table[cells].sum(axis=1) - wanted) % (1 << bits) == 0).all()


def test_a_core_is_eliminated_and_lifted():
    rng = np.random.default_rng(1)
    cells, wanted = rng.integers(0, 330, (300, 4)), rng.integers(0, 4096, 300)
    assert len(sparse_sums._peeled(cells, 330)[1]) > 200
    table = table_of_sums(cells, wanted, 330, 12, rng)
    assert table is not None and ((table[cells].sum(axis=1) - wanted) % 4096 == 0).all()


def test_equations_that_contradict_each_other_have_no_table():
    cells = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
    assert table_of_sums(cells, np.array([1, 2]), 4, 3, np.random.default_rng(0)) is None


def test_too_many_equations_are_not_eliminated(monkeypatch):
    monkeypatch.setattr(sparse_sums, "LARGEST_CORE", 10)
    rng = np.random.default_rng(1)
    assert table_of_sums(rng.integers(0, 330, (300, 4)), rng.integers(0, 9, 300), 330, 4, rng) is None
