"""A model card says what is memorized and proved, in which numbers, and how to check it."""

import json

import numpy as np
import pytest

import byheart
from byheart.cli.main import main
from byheart.hosts.export import export
from byheart.hosts.tokenizer import tokenizer_json
from byheart.report.model_card import CARD_FILE
from byheart.report.model_card import model_card as card_of
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.table import table_task
from constructions.tasks.vectors import VectorTask
from tests.exports import MODELS, task_of

FACTS = {("France", "capital"): "Paris", ("Peru", "capital"): "Lima"}
REPORT = {
    "headline": "MEMORIZED, PROVED: 2 of 2 facts",
    "host": "huggingface",
    "written_as": "gpt2",
    "dtype": "float32",
    "parameters": 99,
    "facts": 2,
    "proved": {"memorized": 2, "wrong": 0},
    "measured": {"runs": {"GPT2LMHeadModel": {"memorized": 1, "contexts": 2}}},
}


def model_card(report, task, usage):
    return card_of(report, task, usage, asked=Criterion(), right=np.ones(task.n_contexts, dtype=bool))


def test_what_a_card_says_is_in_the_report():
    task = byheart.read_facts(FACTS).task
    card = model_card(REPORT, task, "load(FOLDER, trust_remote_code=True)(TEXT)")
    assert card.startswith("---\nlibrary_name: transformers\n")
    assert "**MEMORIZED, PROVED: 2 of 2 facts**\n\n- parameters: 99\n- type of the numbers: float32\n" in card
    proved = "proved in real arithmetic on the float32 numbers of the file"
    assert f"- right, {proved}: 2 of 2\n- wrong, {proved}: 0\n" in card
    assert "- right in one run of GPT2LMHeadModel, measured: 1 of 2\n" in card
    assert "France, capital -> Paris" in card
    assert "load(\".\", trust_remote_code=True)('France, capital, ')" in card and "asks nothing" in card
    assert "asks nothing" not in model_card(REPORT, task, "load(FOLDER)(TEXT)")
    assert "byheart certify" in card
    of_another = model_card({**REPORT, "host": "onnx", "written_as": "onnx"}, task, "")
    assert "byheart check ." in of_another and "byheart certify" not in of_another


def test_a_card_says_how_the_library_refuses_a_word_that_no_fact_has():
    said = "`Missing [UNK] token from the vocabulary`"
    assert said in model_card(REPORT, byheart.read_facts(FACTS).task, "say(TEXT)")
    of_frequent = byheart.read_facts("abcabcabcabd", context=2, vocabulary=3).task
    assert "<other>" in of_frequent.vocabulary and said not in model_card(REPORT, of_frequent, "say(TEXT)")


def test_the_library_refuses_a_word_that_no_fact_has_as_the_card_says():
    tokenizers = pytest.importorskip("tokenizers")
    task = byheart.read_facts(FACTS).task
    read = tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(task)))
    assert len(read.encode("France, capital, ").ids) == 2
    with pytest.raises(Exception, match=r"Missing \[UNK\] token from the vocabulary"):
        read.encode("Atlantis, capital, ")


def test_a_text_that_is_learned_whole_is_asked_from_its_beginning():
    task = byheart.read_facts("a rose is a rose, they say", whole=True).task
    begins = "a rose is a rose, they say"[: task.n_ctx]
    assert f"say({begins!r})" in model_card(REPORT, task, "say(TEXT)")


@pytest.mark.parametrize("name", ["layer of values", "layer of classes"])
def test_vectors_have_a_card_without_a_text(name):
    assert MODELS[name] is not None
    assert "Ask it" not in model_card(REPORT, task_of(name), "say(TEXT)")


def test_the_card_and_the_facts_lie_beside_the_weights_and_check_them(tmp_path):
    report = byheart.memorize(FACTS).export(to="safetensors", out=tmp_path / "out")
    assert {CARD_FILE, "task.safetensors"} <= set(report["files"])
    assert byheart.certify(tmp_path / "out", tmp_path / "out" / "task.safetensors")["memorized"] == 2


def near(target):
    """A model that answers all but the last of four contexts, and a distribution or a value only nearly."""
    logits = np.log(np.eye(4) * 0.94 + 0.015)
    said = np.vstack([logits[:3], logits[2:3]])
    task = table_task("0,0\n1,1\n2,2\n3,3\n", target="labels")
    if target == "distributions":
        task = array_task(np.arange(4)[:, np.newaxis], distributions=np.eye(4) * 0.92 + 0.02)
    return Model(blocks=(), W_E=np.eye(4), W_pos=np.zeros((1, 4)), W_U=said), task


ASKED = {
    "all": Criterion(),
    "a wide tolerance": Criterion(tolerance=0.5),
    "a part": Criterion.at_least(3, tolerance=0.5),
    "a mean": Criterion.at_most(1.2123456789012345),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("target", ["labels", "distributions"])
def test_a_card_says_what_is_asked_lists_what_is_true_and_its_check_asks_the_same(
    asked, target, tmp_path, monkeypatch, capsys
):
    model, task = near(target)
    report = export(model, task=task, criterion=ASKED[asked], to="safetensors", out=tmp_path / "out", allow_loss=True)
    card = (tmp_path / "out" / CARD_FILE).read_text()
    assert report["criterion"] == ASKED[asked].data()
    assert "    0 -> 0; 1 -> 1; 2 -> 2\n" in card and "3 -> 3" not in card
    proved = "proved in real arithmetic on the float64 numbers of the file"
    right, wrong = (report["proved"][name] for name in ("memorized", "wrong"))
    counts = f"- right, {proved}: {right} of 4\n- wrong, {proved}: {wrong}\n"
    if asked == "a mean":
        assert "- right, " not in card and f"- mean, {proved}: at most " in card
        assert "Asked is whether the mean divergence is at most 1.213 nats" in card
    else:
        assert counts in card and ("Asked is whether" in card) == (asked == "a part")
    [line] = [line for line in card.splitlines() if line.startswith("byheart certify ")]
    monkeypatch.chdir(tmp_path / "out")
    assert main([*line.split()[1:], "--quiet"]) == {"PROVED": 0, "REFUTED": 1}[report["verdict"]]
    again = capsys.readouterr().out
    assert report["headline"].startswith(again.partition(":")[0])
    assert (report["verdict"] == "PROVED") == (asked in ("a part", "a mean"))


def test_a_mean_of_values_is_said_without_nats(tmp_path, monkeypatch):
    model, task = MODELS["layer of values"], task_of("layer of values")
    assert isinstance(task, VectorTask)
    export(model, task=task, criterion=Criterion.at_most(9.0), to="safetensors", out=tmp_path / "out", allow_loss=True)
    card = (tmp_path / "out" / CARD_FILE).read_text()
    assert "Asked is whether the mean distance from the value is at most 9" in card and "nats" not in card
    assert "--at-most 9.0" in card
