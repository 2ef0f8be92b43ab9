"""The record of a claim: what it refuses, and how it builds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.models.construction import Construction
from constructions.models.shapes import dana_network
from constructions.tasks.task import Counts, Task, make_task
from verify.claim import Claim, Hypothesis

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
