"""The count of distributions is that of the entries, for any model of blocks."""

import numpy as np
import pytest

from constructions.errors import HypothesisError, InputError
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from verify.theorems.capacity.interpolated_distributions import most_interpolated_distributions


def network(outputs: int) -> Model:
    one = np.ones
    return dana_network(
        W_E=one((5, 3)), W_pos=one((2, 3)), W_Q=one((4, 3, 1)), W_K=one((4, 3, 1)), W_V=one((4, 3, 2)),
        W_O=one((4, 2, 3)), W_U=one((3, outputs)),
    )  # fmt: skip


def test_it_is_the_entries_over_the_tokens_less_one():
    entries = 15 + 6 + 12 + 12 + 24 + 24 + 15
    assert network(5).parameters == entries
    assert most_interpolated_distributions(network(5)) == entries // 4


def test_of_two_tokens_it_is_all_entries():
    assert most_interpolated_distributions(network(2)) == network(2).parameters


def test_one_output_and_what_is_no_model_are_refused():
    with pytest.raises(HypothesisError, match="two tokens or more, but d_vocab_out = 1"):
        most_interpolated_distributions(network(1))
    with pytest.raises(InputError, match="model is int"):
        most_interpolated_distributions(3)  # pyright: ignore[reportArgumentType]
