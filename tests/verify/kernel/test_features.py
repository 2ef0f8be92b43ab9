"""Features and attention weights in balls are those of the definitions, of models that have them and of no others."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import models
from constructions.model.blocks import Normalization
from constructions.model.model import Model
from constructions.model.shapes import dana_network, is_dana_network, is_heads_alone, is_mahdavi_layer
from constructions.tasks.arrays import array_task
from constructions.tasks.task import Task as Written
from constructions.tasks.vectors import VectorTask
from tests.balls import contains
from tests.corpus import definitions
from tests.layers import random_layer, random_layer_task
from tests.verify.kernel.test_walk import kernel_model
from verify.kernel.features import HEADS_ALONE, LAYER, NETWORK, columns, features, largest_weights, shape
from verify.kernel.task import Task, read_task

CONTEXTS = np.array([[0, 1, 2], [1, 1, 1], [2, 0, 1], [0, 0, 2], [1, 2, 1]])


def read(task: Written | VectorTask) -> Task:
    with tempfile.TemporaryDirectory() as name:
        task.save(Path(name) / "task.safetensors")
        return read_task(Path(name))


def network(seed: int, n_heads: int = 2, *, skip: bool = True) -> tuple[Model, Written]:
    rng = np.random.default_rng(seed)
    shapes = dict(W_E=(3, 4), W_pos=(3, 4), W_Q=(n_heads, 4, 2), W_K=(n_heads, 4, 2), W_V=(n_heads, 4, 3),
                  W_O=(n_heads, 3, 4), W_U=(4, 3))  # fmt: skip
    model = dana_network(**{name: rng.standard_normal(size) for name, size in shapes.items()})
    answers = rng.integers(0, 3, len(CONTEXTS))
    return changed(model, skip=skip), array_task(CONTEXTS, next_tokens=answers, vocabulary=3, target="labels")


def changed(model: Model, **options: Any) -> Model:
    """The model with other options of its one attention."""
    return replace(model, blocks=(replace(model.attention, **options),))


@given(st.integers(0, 2**32), st.integers(0, 3), st.booleans())
def test_features_of_tokens(seed: int, n_heads: int, with_skip: bool) -> None:
    model, task = network(seed, n_heads)
    found = features(kernel_model(model), read(task), 128, with_skip=with_skip)
    with mpmath.workprec(600):
        agree(found, definitions.features(model, task, with_skip=with_skip))
    assert {len(row) for row in found} == {columns(kernel_model(model), with_skip=with_skip)}


@given(st.integers(0, 2**32), st.booleans())
def test_features_and_weights_of_vectors(seed: int, shared: bool) -> None:
    model, task = random_layer(seed=seed), random_layer_task(seed=seed, shared=shared)
    own = read(task)
    found = features(kernel_model(model), own, 128, with_skip=False)
    weights = largest_weights(kernel_model(model), own, 128)
    assert {len(row) for row in found} == {columns(kernel_model(model), with_skip=False)}
    with mpmath.workprec(600):
        agree(found, definitions.features(model, task, with_skip=False))
        exact = [
            [max(head) for head in definitions.attended(model.attention, rows, definitions.exact(task.queries[i]))]
            for i in range(task.n_examples)
            for rows in [[definitions.exact(row) for row in task.context(i)]]
        ]
        by_head = [[row[h] for row in exact] for h in range(model.n_heads)]
        agree([weights], [[x for head in by_head for x in head]])


def agree(balls: list[list[arb]], exact: list) -> None:
    for row, numbers in zip(balls, exact, strict=True):
        assert all(contains(ball, x) and ball.rad() < 1e-20 for ball, x in zip(row, numbers, strict=True))


@given(models())
def test_shapes_are_those_of_the_prover(model: Model) -> None:
    task = read(network(0)[1] if model.reads_tokens else random_layer_task())
    of_shapes = {NETWORK: is_dana_network, HEADS_ALONE: is_heads_alone, LAYER: is_mahdavi_layer}
    expected = [name for name, is_so in of_shapes.items() if is_so(model)]
    assert shape(kernel_model(model), task) == (expected[0] if expected else None)


NORM = Normalization("rms", np.ones(4), epsilon=0.1)
MORE: dict[str, dict[str, Any]] = {
    "a norm": {"norm": NORM},
    "more rows": {"attends": "causal"},
    "a root": {"score_root": 4},
    "shifts": {"b_V": np.ones((2, 3))},
    "a shift": {"b_O": np.ones(4)},
    "a limit": {"clip": 1.0},
    "slopes": {"slopes": np.ones(2)},
    "a norm behind it": {"post_norm": NORM},
}


@pytest.mark.parametrize("options", MORE.values(), ids=MORE)
def test_an_attention_with_more_to_it_has_no_features(options: dict[str, Any]) -> None:
    model, written = network(0)
    task = read(written)
    assert shape(kernel_model(model), task) == NETWORK
    assert shape(kernel_model(changed(model, skip=False)), task) == HEADS_ALONE
    assert shape(kernel_model(changed(model, **options)), task) is None
    assert shape(kernel_model(replace(model, b_U=np.ones(3))), task) is None
