"""A model card says what is memorized and proved, in which numbers, and how to check it."""

import pytest

import byheart
from byheart.report.model_card import CARD_FILE, model_card
from tests.exports import MODELS, task_of

FACTS = {("France", "capital"): "Paris", ("Peru", "capital"): "Lima"}
REPORT = {
    "headline": "HELD, PROVED: 2 of 2 contexts",
    "host": "huggingface",
    "dtype": "float32",
    "parameters": 99,
    "facts": 2,
    "proved": {"held": 2, "wrong": 0},
    "runs": {"GPT2LMHeadModel": {"held": 1}},
}


def test_what_a_card_says_is_in_the_report():
    task = byheart.read_facts(FACTS).task
    card = model_card(REPORT, task, "load(FOLDER, trust_remote_code=True)(TEXT)")
    assert card.startswith("---\nlibrary_name: transformers\n")
    assert "**HELD, PROVED: 2 of 2 contexts**" in card and "99 parameters in float32" in card
    assert "2 of 2 are right, 0 wrong" in card and "in one run each: GPT2LMHeadModel 1." in card
    assert "France capital -> Paris" in card
    assert "load(\".\", trust_remote_code=True)('France, capital, ')" in card and "asks nothing" in card
    assert "asks nothing" not in model_card(REPORT, task, "load(FOLDER)(TEXT)")
    assert "Check it" not in model_card({**REPORT, "host": "onnx"}, task, "")


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
    assert byheart.certify(tmp_path / "out", tmp_path / "out" / "task.safetensors")["held"] == 2
