import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.edits.answer_direction import answer_direction
from constructions.errors import HypothesisError
from constructions.model.blocks import Normalization


@given(st.integers(0, 2**32), st.integers(2, 7), st.integers(3, 8), st.sampled_from(["layer", "rms"]), st.booleans())
def test_a_row_is_found_on_the_sphere_in_which_the_answer_leads_or_none_leads_by_much(
    seed: int, answers: int, d: int, kind: str, shifted: bool
) -> None:
    rng = np.random.default_rng(seed)
    norm = Normalization(kind, w=rng.normal(size=d), b=rng.normal(size=d) if shifted else None)  # type: ignore[arg-type]
    W_U, b_U, answer = rng.normal(size=(d, answers)), rng.normal(size=answers), int(rng.integers(answers))
    try:
        row, lead = answer_direction(answer, norm, W_U, b_U)
    except HypothesisError:
        rows = rng.normal(size=(2000, d))
        if kind == "layer":
            rows -= rows.mean(axis=1, keepdims=True)
        rows *= np.sqrt(d) * rng.random((2000, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
        logits = (rows * norm.w + (0.0 if norm.b is None else norm.b)) @ W_U + b_U
        leads = logits[:, answer] - np.delete(logits, answer, axis=1).max(axis=1)
        assert leads.max() < 0.05 * np.abs(logits).max()
        return
    assert np.linalg.norm(row) == pytest.approx(np.sqrt(d))
    if kind == "layer":
        assert abs(row.sum()) < 1e-9
    logits = (row * norm.w + (0.0 if norm.b is None else norm.b)) @ W_U + b_U
    assert logits[answer] - np.delete(logits, answer).max() == pytest.approx(lead) and lead > 0.0


def test_an_answer_between_two_others_is_refused_and_named() -> None:
    W_U = np.array([[1.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    with pytest.raises(HypothesisError, match="answer 1 leads all others by at most"):
        answer_direction(1, Normalization("rms", w=np.ones(2)), W_U)


def test_a_shift_may_give_the_answer_that_no_direction_gives() -> None:
    W_U = np.array([[1.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    row, lead = answer_direction(1, Normalization("rms", w=np.ones(2)), W_U, np.array([0.0, 5.0, 0.0]))
    assert lead > 0.0 and len(row) == 2


@pytest.mark.parametrize("exponent", [-1073, -1000, 0, 1000])
def test_the_direction_does_not_depend_on_the_unit_of_the_logits(exponent: int) -> None:
    norm, W_U, b_U = Normalization("rms", w=np.ones(3)), np.array([[1.0, 3.0], [0.0, -2.0], [4.0, 1.0]]), np.ones(2)
    row, lead = answer_direction(1, norm, W_U, b_U)
    scaled, lead_scaled = answer_direction(1, norm, np.ldexp(W_U, exponent), np.ldexp(b_U, exponent))
    assert (scaled == row).all() and lead_scaled == pytest.approx(np.ldexp(lead, exponent), rel=1e-9, abs=1e-323)
    with pytest.raises(HypothesisError, match=r"answer 0 leads all others by at most 0\.0e"):
        answer_direction(0, norm, np.zeros((3, 2)), np.ldexp(np.array([0.0, 1.0]), exponent))
