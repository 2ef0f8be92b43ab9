"""Frequencies as hosts compute them in float32."""

import numpy as np
import pytest

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.rotation import powers, rotation
from constructions.errors import InputError


def frequencies(width=8, **said):
    return rotation(Checkpoint({}, {"model_type": "llama", **said}), width)


def test_powers_are_float32_numbers_next_to_the_exact_ones():
    found = powers(10000.0, 64)
    assert found.dtype == np.float32 and found[0] == 1.0
    exact = 10000.0 ** -(np.arange(0, 64, 2) / 64.0)
    assert (np.abs(found / exact - 1.0) < 7e-7).all()


def test_older_fields_say_the_same():
    new = frequencies(rope_parameters={"rope_type": "linear", "rope_theta": 500.0, "factor": 4.0})
    old = frequencies(rope_theta=500.0, rope_scaling={"type": "linear", "factor": 4.0})
    assert new.tolist() == old.tolist() == (powers(500.0, 8) / np.float32(4.0)).tolist()


@pytest.mark.parametrize(
    "said",
    [{"rope_type": "linear"}, {"rope_type": "linear", "factor": -1.0}, {"rope_type": "default", "turbo": 1},
     {"partial_rotary_factor": 0.4}, {"partial_rotary_factor": 0.01}],
)  # fmt: skip
def test_what_makes_no_frequencies_is_refused(said):
    with pytest.raises(InputError, match="llama"):
        frequencies(rope_parameters=said)
