import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.edits.half_space import TRIGGER, half_spaces
from constructions.errors import HypothesisError, InputError
from constructions.model.blocks import Normalization


def on_a_sphere(seed: int, size: int, d: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(size, d))
    return rows * (np.sqrt(d) / np.linalg.norm(rows, axis=1, keepdims=True))


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(2, 6), st.booleans())
def test_each_neuron_is_on_at_its_own_row_and_off_at_all_others(seed: int, size: int, d: int, shifted: bool) -> None:
    rows, rng = on_a_sphere(seed, size, d), np.random.default_rng(seed + 1)
    gain = rng.choice([-1.0, 1.0], size=d) * (0.1 + rng.random(d))
    norm = Normalization("rms", w=gain, b=rng.normal(size=d) if shifted else None)
    places = rng.permutation(size)[: max(1, size // 2)]
    found = half_spaces(rows, norm, places)
    read = rows * norm.w + (0.0 if norm.b is None else norm.b)
    inside = read @ found.weights + found.shifts
    for edit, place in enumerate(places):
        tolerance = 1e-9 * TRIGGER / found.gaps[edit]
        assert inside[place, edit] == pytest.approx(TRIGGER, abs=tolerance)
        others = np.delete(inside[:, edit], place)
        assert (others <= -TRIGGER + tolerance).all()
        if size > 1:
            assert inside[found.nearest[edit], edit] == pytest.approx(-TRIGGER, abs=tolerance)


def test_where_the_own_normal_does_not_do_another_one_is_found() -> None:
    rows = np.array([[1.0, 0.0], [1.5, 1.0], [1.5, -1.0], [0.0, 0.1]])
    with pytest.raises(HypothesisError, match="context 0"):  # in the hull of the others
        half_spaces(rows, Normalization("rms", w=np.ones(2)), np.array([0]))
    rows = np.array([[1.0, 0.0], [1.5, 1.0], [1.5, 0.5]])  # the own normal has them on the wrong side
    found = half_spaces(rows, Normalization("rms", w=np.ones(2)), np.array([0]))
    inside = (rows @ found.weights + found.shifts)[:, 0]
    assert inside[0] == pytest.approx(TRIGGER) and (inside[1:] <= -TRIGGER + 1e-9).all()


def test_a_row_that_stands_twice_cannot_be_cut_off_and_the_other_is_named() -> None:
    rows = on_a_sphere(0, 5, 4)
    rows[3] = rows[1]
    with pytest.raises(HypothesisError, match="cuts context 1 off from context 3"):
        half_spaces(rows, Normalization("rms", w=np.ones(4)), np.array([1]))


def test_a_gap_that_is_too_small_is_refused() -> None:
    rows = on_a_sphere(0, 5, 4)
    rows[3] = rows[1] + 1e-3
    with pytest.raises(HypothesisError):
        half_spaces(rows, Normalization("rms", w=np.ones(4)), np.array([1]), least_gap=0.5)


def test_coordinates_without_gain_are_not_read() -> None:
    rows, gain = on_a_sphere(1, 6, 5), np.array([0.0, 1.0, -2.0, 1.0, 0.5])
    found = half_spaces(rows, Normalization("rms", w=gain), np.array([2]))
    assert (found.weights[0] == 0.0).all()
    inside = ((rows * gain) @ found.weights + found.shifts)[:, 0]
    assert inside[2] == pytest.approx(TRIGGER) and (np.delete(inside, 2) <= -TRIGGER + 1e-6).all()


def test_a_trigger_of_zero_is_refused() -> None:
    with pytest.raises(InputError, match="trigger"):
        half_spaces(np.eye(2), Normalization("rms", w=np.ones(2)), np.array([0]), trigger=0.0)


@pytest.mark.parametrize("gain", [1e-300, 5e-324])
def test_weights_beyond_float64_are_refused_by_naming_the_context(gain: float) -> None:
    rows = 1e-12 * on_a_sphere(0, 5, 4)
    norm = Normalization("rms", w=np.full(4, gain))
    with pytest.raises(HypothesisError, match=r"weights are within the range of float64.* cut context 2 off"):
        half_spaces(rows, norm, np.array([2]))


def test_rows_of_zeros_cannot_be_cut_off() -> None:
    with pytest.raises(HypothesisError, match=r"the gap is 0\.0e"):
        half_spaces(np.zeros((2, 3)), Normalization("rms", w=np.ones(3)), np.array([0]))
