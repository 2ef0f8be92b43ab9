"""Weights in the shape of GPT-2, without the library; what it computes is in tests/contract."""

import numpy as np
import pytest

from byheart.hosts.exported.gpt2 import HOST, in_one_vocabulary
from byheart.hosts.reading import read_model
from byheart.reciting import whole_text
from constructions.errors import InputError
from constructions.memories.memory import Limits
from constructions.menu import BY_NAME
from constructions.model.blocks import Normalization
from constructions.tasks.arrays import array_task
from constructions.tasks.table import facts_task
from tests.exports import MODELS, task_of
from verify.forward.logits import enclose_logits
from verify.provers.memorization import judge

NORMED = {name for name in MODELS if "normalization" in name}
VECTORS = {"layer of values", "layer of classes", "stack over vectors"}
REFUSED = NORMED | VECTORS | {"stack that sees everything", "two activations"}


@pytest.mark.parametrize("name", MODELS)
def test_gpt2_computes_the_same_logits_to_what_float64_tells_and_refuses_the_rest(name, tmp_path):
    model, task = MODELS[name], task_of(name)
    if name in REFUSED:
        with pytest.raises(InputError):
            HOST.convert(in_one_vocabulary(model, task)[0])
        return
    whole, facts = in_one_vocabulary(model, task)
    written = HOST.convert(whole)
    HOST.write(written, tmp_path, "float64")
    back = read_model(tmp_path)  # by the reader of anybody's GPT-2
    assert back.sha256() == written.sha256()
    before, after = (enclose_logits(each, task.contexts, precision=200) for each in (model, back))
    difference = np.abs(before.midpoint - after.midpoint[:, : task.n_answers])
    assert difference.max() < 1e-14 * np.abs(before.midpoint).max()
    assert after.midpoint[:, task.n_answers :].max() < -8 * np.abs(before.midpoint).max()
    assert judge(back, facts).values["memorized"] == task.n_contexts
    final = back.blocks[-1]
    assert isinstance(final, Normalization) and float(final.w[0]) ** 2 == final.epsilon
    for rows in (back.W_E, back.W_pos):  # each entry with both signs, so that the mean is 0
        assert np.array_equal(np.sort(rows), np.sort(-rows))


def test_answers_and_tokens_are_one_vocabulary_and_what_is_only_read_is_never_answered():
    task = facts_task([("Peru", "capital", "Lima"), ("Peru", "river", "Amazon"), ("Amazon", "in", "Peru")])
    model = BY_NAME["newton"].build(task, Limits()).model
    whole, facts = in_one_vocabulary(model, task)
    assert facts.vocabulary == ("Peru", "capital", "river", "Amazon", "in", "Lima", "[PAD]")
    assert facts.answers == facts.vocabulary and [facts.answers[k] for k in facts.labels] == ["Lima", "Amazon", "Peru"]
    assert (whole.d_vocab, whole.d_vocab_out) == (7, 7) and not whole.W_E[5:].any()
    assert whole.b_U is not None and np.flatnonzero(whole.b_U < 0).tolist() == [1, 2, 4, 6]


def test_distributions_are_refused():
    task = array_task([[0, 1], [1, 0]], distributions=np.full((2, 2), 0.5), vocabulary=2)
    with pytest.raises(InputError, match="expected 'labels'"):
        in_one_vocabulary(MODELS["embeddings alone"], task)


def test_a_whole_text_is_refused_with_the_host_that_takes_it():
    with pytest.raises(InputError, match=r"is a whole text, expected a table: .* --to huggingface takes a text"):
        in_one_vocabulary(MODELS["embeddings alone"], whole_text("abab"))


def test_a_model_that_would_be_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("byheart.hosts.exported.gpt2._MOST_ENTRIES", 100)
    with pytest.raises(InputError, match=r"GPT-2 would have .* entries in its blocks, expected at most 100"):
        HOST.convert(MODELS["network of one attention"])
