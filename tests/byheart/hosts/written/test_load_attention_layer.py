"""What is written for `torch.nn.MultiheadAttention` loads with torch alone, and is that layer."""

from tests.exports import answers_without_byheart

LOADER = """
from load_attention_layer import load
read = load()
assert type(read.attention[0]).__name__ == "MultiheadAttention"
"""
NAMES = ["network of one attention", "stack of attention", "stack that sees everything", "wide queries"]


def test_the_models_answer_where_byheart_is_not(tmp_path):
    answers_without_byheart("attention-layer", NAMES, tmp_path, LOADER)
