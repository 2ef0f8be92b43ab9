"""What the provers of several kinds share is computed once, and only where one of them asks for it."""

from fractions import Fraction

import pytest

from constructions.errors import FileFormatError
from constructions.folds.fold import addition
from constructions.memories.heads.adder import adder
from constructions.model.model import Model
from constructions.progress import silent
from tests.layers import random_layer, random_layer_task
from tests.memories import memory, random_task, write_memory
from verify.certificates.certificate import Certificate
from verify.provers import evaluation
from verify.provers.domain import certify_fold
from verify.provers.evaluation import OnContexts, OnFold, attended, features, has_features, is_one_attention
from verify.provers.memorization import certify_memorization, check_memorization
from verify.verdict import Verdict


def test_features_are_computed_once_for_all_statements_about_ranks(tmp_path, monkeypatch):
    task = random_task()
    network = memory(task)
    write_memory(tmp_path, network, task)
    (tmp_path / "witness.safetensors").unlink()
    proved = certify_memorization(network, task, rank=True, rank_of_heads=True, rank_with_skip=True, witness=False)
    calls, original = [], evaluation.enclose_features
    monkeypatch.setattr(evaluation, "enclose_features", lambda *given: calls.append(1) or original(*given))
    certify_memorization(network, task).save(tmp_path)
    assert check_memorization(tmp_path).verdict is Verdict.PROVED and calls == []
    proved.save(tmp_path)
    assert check_memorization(tmp_path).verdict is Verdict.PROVED and calls == [1]
    assert len(Certificate.load(tmp_path).statements) > 3


def test_only_models_of_one_attention_have_features():
    task, layer = random_task(), random_layer()
    network, vectors = memory(task), random_layer_task()
    assert is_one_attention(network) and is_one_attention(layer) and has_features(layer)
    assert attended(network, task, silent) is None and features(layer, vectors, silent) is None
    found, read = attended(layer, vectors, silent), features(network, task, silent)
    assert found is not None and len(found.mixed) == vectors.n_contexts
    assert read is not None and len(read) == task.n_contexts


def test_the_heads_of_a_layer_are_those_of_its_features():
    task, layer = random_layer_task(), random_layer()
    made = certify_memorization(layer, task, saturation=Fraction(1, 100)).certificate
    about = {"certificate": made, "asked": made.criterion, "progress": silent}
    on_contexts = OnContexts(model=layer, task=task, **about)
    assert on_contexts.heads is not None and on_contexts.features is on_contexts.heads.mixed
    assert on_contexts.path.startswith("proved bounds: ") and on_contexts.asides == ()


def test_a_model_to_which_the_theorem_of_states_does_not_apply_is_no_answer():
    model, fold = adder(2, base=2), addition(2, base=2)
    made = certify_fold(model, fold).certificate
    without = Model((), model.W_U, W_E=model.W_E, W_pos=model.W_pos)
    about = {"certificate": made, "asked": made.criterion, "progress": silent}
    assert OnFold(model=model, task=fold, **about).counts[0] == made.answers.values["memorized"]
    with pytest.raises(FileFormatError, match="the theorem does not apply"):
        _ = OnFold(model=without, task=fold, **about).answers
