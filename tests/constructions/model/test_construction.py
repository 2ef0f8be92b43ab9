"""A construction and its task fit each other."""

import pytest

from constructions.errors import InputError
from constructions.model.construction import Construction
from tests.layers import random_layer, random_layer_task
from tests.memories import memory, random_task


def test_a_construction_refuses_a_layer_that_does_not_fit_its_task():
    with pytest.raises(InputError, match="dimension 3"):
        Construction(random_layer_task(d_model=3), random_layer(d_model=4), "")
    with pytest.raises(InputError, match="2 labels"):
        Construction(random_layer_task(d_out=2), random_layer(d_out=3), "")


def test_a_construction_refuses_tokens_for_vectors_and_vectors_for_tokens():
    network = memory(random_task())
    with pytest.raises(InputError, match="task brings vectors"):
        Construction(random_layer_task(), network, "")
    with pytest.raises(InputError, match="model reads vectors"):
        Construction(random_task(), random_layer(), "")


@pytest.mark.parametrize(("size", "message"), [({"n_ctx": 4}, "contexts of 4"), ({"vocabulary": 6}, "6 tokens")])
def test_a_construction_refuses_a_network_of_other_sizes(size, message):
    with pytest.raises(InputError, match=message):
        Construction(random_task(**size), memory(random_task()), "")
