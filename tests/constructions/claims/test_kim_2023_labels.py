"""One head and words of bits: one context, and labels that do not fit."""

import numpy as np
import pytest

from constructions.claims.kim_2023_labels import sequence_network
from constructions.errors import InputError
from verify.claims.words import judge_words


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="2 labels of 1 contexts"):
        sequence_network(np.array([[0, 1]]), np.array([0, 1]), tokens=2)


def test_one_context_and_one_label_are_held():
    assert (
        judge_words(sequence_network(np.array([[0]]), np.array([0]), tokens=1), np.array([[0]]), np.array([0])).held
        == 1
    )
