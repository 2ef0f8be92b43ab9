"""Figures of logits that a machine has computed; how accurate they are is in tests/verify/torch/test_run.py."""

import math

import numpy as np
import pytest

from tests.memories import random_task
from verify.divergence.computed import argmax_hits, computed_losses


@pytest.mark.parametrize("target", ["distributions", "labels"])
def test_log_distributions_are_hits_without_divergence(target):
    task = random_task(target=target)
    rows = slice(3, 8)
    logits = np.log(task.distributions[rows]) if target == "distributions" else 50.0 * task.modes(rows)
    assert argmax_hits(logits, task, rows).all()
    assert (computed_losses(logits, task, rows) < 1e-20).all()
    assert not argmax_hits(-logits, task, rows).any()
    assert (computed_losses(-logits, task, rows) > 0.01).all()


def test_a_tie_is_no_hit():
    task = random_task(target="labels")
    assert not argmax_hits(np.zeros((task.n_contexts, task.d_vocab)), task, slice(None)).any()


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_a_logit_that_is_not_finite_is_no_hit_and_infinitely_far(broken):
    task = random_task(target="labels", facts=2, tail=0)
    logits = 50.0 * task.modes()
    logits[1, (task.labels[1] + 1) % task.d_vocab] = broken
    assert argmax_hits(logits, task, slice(None)).tolist() == [True, False]
    assert computed_losses(logits, task, slice(None))[1] == math.inf


def test_the_divergence_of_equal_logits_is_the_logarithm_of_the_vocabulary():
    task = random_task(target="labels")
    logits = np.full((task.n_contexts, task.d_vocab), 7.0)
    assert computed_losses(logits, task, slice(None)) == pytest.approx(math.log(task.d_vocab), rel=1e-14)
