"""The judge of what left-out contexts cost: its enclosures hold the true numbers, and its verdicts follow from them."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq_mat
from hypothesis import given, reject
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.heads_of_theorem_1.left_out import (
    PartialMemory,
    loop_instance,
    modules_instance,
    nearly_dependent_front_end,
    random_front_end,
    random_instance,
    sharp_instance,
    text_instance,
    violating_front_end,
)
from constructions.model.exact_attention import exact_features, exact_last, exact_logits
from constructions.model.exact_network import as_floats, as_rationals, exact_front_end, rounded
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array
from constructions.tasks.text import text_task
from tests.memories import changed
from verify.arithmetic.enclosure import Enclosure
from verify.theorems.memories.left_out_bound import LeftOutBound, _lse, left_out_bound

EPSILON = Fraction(101, 10000)
WORDS = "it was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness"


def judged(instance: PartialMemory, **options: Any) -> LeftOutBound:
    return left_out_bound(
        instance.model,
        instance.contexts,
        kept=instance.kept,
        stream=instance.stream,
        occurrences=instance.occurrences,
        distributions=instance.distributions,
        **options,
    )


def contains(x: Enclosure, value: float | np.floating, relative: float = 1e-9) -> bool:
    slack = relative * (1.0 + abs(value))
    return bool(x.lower() <= value + slack and x.upper() >= value - slack)


def aimed(generator: np.random.Generator, *, norm: float) -> PartialMemory:
    try:
        return sharp_instance(random_front_end(generator), norm=norm, occurrences=33)
    except HypothesisError:
        reject()  # saturated heads: dependent features up to rounding


def lse(x: Float64Array) -> Float64Array:
    top = x.max(axis=1)
    return top + np.log(np.exp(x - top[:, None]).sum(axis=1))


def network_of(instance: PartialMemory) -> Model:
    assert isinstance(instance.model, Model)
    return instance.model


@given(seed=st.integers(0, 10**6), modules=st.booleans())
def test_rational_transformers_keep_the_corrected_bound(seed: int, modules: bool) -> None:
    bound = judged(random_instance(seed, modules=modules))
    assert bound.corrected_holds()
    assert bound.excess == 0.0 and bound.complete


@given(seed=st.integers(0, 10**6), exponent=st.integers(-3, 20))
def test_encoders_that_are_aimed_at_the_left_out_context_keep_the_corrected_bound(seed: int, exponent: int) -> None:
    assert judged(aimed(np.random.default_rng(seed), norm=2.0**exponent)).corrected_holds()


@given(seed=st.integers(0, 10**6))
def test_any_weights_after_square_features_keep_the_corrected_bound(seed: int) -> None:
    """Part 1 of the theorem: the encoder is whatever the transformer is on the kept contexts."""
    rng = np.random.default_rng(seed)
    instance = aimed(rng, norm=8.0)
    network = network_of(instance)
    spoilt = changed(network, W_O=network.W_O + rng.standard_normal(network.W_O.shape))
    bound = judged(replace(instance, model=spoilt))
    assert bound.corrected_holds() and bound.excess == 0.0


def test_weights_that_are_not_the_constructed_ones_show_in_the_excess() -> None:
    instance = modules_instance(d_vocab=3, n_ctx=2, d_model=3, kept=6, seed=0)
    network = network_of(instance)
    built = judged(instance)
    assert built.corrected_holds() and built.excess < 1e-6
    outputs = np.random.default_rng(0).standard_normal(network.W_O.shape) * 1e6
    spoilt = judged(replace(instance, model=changed(network, W_O=network.W_O + outputs)))
    assert spoilt.excess > 1.0
    assert spoilt.total_change.upper() <= spoilt.by_rows.lower() + spoilt.excess


@pytest.mark.parametrize("seed", range(12))
def test_the_enclosures_hold_what_floating_point_finds(seed: int) -> None:
    instance = random_instance(seed)
    network, kept, bound = instance.model, instance.kept, judged(instance)
    front_end = exact_front_end(network)
    outputs = np.hstack([as_floats(f(front_end, instance.contexts)) for f in (exact_last, exact_features)])
    reached = as_floats(exact_logits(network, instance.contexts))
    assert isinstance(instance.stream, fmpq_mat)
    wanted = as_floats(instance.stream * as_rationals(network.W_U))
    z = outputs[kept:] @ np.linalg.pinv(outputs[:kept])
    left = reached[kept:]
    own = np.exp(wanted - lse(wanted)[:, None])
    distributions = (
        own
        if instance.distributions is None
        else instance.distributions / instance.distributions.sum(axis=1, keepdims=True)
    )
    shares = instance.occurrences[kept:] / instance.occurrences.sum()
    cost = lse(left) - lse(wanted) + (distributions * (wanted - left)).sum(axis=1)
    assert contains(bound.probability, shares.sum())
    assert contains(bound.change, abs(shares @ cost))
    assert contains(bound.total_change, shares @ np.abs(cost))
    assert contains(bound.row, np.sqrt(1 + (z**2).sum(axis=1).max()), 1e-6)
    assert contains(bound.inverse, np.linalg.norm(np.vstack([np.eye(kept), z]), 2), 1e-6)
    assert contains(bound.norm, np.linalg.norm(np.vstack([reached[:kept], wanted]), 2))
    assert contains(bound.by_rows, np.sqrt(2) * shares.sum() * float(bound.row.midpoint) * float(bound.norm.midpoint))


@pytest.mark.parametrize("ratio", [2, 5, 12])
def test_the_norm_of_the_paper_is_that_of_its_own_block_of_singular_vectors(ratio: int) -> None:
    instance = loop_instance(ratio, size=1, occurrences=2)
    front_end = exact_front_end(instance.model)
    outputs = np.hstack([as_floats(f(front_end, instance.contexts)) for f in (exact_last, exact_features)])
    block = np.linalg.svd(outputs.T)[2][:3, :3]
    assert contains(judged(instance).inverse, np.linalg.norm(np.linalg.inv(block), 2), 1e-6)
    assert contains(judged(instance).inverse, np.sqrt(1 + ratio**2))


def test_the_explicit_instance_has_the_figures_of_the_page() -> None:
    bound = judged(sharp_instance(violating_front_end(), norm=200.0, occurrences=33))
    assert 56.488 < bound.change.lower() <= bound.change.upper() < 56.489
    assert 40.093 < bound.printed(Fraction(1, 100)).lower() <= bound.printed(Fraction(1, 100)).upper() < 40.094
    by_inverse = math.sqrt(2.0) * bound.probability * bound.inverse * bound.norm
    assert 56.630 < by_inverse.lower() <= bound.by_rows.upper() < 56.631
    assert bound.printed_fails(EPSILON) and bound.corrected_holds()
    assert not bound.printed_fails(Fraction(15, 1000))


@pytest.mark.parametrize("ratio", [2, 3, 20])
def test_the_instance_by_hand_exceeds_the_printed_bound_by_the_factor_of_the_page(ratio: int) -> None:
    bound = judged(loop_instance(ratio, size=200, occurrences=33))
    printed = np.sqrt(2) * ratio**2 / np.sqrt((1 + ratio**2) * (2 + ratio**2))
    assert contains(bound.change / bound.printed(Fraction(1, 100)), printed, 1e-6)
    assert contains(bound.change / bound.by_rows, ratio**2 / (1 + ratio**2), 1e-6)
    assert bound.printed_fails(Fraction(1001, 100000)) and bound.corrected_holds()


def test_no_smaller_number_takes_the_place_of_the_square_root_of_two() -> None:
    bound = judged(loop_instance(80, size=80, occurrences=33))
    assert bound.total_change.lower() > (0.9998 * bound.by_rows).upper()


@given(seed=st.integers(0, 10**6), digits=st.integers(1, 8))
def test_badly_conditioned_features_keep_the_corrected_bound(seed: int, digits: int) -> None:
    front_end = nearly_dependent_front_end(np.random.default_rng(seed), 10.0**-digits)
    try:
        instance = sharp_instance(front_end, norm=2.0**20, occurrences=33)
    except HypothesisError:
        reject()
    bound = judged(instance, precision=256)
    assert bound.corrected_holds()
    assert bound.row.radius < 1e-14 * bound.row.midpoint


def test_balls_say_what_floats_say_and_more() -> None:
    task = text_task(WORDS, vocabulary=6, context=2, facts=13)
    instances = [
        (sharp_instance(violating_front_end(), norm=200.0, occurrences=33), None),
        (modules_instance(d_vocab=3, n_ctx=2, d_model=3, kept=6, seed=0), None),
        (text_instance(task, d_model=5, d_head=4), 2),
    ]
    for instance, witnesses in instances:
        floats, balls = judged(instance, witnesses=witnesses), judged(instance, witnesses=witnesses, precision=200)
        assert balls.row.radius < floats.row.radius
        assert contains(floats.row, float(balls.row.midpoint), 0.0)
        assert balls.complete == floats.complete


def test_some_of_the_contexts_bound_the_maximum_from_below() -> None:
    task = text_task(WORDS, vocabulary=6, context=2, facts=13)
    instance = text_instance(task, d_model=5, d_head=4)
    everything, some = judged(instance), judged(instance, witnesses=2)
    assert everything.complete and not some.complete
    assert some.row.upper() >= everything.row.lower() >= some.row.lower() * (1 - 1e-6)
    assert some.inverse.lower() <= everything.inverse.upper()
    assert everything.corrected_holds() and some.corrected_holds()
    with pytest.raises(InputError, match="some were not looked at"):
        some.printed(EPSILON)


def test_the_printed_bound_is_about_as_many_columns_as_contexts() -> None:
    bound = judged(modules_instance(d_vocab=3, n_ctx=2, d_model=3, kept=6, seed=0))
    with pytest.raises(InputError, match="V_11 is square for 9 kept contexts"):
        bound.printed(EPSILON)


@pytest.mark.parametrize(("rational", "precision"), [(False, None), (False, 128), (True, None)])
def test_dependent_features_decide_nothing(rational: bool, precision: int | None) -> None:
    instance = loop_instance(2, size=3, occurrences=33)
    attention = instance.model.attention
    twice = replace(attention, W_Q=attention.W_Q[[0, 0]])
    network = replace(instance.model, blocks=(twice,))
    stream = np.ones((1, 1))
    given = replace(instance, model=network) if rational else replace(instance, model=rounded(network), stream=stream)
    bound = judged(given)
    assert not np.isfinite(bound.row.radius) and not np.isfinite(bound.inverse.radius)
    assert not bound.corrected_holds() and not bound.printed_fails(EPSILON)


def test_logits_that_are_unknown_decide_nothing() -> None:
    instance = sharp_instance(violating_front_end(), norm=200.0, occurrences=33)
    network = network_of(instance)
    bound = judged(replace(instance, model=changed(network, W_O=np.full(network.W_O.shape, 1e308))))
    assert not bound.corrected_holds() and not bound.printed_fails(EPSILON)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kept": 0}, "kept = 0, expected 1 .. 3"),
        ({"kept": 4}, "kept = 4, expected 1 .. 3"),
        ({"kept": 2}, "stream has 1 rows, expected 2"),
        ({"occurrences": np.array([1, 1, 1, 0])}, "occurrences are 0 .. 1"),
        ({"occurrences": np.array([1.0, 1, 1, 1])}, "expected integers, one each"),
        ({"occurrences": np.array([1, 1, 1])}, "expected integers, one each"),
        ({"distributions": np.array([[1.0, -1.0]])}, "expected finite weights"),
        ({"distributions": np.array([[0.0, 0.0]])}, "expected finite weights"),
        ({"distributions": np.array([[1.0, 1.0, 1.0]])}, "distributions has shape"),
        ({"stream": np.ones((1, 2))}, "float64 array with 1 columns"),
        ({"stream": as_rationals([[1]])}, "float64 array with 1 columns"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    instance = sharp_instance(violating_front_end(), norm=200.0, occurrences=33)
    with pytest.raises(InputError, match=message):
        judged(replace(instance, **change))


def test_a_rational_network_needs_a_rational_stream() -> None:
    with pytest.raises(InputError, match="stream must be rational with 1 columns"):
        judged(replace(loop_instance(2, size=1, occurrences=2), stream=np.ones((1, 1))))


@given(
    middle=st.lists(st.floats(-30, 30), min_size=1, max_size=5),
    radius=st.floats(0, 5),
    sign=st.sampled_from([-1, 1]),
)
def test_what_is_unknown_of_the_logits_is_unknown_of_their_sum(middle: list[float], radius: float, sign: int) -> None:
    row = np.array([middle])
    assert contains(_lse(Enclosure(row, radius)), float(lse(row + sign * radius)[0]), 1e-14)


def test_no_witness_is_refused() -> None:
    instance = sharp_instance(violating_front_end(), norm=200.0, occurrences=33)
    with pytest.raises(InputError, match="witnesses = 0"):
        judged(instance, witnesses=0)


@pytest.mark.parametrize("options", [{}, {"witnesses": 1}, {"precision": 256}])
def test_more_kept_contexts_than_features_prove_nothing(options: dict[str, int]) -> None:
    """Three rows of two numbers are dependent, though a least-squares solution exists and is unique."""
    instance = sharp_instance(violating_front_end(), norm=200.0, occurrences=33)
    network = network_of(instance)
    one_head = {name: getattr(network, name)[:1] for name in ("W_Q", "W_K", "W_V", "W_O")}
    bound = judged(replace(instance, model=changed(network, **one_head)), **options)
    assert (bound.columns, bound.kept) == (2, 3)
    assert not np.isfinite(bound.row.radius) and not np.isfinite(bound.inverse.radius)
    assert not bound.corrected_holds()


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 1000), Fraction(0), Fraction(-1)])
def test_an_epsilon_that_is_no_more_than_the_probability_refutes_nothing(epsilon: Fraction) -> None:
    bound = judged(sharp_instance(violating_front_end(), norm=200.0, occurrences=33))
    assert bound.change.lower() > bound.printed(epsilon).upper()
    assert not bound.printed_fails(epsilon)


@pytest.mark.parametrize("name", ["contexts", "occurrences", "distributions"])
def test_masked_arrays_are_refused(name: str) -> None:
    instance = replace(
        sharp_instance(violating_front_end(), norm=200.0, occurrences=33), distributions=np.array([[0.5, 0.5]])
    )
    masked = np.ma.masked_array(getattr(instance, name), mask=True)
    with pytest.raises(InputError, match="masked"):
        judged(replace(instance, **{name: masked}))


def test_a_context_that_is_there_twice_is_refused() -> None:
    """An encoder has one row of logits for each context, kept or left out."""
    instance = sharp_instance(violating_front_end(), norm=200.0, occurrences=33)
    with pytest.raises(InputError, match="equal rows"):
        judged(replace(instance, contexts=instance.contexts[[0, 1, 2, 0]]))
