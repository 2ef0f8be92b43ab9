"""Labels of uniform examples are memorized down to the smallest sizes, on one context, on many, beside a skip
connection.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.model.construction import Construction
from constructions.model.vector_attention import outputs
from constructions.saturated_layers.uniform_memory import shared_context_memory, skip_connection_memory, uniform_memory
from constructions.tasks.vectors import VectorTask


def holds(made: Construction[VectorTask]) -> bool:
    found = outputs(made.model, made.task)
    if made.task.kind == "classification":
        return bool((found.argmax(axis=1) == made.task.classes).all())
    return bool(np.abs(found - made.task.labels).max() < 1e-6)


@pytest.mark.parametrize("seed", [22, 30, 80])
def test_heads_are_drawn_again_where_float64_misses_a_label(seed: int) -> None:
    sizes = {"n_heads": 2, "n_ctx": 4, "d_model": 4, "d_head": 2, "examples": 0, "shared": 1}
    assert holds(uniform_memory(**sizes, outputs=1, classes=0, seed=seed))


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_labels_are_memorized_down_to_the_smallest_sizes(n_heads: int, tokens: int, data: st.DataObject) -> None:
    parameters = {
        "n_heads": n_heads,
        "n_ctx": tokens,
        "d_model": data.draw(st.integers(tokens, tokens + 3)),
        "d_head": data.draw(st.integers(1, tokens + 1)),
        "examples": data.draw(st.integers(0, n_heads * (tokens - 1) + 1)),
        "shared": data.draw(st.integers(0, 1)),
        "outputs": data.draw(st.integers(1, 3)),
        "classes": data.draw(st.sampled_from([0, 2, 3, 7])),
        "seed": data.draw(st.integers(0, 99)),
    }
    made = uniform_memory(**parameters)
    assert holds(made)
    assert made.task.n_examples == (parameters["examples"] or n_heads * (tokens - 1) + 1)
    assert (made.model.n_heads, made.model.d_qk) == (n_heads, parameters["d_head"])
    assert f"H = {n_heads}" in made.summary


def test_a_shared_context_is_memorized_at_the_bound() -> None:
    made = shared_context_memory(n_heads=3, n_ctx=5, d_model=7, d_head=5)
    assert made.task.contexts.shape == (1, 5, 7) and made.task.n_examples == 3 * 4 + 1 and holds(made)


@pytest.mark.parametrize("shared", [0, 1])
def test_what_the_skip_connection_adds_is_subtracted(shared: int) -> None:
    made = skip_connection_memory(n_heads=3, n_ctx=4, d_model=8, d_head=4, outputs=2, shared=shared)
    assert made.task.n_examples == 3 * 3 + 1 and holds(made)
    labels = made.task.labels + made.task.queries @ made.model.W_U
    assert np.allclose(labels, made.task.labels + made.task.queries[:, :2])


def test_a_context_is_shared_or_not() -> None:
    with pytest.raises(InputError, match="shared = 2"):
        uniform_memory(n_heads=1, n_ctx=1, d_model=1, d_head=1, examples=1, shared=2)
