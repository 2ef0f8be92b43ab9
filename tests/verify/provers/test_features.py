"""What the statements about ranks share is computed once, and only where one of them asks for it."""

from dataclasses import replace
from fractions import Fraction

import pytest

from constructions.errors import InputError
from constructions.progress import silent
from constructions.tasks.criterion import Criterion
from tests.layers import random_layer, random_layer_task
from tests.memories import memory, random_task, write_memory
from verify.certificates.certificate import Certificate
from verify.provers import features
from verify.provers.evaluation import JudgedModel
from verify.provers.memorization import certify_memorization, check_memorization
from verify.verdict import Verdict


def judged(model, task):
    return JudgedModel(model=model, task=task, criterion=Criterion(), progress=silent)


def test_features_are_computed_once_for_all_statements_about_ranks(tmp_path, monkeypatch):
    task = random_task()
    network = memory(task)
    write_memory(tmp_path, network, task)
    calls, original = [], features.enclose_features
    monkeypatch.setattr(features, "enclose_features", lambda *given: calls.append(1) or original(*given))
    certify_memorization(network, task).save(tmp_path)
    assert check_memorization(tmp_path).verdict is Verdict.PROVED and calls == []
    certify_memorization(network, task, rank=True, rank_of_heads=True, rank_with_skip=True).save(tmp_path)
    assert calls == [1]
    assert check_memorization(tmp_path).verdict is Verdict.PROVED and calls == [1, 1]
    assert len(Certificate.load(tmp_path).statements) > 3


def test_only_models_of_one_attention_have_features():
    task, layer = random_task(), random_layer()
    network, vectors = memory(task), random_layer_task()
    assert features.is_one_attention(network) and features.is_one_attention(layer) and features.has_features(layer)
    assert features.heads(judged(network, task)) is None
    of_layer = judged(layer, vectors)
    found, read = features.heads(of_layer), features.features(judged(network, task))
    assert found is not None and features.features(of_layer) is found.mixed and len(found.mixed) == vectors.n_contexts
    assert read is not None and len(read) == task.n_contexts


def test_who_asks_for_a_rank_that_there_is_not_is_told_so():
    task = random_task()
    without = replace(memory(task), blocks=())
    with pytest.raises(InputError, match="a model of one attention"):
        certify_memorization(without, task, rank=True)
    with pytest.raises(InputError, match="saturation"):
        certify_memorization(memory(task), task, saturation=Fraction(1, 100))
