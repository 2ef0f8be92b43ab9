"""Divergences of distributions of one's own from what an unembedding makes of them: bounds that hold, and errors."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing import strategies
from constructions.encoders.low_entropy_encoder import lookup_encoder
from constructions.errors import HypothesisError, InputError
from constructions.unembeddings.axes import simplex
from constructions.unembeddings.johnson_lindenstrauss import gaussian_unembedding, johnson_lindenstrauss_unembedding
from verify.theorems.encoders.lookup_divergence import lookup_divergence

UNEMBEDDINGS = (
    johnson_lindenstrauss_unembedding(6, 40, seed=1),
    gaussian_unembedding(6, 40, seed=2),
    simplex(6, 5),
)


def judged(unembedding, distributions, **changes):
    made = lookup_encoder(unembedding, distributions)
    arguments = {"encoders": made.encoders, "strengths": made.strengths, "tokens": made.tokens, **changes}
    return lookup_divergence(unembedding.vectors, distributions=distributions, **arguments)


@pytest.mark.parametrize("unembedding", UNEMBEDDINGS, ids=lambda u: u.family)
@given(data=st.data())
def test_the_divergence_is_enclosed_and_keeps_the_bound(unembedding, data):
    distributions = data.draw(strategies.distributions(d_vocab=6, rows=3))
    found, made = judged(unembedding, distributions), lookup_encoder(unembedding, distributions)
    with mpmath.workdps(80):
        for row, (weights, token, strength) in enumerate(
            zip(distributions.tolist(), made.tokens.tolist(), made.strengths.tolist(), strict=True)
        ):
            p = [mpmath.mpf(w) for w in weights]
            p = [w / mpmath.fsum(p) for w in p]
            products = unembedding.vectors.astype(object) @ unembedding.encoders[token].astype(object)
            z = [mpmath.mpf(strength) * int(x) for x in products]
            top = max(z)
            normalizer = top + mpmath.log(mpmath.fsum(mpmath.exp(x - top) for x in z))
            exact = mpmath.fsum(w * (mpmath.log(w) - x + normalizer) for w, x in zip(p, z, strict=True) if w)
            tiny = mpmath.mpf(10) ** -60
            assert found.divergence.lower()[row] <= exact + tiny
            assert exact <= found.divergence.upper()[row] + tiny
            # Theorem LE1; its strength is rounded to float64.
            assert exact <= mpmath.mpf(float(found.bound.upper()[row])) * (1 + mpmath.mpf(2) ** -30) + 1e-13


def test_the_printed_bound_is_there_just_where_it_says_something():
    rows = np.full((1, 3), 0.005)
    rows[0, 1] = 0.99
    wide = johnson_lindenstrauss_unembedding(3, 800)
    assert judged(wide, rows).printed is not None  # C = .24
    assert judged(johnson_lindenstrauss_unembedding(3, 150), rows).printed is None  # C = .54


def test_bad_input_is_named():
    unembedding = UNEMBEDDINGS[0]
    rows = np.full((2, 6), 1 / 6)
    with pytest.raises(InputError, match="row 1 sums to"):
        judged(unembedding, np.vstack([rows[0], rows[1] * 0.9]))
    with pytest.raises(InputError, match="distributions"):
        lookup_encoder(unembedding, rows[:, :5])
    with pytest.raises(InputError, match="negative"):
        lookup_encoder(unembedding, -rows)
    with pytest.raises(HypothesisError, match="strengths"):
        judged(unembedding, rows, strengths=np.array([1.0, -1.0]))
    with pytest.raises(InputError, match="tokens"):
        judged(unembedding, rows, tokens=np.array([0, 6]))
    with pytest.raises(InputError, match="encoders"):
        judged(unembedding, rows, encoders=np.zeros((2, 3), dtype=np.int8))
