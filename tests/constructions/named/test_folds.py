"""Tests of constructions/named/folds.py: the weights can read the rule, and follow it."""

from fractions import Fraction

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.named.folds import FOLDS
from verify.folds.fold_answers import judge_fold
from verify.runs.formats import FLOAT32

SMALL = {
    "adder": {"digits": 3, "base": 4},
    "maximum": {"tokens": 12, "below": 7},
    "parity": {"bits": 64},
    "modular-sum": {"terms": 12, "modulus": 5},
}


@pytest.mark.parametrize("name", list(FOLDS))
def test_all_inputs_are_right_in_every_float32_run(name: str) -> None:
    model, fold = FOLDS[name].construct(**SMALL[name])
    found = judge_fold(model, fold, number_format=FLOAT32)
    assert (found.left, found.wrong) == (0, None)
    assert found.inputs == np.prod([len(stage.choices) for stage in fold.stages], dtype=object)


def test_a_parameter_that_there_is_not_or_is_no_integer_is_refused() -> None:
    with pytest.raises(InputError, match="digits, base"):
        FOLDS["adder"].construct(bits=3)
    with pytest.raises(InputError, match="an integer"):
        FOLDS["parity"].construct(bits=Fraction(5, 2))


@pytest.mark.parametrize(("name", "parameter"), [(name, each) for name in FOLDS for each in FOLDS[name].parameters])
def test_a_parameter_that_is_too_small_is_refused_by_its_own_name(name: str, parameter: str) -> None:
    with pytest.raises(InputError, match=f"^{parameter} = 0, expected at least"):
        FOLDS[name].construct(**{parameter: 0})
