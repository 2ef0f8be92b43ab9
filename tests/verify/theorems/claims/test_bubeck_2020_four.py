"""Four neurons for d points are certified, and none that miss a label."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.saturated_layers.relu_barrier import moment_curve
from constructions.saturated_layers.slabs import slab_network
from verify.theorems.claims import bubeck_2020_four as audit
from verify.theorems.evidence import Quantifier
from verify.verdict import Verdict


@pytest.mark.parametrize("tensor", ["W_in", "b_in", "W_out"])
def test_a_network_with_one_entry_changed_is_refuted(tensor):
    points = moment_curve(8, 2)
    labels = audit.labels_of(points)
    network = slab_network(points, labels)
    given = "the moment curve", Quantifier.THESE
    assert audit._fits(points, labels, network, *given).verdict is Verdict.PROVED
    changed = getattr(network, tensor).copy()
    changed.flat[0] += 1
    assert audit._fits(points, labels, replace(network, **{tensor: changed}), *given).verdict is Verdict.REFUTED
    assert audit._fits(points + 1, labels, network, *given).verdict is Verdict.REFUTED


def test_points_that_no_float_is_are_not_those_that_are_read():
    line = slab_network(np.array([[1]]), np.array([5]))
    constant = replace(line, W_in=0 * line.W_in, b_in=line.b_in + 5)
    assert audit.neurons_give(constant, np.array([[2**53]]), np.array([5])) == 1
    assert audit.neurons_give(constant, np.array([[2**53 + 1]]), np.array([5])) == 0


def test_labels_that_a_neuron_puts_out_need_no_more(monkeypatch):
    class Ramp:
        def integers(self, low, high, count):
            return np.maximum(np.arange(count) - 2, 0)

    monkeypatch.setattr(audit.np.random, "default_rng", lambda _: Ramp())
    assert audit._necessary(width=1, neurons=1).verdict is Verdict.REFUTED
