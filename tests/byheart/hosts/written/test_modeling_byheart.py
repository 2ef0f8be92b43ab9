"""What is written for Hugging Face loads with `transformers` alone."""

import pytest

import byheart
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


@pytest.mark.parametrize("whole", [True, False])
def test_the_last_logits_alone_are_those_of_all_positions(whole, tmp_path):
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    (tmp_path / "a.txt").write_text("to be or not to be, that is the question; to do or not to do")
    made = byheart.memorize(tmp_path / "a.txt", whole=whole, quick=True)
    made.save(tmp_path / "made")
    byheart.export(tmp_path / "made", to="huggingface", out=tmp_path / "out")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out", trust_remote_code=True)
    tokens = torch.tensor(made.task.contexts[:3]).repeat(1, 2)  # longer than a context
    with torch.inference_mode():
        every = model(tokens).logits
        for kept in (1, 2, every.shape[1]):
            assert torch.equal(model(tokens, logits_to_keep=kept).logits, every[:, -kept:])
        assert model(tokens, labels=tokens, logits_to_keep=1).loss == model(tokens, labels=tokens).loss
