"""What is written for TransformerLens below 4 loads with that library alone."""

import subprocess
import sys

import pytest

import byheart
from tests.exports import answers_without_byheart, installed

LOADER = "from load_transformer_lens import load\nread = load()"


def test_the_models_answer_where_byheart_is_not(tmp_path):
    names = ["network of one attention", "gelu neurons", "layer normalization as in GPT-2"]
    answers_without_byheart("transformer-lens", names, tmp_path, LOADER)


def test_a_file_that_lacks_a_tensor_is_refused(tmp_path):
    missing = """
from safetensors.torch import load_file, save_file
tensors = load_file("model.safetensors")
del tensors[sorted(name for name in tensors if "attn" in name)[0]]
save_file(tensors, "model.safetensors")
"""
    with pytest.raises(AssertionError, match="attn"):
        answers_without_byheart("transformer-lens", ["network of one attention"], tmp_path, missing + LOADER)


ASKED = """
from load_transformer_lens import load
model = load()
assert model.to_tokens(["Peru, river", "New Zealand, capital"]).tolist() == [[2, 4], [3, 1]]
assert model.to_str_tokens("Peru, river") == ["Peru", "river"]
found = model.generate("Peru, river", max_new_tokens=1, do_sample=False, verbose=False)
assert found.split()[-1] == "Amazon", found
several = model.to_tokens(["Peru, river", "France, capital"])
said = model.generate(several, max_new_tokens=1, do_sample=False, verbose=False)
assert model.to_string(said[:, -1:]) == ["Amazon", "Paris"]
logits, cache = model.run_with_cache("Peru, river")
assert logits.shape[-1] == model.cfg.d_vocab_out == len(model.tokenizer) and "hook_embed" in cache
zero = model.run_with_hooks("Peru, river", fwd_hooks=[("hook_embed", lambda rows, hook: 0 * rows)])
assert not (zero == logits).all()
for text in ("Atlantis, river", "Peru"):
    try:
        model(text)
    except Exception as error:
        assert "Missing" in str(error) or "has 1 tokens, expected 2" in str(error)
    else:
        raise AssertionError(text)
assert model.unembed.b_U.min() > -1e9
plain = load(with_tokenizer=False)
assert plain.tokenizer is None and plain.cfg.d_vocab_out == 4
assert (plain(several)[0, -1] - model(several)[0, -1, [5, 6, 7, 8]]).abs().max() < 1e-12
read = lambda tokens: plain(tokens)
"""


@pytest.mark.filterwarnings("ignore")  # of the library itself
@pytest.mark.parametrize("memory", ["newton", "knots", "rank-one-heads"])
def test_the_tokenizer_comes_with_the_model(memory, tmp_path):
    installed("transformer-lens")
    facts = {("France", "capital"): "Paris", ("Peru", "capital"): "Lima", ("New Zealand", "capital"): "Wellington"}
    facts[("Peru", "river")] = "Amazon"
    byheart.memorize(facts, memory=memory).export(to="transformer-lens", out=tmp_path / "out")
    code = "import sys, warnings; sys.path.insert(0, '.'); warnings.simplefilter('ignore')\n" + ASKED
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=tmp_path / "out", capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
