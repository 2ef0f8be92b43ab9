"""The network in integers, against the enclosures that it shares no code with."""

from fractions import Fraction

import numpy as np
import pytest

from tests.memories import memory, random_task
from verify.arithmetic.integers import dyadic
from verify.forward.float64 import enclose_features, enclose_logits
from verify.independent.integer_forward import IntegerForward
from verify.independent.plain_model import PlainModel


def outputs(network, contexts, tmp_path):
    network.save(tmp_path / "model.safetensors")
    forward = IntegerForward(PlainModel.read(tmp_path / "model.safetensors"))
    tuples = [tuple(map(int, context)) for context in contexts]
    return forward.run(tuples, keep_features=True, label="memorized", progress=lambda *_: None)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("beta", [0.1, 3.0, 300.0])
def test_both_paths_enclose_the_same_logits_and_features(tmp_path, seed, beta):
    task = random_task(seed=seed)
    network = memory(task, beta=beta, seed=seed)
    found = outputs(network, task.contexts, tmp_path)
    for enclosure, rows, scale, error in (
        (enclose_logits(network, task.contexts), found.logits(), found.logit_scale, found.logit_error),
        (
            enclose_features(network, task.contexts),
            found.feature_rows(False),
            found.features_scale,
            found.features_error,
        ),
    ):
        radius = np.broadcast_to(enclosure.radius, enclosure.shape)
        for i, row in enumerate(rows):
            for j, n in enumerate(row):
                distance = abs(dyadic(int(n), scale) - Fraction(float(enclosure.midpoint[i, j])))
                assert distance <= Fraction(float(radius[i, j])) + dyadic(error, scale)
                assert dyadic(error, scale) < Fraction(1, 10**12)


def test_the_skip_connection_comes_before_the_features(tmp_path):
    task = random_task()
    network = memory(task)
    found = outputs(network, task.contexts, tmp_path)
    last = network.W_E[task.contexts[:, -1]] + network.W_pos[-1]
    row = next(iter(found.feature_rows(True)))
    assert len(row) == network.d_model + network.n_heads * network.d_head
    near = [float(dyadic(int(n), found.features_scale)) for n in row[: network.d_model]]
    assert np.abs(np.array(near) - last[0]).max() < 1e-12
