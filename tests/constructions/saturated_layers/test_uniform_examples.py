"""Examples drawn uniformly, with random labels."""

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.saturated_layers.uniform_examples import labelled, uniform_examples


@pytest.mark.parametrize("shared", [True, False])
def test_examples_are_uniform_and_reproducible(shared: bool) -> None:
    sizes = {"examples": 50, "n_ctx": 4, "d_model": 6, "shared": shared}
    contexts, queries = uniform_examples(**sizes, seed=1)
    assert contexts.shape == (1 if shared else 50, 4, 6) and queries.shape == (50, 6)
    for values in (contexts, queries):
        assert 0.0 <= values.min() < 0.2 and 0.8 < values.max() < 1.0
    again, other = uniform_examples(**sizes, seed=1), uniform_examples(**sizes, seed=2)
    assert (again[1] == queries).all() and (other[1] != queries).any()
    assert len(np.unique(queries)) == queries.size


def test_arguments_out_of_range_are_refused() -> None:
    for options in ({"outputs": 0}, {"classes": 1}, {"classes": -1}):
        with pytest.raises(InputError, match="expected outputs >= 1 and classes 0 or >= 2"):
            labelled(np.eye(2)[None], np.eye(2), **options)
