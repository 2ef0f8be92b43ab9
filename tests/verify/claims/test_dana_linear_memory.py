"""More associations than dimensions are counted, and none where the outputs are others."""

import numpy as np

from verify.claims import dana_linear_memory as audit
from verify.verdict import Verdict


def test_other_outputs_store_less(monkeypatch):
    assert audit._more_than_d(5, "repair").verdict is Verdict.PROVED
    assert audit._more_than_d(2, "repair").verdict is not Verdict.PROVED
    monkeypatch.setattr(audit, "parabola", lambda count: np.ones((count, 2)))
    assert audit._more_than_d(5, "repair").verdict is not Verdict.PROVED
