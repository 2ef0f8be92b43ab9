"""The rule of a table: equations modulo any number, and groups whose order the facts alone give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.memories.affine.affine_rule import affine_rule, solved
from constructions.tasks.arrays import all_contexts, array_task


@given(st.integers(2, 40), st.integers(1, 4), st.integers(1, 7), st.data())
def test_equations_are_solved_modulo_any_number(modulus, unknowns, equations, data):
    entry = st.integers(0, modulus - 1)
    rows = np.array([[data.draw(entry) for _ in range(unknowns)] for _ in range(equations)])
    hidden = np.array([data.draw(entry) for _ in range(unknowns)])
    found = solved(rows, rows @ hidden % modulus, modulus)
    assert found is not None and ((rows @ (found - hidden)) % modulus == 0).all()
    if modulus**unknowns <= 1000:
        values = np.array([data.draw(entry) for _ in range(equations)])
        tried = np.stack(np.unravel_index(np.arange(modulus**unknowns), (modulus,) * unknowns), axis=1)
        possible = ((tried @ rows.T - values) % modulus == 0).all(axis=1).any()
        found = solved(rows, values, modulus)
        assert (found is not None) == possible
        assert found is None or ((rows @ found - values) % modulus == 0).all()


@pytest.mark.parametrize("moduli", [(12,), (4, 6), (2, 2, 2)])
def test_every_fact_is_the_sum_of_what_its_tokens_add(moduli):
    size = int(np.prod(moduli))
    contexts = all_contexts(size, 2)
    total = [np.stack(np.unravel_index(column, moduli), axis=1) for column in contexts.T]
    labels = np.ravel_multi_index(tuple((sum(total) % moduli).T), moduli)
    order = np.random.default_rng(0).permutation(size)
    task = array_task(order[contexts], next_tokens=order[labels], target="labels")
    rule = affine_rule(task)
    assert np.prod(rule.moduli) == size and len(rule.moduli) <= len(moduli) and rule.follows.all() and rule.zero is None
    added = rule.tokens[0][task.contexts[:, 0]] + rule.tokens[1][task.contexts[:, 1]]
    assert ((added - rule.answers[task.labels]) % rule.moduli == 0).all()
    assert len(np.unique(rule.answers, axis=0)) == size


def test_tokens_absorb_into_one_answer_only():
    contexts = all_contexts(13, 2)
    products = contexts.prod(axis=1) % 13
    products[contexts[:, 0] == 3] = 7
    rule = affine_rule(array_task(contexts, next_tokens=products, target="labels"))
    assert rule.zero == 0 and np.argwhere(rule.absorbs).tolist() == [[0, 0], [1, 0]]
    assert rule.follows[products == 0].all()
