"""The independent counts: those of every single input, and never of more inputs than were judged."""

import numpy as np
import pytest

from constructions.models.model import Model
from constructions.tasks.rule import rule_task
from tests.domains import max_of_four, one_attention, quiet, truth
from verify.independent import rule_counts
from verify.independent.plain.plain_model import PlainModel
from verify.independent.plain.plain_rule import PlainRule
from verify.independent.rule_counts import count_rule


def counted(folder, model, task):
    model.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    read = PlainModel.read(folder / "model.safetensors"), PlainRule.read(folder / "task.safetensors")
    return count_rule(*read, progress=quiet)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("heads", [0, 1, 2])
def test_small_domains_are_counted_whole(seed, heads, tmp_path):
    model, task = one_attention(np.random.default_rng(seed), n_heads=heads, largest_tokens=4, largest_length=3)
    right, wrong = truth(model, task)
    found = counted(tmp_path, model, task)
    assert (found.right, found.wrong) == (len(right), len(wrong))


def test_most_of_a_domain_is_decided_without_looking_at_its_inputs(tmp_path, monkeypatch):
    model, task = max_of_four(sharpness=0.8), rule_task("max", d_vocab=8, n_ctx=4)
    right, wrong = truth(model, task)
    whole = counted(tmp_path, model, task)
    assert (whole.right, whole.wrong) == (len(right), len(wrong)) and wrong
    monkeypatch.setattr(rule_counts, "_MOST_BEGINNINGS", 0)
    part = counted(tmp_path, model, task)
    assert 0 < part.right < len(right) and part.wrong == 0
    assert f"{part.right} of 4096 inputs are judged" in part.method


def test_of_other_models_it_says_which_inputs_were_judged(tmp_path, monkeypatch):
    model, task = max_of_four(), rule_task("max", d_vocab=8, n_ctx=2)
    two = Model(blocks=model.blocks * 2, W_U=model.W_U, W_E=model.W_E, W_pos=model.W_pos)
    right, wrong = truth(two, task)
    whole = counted(tmp_path, two, task)
    assert (whole.right, whole.wrong) == (len(right), len(wrong))
    monkeypatch.setattr(rule_counts, "_MOST_INPUTS", 63)
    monkeypatch.setattr(rule_counts, "_DRAWN", 10)
    part = counted(tmp_path, two, task)
    drawn = "10 of 64 inputs in balls, drawn by the hashes of model and rule, and no others"
    assert part.right + part.wrong == 10 and part.method == drawn


def test_where_balls_are_too_wide_for_integers_inputs_are_judged_by_themselves(tmp_path, monkeypatch):
    model, task = max_of_four(), rule_task("max", d_vocab=8, n_ctx=2)
    monkeypatch.setattr(rule_counts, "_SCALE", 3000)
    found = counted(tmp_path, model, task)
    right, wrong = truth(model, task)
    assert (found.right, found.wrong) == (len(right), len(wrong)) and "64 inputs in balls" in found.method
