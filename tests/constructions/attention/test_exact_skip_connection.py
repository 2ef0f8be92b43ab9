"""The exact change of basis: whether it exists is decided by ranks, and where it does, nothing is left over."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import assume, given
from hypothesis import strategies as st

from byheart.testing.strategies import Sizes, contexts, front_ends, sizes
from constructions.attention.exact_skip_connection import (
    BasisCondition,
    basis_condition,
    exact_change_of_basis,
    without_shifts,
)
from constructions.attention.integer_front_end import integer_front_end
from constructions.errors import HypothesisError, InputError
from constructions.model.exact_network import ExactFrontEnd, exact_front_end
from verify.forward.in_rationals import exact_network_logits, exact_outputs

ONE = fmpq_mat(1, 1, [1])


@dataclass(frozen=True, eq=False)
class Problem:
    front_end: ExactFrontEnd
    contexts: np.ndarray
    targets: fmpq_mat
    W_U: fmpq_mat

    @property
    def arguments(self) -> tuple[ExactFrontEnd, np.ndarray, fmpq_mat, fmpq_mat]:
        return self.front_end, self.contexts, self.targets, self.W_U

    @property
    def logits(self) -> fmpq_mat:
        return self.targets * self.W_U

    @property
    def skip(self) -> fmpq_mat:
        return columns(exact_outputs(self.front_end, self.contexts), range(self.front_end.d_model))

    @property
    def features(self) -> fmpq_mat:
        outputs = exact_outputs(self.front_end, self.contexts)
        return columns(outputs, range(self.front_end.d_model, outputs.ncols()))


def columns(matrix: fmpq_mat, chosen: range) -> fmpq_mat:
    return fmpq_mat(matrix.nrows(), len(chosen), [row[j] for row in matrix.tolist() for j in chosen])


def beside(*blocks: fmpq_mat) -> fmpq_mat:
    rows = [[e for block in row for e in block] for row in zip(*(b.tolist() for b in blocks), strict=True)]
    return fmpq_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row])


def integers(draw: Callable[..., Any], rows: int, width: int, largest: int = 2) -> fmpq_mat:
    entries = st.integers(-largest, largest)
    return fmpq_mat(rows, width, draw(st.lists(entries, min_size=rows * width, max_size=rows * width)))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    size = draw(sizes(max_d_vocab=3, max_d_model=3, max_n_heads=2))
    rows = draw(contexts(d_vocab=size.d_vocab, n_ctx=size.n_ctx, max_size=6))
    front_end = draw(front_ends(size=size, largest=2))
    coordinates, outputs = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    if draw(st.booleans()):
        targets = integers(draw, len(rows), coordinates)
    else:  # within reach, though perhaps not by an invertible change
        both = exact_outputs(front_end, rows)
        targets = both * integers(draw, both.ncols(), coordinates, 1)
    return Problem(front_end, rows, targets, integers(draw, coordinates, outputs, 1))


def obstruction() -> tuple[np.ndarray, fmpq_mat]:
    rows = np.array([[0, 0], [1, 1], [2, 2], [3, 3], [0, 1], [1, 0]])
    return rows, fmpq_mat(6, 2, [0] * 8 + [1, 0, 0, 1])


@given(problems())
def test_it_exists_exactly_where_the_ranks_say_so(problem: Problem) -> None:
    skip, features, logits = problem.skip, problem.features, problem.logits
    width, wanted = skip.ncols(), logits.rank()
    with_skip = beside(skip, features).rank()
    exists = (
        wanted <= width
        and beside(skip, features, logits).rank() == with_skip
        and with_skip - beside(features, logits).rank() <= width - wanted
    )
    try:
        exact_change_of_basis(*problem.arguments)
        found = True
    except HypothesisError:
        found = False
    assert found == exists


@given(problems())
def test_the_condition_reports_the_ranks(problem: Problem) -> None:
    wanted = problem.logits.rank()
    assume(wanted <= problem.front_end.d_model)
    condition = basis_condition(*problem.arguments)
    assert condition.contexts == len(problem.contexts)
    assert (condition.d_model, condition.targets) == (problem.front_end.d_model, wanted)
    assert condition.with_skip == beside(problem.skip, problem.features).rank()
    assert condition.with_targets == beside(problem.features, problem.logits).rank()
    assert condition.with_both == beside(problem.skip, problem.features, problem.logits).rank()


@given(problems())
def test_the_residual_is_zero_and_the_change_invertible(problem: Problem) -> None:
    try:
        made = exact_change_of_basis(*problem.arguments)
    except HypothesisError:
        assume(False)
        raise
    assert exact_network_logits(made.model, problem.contexts) == problem.logits
    assert made.determinant == made.change.det() != 0


@given(problems())
def test_attention_is_that_of_the_given_front_end_and_the_stream_is_what_it_says(problem: Problem) -> None:
    try:
        made = exact_change_of_basis(*problem.arguments)
    except HypothesisError:
        assume(False)
        raise
    after = exact_outputs(exact_front_end(made.model), problem.contexts)
    width = made.change.nrows()
    assert columns(after, range(width)) == problem.skip * made.change
    assert columns(after, range(width, width + problem.features.ncols())) == problem.features
    identity = np.eye(width, dtype=int).astype(object)
    assert exact_network_logits(replace(made.model, W_U=identity), problem.contexts) == made.stream
    # The changed stream spans, with the features, what the given one does.
    assert beside(made.stream, problem.features).rank() == beside(problem.skip, problem.features).rank()


@given(st.data())
def test_at_exact_capacity_the_determinant_is_a_quotient(data: st.DataObject) -> None:
    width, n_heads = data.draw(st.integers(1, 2)), data.draw(st.integers(0, 2))
    size = Sizes(d_vocab=2, n_ctx=2, d_model=width, d_head=1, n_heads=n_heads)
    facts = width + n_heads
    rows = data.draw(contexts(d_vocab=2, n_ctx=2, min_size=facts, max_size=facts))
    front_end = data.draw(front_ends(size=size))
    outputs = exact_outputs(front_end, rows)
    assume(outputs.det() != 0)
    targets = integers(data.draw, facts, width)
    features = columns(outputs, range(width, facts))
    whole = beside(targets, features).det()
    identity = fmpq_mat(width, width, [int(i == j) for i in range(width) for j in range(width)])
    assume(targets.rank() == width)
    if whole == 0:
        with pytest.raises(HypothesisError, match="rank"):
            exact_change_of_basis(front_end, rows, targets, identity)
    else:
        made = exact_change_of_basis(front_end, rows, targets, identity)
        assert made.stream == targets
        assert made.determinant == whole / outputs.det()


@given(problems(), st.data())
def test_a_corrupted_weight_is_seen(problem: Problem, data: st.DataObject) -> None:
    try:
        network = exact_change_of_basis(*problem.arguments).model
    except HypothesisError:
        assume(False)
        raise
    assume(problem.front_end.n_heads and network.W_U.any())
    head = data.draw(st.integers(0, network.n_heads - 1))
    wrong = network.W_O.copy()
    wrong[head] += 1
    seen = exact_network_logits(replace(network, blocks=(replace(network.attention, W_O=wrong),)), problem.contexts)
    features = problem.features
    d_head = network.d_head
    own = columns(features, range(head * d_head, (head + 1) * d_head))
    unchanged = all(sum(row, fmpq(0)) == 0 for row in own.tolist()) or all(
        sum(column, fmpq(0)) == 0 for column in network.W_U.T.tolist()
    )
    assert (seen == problem.logits) == unchanged


@pytest.mark.parametrize(("tokens", "n_ctx"), [(1, 1), (3, 1), (3, 2)])
def test_without_heads_the_embeddings_are_the_memory(tokens: int, n_ctx: int) -> None:
    width = tokens
    embeddings = fmpq_mat(tokens, width, [int(i == j) for i in range(tokens) for j in range(width)])
    front_end = ExactFrontEnd(embeddings, fmpq_mat(n_ctx, width), (), (), ())
    rows = np.array([[0] * (n_ctx - 1) + [token] for token in range(tokens)])
    targets = fmpq_mat(tokens, 1, [3 * token + 1 for token in range(tokens)])
    made = exact_change_of_basis(front_end, rows, targets, fmpq_mat(1, 2, [1, -2]))
    assert not made.model.W_O.any()
    assert exact_network_logits(made.model, rows) == targets * fmpq_mat(1, 2, [1, -2])


def test_a_direction_that_the_features_hide_is_made_of_several_columns() -> None:
    """The embeddings are (b, 2 b, a) and the head reads a, so that for E = a it is (-2, 1, 0) that M may add."""
    value = fmpq_mat(3, 1, [0, 0, 1])
    front_end = ExactFrontEnd(
        fmpq_mat(2, 3, [1, 2, 0, 0, 0, 1]), fmpq_mat(1, 3), (fmpq_mat(3, 1),), (fmpq_mat(3, 1),), (value,)
    )
    rows, targets = np.array([[0], [1]]), fmpq_mat(2, 1, [0, 7])
    made = exact_change_of_basis(front_end, rows, targets, ONE)
    assert exact_network_logits(made.model, rows) == targets
    assert made.change.tolist()[0][0] == -2 * made.change.tolist()[1][0] != 0


def test_what_is_out_of_reach_never_holds() -> None:
    condition = BasisCondition(contexts=3, d_model=3, targets=1, with_skip=1, with_targets=1, with_both=2)
    assert not condition.reachable
    assert not condition.holds
    assert replace(condition, with_both=1).holds


def test_targets_of_rank_zero_leave_every_coordinate_free() -> None:
    front_end = ExactFrontEnd(fmpq_mat(1, 2, [1, 0]), fmpq_mat(1, 2), (), (), ())
    made = exact_change_of_basis(front_end, np.array([[0]]), fmpq_mat(1, 1), ONE)
    assert made.condition.targets == 0
    assert exact_network_logits(made.model, np.array([[0]])) == fmpq_mat(1, 1)


def full_rank_front_end() -> ExactFrontEnd:
    rows, _ = obstruction()
    drawn = (integer_front_end(d_vocab=4, n_ctx=2, d_model=2, d_head=2, n_heads=2, seed=s) for s in range(100))
    return next(one for one in drawn if exact_outputs(one, rows).rank() == 6)


def test_the_obstruction_is_refused_by_the_name_of_its_condition() -> None:
    rows, targets = obstruction()
    identity = fmpq_mat(2, 2, [1, 0, 0, 1])
    with pytest.raises(HypothesisError, match=r"rank \[E, Y\] >= rank .* rank \[E, Y\] = 5, rank \[X, Y\] = 6"):
        exact_change_of_basis(full_rank_front_end(), rows, targets, identity)
    condition = basis_condition(full_rank_front_end(), rows, targets, identity)
    assert condition.reachable and not condition.holds


def test_without_shifts_one_more_coordinate_is_free() -> None:
    rows, targets = obstruction()
    W_U = fmpq_mat(2, 2, [1, 0, 0, 1])
    made = exact_change_of_basis(full_rank_front_end(), rows, targets, without_shifts(W_U))
    difference = exact_network_logits(made.model, rows) - targets * W_U
    assert all(row[0] == row[1] for row in difference.tolist())


@given(st.data())
def test_shifts_do_not_change_differences_of_logits(data: st.DataObject) -> None:
    W_U = integers(data.draw, data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4)), 5)
    centred = without_shifts(W_U)
    for row, before in zip(centred.tolist(), W_U.tolist(), strict=True):
        assert sum(row, fmpq(0)) == 0
        assert all(entry - row[0] == old - before[0] for entry, old in zip(row, before, strict=True))


def test_targets_out_of_reach_are_refused() -> None:
    front_end = ExactFrontEnd(fmpq_mat(1, 1, [1]), fmpq_mat(2, 1), (), (), ())
    with pytest.raises(HypothesisError, match="targets in the span"):
        exact_change_of_basis(
            ExactFrontEnd(fmpq_mat(2, 1, [1, 1]), fmpq_mat(1, 1), (), (), ()),
            np.array([[0], [1]]),
            fmpq_mat(2, 1, [1, 2]),
            ONE,
        )
    with pytest.raises(HypothesisError, match=r"rank k <= d, but k = 2, d = 1"):
        identity = fmpq_mat(2, 2, [1, 0, 0, 1])
        exact_change_of_basis(
            ExactFrontEnd(fmpq_mat(2, 1, [1, 2]), fmpq_mat(1, 1), (), (), ()), np.array([[0], [1]]), identity, identity
        )
    assert basis_condition(front_end, np.array([[0, 0]]), fmpq_mat(1, 1, [5]), ONE).holds


@pytest.mark.parametrize("shapes", [(2, 1, 1, 1), (1, 2, 1, 1), (1, 1, 1, 0)])
def test_shapes_that_do_not_fit_are_refused(shapes: tuple[int, int, int, int]) -> None:
    front_end = ExactFrontEnd(ONE, ONE, (), (), ())
    with pytest.raises(InputError, match="expected"):
        exact_change_of_basis(front_end, np.array([[0]]), fmpq_mat(*shapes[:2]), fmpq_mat(*shapes[2:]))
