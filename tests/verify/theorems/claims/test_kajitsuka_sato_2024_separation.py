"""Distances of outputs are certified on all sequences of a size; equal outputs, or fewer sequences, are noticed."""

import numpy as np
import pytest

from constructions.model.exact_network import ExactFrontEnd, as_rationals
from constructions.rational.rank_one_head import rank_one_head
from verify.theorems.claims import kajitsuka_sato_2024_separation as audit
from verify.verdict import Verdict


def test_a_head_that_looks_at_all_tokens_alike_is_refuted(monkeypatch):
    def uniform(**sizes):
        head, sequences = rank_one_head(**sizes)
        nothing = (as_rationals([[0]]),)
        return ExactFrontEnd(head.W_E, head.W_pos, nothing, head.W_K, head.W_V), sequences

    monkeypatch.setattr(audit, "rank_one_head", uniform)
    assert audit._distinct(4, 2).verdict is Verdict.REFUTED


@pytest.mark.parametrize("change", [lambda s: s[:-1], lambda s: np.vstack([s, s[:1]]), lambda s: 0 * s])
def test_sequences_that_are_not_all_or_repeat_a_token_are_refuted(monkeypatch, change):
    def other(**sizes):
        head, sequences = rank_one_head(**sizes)
        return head, change(sequences)

    monkeypatch.setattr(audit, "rank_one_head", other)
    assert audit._distinct(4, 2).verdict is Verdict.REFUTED


def test_a_sequence_that_repeats_a_token_is_none_of_those_of_the_statement(monkeypatch):
    def other(**sizes):
        head, sequences = rank_one_head(**sizes)
        return head, np.vstack([sequences[1:], np.full((1, sequences.shape[1]), sequences[0, -1])])

    assert audit._distinct(3, 2).verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "rank_one_head", other)
    assert audit._distinct(3, 2).verdict is Verdict.REFUTED


def test_tokens_of_other_sizes_are_not_those_of_the_separation(monkeypatch):
    def other(**sizes):
        head, sequences = rank_one_head(**sizes)
        return ExactFrontEnd(2 * head.W_E, head.W_pos, head.W_Q, head.W_K, head.W_V), sequences

    monkeypatch.setattr(audit, "rank_one_head", other)
    assert audit._distinct(4, 2).verdict is Verdict.REFUTED


def test_equal_codes_are_refuted(monkeypatch):
    original = audit.positional_attention

    def flat(*given, **options):
        W_E, W_pos, head, codes = original(*given, **options)
        return 0 * W_E, W_pos, head, codes

    monkeypatch.setattr(audit, "positional_attention", flat)
    assert audit._integers().verdict is Verdict.REFUTED


def test_the_least_distance_of_two_numbers_is_theirs():
    assert audit.least_distance([5, 1, 3]) == 2 and audit.least_distance([5, 1, 5]) == 0
    assert audit.least_distance([5]) == 0
