"""The network that uses its skip connection at the exact capacity, down to the smallest sizes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.claims.dana_skip_head import CLAIM, integer_front_end, label_targets
from constructions.errors import HypothesisError
from constructions.models.construction import Construction
from constructions.models.shapes import dana_network, dana_tensors
from constructions.tasks.task import Task
from verify.certificates.memorization import certify_memorization
from verify.forward.logits import enclose_logits
from verify.verdict import Verdict


def verdict(construction: Construction[Task]) -> Verdict:
    return certify_memorization(construction.model, construction.task).certificate.verdict


@pytest.mark.parametrize(
    "given_sizes",
    [
        {},
        {"tokens": 1, "length": 1, "width": 1, "head_width": 1, "heads": 0},
        {"tokens": 1, "length": 3, "width": 1, "head_width": 1, "heads": 0},
        {"tokens": 3, "length": 1, "width": 3, "head_width": 1, "heads": 0},
        {"tokens": 2, "length": 2, "width": 1, "head_width": 1, "heads": 3},
        {"tokens": 2, "length": 2, "width": 2, "head_width": 2, "heads": 1},
        {"tokens": 3, "length": 2, "width": 2, "head_width": 1, "heads": 7},
        {"tokens": 2, "length": 3, "width": 2, "head_width": 1, "heads": 6},
        {"seed": 5},
    ],
)
def test_as_many_labels_as_width_and_heads_together_are_proved_to_be_held(given_sizes: dict[str, int]) -> None:
    made = CLAIM.construct(**given_sizes)
    sizes = {**CLAIM.parameters, **given_sizes}
    assert made.task.n_contexts == sizes["width"] + sizes["heads"] * sizes["head_width"]
    assert made.model.d_model == sizes["width"]
    assert verdict(made) is Verdict.PROVED


def test_a_corrupted_weight_is_refuted() -> None:
    made = CLAIM.construct()
    silent = replace(made, model=dana_network(**{**dana_tensors(made.model), "W_O": np.zeros_like(made.model.W_O)}))
    assert verdict(silent) is Verdict.REFUTED
    logits = enclose_logits(silent.model, made.task.contexts)
    own = logits.upper()[np.arange(len(made.task.labels)), made.task.labels]
    assert (logits.lower().max(axis=1) > own).any()  # another token certainly wins somewhere


def test_equal_seeds_give_equal_weights() -> None:
    first, again, other = CLAIM.construct(), CLAIM.construct(), CLAIM.construct(seed=1)
    assert first.model.sha256() == again.model.sha256() != other.model.sha256()


@pytest.mark.parametrize(
    "refused",
    [
        {"heads": 30},
        {"width": 6, "tokens": 5},
        {"head_width": 5},
        {"length": 1},
        {"tokens": 0},
        {"seed": -1},
        {"width": 1, "head_width": 1, "heads": 1},
    ],
)
def test_sizes_beyond_the_hypotheses_are_refused(refused: dict[str, int]) -> None:
    with pytest.raises(HypothesisError, match="needs"):
        CLAIM.construct(**refused)


@given(st.integers(1, 6), st.data())
def test_a_label_leads_by_one_half(tokens: int, data: st.DataObject) -> None:
    labels = data.draw(st.lists(st.integers(0, tokens - 1), min_size=1, max_size=4))
    stream, W_U = label_targets(np.array(labels), tokens)
    for label, row in zip(labels, (stream * W_U).tolist(), strict=True):
        for other, logit in enumerate(row):
            assert 2 * (row[label] - logit) == (other - label) ** 2


def test_the_front_end_has_small_integers() -> None:
    front_end = integer_front_end(tokens=5, length=3, width=4, head_width=2, heads=3, seed=7)
    for matrix in (front_end.W_E, front_end.W_pos, *front_end.W_Q, *front_end.W_K, *front_end.W_V):
        assert all(entry.q == 1 and abs(entry.p) <= 2 for entry in matrix.entries())


def test_the_judgement_is_recorded() -> None:
    assert (CLAIM.id, CLAIM.judgement, CLAIM.page) == ("dana.skip-head", "false", "docs/claims/skip_connection.md")
