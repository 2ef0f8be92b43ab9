"""All assumptions together."""

import numpy as np
import pytest

from constructions.errors import InputError
from tests.layers import random_examples
from verify.theorems.saturated_layers.assumptions import assess_assumptions
from verify.verdict import Verdict


def test_generic_data_satisfy_everything():
    found = assess_assumptions(*random_examples())
    assert found.queries.verdict is found.contexts.verdict is found.shifted.verdict is Verdict.PROVED
    assert found.blocks is not None and found.blocks.verdict is Verdict.PROVED and found.n_heads == 6


def test_each_assumption_can_fail_alone():
    contexts, queries = random_examples()
    same = queries.copy()
    same[1] = 2 * same[0]
    found = assess_assumptions(contexts, same)
    assert found.blocks is not None
    assert [found.queries.verdict, found.blocks.verdict] == [Verdict.REFUTED, Verdict.REFUTED]
    assert found.contexts.verdict is found.shifted.verdict is Verdict.PROVED
    flat = contexts.copy()
    flat[3, 2] = flat[3, 0] - flat[3, 1]
    found = assess_assumptions(flat.round(2), queries)
    assert found.queries.verdict is Verdict.PROVED
    pair, asked = np.array([[[1.0, 0, 0], [-3, 0, 1]], [[0, 1, 0], [0, -3, 1]]]), np.eye(2, 3)
    found = assess_assumptions(pair, asked)
    assert found.queries.verdict is found.contexts.verdict is Verdict.PROVED
    assert found.shifted.verdict is Verdict.REFUTED


def test_a_sample_refutes_but_never_proves():
    contexts, queries = random_examples(30, 6, 8)
    found = assess_assumptions(contexts, queries, most_prefixes=0, samples=200)
    assert found.queries.verdict is Verdict.UNDECIDED and found.queries.sample is not None
    queries[:, 4:] = 0.0
    queries[0, 5:] = 1.0
    found = assess_assumptions(contexts, queries, most_prefixes=0, samples=200)
    assert found.queries.verdict is Verdict.REFUTED


def test_one_token_holds_one_example():
    contexts, queries = random_examples(4, 1, 3)
    assert assess_assumptions(contexts, queries).blocks is None
    assert assess_assumptions(contexts[:1], queries[:1]).blocks is not None


def test_fewer_heads_are_judged_on_the_examples_they_hold():
    found = assess_assumptions(*random_examples(), n_heads=2)
    assert found.blocks is not None and sum(map(len, found.blocks.blocks)) == 5
    with pytest.raises(InputError, match="n_heads = 0"):
        assess_assumptions(*random_examples(), n_heads=0)
