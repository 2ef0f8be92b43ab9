"""Embeddings and one attention layer of random transformers, where the package is installed."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.saturated.random_transformers import transformer_examples

needs_transformers = pytest.mark.skipif(
    find_spec("transformers") is None or find_spec("torch") is None,
    reason="transformers and torch are not both installed: no architectures to run",
)
TEXTS = np.array([[1, 2, 3, 4], [2, 1, 3, 4], [9, 9, 9, 5]])
IMAGES = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3))
SIZES = {"width": 16, "heads": 2}


@needs_transformers
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("family", "inputs", "tokens"), [("vit", IMAGES, 5), ("bert", TEXTS, 5), ("gpt2", TEXTS, 4)])
def test_the_query_is_one_token_and_mixes_only_behind_the_attention(family, inputs, tokens):
    contexts, queries = transformer_examples(family, inputs, attention=False, **SIZES)
    mixed, asked = transformer_examples(family, inputs, attention=True, **SIZES)
    place = -1 if family == "gpt2" else 0
    assert contexts.shape == mixed.shape == (3, tokens, 16) and contexts.dtype == np.float64
    assert (contexts[:, place] == queries).all() and (mixed[:, place] == asked).all()
    assert (queries[0] == queries[1]).all()  # [CLS], or the same last byte at the same place
    assert (asked[0] != asked[1]).any()


@needs_transformers
@pytest.mark.filterwarnings("ignore")
def test_the_weights_depend_on_the_seed_alone():
    first, _ = transformer_examples("bert", TEXTS, attention=True, **SIZES)
    again, _ = transformer_examples("bert", TEXTS, attention=True, **SIZES)
    other, _ = transformer_examples("bert", TEXTS, attention=True, seed=1, **SIZES)
    assert (first == again).all() and (first != other).any()


@needs_transformers
@pytest.mark.filterwarnings("ignore")
def test_what_is_normalized_last_sums_to_nearly_zero():
    contexts, _ = transformer_examples("gpt2", TEXTS, attention=True, **SIZES)
    assert np.abs(contexts.sum(axis=2)).max() < 1e-12


def test_inputs_of_wrong_kinds_are_refused():
    with pytest.raises(InputError, match="family is 'llama'"):
        transformer_examples("llama", TEXTS, attention=True)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="4 dimensions for vit"):
        transformer_examples("vit", TEXTS, attention=True)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match="the package transformers"):
        transformer_examples("bert", TEXTS, attention=True)
