"""The rank of features from both sides: what a certificate states, what each checker proves, and what it does not."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructions.attention.full_rank import full_rank_attention
from constructions.errors import InputError
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.table import table_task
from constructions.tasks.task import Task
from tests.by_kernel import check_by_kernel
from tests.layers import random_layer, random_layer_task, write_layer
from tests.memories import changed, memory, random_task, write_memory
from verify.certificates.certificate import RANK_HEADS, RANK_WITH_SKIP, Certificate
from verify.provers.memorization import certify_memorization, check_memorization
from verify.verdict import Verdict

PROVED, REFUTED, UNDECIDED = Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED
CHECKS = [check_memorization, check_by_kernel]
both = pytest.mark.parametrize("check", CHECKS)
NAMES = ("lower", "upper", "all_weights_upper")


def ranks(folder: Path, id: str) -> tuple[int, ...]:
    found = Certificate.load(folder).statement(id)
    assert found is not None
    return tuple(int(found.values[name]) for name in NAMES)


def verdict_if(check: Any, folder: Path, id: str, **values: int) -> Verdict:
    """The verdict on the statement if it said these numbers."""
    honest = Certificate.load(folder)
    statements = tuple(
        replace(each, values={**each.values, **values}) if each.id == id else each for each in honest.statements
    )
    replace(honest, statements=statements).save(folder)
    found = next(each.verdict for each in check(folder).checks if each.id == id)
    honest.save(folder)
    return found


def write(folder: Path, network: Model, task: Task) -> Path:
    write_memory(folder, network, task, rank=False, rank_of_heads=True, rank_with_skip=True)
    return folder


def exclusive_or(n_heads: int = 1) -> tuple[Model, Task]:
    """Four contexts whose features have rank 3 with one head of any width."""
    task = table_task("a,a,a,x\nb,b,a,x\na,b,a,y\nb,a,a,y\n", target="labels")
    built = full_rank_attention(task.contexts, d_model=4, d_head=4, n_heads=n_heads).model
    return built_with_outputs(built, task.n_answers), task


def built_with_outputs(model: Model, outputs: int) -> Model:
    return dana_network(
        W_E=model.W_E, W_pos=model.W_pos, W_U=np.eye(model.d_model, outputs),
        **{name: getattr(model, name) for name in ("W_Q", "W_K", "W_V", "W_O")},
    )  # fmt: skip


@both
def test_one_unit_too_strong_is_refuted_or_not_proved(tmp_path: Path, check: Any) -> None:
    network, task = exclusive_or()
    write(tmp_path, network, task)
    assert ranks(tmp_path, RANK_HEADS) == (3, 3, 3) and ranks(tmp_path, RANK_WITH_SKIP) == (3, 3, 3)
    for id in (RANK_HEADS, RANK_WITH_SKIP):
        assert verdict_if(check, tmp_path, id) is PROVED
        assert verdict_if(check, tmp_path, id, lower=4, upper=4, all_weights_upper=4) is REFUTED
        assert verdict_if(check, tmp_path, id, lower=2, upper=2, all_weights_upper=3) is REFUTED
        assert verdict_if(check, tmp_path, id, lower=2, upper=2, all_weights_upper=2) is REFUTED
        assert verdict_if(check, tmp_path, id, lower=0, upper=4, all_weights_upper=4) is PROVED
    columns = {RANK_HEADS: 4 + 4, RANK_WITH_SKIP: 4}
    for id, other in columns.items():
        assert verdict_if(check, tmp_path, id, columns=other) is REFUTED


@both
@pytest.mark.parametrize("n_heads", [1, 2])
def test_heads_without_a_skip_connection_have_the_same_ranks(tmp_path: Path, check: Any, n_heads: int) -> None:
    """The model that Lemma 2 promises, as it is built: its outputs are the features."""
    _, task = exclusive_or()
    heads = full_rank_attention(task.contexts, d_model=4, d_head=4, n_heads=n_heads).model
    outputs = np.random.default_rng(0).standard_normal((heads.attention.d_out, task.n_answers))
    network = replace(heads, W_U=outputs)
    write(tmp_path, network, task)
    assert Certificate.load(tmp_path).statement("feature-rank") is None
    for id in (RANK_HEADS, RANK_WITH_SKIP):
        most = 3 if n_heads == 1 else 4
        assert ranks(tmp_path, id) == (most, most, most)
        assert verdict_if(check, tmp_path, id) is PROVED
        assert verdict_if(check, tmp_path, id, lower=2, upper=2) is REFUTED
    if n_heads == 1:
        assert verdict_if(check, tmp_path, RANK_HEADS, lower=4, upper=4, all_weights_upper=4) is REFUTED


@both
def test_a_bound_over_all_weights_that_these_weights_do_not_reach_is_not_proved_if_it_is_too_small(
    tmp_path: Path, check: Any
) -> None:
    """Values of rank 1 with these weights: they do not show that others reach 2 or 3, and nothing forbids it."""
    network, task = exclusive_or()
    flat = np.zeros_like(network.W_V)
    flat[:, 0, 0] = 1.0
    write(tmp_path, changed(network, W_V=flat), task)
    assert ranks(tmp_path, RANK_HEADS) == (1, 1, 3)
    assert verdict_if(check, tmp_path, RANK_HEADS) is PROVED
    assert verdict_if(check, tmp_path, RANK_HEADS, all_weights_upper=2) is UNDECIDED
    assert verdict_if(check, tmp_path, RANK_HEADS, lower=2, upper=2) is REFUTED
    assert verdict_if(check, tmp_path, RANK_HEADS, lower=0, upper=0, all_weights_upper=3) is REFUTED


@both
def test_two_sides_that_differ_are_stated_as_they_are(tmp_path: Path, check: Any) -> None:
    """Two heads that are one: rank 4 of 6 contexts that no bound from above knows of."""
    task = random_task(target="labels", facts=6)
    network = memory(task, n_heads=1, d_head=2)
    twice = {name: np.concatenate([getattr(network, name)] * 2) for name in ("W_Q", "W_K", "W_V", "W_O")}
    write(tmp_path, changed(network, **twice), task)
    assert ranks(tmp_path, RANK_HEADS) == (2, 4, 4)
    stated = Certificate.load(tmp_path)
    assert "at least 2 and at most 4" in stated.words(stated.statement(RANK_HEADS))  # type: ignore[arg-type]
    assert verdict_if(check, tmp_path, RANK_HEADS) is PROVED
    assert verdict_if(check, tmp_path, RANK_HEADS, lower=3) is UNDECIDED
    assert verdict_if(check, tmp_path, RANK_HEADS, upper=3) is UNDECIDED


@both
@pytest.mark.parametrize("shared", [True, False])
def test_what_heads_mix_of_vectors_has_the_rank_that_the_vectors_allow(
    tmp_path: Path, check: Any, shared: bool
) -> None:
    task = random_layer_task(examples=8, tokens=3, d_model=3, shared=shared)
    layer = random_layer(n_heads=2, d_model=3)
    write_layer(tmp_path, layer, task, rank=False, rank_of_heads=True)
    assert ranks(tmp_path, RANK_HEADS) == ((5, 5, 5) if shared else (6, 6, 6))  # Lemma Y1: H (n - 1) + 1
    assert verdict_if(check, tmp_path, RANK_HEADS) is PROVED
    more = {"lower": 6, "upper": 6, "all_weights_upper": 6} if shared else {"lower": 5, "upper": 5}
    assert verdict_if(check, tmp_path, RANK_HEADS, **more) is REFUTED


@settings(max_examples=25)
@given(
    st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3), st.integers(1, 6), st.sampled_from([0.0, 1.0, 30.0])
)
def test_both_checkers_prove_what_is_stated_of_small_models(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n_heads: int, d_head: int, facts: int, beta: float
) -> None:
    """Uniform attention, integer embeddings and saturated heads among them."""
    folder = tmp_path_factory.mktemp("small")
    task = random_task(target="labels", facts=facts, tail=0, n_ctx=2, vocabulary=3, seed=seed)
    network = memory(task, n_heads=n_heads, d_head=d_head, beta=beta, seed=seed)
    if seed % 2:
        network = changed(network, **{name: np.rint(getattr(network, name)) for name in ("W_E", "W_pos", "W_V")})
    write(folder, network, task)
    stated = {id: ranks(folder, id) for id in (RANK_HEADS, RANK_WITH_SKIP)}
    for check, (id, (lower, upper, all_weights)) in product(CHECKS, stated.items()):
        assert verdict_if(check, folder, id) is PROVED, (check, id)
        smaller = min(Certificate.load(folder).statement(id).values[name] for name in ("rows", "columns"))  # type: ignore[union-attr]
        if lower < smaller:
            better = {name: max(old, lower + 1) for name, old in zip(NAMES, (lower, upper, all_weights), strict=True)}
            assert verdict_if(check, folder, id, **better) is not PROVED, (check, id)
        if lower:
            worse = dict.fromkeys(("lower", "upper"), lower - 1)
            assert verdict_if(check, folder, id, **worse) is REFUTED, (check, id)


def test_only_models_of_one_attention_over_contexts_of_one_length_have_these_ranks() -> None:
    vectors = random_layer_task()
    with pytest.raises(InputError, match="rank_with_skip"):
        certify_memorization(random_layer(), vectors, rank_with_skip=True)
    task = random_task(target="labels")
    nothing = Model(blocks=(), W_U=np.eye(5), W_E=np.eye(5), W_pos=np.zeros((3, 5)))
    with pytest.raises(InputError, match="one attention"):
        certify_memorization(nothing, task, rank_of_heads=True)
