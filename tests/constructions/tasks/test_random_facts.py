"""Random contexts differ, repeat with the seed, and are refused where there are too few."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.tasks.random_facts import drawn_contexts, random_contexts, random_facts


@given(tokens=st.integers(1, 4), n_ctx=st.integers(1, 4), seed=st.integers(0, 99), data=st.data())
def test_contexts_differ_and_repeat_with_the_seed(tokens: int, n_ctx: int, seed: int, data: st.DataObject) -> None:
    facts = data.draw(st.integers(1, tokens**n_ctx))
    given = {"d_vocab": tokens, "n_ctx": n_ctx, "facts": facts, "seed": seed}
    contexts = random_contexts(**given)
    assert contexts.shape == (facts, n_ctx) and contexts.min() >= 0 and contexts.max() < tokens
    assert len(np.unique(contexts, axis=0)) == facts
    assert np.array_equal(contexts, random_contexts(**given))
    task = random_facts(**given)
    assert np.array_equal(task.contexts, contexts) and task.target == "labels"


@pytest.mark.parametrize(("tokens", "n_ctx", "facts"), [(2, 2, 5), (2, 2, 0), (2, 21, 1)])
def test_contexts_that_are_too_few_or_too_many_are_refused(tokens: int, n_ctx: int, facts: int) -> None:
    with pytest.raises(InputError, match=rf"facts = {facts}, of {tokens**n_ctx} contexts"):
        random_contexts(d_vocab=tokens, n_ctx=n_ctx, facts=facts, seed=0)


@given(tokens=st.integers(1, 4), n_ctx=st.integers(1, 4), seed=st.integers(0, 99), data=st.data())
def test_drawn_contexts_are_in_order_and_all_without_a_number(
    tokens: int, n_ctx: int, seed: int, data: st.DataObject
) -> None:
    facts = data.draw(st.integers(0, tokens**n_ctx))
    contexts = drawn_contexts(tokens, n_ctx, facts, seed).tolist()
    assert len(contexts) == (facts or tokens**n_ctx)
    assert contexts == sorted(contexts) and len(set(map(tuple, contexts))) == len(contexts)


@pytest.mark.parametrize(("tokens", "n_ctx", "facts"), [(2, 2, 5), (2, 2, -1), (0, 2, 0), (2, 0, 0), (2, 62, 1)])
def test_contexts_that_cannot_be_drawn_are_refused(tokens: int, n_ctx: int, facts: int) -> None:
    with pytest.raises(InputError, match=r"facts|d_vocab"):
        drawn_contexts(tokens, n_ctx, facts, 0)
