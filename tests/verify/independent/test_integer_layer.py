"""The layer in integers: every number within its stated error, straight against many digits."""

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import mpmath
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from tests.layers import BITS, layers_and_tasks, random_layer, random_layer_task, truth
from verify.independent import integer_layer as module
from verify.independent.integer_forward import NoInformationError
from verify.independent.integer_layer import attention_shares, integer_layer
from verify.independent.plain_layer_files import PlainLayer, PlainLayerTask


def read(layer, task):
    with TemporaryDirectory() as name:
        layer.save(Path(name) / "layer")
        task.save(Path(name) / "task")
        return PlainLayer.read(Path(name) / "layer"), PlainLayerTask.read(Path(name) / "task")


def within(integer, scale, error, exact):
    with mpmath.workprec(BITS):
        return abs(mpmath.ldexp(mpmath.mpf(integer), -scale) - exact) <= mpmath.ldexp(mpmath.mpf(error), -scale)


@pytest.mark.parametrize("bits", [60, 128])
@given(case=layers_and_tasks())
def test_every_integer_is_within_its_error(bits, case):
    layer, task = case
    exact, found = truth(layer, task), integer_layer(*read(layer, task), feature_bits=bits)
    tops = [max(exact.theta[t][h]) for h in range(layer.n_heads) for t in range(task.n_examples)]
    assert all(within(n, 128, found.share_error, top) for n, top in zip(found.top, tops, strict=True))
    for row, expected in zip(found.feature_rows(False), exact.mixed, strict=True):
        for n, x in zip(row, expected, strict=True):
            assert within(n, found.features_scale, found.features_error, x) and abs(n) < 2**bits
    for t, row in enumerate(exact.outputs):
        for j, x in enumerate(row):
            assert within(found.outputs[t][j], found.output_scale, found.output_error, x)
            low, high = found.output(t, j)
            assert low < high and Fraction(found.outputs[t][j]) * 2 == (low + high) * 2**found.output_scale


def test_the_errors_are_tiny_beside_the_numbers():
    layer, task = random_layer(), random_layer_task()
    found = integer_layer(*read(layer, task))
    assert found.features_error <= 3 and found.share_error == 9
    low, high = found.output(0, 0)
    assert 0 < high - low < Fraction(1, 2**100)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=6), st.integers(0, 20))
def test_shares_are_within_their_error_and_sum_to_at_most_one(scores, scale):
    shares = attention_shares(scores, scale)
    assert sum(shares) <= 2**128 and all(share >= 0 for share in shares)
    with mpmath.workprec(BITS):
        powers = [mpmath.exp(mpmath.ldexp(mpmath.mpf(score), -scale)) for score in scores]
        for share, power in zip(shares, powers, strict=True):
            assert within(share, 128, 3 + 2 * len(scores), power / mpmath.fsum(powers))


def test_an_exponential_without_information_is_said_so(monkeypatch):
    monkeypatch.setattr(module, "arb", lambda x: arb(-1, 1) if x[0] < 0 else arb(x))
    with pytest.raises(NoInformationError):
        attention_shares([0, -1], 0)


def test_saturation_is_counted_on_the_safe_side():
    layer, task = random_layer(heads=1), random_layer_task(tokens=1)
    found = integer_layer(*read(layer, task))
    assert found.saturated(Fraction(1, 2)) == (4, 4)
    assert found.saturated(Fraction(found.share_error, 2 * 2**128)) == (0, 4)
