"""Whole domains: the counts are those of every single input, whatever the model, the budgets and an interrupt."""

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing import strategies
from constructions.errors import InputError
from constructions.model.model import Model
from constructions.tasks.rule import rule_task
from tests.domains import max_of_four, one_attention, quiet, truth
from verify import workers
from verify.domains import rule_answers
from verify.domains.rule_answers import judge_rule
from verify.journal import Journal
from verify.workers import processes


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("heads", [0, 1, 2])
def test_every_input_is_decided_as_balls_decide_it(seed, heads):
    model, task = one_attention(np.random.default_rng(seed), n_heads=heads, largest_tokens=4, largest_length=3)
    right, wrong = truth(model, task)
    found = judge_rule(model, task, progress=quiet)
    assert (found.right, found.wrong, found.undecided) == (len(right), len(wrong), task.n_contexts - len(right | wrong))
    assert set(found.wrong_examples) <= wrong and not found.interrupted


@given(st.data())
def test_models_of_any_blocks_are_judged_input_by_input(data):
    model = data.draw(strategies.models(hostile=data.draw(st.booleans())).filter(lambda model: model.reads_tokens))
    length = data.draw(st.integers(1, min(2, model.n_ctx)))
    task = rule_task("max", d_vocab=min(model.d_vocab, model.d_vocab_out), n_ctx=length)
    judged_as_balls_do(model, task)


def judged_as_balls_do(model, task):
    """A lead that floats do not hold may be left open, and is never decided the wrong way."""
    right, wrong = truth(model, task)
    by_far_right, by_far_wrong = truth(model, task, least=2.0**-1000)
    found = judge_rule(model, task, progress=quiet)
    assert len(by_far_right) <= found.right <= task.n_contexts - len(wrong)
    assert len(by_far_wrong) <= found.wrong <= task.n_contexts - len(right)
    assert not (set(found.wrong_examples) & right)


def test_a_lead_below_the_floats_is_not_decided_the_wrong_way():
    model = Model(blocks=(), W_U=np.array([[0.0, 5e-324]]), W_E=np.zeros((2, 1)), W_pos=np.full((1, 1), 0.5))
    judged_as_balls_do(model, rule_task("max", d_vocab=2, n_ctx=1))


def test_budgets_leave_inputs_undecided_and_counts_true():
    model, task = max_of_four(np.random.default_rng(3)), rule_task("max", d_vocab=8, n_ctx=4)
    right, wrong = truth(model, task)
    none = judge_rule(model, task, visits=0, one_by_one=0, progress=quiet)
    assert none.right <= len(right) and none.wrong <= len(wrong) and none.undecided > 0
    two = Model(blocks=(*model.blocks, *model.blocks), W_U=model.W_U, W_E=model.W_E, W_pos=model.W_pos)
    few = judge_rule(two, task, one_by_one=50, progress=quiet)
    assert few.one_by_one == 50 and few.right + few.wrong <= 50 and few.undecided >= task.n_contexts - 50
    for name in ("visits", "one_by_one"):
        with pytest.raises(InputError, match=name):
            judge_rule(model, task, **{name: -1}, progress=quiet)


def test_several_heads_look_at_all_inputs_of_a_last_token_or_at_none():
    model, task = one_attention(np.random.default_rng(4), n_heads=2, largest_tokens=4, largest_length=3)
    several = task.n_contexts // len(task.tokens[-1])
    for visits, seen in ((several - 1, 0), (several, several)):
        found = judge_rule(model, task, visits=visits, progress=quiet)
        assert found.right + found.wrong == seen


def test_an_interrupt_keeps_what_was_proved(monkeypatch):
    model, task = max_of_four(), rule_task("max", d_vocab=8, n_ctx=4)
    whole = judge_rule(model, task, progress=quiet)
    shares = []

    def interrupt(stage, share, detail):
        shares.append(share)
        if share >= 0.5:
            raise KeyboardInterrupt

    part = judge_rule(model, task, progress=interrupt)
    assert part.interrupted and 0 < part.right < whole.right and part.wrong <= whole.wrong
    assert shares == [1 / 8, 2 / 8, 3 / 8, 4 / 8]
    assert part.undecided == task.n_contexts - part.right - part.wrong


def test_a_tie_is_never_right_and_named_where_it_stays_open(monkeypatch):
    monkeypatch.setattr(rule_answers, "_TOGETHER", 3)
    one = np.ones((1, 1, 1))
    model = one_attention(np.random.default_rng(0), scale=1.0)[0]
    block = type(model.blocks[0])(one, one, one, one)
    equal = Model(
        blocks=(block,), W_U=np.full((1, 3), 1 / 3), W_E=np.array([[0.1], [0.7], [1.3]]), W_pos=np.ones((2, 1))
    )
    found = judge_rule(equal, rule_task("max", d_vocab=3, n_ctx=2), progress=quiet)
    assert (found.right, found.one_by_one, found.wrong + len(found.open_examples)) == (0, 9, 9)


def test_a_long_domain_that_nobody_could_enumerate_is_decided():
    model = max_of_four(tokens=6, sharpness=40.0)
    wide = Model(blocks=model.blocks, W_U=model.W_U, W_E=model.W_E, W_pos=np.zeros((20, model.d_model)))
    found = judge_rule(wide, rule_task("max", d_vocab=6, n_ctx=20), progress=quiet)
    assert found.inputs == found.right == 6**20


def in_one_thread():
    return ThreadPoolExecutor(1)


class DeadAt:
    """An executor of which the worker dies over every errand but the first."""

    def __init__(self):
        self.pieces = ThreadPoolExecutor(1)
        self.sent = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pieces.shutdown()

    def submit(self, work, errand):
        self.sent += 1
        if self.sent > 1:
            raise BrokenProcessPool("it died")
        return self.pieces.submit(work, errand)


@pytest.mark.parametrize(
    ("executor", "blocks"),
    [(in_one_thread, 1), (in_one_thread, 2), (DeadAt, 1), (DeadAt, 2), (partial(processes, 2), 1)],
    ids=["thread", "thread, two blocks", "dead", "dead, two blocks", "processes"],
)
def test_workers_find_what_is_found_here(executor, blocks, tmp_path, monkeypatch):
    one, task = max_of_four(np.random.default_rng(3)), rule_task("max", d_vocab=6, n_ctx=4)
    model = Model(blocks=one.blocks * blocks, W_U=one.W_U, W_E=one.W_E, W_pos=one.W_pos)
    monkeypatch.setattr(rule_answers, "_TOGETHER", 500)
    here = judge_rule(model, task, progress=quiet)
    kept = Journal(tmp_path / "pieces", dict)
    assert judge_rule(model, task, workers=executor, journal=kept, progress=quiet) == here
    again = judge_rule(model, task, journal=Journal(tmp_path / "pieces", dict), progress=quiet)
    assert (again.right, again.wrong, again.earlier) == (here.right, here.wrong, here.right + here.wrong)


def test_inputs_are_named_in_order_whichever_worker_is_the_first(monkeypatch):
    monkeypatch.setattr(rule_answers, "MOST_NAMED", 100)
    monkeypatch.setattr("verify.domains.tally.MOST_NAMED", 100)
    model, task = max_of_four(np.random.default_rng(3)), rule_task("max", d_vocab=8, n_ctx=4)
    here, original = judge_rule(model, task, progress=quiet), rule_answers.completed
    monkeypatch.setattr(
        rule_answers, "completed", lambda *given: sorted(original(*given), key=lambda each: each[0], reverse=True)
    )
    assert judge_rule(model, task, workers=in_one_thread, progress=quiet) == here
    assert here.wrong > len(here.wrong_examples)


@pytest.mark.parametrize("budgets", [(0, 0), (40, 2**20), (400, 3), (2**28, 2), (2**28, 60)])
@pytest.mark.parametrize("heads", [1, 2])
def test_workers_spend_no_more_than_the_budgets(budgets, heads):
    model, task = one_attention(np.random.default_rng(8), n_heads=heads, largest_tokens=5, largest_length=4)
    limits = dict(zip(("visits", "one_by_one"), budgets, strict=True))
    assert judge_rule(model, task, **limits, workers=in_one_thread) == judge_rule(model, task, **limits)


def test_an_interrupt_keeps_what_workers_have_proved(monkeypatch):
    model, task = max_of_four(np.random.default_rng(3)), rule_task("max", d_vocab=6, n_ctx=4)
    all_of_it = judge_rule(model, task, progress=quiet)

    def impatient(stage, share, detail):
        if share >= 0.5:
            raise KeyboardInterrupt

    found = judge_rule(model, task, workers=in_one_thread, progress=impatient)
    assert found.interrupted and 0 < found.right + found.wrong < found.inputs
    assert found.right <= all_of_it.right and found.wrong <= all_of_it.wrong


def test_what_another_version_of_the_program_counted_is_not_believed(monkeypatch):
    model, task = max_of_four(np.random.default_rng(3)), rule_task("max", d_vocab=6, n_ctx=4)
    here, judged = judge_rule(model, task), rule_answers._judge_pieces

    def elsewhere(*arguments):
        return [(piece, replace(tally, right=tally.right + 1)) for piece, tally in judged(*arguments)]

    texts = iter(["this one"])
    monkeypatch.setattr(workers, "program_sha256", lambda: next(texts, "another"))
    monkeypatch.setattr(rule_answers, "_judge_pieces", elsewhere)
    assert judge_rule(model, task, workers=in_one_thread) == here
