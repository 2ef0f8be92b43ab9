"""Labels that every run holds."""

import numpy as np
import pytest

from constructions.errors import InputError
from tests.verify.runs.integer_models import sum_modulo
from verify.runs.exact_runs import exact_runs
from verify.runs.formats import FLOAT16, FLOAT32


def test_all_labels_of_a_sum_are_memorized_by_a_margin_of_one():
    model, contexts, labels = sum_modulo(11)
    runs = exact_runs(model, contexts, labels)
    assert runs.memorized.all() and 0.999 < runs.margin <= 1.0 and 0.0 < runs.bits <= 24.0 and runs.reason == ""


def test_a_wrong_label_is_not_memorized_and_a_format_that_is_too_short_is_named():
    model, contexts, labels = sum_modulo(11)
    wrong = labels.copy()
    wrong[3] = (wrong[3] + 1) % 11
    assert np.flatnonzero(~exact_runs(model, contexts, wrong, FLOAT32).memorized).tolist() == [3]
    long, pairs, sums = sum_modulo(997)
    some = np.random.default_rng(0).choice(len(pairs), 500, replace=False)
    runs = exact_runs(long, pairs[some], sums[some], FLOAT16)
    assert not runs.memorized.any() and runs.reason == "unembed.b_U overflows"


def test_as_many_labels_as_contexts_are_wanted():
    model, contexts, labels = sum_modulo(3)
    with pytest.raises(InputError, match="labels"):
        exact_runs(model, contexts, labels[1:])
    for label in (-1, 3):  # a label below 0 would share its number with another label of other logits
        with pytest.raises(InputError, match=r"labels are in .*expected 0 \.\. 2"):
            exact_runs(model, contexts, np.where(np.arange(9) == 0, label, labels))
