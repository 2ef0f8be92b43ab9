"""Theorem 1: what is built holds its labels, and hypotheses are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.claims.mahdavi_theorem_1 import CLAIM, build, labelled, narrow_values
from constructions.errors import HypothesisError, InputError
from constructions.models.construction import Construction
from constructions.models.vector_attention import outputs
from constructions.saturated.layer_readout import layer_with_read_out
from constructions.saturated.random_heads import random_heads
from constructions.tasks.vectors import VectorTask


def holds(made: Construction[VectorTask]) -> bool:
    found = outputs(made.model, made.task)
    if made.task.kind == "classification":
        return bool((found.argmax(axis=1) == made.task.classes).all())
    return bool(np.abs(found - made.task.labels).max() < 1e-6)


@pytest.mark.parametrize("seed", [22, 30, 80])
def test_heads_are_drawn_again_where_float64_misses_a_label(seed: int) -> None:
    sizes = {"heads": 2, "tokens": 4, "width": 4, "head_width": 2, "examples": 0, "shared": 1}
    assert holds(build(**sizes, outputs=1, classes=0, seed=seed))


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_labels_are_held_down_to_the_smallest_sizes(heads: int, tokens: int, data: st.DataObject) -> None:
    parameters = {
        "heads": heads,
        "tokens": tokens,
        "width": data.draw(st.integers(tokens, tokens + 3)),
        "head_width": data.draw(st.integers(1, tokens + 1)),
        "examples": data.draw(st.integers(0, heads * (tokens - 1) + 1)),
        "shared": data.draw(st.integers(0, 1)),
        "outputs": data.draw(st.integers(1, 3)),
        "classes": data.draw(st.sampled_from([0, 2, 3, 7])),
        "seed": data.draw(st.integers(0, 99)),
    }
    CLAIM.require(**parameters)
    made = build(**parameters)
    assert holds(made)
    assert made.task.n_examples == (parameters["examples"] or heads * (tokens - 1) + 1)
    assert (made.model.n_heads, made.model.d_qk) == (heads, parameters["head_width"])
    assert f"H = {heads}" in made.summary


def test_the_default_parameters_are_allowed_and_cover_the_construction() -> None:
    CLAIM.require(**CLAIM.parameters)
    made = build(**{**CLAIM.parameters, "heads": 3, "tokens": 8, "width": 16, "head_width": 8})
    assert made.task.n_examples == 22 and holds(made)


def test_one_seed_is_one_layer_and_another_is_another() -> None:
    sizes = {"heads": 3, "tokens": 3, "width": 4, "head_width": 2, "examples": 4, "shared": 1}
    hashes = [build(**sizes, seed=seed).model.sha256() for seed in (0, 0, 1)]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize(
    ("changed", "hypothesis"),
    [
        ({"examples": 622}, r"T <= H \(n - 1\) \+ 1"),
        ({"examples": -1}, r"T <= H"),
        ({"classes": 1}, r"classes is 0 or"),
        ({"shared": 2}, r"shared is 0 or 1"),
        ({"seed": -1}, r"seed >= 0"),
        ({"width": 31}, "n <= d"),
        ({"head_width": 0}, "d_h >= 1"),
        ({"outputs": 0}, "d_out >= 1"),
    ],
)
def test_each_hypothesis_is_refused(changed: dict[str, int], hypothesis: str) -> None:
    with pytest.raises(HypothesisError, match=hypothesis):
        CLAIM.construct(**changed)


def test_arguments_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="shared = 2"):
        build(heads=1, tokens=1, width=1, head_width=1, examples=1, shared=2)
    for options in ({"outputs": 0}, {"classes": 1}, {"classes": -1}):
        with pytest.raises(InputError, match="expected outputs >= 1 and classes 0 or >= 2"):
            labelled(np.eye(2)[None], np.eye(2), **options)


def test_the_counterexample_is_refused_by_the_repaired_theorem() -> None:
    task = narrow_values()
    maps = random_heads(task.contexts, task.queries, n_heads=1, d_head=2)
    with pytest.raises(HypothesisError, match="d_out <= min"):
        layer_with_read_out(task, *maps, d_value=1, d_inner=2)
