"""What is written for TransformerLens below 4 loads with that library alone."""

import pytest

from tests.exports import argmaxes_without_byheart

LOADER = "from load_transformer_lens import load\nread = load()"


@pytest.mark.parametrize("name", ["network of one attention", "gelu neurons", "layer normalization as in GPT-2"])
def test_the_model_answers_where_byheart_is_not(name, tmp_path):
    found, task = argmaxes_without_byheart("transformer-lens", name, tmp_path / "out", LOADER)
    assert found == task.labels.tolist()


def test_a_file_that_lacks_a_tensor_is_refused(tmp_path):
    missing = """
from safetensors.torch import load_file, save_file
tensors = load_file("model.safetensors")
del tensors[sorted(name for name in tensors if "attn" in name)[0]]
save_file(tensors, "model.safetensors")
"""
    with pytest.raises(AssertionError, match="attn"):
        argmaxes_without_byheart("transformer-lens", "network of one attention", tmp_path / "out", missing + LOADER)
