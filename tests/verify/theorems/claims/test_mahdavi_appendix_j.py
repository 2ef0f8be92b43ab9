"""The audit certifies what it says, and nothing that is not so."""

import numpy as np

from verify.theorems.claims import mahdavi_appendix_j as audit
from verify.verdict import Verdict

SIZES = {"n_ctx": 6, "d_model": 8, "n_heads": 4, "d_head": 2}


def test_wider_heads_lose_by_a_smaller_kruskal_rank(monkeypatch):
    assert audit._promises().verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "_HEAD_WIDTH", 300)
    assert audit._promises().verdict is Verdict.REFUTED


def test_silent_heads_keep_no_promise(changed):
    assert audit._kept(**SIZES, kruskal=3).verdict is Verdict.PROVED

    changed(audit, "saturated_heads", lambda found: type(found)(**{**vars(found), "W_K": np.zeros_like(found.W_K)}))
    assert audit._kept(**SIZES, kruskal=3).verdict is not Verdict.PROVED
