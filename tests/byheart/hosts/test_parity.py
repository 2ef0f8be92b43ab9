"""What a host computes is compared with the exact logits, and what is no rounding is noticed."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from byheart.hosts.conversion import rounded_model
from byheart.hosts.parity import parity
from byheart.jobs.memorize import hold
from byheart.reciting import whole_text
from constructions.model.model import Model
from tests.exports import MODELS, TASKS, task_of
from tests.memories import changed, hidden, memory, random_task
from verify.forward.logits import enclose_logits
from verify.torch.module import Replica

DANA = "network of one attention"


def computed(model, task):
    last, features = hidden(model, task.contexts)
    return (last + features @ model.W_O.reshape(-1, model.d_model)) @ model.W_U


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_definition_in_float64_agrees(dtype):
    model, task = MODELS[DANA], task_of(DANA)
    found = parity(model, task, {"numpy": computed(model, task)}, dtype=dtype, exact=True)["numpy"]
    assert found.agrees is True and found.memorized == task.n_contexts
    assert 0 < found.largest_difference < found.largest_bound
    assert found.relative_difference == found.largest_difference / found.largest_logit < 1e-14


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m: changed(m, W_Q=m.W_Q / np.sqrt(m.d_qk)),
        lambda m: changed(m, W_pos=m.W_pos[::-1]),
        lambda m: changed(m, W_K=m.W_K[::-1]),
        lambda m: changed(m, W_O=np.concatenate([m.W_O[:-1], np.zeros_like(m.W_O[:1])])),
    ],
    ids=["scaled scores", "positions reversed", "heads exchanged", "a head dropped"],
)
@pytest.mark.parametrize("exact", [True, False])
def test_a_host_that_computes_something_else_is_noticed(wrong, exact):
    model, task = MODELS[DANA], task_of(DANA)
    runs = {"right": computed(model, task), "wrong": computed(wrong(model), task)}
    found = parity(model, task, runs, dtype="float64", exact=exact)
    assert found["right"].agrees is True and found["wrong"].agrees is False
    assert (found["wrong"].largest_bound is not None) is exact


def test_a_scale_that_was_forgotten_is_noticed_in_float32_too():
    model, task = MODELS[DANA], task_of(DANA)
    scaled = computed(changed(model, W_Q=model.W_Q / np.sqrt(model.d_qk)), task)
    assert parity(model, task, {"wrong": scaled}, dtype="float32", exact=True)["wrong"].agrees is False


def test_logits_that_are_not_finite_never_agree():
    model, task = MODELS[DANA], task_of(DANA)
    logits = computed(model, task)
    logits[3, 2] = np.nan
    found = parity(model, task, {"here": logits}, dtype="float64", exact=True)["here"]
    assert found.agrees is False and found.memorized == task.n_contexts - 1
    assert found.summary()["largest_difference"] is None and found.summary()["mean_loss"] is None


def test_smaller_types_and_other_models_are_not_judged():
    for name, dtype in ((DANA, "bfloat16"), (DANA, "float16"), ("stack of attention", "float32")):
        task = task_of(name)
        exact = enclose_logits(MODELS[name], task.contexts).midpoint
        assert parity(MODELS[name], task, {"here": exact}, dtype=dtype, exact=True)["here"].agrees is None


def test_the_largest_difference_holds_the_radius_of_the_exact_logits():
    name = "layer normalization as in GPT-2"
    task = task_of(name)
    middle = enclose_logits(MODELS[name], task.contexts, precision=300).midpoint
    for shift in (0.0, 1.0):
        found = parity(MODELS[name], task, {"here": middle + shift}, dtype="float64", exact=True)["here"]
        assert shift <= found.largest_difference <= shift + 1e-12
        assert found.agrees is (shift == 0.0)


def test_a_distribution_is_memorized_by_its_divergence_and_not_by_its_argmax():
    task = random_task(target="distributions")
    logits = np.log(task.distributions)
    for scale, memorized in ((1.0, task.n_contexts), (2.0, 0)):  # twice the logits have the same argmax
        found = parity(memory(task), task, {"here": scale * logits}, dtype="bfloat16", exact=True)["here"]
        assert found.memorized == memorized


def test_values_and_classes_of_vectors_are_compared():
    for name, memorized in (("layer of values", None), ("layer of classes", TASKS["layer of classes"].n_examples)):
        model, task = MODELS[name], TASKS[name]
        exact = enclose_logits(model, task).midpoint
        found = parity(model, task, {"here": exact}, dtype="float64", exact=True)["here"]
        assert found.agrees is True and found.mean_loss < 10 and memorized in (None, found.memorized)
        found = parity(model, task, {"here": exact[:, ::-1]}, dtype="float64", exact=True)["here"]
        assert found.agrees is False


def test_models_without_any_logit_but_zero_are_compared():
    model, task = MODELS["embeddings alone"], task_of("embeddings alone")
    zero = replace(model, W_U=np.zeros_like(model.W_U))
    assert isinstance(zero, Model)
    runs = {"zero": np.zeros((task.n_contexts, 7)), "one": np.ones((task.n_contexts, 7))}
    found = parity(zero, task, runs, dtype="float64", exact=True)
    assert (found["zero"].agrees, found["one"].agrees) == (True, False)
    assert rounded_model(zero, "float16").W_U.max() == 0.0


def test_a_text_of_many_blocks_is_compared_with_its_integers():
    """Balls grow through ninety blocks until they say nothing; nothing of these logits is rounded."""
    task = whole_text("It was many and many a year ago, in a kingdom by the sea, that a maiden there lived")
    model = hold(task, memory="probes").model
    found = Replica.from_model(model, dtype=torch.float64)(torch.tensor(task.contexts)).detach().numpy()
    assert parity(model, task, {"torch": found}, dtype="float64", exact=False)["torch"].agrees is True
    off = parity(model, task, {"torch": found + np.eye(len(found), found.shape[1])}, dtype="float64", exact=False)
    assert off["torch"].agrees is False and 1 <= off["torch"].largest_difference < 1 + 1e-9
