"""Several heads: every input of a domain, counted as it is."""

import numpy as np
import pytest

from constructions.tasks.rule import rule_task
from tests.domains import one_attention, truth
from verify.domains import sweep
from verify.domains.attention_tables import AttentionTables
from verify.domains.sweep import sweep_last_token
from verify.domains.tally import Tally


@pytest.mark.parametrize("entries", [1, 60, 2**19])
@pytest.mark.parametrize("seed", range(12))
def test_every_input_is_counted_as_it_is_or_left_open(seed, entries, monkeypatch):
    monkeypatch.setattr(sweep, "_ENTRIES", entries)
    model, task = one_attention(np.random.default_rng(seed), n_heads=1 + seed % 3)
    right, wrong = truth(model, task)
    tables, tally, left = AttentionTables.of(model, task.tokens), Tally(), []
    for place in range(len(task.tokens[-1])):
        left += [tuple(row) for part in sweep_last_token(tables, task, place, tally) for row in part.tolist()]
    assert tally.right == len(right - set(left)) and tally.wrong == len(wrong - set(left))
    assert set(tally.examples) == wrong - set(left) and len(tally.examples) == tally.wrong
    assert tally.right + tally.wrong + len(left) == task.n_contexts


def test_tokens_around_the_free_ones_are_kept():
    rng = np.random.default_rng(1)
    model, _ = one_attention(rng, n_heads=2, largest_tokens=5, scale=1.0)
    while model.d_vocab < 3 or model.n_ctx < 3:
        model, _ = one_attention(rng, n_heads=2, largest_tokens=5, scale=1.0)
    task = rule_task("max", d_vocab=2, n_ctx=1, before=[2], after=[1])
    right, wrong = truth(model, task)
    tally = Tally()
    assert not list(sweep_last_token(AttentionTables.of(model, task.tokens), task, 0, tally))
    assert (tally.right, tally.wrong) == (len(right), len(wrong))
