"""What counts say about a statement on a domain: true only if both of its numbers follow."""

from itertools import product

from verify.certificates.certificate import DOMAIN, Statement
from verify.provers.counts import check_counts
from verify.verdict import Verdict


def test_a_statement_is_proved_or_refuted_only_where_all_that_is_possible_agrees():
    size = 3
    splits = [(right, wrong) for right, wrong in product(range(size + 1), repeat=2) if right + wrong <= size]
    for memorized, others in splits:
        stated = Statement(DOMAIN, "", {"contexts": size, "memorized": memorized, "wrong": others, "guess_right": 2})
        for right, wrong in splits:
            # What may be true of the inputs that are left open.
            worlds = [(right + open_right, size - right - open_right) for open_right in range(size - right - wrong + 1)]
            truths = {memorized <= all_right and others <= all_wrong for all_right, all_wrong in worlds}
            assert check_counts(stated, right, wrong, 1, "counted").verdict is not Verdict.PROVED
            verdict = check_counts(stated, right, wrong, 2, "counted").verdict.value
            if verdict == "PROVED":
                assert truths == {True}
            elif verdict == "REFUTED":
                assert truths == {False}
            else:
                assert not (right >= memorized and wrong >= others)
