"""The evidence on the skip connection: all of it is proved, and spoiled weights or bounds prove nothing."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

import verify.claims.dana_skip_head as audit
from constructions.features.exact_skip_connection import exact_change_of_basis
from constructions.features.skip_head import identity_skip_head
from constructions.models.exact_network import ExactNetwork
from constructions.models.shapes import dana_network, dana_tensors
from verify.forward.rationals import exact_rank
from verify.strategies import contexts, exact_front_ends, sizes
from verify.verdict import Verdict


def verdicts(**_: object) -> list[Verdict]:
    return [piece.verdict for piece in audit.evidence(full=False)]


def test_all_evidence_is_proved_and_of_both_kinds() -> None:
    pieces = list(audit.evidence(full=False))
    assert {piece.verdict for piece in pieces} == {Verdict.PROVED}
    assert Counter(piece.role for piece in pieces) == {"counterexample": 4, "repair": 9}


@pytest.mark.slow
def test_all_evidence_of_the_full_audit_is_proved() -> None:
    assert {piece.verdict for piece in audit.evidence(full=True)} == {Verdict.PROVED}


def test_a_corrupted_network_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    def corrupted(*arguments):
        made = exact_change_of_basis(*arguments)
        W_U = made.model.W_U * 2
        return replace(made, model=ExactNetwork(made.model.front_end, made.model.W_O, W_U))

    monkeypatch.setattr(audit, "exact_change_of_basis", corrupted)
    assert Counter(verdicts())[Verdict.REFUTED] == 7


def test_a_singular_change_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    def singular(*arguments):
        made = exact_change_of_basis(*arguments)
        return replace(made, change=fmpq_mat(made.change.nrows(), made.change.ncols()))

    monkeypatch.setattr(audit, "exact_change_of_basis", singular)
    assert Verdict.REFUTED in verdicts()


@pytest.mark.parametrize("wrong", [2, 100])
def test_a_wrong_ceiling_is_not_confirmed(monkeypatch: pytest.MonkeyPatch, wrong: int) -> None:
    monkeypatch.setattr(audit, "rank_ceiling", lambda *_, **__: wrong if wrong > 2 else 1)
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


@given(st.data())
def test_no_front_end_exceeds_the_ceiling(data: st.DataObject) -> None:
    size = data.draw(sizes(max_tokens=3, min_heads=1, max_heads=3, wide_heads=True))
    rows = data.draw(contexts(n_tokens=size.tokens, length=size.length))
    front_end = data.draw(exact_front_ends(size=size))
    with_skip = data.draw(st.booleans())
    ceiling = audit.rank_ceiling(
        rows, width=size.width, head_width=size.head_width, heads=size.heads, with_skip=with_skip
    )
    assert exact_rank(front_end, rows, with_skip=with_skip).lower <= ceiling <= len(rows)


def test_the_ceiling_of_loops_is_reached() -> None:
    loops = np.array([[n, n] for n in range(4)])
    limits = {"width": 2, "head_width": 2, "heads": 2}
    front_ends = (audit.integer_front_end(tokens=4, length=2, **limits, seed=seed) for seed in range(50))
    assert max(exact_rank(one, loops, with_skip=False).lower for one in front_ends) == 3
    assert audit.rank_ceiling(loops, **limits, with_skip=False) == 3


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
    made = audit.CLAIM.construct(heads=2)
    wide = dana_tensors(made.model)
    padded = {name: np.concatenate([wide[name], 0 * wide[name][:1]]) for name in ("W_Q", "W_K", "W_V", "W_O")}
    spoilt = replace(made, model=dana_network(**{**wide, **padded}))
    monkeypatch.setattr(audit, "CLAIM", replace(audit.CLAIM, build=lambda **_: spoilt))
    assert audit._built().verdict is Verdict.REFUTED
