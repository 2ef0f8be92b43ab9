"""Tables of groups that do not commute: every run computes them, by far fewer entries than facts."""

from dataclasses import replace

import pytest

from constructions.bigrams.packed_words import packed_words_memory
from constructions.errors import CapacityError
from constructions.memories.affine import group_memory as module
from constructions.memories.affine.group_memory import group_memory
from constructions.tasks.arrays import all_contexts, array_task
from tests.any_order import logits
from tests.constructions.memories.affine.groups import GENERATORS, products, renamed
from verify.certificates.memorization import certify_memorization
from verify.runs.exact_runs import exact_runs
from verify.runs.formats import FORMATS


@pytest.mark.parametrize("name", GENERATORS)
def test_every_run_computes_the_products(name):
    task = renamed(products(name), seed=3)
    built = group_memory(task)
    assert exact_runs(built.model, task.contexts, task.labels).held.all()
    assert (logits(built.model, task.contexts, 1).argmax(axis=1) == task.labels).all()
    assert built.model.parameters < packed_words_memory(task, dtype="float32").model.parameters


@pytest.mark.parametrize(("bits", "most"), [(11, 814), (14, 814), (24, 560)])
def test_fewer_bits_take_more_entries(bits, most, monkeypatch):
    monkeypatch.setitem(module.SIGNIFICAND, "float32", bits)
    task = renamed(products("four things"), seed=3)
    model = group_memory(task).model
    runs = exact_runs(model, task.contexts, task.labels)
    assert runs.held.all() and runs.bits <= bits and model.parameters <= most


@pytest.mark.parametrize(
    ("name", "entries"),
    [("three things", 135), ("four corners", 188), ("five corners", 200), ("four things", 518)],
)
def test_names_that_are_the_same_at_both_positions_take_the_entries_that_are_stated(name, entries):
    table = products(name)
    task = array_task(all_contexts(len(table), 2), next_tokens=table.ravel(), target="labels")
    assert group_memory(task).model.parameters == entries


def test_it_is_certified_in_real_arithmetic():
    task = renamed(products("five corners"), seed=4)
    proved = certify_memorization(group_memory(task).model, task)
    assert proved.certificate.verdict.value == "PROVED" and proved.answers.margin_lower.min() > 0.999


def test_answers_that_no_product_is_come_last():
    task = replace(renamed(products("three things"), seed=5), answers=tuple(map(str, range(9))))
    model = group_memory(task).model
    assert exact_runs(model, task.contexts, task.labels).held.all() and model.d_vocab_out == 9


def test_what_a_precision_does_not_hold_is_refused():
    with pytest.raises(CapacityError, match="sums that 8 bits hold"):
        group_memory(renamed(products("four things"), seed=6), dtype="bfloat16")
    task = renamed(products("five corners"), seed=6)
    held = exact_runs(group_memory(task, dtype="bfloat16").model, task.contexts, task.labels, FORMATS["bfloat16"]).held
    assert held.all()
