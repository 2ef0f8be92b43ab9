"""What is written for TransformerLens 4 loads with that library alone."""

import pytest

from tests.exports import answers_without_byheart

LOADER = "from load_transformer_bridge import load\nread = load()"


def test_the_models_answer_where_byheart_is_not(tmp_path):
    names = ["network of one attention", "gelu neurons", "layer normalization as in GPT-2"]
    answers_without_byheart("transformer-bridge", names, tmp_path, LOADER)


def test_a_file_that_lacks_a_tensor_is_refused(tmp_path):
    missing = """
from safetensors.torch import load_file, save_file
tensors = load_file("model.safetensors")
del tensors[sorted(name for name in tensors if "attn" in name)[0]]
save_file(tensors, "model.safetensors")
"""
    with pytest.raises(AssertionError, match="attn"):
        answers_without_byheart("transformer-bridge", ["network of one attention"], tmp_path, missing + LOADER)
