"""The record of a claim: what it refuses, and how it builds."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.model.construction import Construction
from constructions.model.shapes import dana_network
from constructions.tasks.task import Counts, Task, make_task
from verify.theorems.claim import Claim, Hypothesis, Judgement

LONG = Hypothesis("S >= 2", lambda n_ctx, **_: n_ctx >= 2)


def silent(n_ctx: int, seed: int) -> Construction[Task]:
    task = make_task(np.zeros((1, n_ctx), dtype=np.int64), Counts.from_rows([{0: 1}]), vocabulary=("a", "b"))
    one = np.ones((1, 1, 1))
    network = dana_network(
        W_E=np.ones((2, 1)), W_pos=np.zeros((n_ctx, 1)), W_Q=one, W_K=one, W_V=one, W_O=one, W_U=np.ones((1, 2))
    )
    return Construction(task, network, f"length {n_ctx}, seed {seed}")


def example(**fields) -> Claim:
    given = {
        "id": "source.lemma-1",
        "title": "A lemma",
        "source": "Source (2024), Lemma 1",
        "printed": "for all S",
        "judgement": "hypothesis",
        "truth": "for S >= 2",
        "page": "docs/audit.md",
        "hypotheses": (LONG,),
        "parameters": {"n_ctx": 2, "seed": 0},
        "build": silent,
    }
    return Claim(**(given | fields))


def test_a_claim_builds_with_its_own_parameters_where_none_are_given():
    assert example().construct().summary == "length 2, seed 0"
    assert example().construct(n_ctx=3).summary == "length 3, seed 0"


@given(n_ctx=st.integers(-5, 1))
def test_a_broken_hypothesis_names_the_claim_the_hypothesis_and_the_value(n_ctx):
    with pytest.raises(HypothesisError, match=rf"Source \(2024\), Lemma 1 needs S >= 2, but n_ctx = {n_ctx}, seed = 0"):
        example().construct(n_ctx=n_ctx)


def test_an_unknown_parameter_is_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"source\.lemma-1 has no parameter 'width', expected n_ctx, seed"):
        example().construct(width=3)


def test_a_seed_below_0_is_refused():
    with pytest.raises(InputError, match=r"source\.lemma-1 has seed = -1, expected at least 0"):
        example().construct(seed=-1)


def test_a_claim_about_no_weights_builds_none():
    with pytest.raises(InputError, match=r"source\.lemma-1 builds no weights"):
        example(build=None, parameters={}).construct()


def test_a_judgement_that_is_none_is_refused():
    with pytest.raises(InputError, match="judgement = 'wrong', expected one of holds, slip, hypothesis, false"):
        example(judgement="wrong")


@pytest.mark.parametrize("id", ["", "lemma", ".lemma", "source.", "source.lemma 1"])
def test_an_id_that_names_no_source_and_place_is_refused(id):
    with pytest.raises(InputError, match="expected a source and a place"):
        example(id=id)


def test_the_parameters_of_a_claim_cannot_be_changed():
    given = {"n_ctx": 2, "seed": 0}
    claim = example(parameters=given)
    given["n_ctx"] = 1
    assert claim.parameters["n_ctx"] == 2
    with pytest.raises(TypeError):
        claim.parameters["n_ctx"] = 1  # pyright: ignore[reportIndexIssue]


QUOTED = {"kind": "statement", "quotation": "for all lengths"}


def test_a_statement_that_was_read_may_have_every_verdict_but_not_legible():
    for word in get_args(Judgement):
        if word != "not-legible":
            assert example(**QUOTED, judgement=word).judgement == word


@pytest.mark.parametrize("kind", ["remark", "summary", "fit"])
def test_what_is_no_statement_is_never_false(kind):
    with pytest.raises(InputError, match=rf"source\.lemma-1 is a {kind}, and judged 'false'"):
        example(**{**QUOTED, "kind": kind}, judgement="false")
    assert example(**{**QUOTED, "kind": kind}, judgement="hypothesis").kind == kind


@pytest.mark.parametrize("kind", ["statement", "remark", "summary", "fit"])
def test_a_claim_of_others_has_their_words_or_says_that_they_were_not_at_hand(kind):
    with pytest.raises(InputError, match=r"source\.lemma-1 has no quotation"):
        example(kind=kind)
    assert example(kind=kind, judgement="not-judged", reconstructed="all but the abstract").quotation == ""


def test_what_was_not_read_is_not_judged():
    for word in get_args(Judgement):
        unread = {**QUOTED, "judgement": word, "reconstructed": "the formulas"}
        if word in ("not-legible", "not-judged", "measured", "open"):
            assert example(**unread).judgement == word
        else:
            with pytest.raises(InputError, match=rf"is reconstructed, and judged '{word}'"):
                example(**unread)


def test_only_what_was_not_at_hand_is_not_legible():
    with pytest.raises(InputError, match=r"source\.lemma-1 is 'not-legible'"):
        example(**QUOTED, judgement="not-legible")


def test_a_kind_that_is_none_is_refused():
    with pytest.raises(InputError, match="kind"):
        example(kind="rumour")
