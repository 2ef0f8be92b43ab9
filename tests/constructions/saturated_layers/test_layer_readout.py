"""The read-out puts out the labels, in every format as well as that format allows, and refuses too narrow widths."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.model.shapes import mahdavi_layer, mahdavi_tensors
from constructions.model.vector_attention import mixed_matrix, outputs
from constructions.saturated_layers.layer_readout import (
    Format,
    label_code,
    layer_with_read_out,
    mixed_matrix_in,
    outputs_in,
    read_out,
)
from constructions.saturated_layers.random_heads import random_heads
from constructions.saturated_layers.saturated_heads import saturated_heads
from constructions.tasks.vectors import VectorTask
from tests.constructions.mahdavi_examples import layer_examples


@given(layer_examples(), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2))
def test_labels_come_out(made, d_out: int, more_value: int, more_inner: int) -> None:
    contexts, queries, n_heads, width = made
    found = saturated_heads(contexts, queries, n_heads=n_heads, d_head=width)
    labels = np.random.default_rng(0).uniform(-1, 1, size=(len(queries), d_out))
    task = VectorTask(contexts, queries, labels)
    layer = layer_with_read_out(task, found.W_Q, found.W_K, d_value=d_out + more_value, d_inner=d_out + more_inner)
    assert (layer.d_head, layer.attention.d_out) == (d_out + more_value, d_out + more_inner)
    assert np.allclose(outputs(layer, task), labels, atol=1e-7)


@given(st.integers(2, 40), st.integers(0, 99))
def test_classes_need_two_dimensions_and_two_classes_one(classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    contexts, queries = rng.uniform(size=(12, 3, 4)), rng.uniform(size=(12, 4))
    task = VectorTask(contexts, queries, np.eye(classes)[rng.integers(classes, size=12)], "classification")
    columns = 1 if classes == 2 else 2
    assert label_code(task).decoder.shape == (columns, classes)
    maps = random_heads(contexts, queries, n_heads=3, d_head=2)
    layer = layer_with_read_out(task, *maps, d_value=columns, d_inner=columns)
    assert (outputs(layer, task).argmax(axis=1) == task.classes).all()
    if columns == 2:
        with pytest.raises(HypothesisError, match="labels of 2 columns, d_v = 1"):
            layer_with_read_out(task, *maps, d_value=1, d_inner=2)


@pytest.mark.parametrize(("d_value", "d_inner"), [(2, 3), (3, 2), (1, 1)])
def test_too_narrow_values_or_outputs_are_refused(d_value: int, d_inner: int) -> None:
    task = VectorTask(np.eye(3)[None], np.eye(3), np.ones((3, 3)))
    maps = random_heads(task.contexts, task.queries, n_heads=2, d_head=3)
    with pytest.raises(HypothesisError, match=r"d_out <= min\(d_v, d_o\)"):
        layer_with_read_out(task, *maps, d_value=d_value, d_inner=d_inner)


def test_dependent_inputs_are_refused() -> None:
    for mixed in (np.ones((2, 1)), np.array([[1.0, 0.0], [0.0, 0.0]])):
        with pytest.raises(HypothesisError, match="Z of rank T"):
            read_out(mixed, np.ones((2, 1)))


def test_the_read_out_has_the_smallest_norm() -> None:
    rng = np.random.default_rng(0)
    mixed, targets = rng.standard_normal((3, 7)), rng.standard_normal((3, 2))
    assert np.allclose(read_out(mixed, targets), np.linalg.pinv(mixed) @ targets)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_the_formats_round_as_torch_does(name: Format, shared: bool) -> None:
    rng = np.random.default_rng(0)
    contexts, queries = rng.uniform(size=(1 if shared else 6, 4, 5)), rng.uniform(size=(6, 5))
    W_Q, W_K = rng.standard_normal((2, 3, 5, 2))
    dtype = getattr(torch, name)
    E, e, Q, K = (torch.tensor(x, dtype=dtype) for x in (contexts, queries, W_Q, W_K))
    scores = torch.einsum("htn->thn", torch.stack([((e @ Q[h])[:, None] @ (E @ K[h]).mT)[:, 0] for h in range(3)]))
    weights = torch.softmax(scores.float(), dim=2).to(dtype)
    expected = (weights @ E).reshape(6, -1).double().numpy()
    found = mixed_matrix_in(name, contexts, queries, W_Q, W_K)
    step = 2.0 ** (-8 if name == "bfloat16" else -22)
    assert np.abs(found - expected).max() <= 4 * step
    assert (found == expected).mean() > (0.3 if name == "bfloat16" else 0.0)
    assert np.abs(found - mixed_matrix(contexts, queries, W_Q, W_K)).max() > 0.1 * step
    memorized = torch.tensor(found, dtype=torch.float64).to(dtype).double().numpy()
    assert (memorized == found).all()


def test_refitting_in_the_format_is_better_than_rounding_the_weights() -> None:
    rng = np.random.default_rng(0)
    contexts, queries = rng.uniform(size=(40, 6, 12)), rng.uniform(size=(40, 12))
    task = VectorTask(contexts, queries, rng.uniform(size=(40, 1)))
    W_Q, W_K = random_heads(contexts, queries, n_heads=4, d_head=4)
    errors = []
    for fitted in ("float64", "bfloat16"):
        layer = layer_with_read_out(task, W_Q, W_K, d_value=1, d_inner=1, number_format=fitted)
        errors.append(np.abs(outputs_in("bfloat16", layer, task) - task.labels).max())
    assert errors[1] < 0.05 and 2 * errors[1] < errors[0]
    double = layer_with_read_out(task, W_Q, W_K, d_value=1, d_inner=1)
    assert np.allclose(outputs_in("float64", double, task), outputs(double, task), atol=1e-12)
    single = layer_with_read_out(task, W_Q, W_K, d_value=1, d_inner=1, number_format="float32")
    assert np.abs(outputs_in("float32", single, task) - task.labels).max() < 1e-5
    assert (single.W_Q == single.W_Q.astype(np.float32)).all()


def test_values_outputs_and_decoded_outputs_are_rounded() -> None:
    rng = np.random.default_rng(0)
    contexts, queries = rng.uniform(size=(9, 3, 4)), rng.uniform(size=(9, 4))
    shapes = ((2, 4, 2), (2, 4, 2), (2, 4, 3), (6, 5), (5, 4))
    layer = mahdavi_layer(*(rng.standard_normal(shape) for shape in shapes))
    task = VectorTask(contexts, queries, np.zeros((9, 4)))
    mixed = torch.tensor(mixed_matrix_in("bfloat16", contexts, queries, layer.W_Q, layer.W_K)).bfloat16()
    V, W, D = (torch.tensor(tensor).bfloat16() for tensor in (layer.W_V, mahdavi_tensors(layer)["W_O"], layer.W_U))
    values = torch.einsum("thd,hdv->thv", mixed.reshape(9, 2, 4), V).reshape(9, 6)
    expected = ((values @ W) @ D).double().numpy()
    assert (outputs_in("bfloat16", layer, task) == expected).mean() > 0.9


def test_an_unknown_format_is_refused() -> None:
    one = np.ones((1, 1, 1))
    layer = mahdavi_layer(one, one, one, one[0], one[0])
    with pytest.raises(InputError, match="number_format = 'float8'"):
        outputs_in("float8", layer, VectorTask(one, one[0], one[0]))  # type: ignore[arg-type]
