"""What is written for Hugging Face loads with `transformers` alone."""

from tests.exports import answers_without_byheart

LOADER = """
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained(".", trust_remote_code=True)
read = lambda tokens: model(tokens).logits
"""


def test_the_models_answer_where_byheart_is_not(tmp_path):
    names = ["network of one attention", "two activations", "a normalization here and there"]
    answers_without_byheart("huggingface", names, tmp_path, LOADER)


def test_what_is_read_has_to_be_given(tmp_path):
    checked = (
        LOADER
        + """
import torch
tokens = torch.zeros((2, 4), dtype=torch.long)
short = [dict(input_ids=tokens[:, :size]) for size in (0, 3)]
for call in (dict(), *short, dict(input_ids=tokens, attention_mask=tokens[:1])):
    try:
        model(**call)
    except ValueError as error:
        assert "expected" in str(error)
    else:
        raise AssertionError(call)
assert model.generate(tokens, max_new_tokens=3, do_sample=False).shape == (2, 7)
"""
    )
    answers_without_byheart("huggingface", ["network of one attention"], tmp_path, checked)
