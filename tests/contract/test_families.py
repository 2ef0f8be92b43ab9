"""Every family is read as its host computes it; see `tests/families.py`."""

import pytest

from byheart.hosts.families import FAMILIES
from tests.families import require_as_the_host, require_recorded


@pytest.mark.parametrize("kind", FAMILIES)
def test_what_is_read_answers_as_the_host_has_answered(kind):
    require_recorded(kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAMILIES)
def test_random_configurations_are_read_as_the_host_reads_them(kind):
    require_as_the_host(kind, range(2, 14))
