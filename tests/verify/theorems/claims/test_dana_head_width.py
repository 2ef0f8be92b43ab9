"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

from constructions.attention.embeddings import integer_attention
from constructions.model.exact_attention import exact_logits
from constructions.model.exact_network import as_rationals, exact_network
from constructions.tasks.arrays import all_contexts
from verify.theorems.claims import dana_head_width as audit
from verify.theorems.claims.dana_head_width import folded
from verify.verdict import Verdict

WIDE = audit._network(d_vocab=3, n_ctx=2, d_model=2, d_head=3, n_heads=2)


def test_a_head_of_other_logits_proves_nothing():
    narrow = folded(WIDE)
    assert audit._same(WIDE, narrow).verdict is Verdict.PROVED
    louder = replace(narrow, blocks=(replace(narrow.attention, W_O=2 * narrow.W_O),))
    assert audit._same(WIDE, louder).verdict is Verdict.REFUTED


def test_a_network_that_is_as_wide_saves_nothing():
    assert audit._same(WIDE, WIDE).verdict is Verdict.REFUTED


def test_products_of_less_rank_prove_nothing():
    narrow = audit._network(d_vocab=3, n_ctx=2, d_model=3, d_head=2, n_heads=1)
    assert audit._rank_of_narrow(narrow).verdict is Verdict.PROVED
    silent = replace(narrow, blocks=(replace(narrow.attention, W_V=0 * narrow.W_V),))
    assert audit._rank_of_narrow(silent).verdict is Verdict.REFUTED
    assert audit._rank_of_narrow(WIDE).verdict is Verdict.REFUTED


def test_narrow_heads_are_folded_too() -> None:
    front_end = integer_attention(d_vocab=3, n_ctx=2, d_model=3, n_heads=2, d_head=2, seed=4)
    outputs = (as_rationals([[1, 2, 3], [4, 5, 7]]), as_rationals([[0, 1, 0], [2, 0, 5]]))
    network = exact_network(front_end, outputs, as_rationals([[1, 0, 2], [0, 1, 3], [1, 1, 1]]))
    found = folded(network)
    assert found.d_head == 3
    assert exact_logits(found, all_contexts(3, 2)) == exact_logits(network, all_contexts(3, 2))
