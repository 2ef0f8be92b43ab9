"""The audit of Proposition 1 certifies what it says, and nothing that is not so."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.saturated_layers.saturated_heads import saturated_heads
from constructions.saturated_layers.single_direction_heads import single_direction_heads
from constructions.tasks.vectors import VectorTask
from tests.constructions.mahdavi_examples import layer_examples
from verify.forward.heads import enclose_layer, mixed_inputs_in_balls
from verify.linear_algebra.ball_rank import ball_rank
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.theorems.claims import mahdavi_proposition_1 as audit
from verify.theorems.claims.mahdavi_proposition_1 import Sizes
from verify.theorems.saturated_layers.saturation import OneHotDistance
from verify.verdict import Verdict

SMALL = Sizes(4, 4, 6, 4, 13, True)


OTHER = Sizes(3, 3, 5, 3, 7, False)


@pytest.mark.parametrize("sizes", [SMALL, OTHER])
@pytest.mark.parametrize("name", ["Proposition 1", "Theorem Z1"])
def test_heads_that_are_all_alike_do_not_reach_the_rank(sizes: Sizes, name: str) -> None:
    build = saturated_heads if name == "Proposition 1" else single_direction_heads
    built = audit._built(sizes, build, 1)
    assert audit._rank(name, "", sizes, built).verdict is Verdict.PROVED

    def spoiled(contexts, queries, **options):
        heads = build(contexts, queries, **options)
        return replace(heads, W_Q=heads.W_Q[[0] * sizes.n_heads], W_K=heads.W_K[[0] * sizes.n_heads])

    piece = audit._rank(name, "", sizes, audit._built(sizes, spoiled, 1))
    assert piece.verdict is Verdict.UNDECIDED and f"= {sizes.examples}" not in piece.certified


def test_balls_decide_where_floats_do_not(monkeypatch) -> None:
    class Undecided:
        verdict, method = Verdict.UNDECIDED, "none"

    monkeypatch.setattr(audit, "certify_full_row_rank", lambda matrix: Undecided())
    piece = audit._rank("Proposition 1", "", OTHER, audit._built(OTHER, saturated_heads, 1))
    assert piece.verdict is Verdict.PROVED and piece.method.words.startswith("balls")
    assert audit._more_on_other_contexts().verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("sizes", [SMALL, OTHER])
def test_too_small_a_strength_is_not_confirmed(sizes: Sizes) -> None:
    assert audit._finite_strength(sizes, partial(saturated_heads, margin=0.49)).verdict is Verdict.PROVED
    weak = partial(saturated_heads, largest_strength=1.0)
    assert audit._finite_strength(sizes, weak).verdict is Verdict.UNDECIDED


def test_a_rate_that_is_too_small_is_noticed(changed) -> None:
    changed(audit, "one_hot_bound", lambda right: OneHotDistance(right.winners, right.distances * 1e-6))
    assert audit._finite_strength(SMALL, saturated_heads).verdict is Verdict.UNDECIDED


def test_heads_that_are_not_saturated_are_not_called_so() -> None:
    built = audit._built(Sizes(8, 8, 16, 8, 57, True), saturated_heads, 1)
    assert audit._saturation(Sizes(8, 8, 16, 8, 57, True), built).verdict is Verdict.PROVED
    weak = audit._built(Sizes(8, 8, 16, 8, 57, True), partial(saturated_heads, largest_strength=1.0), 1)
    assert audit._saturation(Sizes(8, 8, 16, 8, 57, True), weak).verdict is Verdict.UNDECIDED


def test_no_instance_exceeds_what_its_formula_allows() -> None:
    groups = (
        audit._PRINTED + audit._PRINTED_FULL + audit._LIMIT + audit._LIMIT_FULL,
        audit._SINGLE + audit._SINGLE_FULL,
    )
    for printed, group in zip((True, False), groups, strict=True):
        for sizes in group:
            fitted = min(sizes.n_ctx, sizes.d_head) if printed else sizes.n_ctx
            assert sizes.examples <= sizes.n_heads * (fitted - 1) + 1
            assert printed or sizes.d_head == 1
    assert audit._MARGIN < audit._LOST == 0.5


@given(layer_examples(max_heads=3), st.booleans())
def test_the_ranks_of_built_heads_are_proved_down_to_the_smallest_sizes(made, printed: bool) -> None:
    contexts, queries, heads, width = made
    found = saturated_heads(
        contexts, queries, n_heads=heads, d_head=width, targets="printed" if printed else "near-one-hot"
    )
    task = VectorTask(contexts, queries, np.zeros((len(queries), 1)))
    forward = enclose_layer(audit.heads_as_layer(found), task)
    assert certify_full_row_rank(forward.mixed).verdict is Verdict.PROVED


@given(layer_examples(max_heads=3, one_direction=True))
def test_the_ranks_of_heads_of_width_one_are_proved_by_balls(made) -> None:
    contexts, queries, heads, _ = made
    found = single_direction_heads(contexts, queries, n_heads=heads)
    layer, task = audit.heads_as_layer(found), VectorTask(contexts, queries, np.zeros((len(queries), 1)))
    rank = ball_rank(
        lambda: mixed_inputs_in_balls(layer, task, 512), target=len(queries), fewest_bits=512, most_bits=512
    )
    assert rank.verdict is Verdict.PROVED


def test_wide_heads_are_not_called_heads_of_width_one() -> None:
    narrow, wide = Sizes(4, 4, 6, 1, 13, True), Sizes(4, 4, 6, 4, 13, True)
    built = audit._built(wide, saturated_heads, 1)
    assert audit._rank("Theorem Z1", "", wide, built).verdict is Verdict.PROVED
    assert audit._rank("Theorem Z1", "", narrow, built).verdict is Verdict.UNDECIDED


def test_without_a_head_that_freezes_nothing_is_said_about_freezing() -> None:
    assert audit._finite_strength(Sizes(1, 3, 4, 3, 3, True), saturated_heads).verdict is Verdict.UNDECIDED
