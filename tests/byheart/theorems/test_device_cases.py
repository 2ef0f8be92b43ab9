"""The constructions that run on a device hold what they are built for."""

import pytest

from byheart.device_runs.cases import cases
from byheart.theorems.device_cases import CONSTRUCTIONS
from verify.provers.memorization import certify_memorization
from verify.verdict import Verdict


def test_each_construction_is_a_case():
    assert [case.name for case in cases() if case.kind == "construction"] == list(CONSTRUCTIONS)


@pytest.mark.parametrize("name", ["skip_connection_head", "saturated_heads"])
def test_a_construction_is_certified_to_hold_its_task(name):
    built = CONSTRUCTIONS[name]()
    assert certify_memorization(built.model, built.task, built.criterion).certificate.verdict is Verdict.PROVED
