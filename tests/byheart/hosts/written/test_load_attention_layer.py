"""What is written for `torch.nn.MultiheadAttention` loads with torch alone."""

import pytest

from tests.exports import argmaxes_without_byheart

LOADER = "from load_attention_layer import load\nread = load()"


@pytest.mark.parametrize("name", ["network of one attention", "stack of attention", "stack that sees everything"])
def test_the_model_answers_where_byheart_is_not(name, tmp_path):
    found, task = argmaxes_without_byheart("attention-layer", name, tmp_path / "out", LOADER)
    assert found == task.labels.tolist()


def test_its_attention_is_the_layer_of_torch(tmp_path):
    checked = LOADER + "\nassert type(read.attention[0]).__name__ == 'MultiheadAttention'"
    found, task = argmaxes_without_byheart("attention-layer", "wide queries", tmp_path / "out", checked)
    assert found == task.labels.tolist()
