"""Masses that are missed are exact, and errors of another memory are noticed."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from constructions.encoders.outer_product_memory import Associations
from constructions.errors import InputError
from verify.theorems.claims import cabannes_2024_scaling as audit
from verify.theorems.claims.cabannes_2024_scaling import truncated_memory
from verify.verdict import Verdict


def test_the_mass_that_is_missed_is_counted_in_fractions():
    eye = np.eye(3, dtype=np.int64)
    all_right = Associations(eye, eye, np.arange(3), eye)
    assert audit.missed_mass(all_right) == 0
    second_wrong = replace(all_right, labels=np.array([0, 2, 2]))
    assert audit.missed_mass(second_wrong) == Fraction(1, 4) / (1 + Fraction(1, 4) + Fraction(1, 9))
    assert audit.missed_mass(replace(all_right, memory=0 * eye)) == 1  # level with the others is missed


@pytest.mark.parametrize("change", [lambda m: 2 * m, lambda m: -m])
def test_a_matrix_that_is_no_sum_is_not_measured(changed, change):
    changed(audit, "truncated_memory", lambda made: replace(made, memory=change(made.memory)))
    with pytest.raises(ArithmeticError, match="no sum of the first outer products"):
        audit.least_error(16, outputs=4, seed=0)


def test_an_error_that_falls_as_fast_as_printed_is_not_called_slower(monkeypatch):
    monkeypatch.setattr(audit, "least_error", lambda width, **_: Fraction(1, width))
    assert audit._falls(few=True, outputs=4, draws=1).verdict is Verdict.REFUTED
    assert audit._falls(few=False, outputs=4, draws=1).verdict is Verdict.REFUTED


def test_an_error_that_does_not_fall_is_refuted(monkeypatch):
    monkeypatch.setattr(audit, "least_error", lambda width, **_: Fraction(1, 7))
    assert audit._falls(few=True, outputs=4, draws=1).verdict is Verdict.REFUTED


def test_sizes_out_of_range_are_refused():
    for stored in (0, 9):
        with pytest.raises(InputError, match="expected 1 <= P <= N"):
            truncated_memory(d_model=4, count=8, outputs=2, stored=stored)


def test_only_the_most_frequent_inputs_are_added_up():
    made = truncated_memory(d_model=4, count=9, outputs=3, stored=2)
    assert np.array_equal(made.memory, made.outputs[:2].T @ made.inputs[:2])
    assert made.labels.tolist() == [0, 1, 2] * 3
