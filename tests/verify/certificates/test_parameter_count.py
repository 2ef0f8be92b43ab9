"""Counting what a file holds, and what a network with shared attention is made of."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import FileFormatError, HypothesisError
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from tests.memories import changed
from verify.certificates.parameter_count import shared_attention_parameters, stored_parameters


def network(n_heads: int = 3, width: int = 4, d_qk: int = 1) -> Model:
    """Random weights whose attention is `lambda_h u v` with small integers, in all heads."""
    rng = np.random.default_rng(n_heads + 10 * width)
    u, v = rng.integers(1, 9, (2, width)).astype(np.float64)
    scales = np.arange(1.0, n_heads + 1)
    return dana_network(
        W_E=rng.standard_normal((5, width)),
        W_pos=rng.standard_normal((2, width)),
        W_Q=np.repeat(np.einsum("h,d->hd", scales, u)[:, :, None], d_qk, axis=2),
        W_K=np.repeat(np.tile(v, (n_heads, 1))[:, :, None], d_qk, axis=2),
        W_V=rng.standard_normal((n_heads, width, 2)),
        W_O=rng.standard_normal((n_heads, 2, width)),
        W_U=rng.standard_normal((width, 5)),
    )


@given(n_heads=st.integers(1, 4), width=st.integers(2, 5), d_qk=st.integers(1, 3))
def test_shared_attention_counts_two_directions_and_a_scale_for_each_head(n_heads: int, width: int, d_qk: int) -> None:
    given_weights = network(n_heads, width, d_qk)
    rest = 12 * width + 2 * n_heads * width * 2
    assert shared_attention_parameters(given_weights) == rest + 2 * width + n_heads


def test_the_file_has_as_many_numbers_as_the_network(tmp_path: Path) -> None:
    weights = network()
    weights.save(tmp_path / "model.safetensors")
    assert stored_parameters(tmp_path / "model.safetensors") == weights.parameters == 48 + 2 * 3 * 4 + 2 * 3 * 8


def test_a_direction_that_is_off_by_one_bit_is_noticed() -> None:
    weights = network()
    query = weights.W_Q.copy()
    query[1, 2, 0] = np.nextafter(query[1, 2, 0], np.inf)
    with pytest.raises(HypothesisError, match="they span 2 dimensions, and have ranks up to 1"):
        shared_attention_parameters(changed(weights, W_Q=query))


def test_one_product_of_rank_two_in_all_heads_is_not_shared_rank_one() -> None:
    weights = network(d_qk=2)
    query = weights.W_Q.copy()
    query[:] = query[:1]
    query[:, 0, 1] += 1.0
    key = weights.W_K.copy()
    key[:, 1, 1] += 1.0
    with pytest.raises(HypothesisError, match="they span 1 dimensions, and have ranks up to 2"):
        shared_attention_parameters(changed(weights, W_Q=query, W_K=key))


@pytest.mark.parametrize("spoil", [lambda data: data[:-8], lambda data: data + b"\0" * 8, lambda data: data[:20]])
def test_a_file_of_another_length_is_refused(spoil: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    network().save(path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(FileFormatError):
        stored_parameters(path)


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b"{",
        b'{"a": 1}',
        b'{"a": {"dtype": "F32", "shape": [0]}}',
        b'{"a": {"shape": [0]}}',
        b'{"a": {"dtype": "F64", "shape": [0.0]}}',
        b'{"a": {"dtype": "F64", "shape": [-1]}, "b": {"dtype": "F64", "shape": [1]}}',
    ],
)
def test_a_file_without_tensors_of_float64_is_refused(header: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(FileFormatError):
        stored_parameters(path)
