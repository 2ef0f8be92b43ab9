"""The evidence on the skip connection: all of it is proved, and spoiled weights or bounds prove nothing."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq_mat

import verify.theorems.claims.dana_skip_head as audit
from constructions.attention.skip_head import identity_skip_head
from constructions.model.construction import Construction
from constructions.model.shapes import dana_network, dana_tensors
from constructions.tasks.task import Task
from tests.verify.conftest import Change, Spoil
from verify.forward.logits import enclose_logits
from verify.provers.memorization import certify_memorization
from verify.theorems.claims.dana_skip_head import CLAIM
from verify.verdict import Verdict


def verdicts() -> Iterator[Verdict]:
    return (piece.verdict for piece in audit.evidence(full=False))


def test_a_corrupted_network_is_not_confirmed(changed: Change) -> None:
    changed(
        audit, "exact_change_of_basis", lambda made: replace(made, model=replace(made.model, W_U=made.model.W_U * 2))
    )
    assert Counter(verdicts())[Verdict.REFUTED] == 7


def test_a_singular_change_is_not_confirmed(changed: Change) -> None:
    changed(
        audit,
        "exact_change_of_basis",
        lambda made: replace(made, change=fmpq_mat(made.change.nrows(), made.change.ncols())),
    )
    assert Verdict.REFUTED in verdicts()


@pytest.mark.parametrize("wrong", [2, 100])
def test_a_wrong_ceiling_is_not_confirmed(spoil: Spoil, wrong: int) -> None:
    honest = audit.RANK.judge
    spoil(audit.RANK, lambda **given: replace(honest(**given), rank=wrong if wrong > 2 else 1))
    assert Verdict.REFUTED in verdicts()


@pytest.mark.parametrize("name", ["long_last_position", "rank_one_skip_head"])
def test_the_printed_head_is_no_repair(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(audit, name, lambda W_E, W_pos, direction: identity_skip_head(W_E, W_pos))
    assert Counter(verdicts())[Verdict.REFUTED] == 1


def test_a_repaired_head_is_no_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        audit, "identity_skip_head", lambda E, pos: audit.long_last_position(E, pos, direction=fmpq_mat(1, 1, [1]))
    )
    assert Counter(verdicts())[Verdict.REFUTED] == 1


def test_a_head_of_another_form_or_on_other_embeddings_is_no_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [(2, 2, 2)]

    def judged(make, *, rank_one: bool) -> Verdict:
        return audit._attends_to_last(make, rank_one=rank_one, sizes=sizes).verdict

    long, short = audit.long_last_position, audit.rank_one_skip_head
    assert judged(long, rank_one=False) is judged(short, rank_one=True) is Verdict.PROVED
    assert judged(long, rank_one=True) is judged(short, rank_one=False) is Verdict.REFUTED

    def without_tokens(W_E, W_pos, *, direction):
        return long(fmpq_mat(W_E.nrows(), W_E.ncols()), W_pos, direction=direction)

    assert judged(without_tokens, rank_one=False) is Verdict.REFUTED


def test_a_refusal_of_the_builder_is_no_proof_that_logits_are_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """With targets that are within reach nothing is out of reach, whatever the builder says."""
    assert audit._shifts_are_free().verdict is Verdict.PROVED
    contexts, _ = audit._obstruction()
    units = fmpq_mat(6, 2, [1, 2, 0, 1, 3, 1, -1, 1, 1, 0, 0, 1])
    monkeypatch.setattr(audit, "_obstruction", lambda: (contexts, units))
    assert audit._shifts_are_free().verdict is Verdict.REFUTED


def test_a_network_below_its_capacity_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = audit.CLAIM.construct(n_heads=2)
    wide = dana_tensors(made.model)
    padded = {name: np.concatenate([wide[name], 0 * wide[name][:1]]) for name in ("W_Q", "W_K", "W_V", "W_O")}
    spoilt = replace(made, model=dana_network(**{**wide, **padded}))
    monkeypatch.setattr(type(audit.CLAIM), "construct", lambda *_, **__: spoilt)
    assert audit._built().verdict is Verdict.REFUTED


def verdict(construction: Construction[Task]) -> Verdict:
    return certify_memorization(construction.model, construction.task).certificate.verdict


@pytest.mark.parametrize(
    "given_sizes",
    [
        {},
        {"d_vocab": 1, "n_ctx": 1, "d_model": 1, "d_head": 1, "n_heads": 0},
        {"d_vocab": 1, "n_ctx": 3, "d_model": 1, "d_head": 1, "n_heads": 0},
        {"d_vocab": 3, "n_ctx": 1, "d_model": 3, "d_head": 1, "n_heads": 0},
        {"d_vocab": 2, "n_ctx": 2, "d_model": 1, "d_head": 1, "n_heads": 3},
        {"d_vocab": 2, "n_ctx": 2, "d_model": 2, "d_head": 2, "n_heads": 1},
        {"d_vocab": 3, "n_ctx": 2, "d_model": 2, "d_head": 1, "n_heads": 7},
        {"d_vocab": 2, "n_ctx": 3, "d_model": 2, "d_head": 1, "n_heads": 6},
        {"seed": 5},
    ],
)
def test_as_many_labels_as_width_and_heads_together_are_proved_to_be_memorized(given_sizes: dict[str, int]) -> None:
    made = CLAIM.construct(**given_sizes)
    sizes = {**CLAIM.parameters, **given_sizes}
    assert made.task.n_contexts == sizes["d_model"] + sizes["n_heads"] * sizes["d_head"]
    assert made.model.d_model == sizes["d_model"]
    assert verdict(made) is Verdict.PROVED


def test_a_corrupted_weight_is_refuted() -> None:
    made = CLAIM.construct()
    silent = replace(made, model=dana_network(**{**dana_tensors(made.model), "W_O": np.zeros_like(made.model.W_O)}))
    assert verdict(silent) is Verdict.REFUTED
    logits = enclose_logits(silent.model, made.task.contexts)
    own = logits.upper()[np.arange(len(made.task.labels)), made.task.labels]
    assert (logits.lower().max(axis=1) > own).any()  # another token certainly wins somewhere


def test_the_judgement_is_recorded() -> None:
    assert (CLAIM.id, CLAIM.judgement, CLAIM.page) == ("dana.skip-head", "false", "docs/claims/skip_connection.md")
