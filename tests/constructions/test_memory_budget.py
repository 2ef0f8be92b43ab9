"""Memory is asked for before the work starts."""

import pytest

from constructions.errors import ResourceError
from constructions.memory_budget import available_bytes, require_memory


def test_what_fits_is_let_through_and_one_byte_more_is_not():
    require_memory(1000, purpose="it", available=1000)
    with pytest.raises(ResourceError, match="it would need about"):
        require_memory(1001, purpose="it", available=1000)


def test_there_is_memory_but_not_endlessly():
    assert 0 < available_bytes() < 2**50
    with pytest.raises(ResourceError, match="2\\^50 bytes"):
        require_memory(2**50, purpose="2^50 bytes")
