"""Appendix H as a record."""

from constructions.claims.mahdavi_appendix_h import CLAIM


def test_what_is_true_says_that_it_is_about_built_weights_and_not_about_trained_ones():
    assert CLAIM.judgement == "measured" and CLAIM.build is None
    assert "built here" in CLAIM.truth and "nothing here proves or repeats" in CLAIM.truth
