"""One head: bounds that hold on every input, also where sums round, overflow or tie."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.tasks.rule import rule_task
from tests.domains import fraction_logits, max_of_four, one_attention, truth, uniform_attention
from verify.arithmetic.enclosure import Enclosure
from verify.domains.attention_tables import AttentionTables
from verify.domains.separable import Budget, judge_last_token, leads, summands
from verify.domains.tally import Tally


def judged(model, task, visits=10**9):
    tables, tally, budget, left = AttentionTables.of(model, task.tokens), Tally(), Budget(visits), []
    for place in range(len(task.tokens[-1])):
        left += [row for part in judge_last_token(tables, task, place, tally, budget) for row in part.tolist()]
    return tally, left


@pytest.mark.parametrize("seed", range(40))
def test_every_input_is_counted_as_it_is_or_left_open(seed):
    model, task = one_attention(np.random.default_rng(seed))
    right, wrong = truth(model, task)
    tally, left = judged(model, task)
    open_ones = {tuple(each) for each in left}
    assert tally.right == len(right - open_ones) and tally.wrong == len(wrong - open_ones)
    assert set(tally.examples) == wrong - open_ones and len(tally.examples) == tally.wrong
    assert tally.right + tally.wrong + len(left) == task.n_contexts


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("tokens, length", [(2, 1), (2, 3), (3, 3), (8, 2)])
def test_ties_of_exact_fractions_are_decided_by_nobody(seed, tokens, length):
    model = uniform_attention(np.random.default_rng(seed), tokens=tokens, n_ctx=length)
    task = rule_task("max", d_vocab=tokens, n_ctx=length)
    counts = {"right": 0, "wrong": 0, "tie": 0}
    for context in product(range(tokens), repeat=length):
        logits, label = fraction_logits(model, context), max(context)
        lead = logits[label] - max(x for b, x in enumerate(logits) if b != label)
        counts["right" if lead > 0 else "wrong" if lead < 0 else "tie"] += 1
    tally, left = judged(model, task)
    assert (tally.right, tally.wrong, len(left)) == (counts["right"], counts["wrong"], counts["tie"])


def test_most_of_a_domain_is_decided_without_looking_at_its_inputs():
    model, task = max_of_four(sharpness=0.8), rule_task("max", d_vocab=8, n_ctx=4)
    tally, left = judged(model, task, visits=0)
    assert 0 < tally.right < task.n_contexts and tally.wrong == 0 and left == []
    right, wrong = truth(model, task)
    tally, left = judged(model, task)
    assert (tally.right, tally.wrong, left) == (len(right), len(wrong), []) and wrong


def test_a_budget_pays_for_every_beginning_that_is_looked_at():
    """Where all logits tie nothing is decided early: every beginning of every input is one visit."""
    model, task = max_of_four(), rule_task("max", d_vocab=3, n_ctx=4)
    model = replace(model, W_U=0.0 * model.W_U)
    contexts = [(each, each[-1], max(each)) for each in product(range(3), repeat=4)]
    expected = sum(len({(last, label, each[:n]) for each, last, label in contexts}) for n in range(1, 5))
    for visits, left_open, left in ((10**9, task.n_contexts, 10**9 - expected), (0, 0, 0)):
        tables, tally, budget = AttentionTables.of(model, task.tokens), Tally(), Budget(visits)
        found = [part for place in range(3) for part in judge_last_token(tables, task, place, tally, budget)]
        assert (sum(map(len, found)), budget.left) == (left_open, left)


def test_a_budget_leaves_out_and_never_counts_twice():
    model, task = max_of_four(np.random.default_rng(0)), rule_task("max", d_vocab=8, n_ctx=4)
    right, wrong = truth(model, task)
    before = (0, 0)
    for visits in (0, 1, 10, 100, 1000, 10**5):
        tally, _ = judged(model, task, visits)
        assert before[0] <= tally.right <= len(right) and before[1] <= tally.wrong <= len(wrong)
        before = (tally.right, tally.wrong)
    assert before == (len(right), len(wrong))


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2), min_size=1, max_size=6), st.integers(0, 1))
def test_a_sum_of_leads_in_float64_is_below_the_true_sum(rows, label):
    sizes = np.array(rows)
    radius = np.abs(sizes) * 2.0**-50
    for of_rivals in (False, True):
        bounds = leads(Enclosure(sizes, radius), label, len(rows), of_rivals=of_rivals)
        total = 0.0
        for bound in bounds[:, 0]:
            total += float(bound)
        ahead, behind = (1 - label, label) if of_rivals else (label, 1 - label)
        true = sum(
            Fraction(float(x[ahead]))
            - Fraction(float(r[ahead]))
            - Fraction(float(x[behind]))
            - Fraction(float(r[behind]))
            for x, r in zip(sizes, radius, strict=True)
        )
        assert Fraction(total) <= true


def test_small_leads_behind_a_large_one_do_not_round_a_sum_upwards():
    ahead = [1.25, *[1.2 * 2.0**-53] * 40]  # each of the small ones is rounded up to a whole unit of the sum
    rows = np.array([[x, 0.0] for x in ahead])
    for label, of_rivals in ((0, False), (1, True)):
        total = 0.0
        for bound in leads(Enclosure(rows), label, len(rows), of_rivals=of_rivals)[:, 0]:
            total += float(bound)
        assert Fraction(total) <= sum(map(Fraction, ahead)) < Fraction(float(sum(ahead)))
        assert total > 1.25 - 1e-13


def test_leads_that_could_overflow_a_sum_say_nothing():
    huge = leads(Enclosure([[1e300, -1e300], [np.finfo(float).max, 0.0], [1.0, 0.0]]), 0, 3)[:, 0]
    assert huge[0] == huge[1] == -np.inf and 0.0 < huge[2] < 1.0
    assert (leads(Enclosure([[1.0, 0.0]], np.inf), 0, 1) == -np.inf).all()
    assert leads(Enclosure([[0.0, 0.0]]), 0, 1)[0, 0] < 0.0


def test_the_last_position_holds_the_given_token_alone():
    model, task = max_of_four(), rule_task("max", d_vocab=8, n_ctx=2)
    assert summands(AttentionTables.of(model, task.tokens), 3).shape == (9, 8)
