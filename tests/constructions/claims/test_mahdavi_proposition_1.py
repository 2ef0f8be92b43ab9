"""The synthetic data of the paper."""

import numpy as np
import pytest

from constructions.claims.mahdavi_proposition_1 import CLAIM, uniform_examples


def test_the_claim_holds() -> None:
    assert CLAIM.id == "mahdavi.proposition-1" and CLAIM.judgement == "holds"


@pytest.mark.parametrize("shared", [True, False])
def test_examples_are_uniform_and_reproducible(shared: bool) -> None:
    sizes = {"examples": 50, "tokens": 4, "width": 6, "shared": shared}
    contexts, queries = uniform_examples(**sizes, seed=1)
    assert contexts.shape == (1 if shared else 50, 4, 6) and queries.shape == (50, 6)
    for values in (contexts, queries):
        assert 0.0 <= values.min() < 0.2 and 0.8 < values.max() < 1.0
    again, other = uniform_examples(**sizes, seed=1), uniform_examples(**sizes, seed=2)
    assert (again[1] == queries).all() and (other[1] != queries).any()
    assert len(np.unique(queries)) == queries.size
