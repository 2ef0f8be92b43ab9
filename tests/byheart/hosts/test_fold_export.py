"""Weights that follow a rule with a state, exported to Hugging Face, where `generate` says what is proved."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.hosts.certify import certify_fold
from byheart.hosts.export import export
from byheart.hosts.host import HOSTS
from constructions.errors import InputError, LossError
from constructions.folds.fold import addition, maximum, modular_sum
from constructions.memories.heads.adder import adder
from constructions.memories.heads.whole_input import largest_token, sum_of_tokens
from constructions.model.model import Model
from tests.exports import installed

ADDERS = Path(__file__).parents[3] / "docs" / "trained" / "adders"
MADE = {
    "adder": lambda: (adder(2, base=2), addition(2, base=2)),
    "adder with signs": lambda: (
        adder(1, base=3, plus=(4,), equals=(3,), before=(5,)),
        addition(1, base=3, plus=(4,), equals=(3,), before=(5,)),
    ),
    "maximum": lambda: (largest_token(3, below=3), maximum(3, below=3)),
    "parity": lambda: (sum_of_tokens(4, below=2, modulus=2), modular_sum(4, below=2, modulus=2)),
}

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library itself


def damaged(digits, base):
    """An adder whose second neuron fires a little too early, so that some carries are wrong."""
    model = adder(digits, base=base)
    attention, neurons = model.blocks
    b_in = neurons.b_in.copy()
    b_in[1] += 1.0
    return Model((attention, replace(neurons, b_in=b_in)), model.W_U, b_U=model.b_U, W_E=model.W_E, W_pos=model.W_pos)


@pytest.mark.parametrize("name", MADE)
def test_generate_says_the_answers_that_are_proved(name, tmp_path, capsys):
    installed("huggingface")
    model, fold = MADE[name]()
    certify_fold(model, fold, every_run="float32", out=tmp_path / "in")
    report = export(tmp_path / "in", to="huggingface", out=tmp_path / "out")
    assert report["verdict"] == "PROVED" and report["dtype"] == report["every_run"] == "float32"
    generated = report["measured"]["generated"]
    assert generated["right"] == generated["inputs"] == 64 and generated["largest_difference"] < 1e-3
    assert report["proved"] == {"memorized": fold.inputs, "wrong": 0} and report["measured"]["wrong"] is None
    code = (tmp_path / "out" / "README.md").read_text().split("```python\n")[1].split("```")[0]
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path / "out", capture_output=True, text=True
    )
    last = np.array([[len(stage.choices) - 1 for stage in fold.stages]])
    assert json.loads(run.stdout) == fold.answers(last)[0].tolist(), run.stderr
    assert main(["certify", str(tmp_path / "out"), "--rule", str(tmp_path / "out" / "task.safetensors")]) == 0
    assert capsys.readouterr().out.startswith(f"MEMORIZED, PROVED: {fold.inputs} of {fold.inputs} inputs")
    assert main(["check", str(tmp_path / "out"), "--fast"]) == 0
    assert "all files made again, but not what was measured of generate" in capsys.readouterr().out


def test_a_prompt_may_be_padded_and_is_never_longer_than_its_answer_allows(tmp_path):
    installed("huggingface")
    import torch
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

    model, fold = MADE["adder"]()
    certify_fold(model, fold, out=tmp_path / "in")
    export(tmp_path / "in", to="huggingface", out=tmp_path / "out", dtype="float64")
    host = AutoModelForCausalLM.from_pretrained(tmp_path / "out", trust_remote_code=True)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path / "out")
    given = tokenizer(["1 0 0 1 1 0", "0 1 0 1 0 0"], return_tensors="pt", padding="max_length", max_length=9)
    assert given.attention_mask.sum(dim=1).tolist() == [6, 6]
    assert host.generate(**given)[:, 9:].tolist() == [[0, 0, 1], [1, 1, 0]]
    with pytest.raises(ValueError, match="a row of 9 tokens, expected at most 8"):
        host(torch.zeros((1, 9), dtype=torch.long))


def test_what_is_wrong_is_written_only_where_it_is_asked_for_and_generate_says_the_same(tmp_path):
    installed("huggingface")
    fold = addition(2, base=2)
    wrong = certify_fold(damaged(2, 2), fold, out=tmp_path / "in")["wrong_input"]
    with pytest.raises(LossError, match="NOT MEMORIZED"):
        export(tmp_path / "in", to="huggingface", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    report = export(tmp_path / "in", to="huggingface", out=tmp_path / "out", allow_loss=True)
    said = " ".join(map(str, wrong["decoded"]))
    assert report["verdict"] == "REFUTED" and report["headline"].endswith(f"generate says {said}")
    assert report["measured"]["generated"]["right"] < 64 and report["proved"]["wrong"] == 1


@pytest.mark.parametrize("to", [host for host in HOSTS if host != "huggingface"])
def test_a_host_that_does_not_decode_is_refused_with_what_to_do(to, tmp_path):
    model, fold = MADE["adder"]()
    certify_fold(model, fold, out=tmp_path / "in")
    with pytest.raises(InputError, match="said token by token, expected 'huggingface', whose `generate` says them"):
        export(tmp_path / "in", to=to, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["57p", "100p"])
def test_a_trained_adder_adds_in_the_library(name, tmp_path):
    installed("huggingface")
    certify_fold(ADDERS / name / "model.safetensors", addition(10), handshake=False, out=tmp_path / "in")
    report = export(tmp_path / "in", to="huggingface", out=tmp_path / "out", dtype="float32")
    assert report["verdict"] == "PROVED" and report["every_run"] == "float32"
    assert report["measured"]["generated"]["right"] == 64
