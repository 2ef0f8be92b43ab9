"""The audit certifies what it says, and nothing that is not so."""

from fractions import Fraction

import numpy as np

from constructions.model.shapes import dana_network, dana_tensors
from verify.theorems.claims import slides_sparse_regime as audit
from verify.verdict import Verdict


def test_a_head_for_other_labels_proves_nothing(monkeypatch):
    honest = audit.one_head_memory
    monkeypatch.setattr(audit, "one_head_memory", lambda task: honest(audit.enumerated_task(5, 2, seed=9)))
    assert audit._labels(5).verdict is not Verdict.PROVED


def test_a_head_with_more_columns_is_noticed(monkeypatch):
    assert audit._labels(2).verdict is Verdict.PROVED
    build = audit.one_head_memory

    def wider(task):
        made = dana_tensors(build(task))
        pad = {
            "W_E": (0, 1),
            "W_pos": (0, 1),
            "W_Q": (1, 0),
            "W_K": (1, 0),
            "W_V": (1, 0),
            "W_O": (0, 1),
            "W_U": (1, 0),
        }
        return dana_network(
            **{
                name: np.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, pad[name][0]), (0, pad[name][1])])
                for name, x in made.items()
            }
        )

    monkeypatch.setattr(audit, "one_head_memory", wider)
    assert audit._labels(2).verdict is not Verdict.PROVED


def test_one_token_is_not_sparse_and_short_contexts_need_no_more_heads():
    assert audit._rank(1).verdict is not Verdict.PROVED
    assert audit.too_few_heads(3).verdict is not Verdict.PROVED


def test_equal_distributions_cost_nothing():
    assert audit._distributions(Fraction(1, 2)).verdict is not Verdict.PROVED
