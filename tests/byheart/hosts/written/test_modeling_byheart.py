"""What is written for Hugging Face loads with `transformers` alone."""

import pytest

from tests.exports import argmaxes_without_byheart

LOADER = """
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained(".", trust_remote_code=True)
read = lambda tokens: model(tokens).logits
"""


@pytest.mark.parametrize("name", ["network of one attention", "two activations", "a normalization here and there"])
def test_the_model_answers_where_byheart_is_not(name, tmp_path):
    found, task = argmaxes_without_byheart("huggingface", name, tmp_path / "out", LOADER)
    assert found == task.labels.tolist()


def test_what_is_read_has_to_be_given(tmp_path):
    checked = (
        LOADER
        + """
import torch
tokens = torch.zeros((2, 4), dtype=torch.long)
for call in (dict(), dict(input_ids=tokens[:, :0]), dict(input_ids=tokens, attention_mask=tokens[:1])):
    try:
        model(**call)
    except ValueError as error:
        assert "expected" in str(error)
    else:
        raise AssertionError(call)
assert model.generate(tokens, max_new_tokens=3, do_sample=False).shape == (2, 7)
"""
    )
    found, task = argmaxes_without_byheart("huggingface", "network of one attention", tmp_path / "out", checked)
    assert found == task.labels.tolist()
