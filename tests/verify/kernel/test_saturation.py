"""Saturated pairs are counted as they are: one more, or a smaller delta, is not proved."""

import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from constructions.model.shapes import mahdavi_layer
from constructions.tasks.criterion import Criterion
from constructions.tasks.vectors import VectorTask
from tests.layers import layers_and_tasks
from tests.verify.kernel import folders
from verify.kernel.check import outcome


def stated(folder: Path) -> Path:
    """Two examples and a head whose weights are 1/2 and 1/2 of the first, 1 and e^-8 in proportion of the second."""
    one = np.ones((1, 1, 1))
    layer = mahdavi_layer(W_Q=one, W_K=one, W_V=one, W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
    task = VectorTask(np.array([[[1.0], [1.0]], [[8.0], [0.0]]]), np.array([[1.0], [1.0]]), np.array([[1.0], [8.0]]))
    return folders.written(folder, layer, task, Criterion(tolerance=0.5), saturation=0.01)


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"saturated_lower": 1}, 0),
        ({"saturated_lower": 0}, 0),
        ({"saturated_lower": 2}, 1),
        ({"pairs": 3}, 1),
        ({"delta": f"1/{2**1000}"}, 1),
        ({"delta": (0.00033).hex()}, 1),
        ({"delta": (0.00034).hex()}, 0),  # 1 / (1 + e^8) = 0.000335
        ({"delta": (1.0).hex()}, 2),
        ({"delta": 0}, 2),
        ({"saturated_lower": 3}, 2),
        ({"saturated_lower": 2, "delta": (0.5).hex()}, 1),  # weights of exactly 1/2, which is not above 1/2
        ({"saturated_lower": 2, "delta": str(Fraction(1, 2) + Fraction(1, 2**1000))}, 0),
    ],
)
def test_what_is_true_of_the_weights(change: dict, expected: int, tmp_path: Path) -> None:
    folder = folders.changed(stated(tmp_path), 1, **change)
    assert folders.code(folder) == expected, outcome(folder)


@given(layers_and_tasks())
def test_the_kernel_agrees_with_the_prover(drawn) -> None:
    layer, task = drawn
    with tempfile.TemporaryDirectory() as name:
        folder = folders.written(Path(name), layer, task, Criterion.at_most(1e300), saturation=0.25)
        assert folders.code(folder) in folders.expected(folder), outcome(folder)
        pairs = folders.certificate(folder)["statements"][1]["values"]["pairs"]
        assert folders.code(folders.changed(folder, 1, pairs=pairs + 1)) == 1
