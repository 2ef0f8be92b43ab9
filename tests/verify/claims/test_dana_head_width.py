"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

from constructions.claims.dana_head_width import CLAIM, folded
from verify.claims import dana_head_width as audit
from verify.claims.audit import Audit
from verify.verdict import Verdict

WIDE = audit._network(tokens=3, length=2, width=2, head_width=3, heads=2)


def test_the_verdict_is_confirmed():
    assert Audit(CLAIM, tuple(audit.evidence(full=False)), 0.0).confirmed


def test_a_head_of_other_logits_proves_nothing():
    narrow = folded(WIDE)
    assert audit._same(WIDE, narrow).verdict is Verdict.PROVED
    louder = replace(narrow, blocks=(replace(narrow.attention, W_O=2 * narrow.W_O),))
    assert audit._same(WIDE, louder).verdict is Verdict.REFUTED


def test_a_network_that_is_as_wide_saves_nothing():
    assert audit._same(WIDE, WIDE).verdict is Verdict.REFUTED


def test_products_of_less_rank_prove_nothing():
    narrow = audit._network(tokens=3, length=2, width=3, head_width=2, heads=1)
    assert audit._rank_of_narrow(narrow).verdict is Verdict.PROVED
    silent = replace(narrow, blocks=(replace(narrow.attention, W_V=0 * narrow.W_V),))
    assert audit._rank_of_narrow(silent).verdict is Verdict.REFUTED
    assert audit._rank_of_narrow(WIDE).verdict is Verdict.REFUTED
