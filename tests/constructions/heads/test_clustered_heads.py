"""Clusters of heads hold contexts in general position: derivatives, their rank over prime fields, proved weights."""

import itertools
import random

import numpy as np
import pytest
from flint import nmod_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.heads import clustered_heads as module
from constructions.heads.clustered_heads import (
    Shape,
    _Base,
    _derivatives,
    _drawn,
    clustered_heads_memory,
    fewest_parameters_by_clusters,
    rank_bound,
)
from constructions.heads.label_system import inverted, points
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from tests.bigrams import KINDS, bigram_task
from verify.certificates.memorization import certify_memorization
from verify.divergence.kullback_leibler import argmax_margin
from verify.forward.logits import enclose_logits

PRIME = 2**62 - 57


def margins(task: Task, **options: object) -> np.ndarray:
    model = clustered_heads_memory(task, **options).model  # pyright: ignore[reportArgumentType]
    return argmax_margin(enclose_logits(model, task.contexts), task.modes())


def table(contexts: object, seed: int = 0) -> Task:
    rows = np.array(contexts)
    labels = np.random.default_rng(seed).integers(0, rows.max() + 1, len(rows))
    return array_task(rows, next_tokens=labels, vocabulary=int(rows.max()) + 1, target="labels")


def read_by(base: _Base, task: Task, copy: int) -> np.ndarray:
    """What one copy of the only cluster of a base reads, term by term."""
    inputs = base.W_E[task.contexts] + base.W_pos
    found = []
    for rows in inputs:
        scores = np.array([rows[-1] @ base.U[0] @ base.V[0].T @ row for row in rows])
        shares = np.exp(scores) / np.exp(scores).sum()
        found.append(float(shares @ (rows @ base.v[0, copy])))
    return np.array(found)


@pytest.mark.parametrize("copies", [2, 3])
def test_the_derivatives_are_those_of_what_the_copies_read(copies: int) -> None:
    task = enumerated_task(3, 3, seed=1)
    base = _drawn(task, Shape(4, 2, copies, 1), "float64", (0, 0))
    columns = _derivatives(task, base)
    assert (columns[:, :4] == base.W_E[task.contexts[:, -1]] + base.W_pos[-1]).all()
    assert np.abs(sum(read_by(base, task, copy) for copy in range(copies))).max() < 1e-14
    place, small = 4, 1e-5
    for copy in range(copies):
        for name in ("v", "U", "V") if copy == 0 else ("U", "V"):
            middle = getattr(base, name)
            for entry in np.ndindex(middle[0].shape if name != "v" else middle.shape[2:]):
                at = (0, *entry) if name != "v" else (0, 0, *entry)
                ends = []
                for sign in (1.0, -1.0):
                    moved = middle.copy()
                    moved[at] += sign * small
                    ends.append(read_by(base._replace(**{name: moved}), task, copy))
                np.testing.assert_allclose((ends[0] - ends[1]) / (2 * small), columns[:, place], atol=1e-8)
                place += 1
    assert place == columns.shape[1] == 4 + 4 + copies * 2 * 4 * 2


def exact_rank(task: Task, shape: Shape, seed: int) -> int:
    """The rank of J modulo a prime, with attention by powers of 2 of whole scores: at most that of these weights."""
    rng = random.Random(seed)

    def draw(rows: int, width: int) -> np.ndarray:
        return np.array([[rng.randrange(-(10**6), 10**6) for _ in range(width)] for _ in range(rows)], dtype=object)

    d, r, k, _ = shape
    W_E, W_pos = draw(task.d_vocab, d), draw(task.n_ctx, d)
    W_E[:, 0], W_pos[:, 0], W_pos[-1, 0] = 0, -1, 1
    heads = []
    for _ in range(shape.clusters):
        v = draw(k - 1, d)
        heads.append((draw(d, r), draw(d, r), [*v, -v.sum(axis=0)]))
    matrix = []
    for context in task.contexts:
        x = W_E[context] + W_pos
        row = [x[-1]]
        for U, V, values in heads:
            powers = [pow(2, int(score) % (PRIME - 1), PRIME) for score in x @ V @ (x[-1] @ U)]
            a = np.array(powers, dtype=object) * pow(sum(powers), -1, PRIME) % PRIME
            row.append(a @ x % PRIME)
            for v in values:
                g = (a * (x @ v - a @ (x @ v))) @ x % PRIME
                row += [np.outer(x[-1], g @ V).ravel(), np.outer(g, x[-1] @ U).ravel()]
        matrix.append([int(entry) % PRIME for entry in np.concatenate(row)])
    return nmod_mat(matrix, PRIME).rank()


# Bigrams and trigrams of N tokens: S, N, shape; the last three with as many last tokens as the stream has dimensions
# or fewer, and the first with a rank that the antisymmetric combinations decide.
REACHED = [
    (2, 7, Shape(3, 2, 4, 1)),
    (2, 6, Shape(4, 3, 4, 1)),
    (2, 7, Shape(5, 2, 3, 1)),
    (2, 7, Shape(5, 5, 2, 1)),
    (2, 5, Shape(2, 1, 2, 2)),
    (3, 3, Shape(3, 3, 3, 1)),
    (3, 3, Shape(2, 2, 3, 1)),
    (3, 3, Shape(3, 1, 2, 2)),
    (2, 2, Shape(2, 1, 2, 1)),
    (2, 3, Shape(5, 2, 6, 2)),
    (3, 2, Shape(4, 2, 3, 1)),
]


@pytest.mark.parametrize(("n_ctx", "tokens", "shape"), REACHED)
def test_the_rank_of_complete_tables_is_what_the_bound_says(n_ctx: int, tokens: int, shape: Shape) -> None:
    task = enumerated_task(tokens, n_ctx)
    assert exact_rank(task, shape, 0) == rank_bound(task, shape)


def test_a_conic_through_all_tokens_costs_a_dimension() -> None:
    shape = Shape(3, 3, 4, 1)
    found = [(rank_bound(task, shape), exact_rank(task, shape, 0)) for task in map(square, (5, 6, 7))]
    assert found == [(24, 23), (24, 24), (24, 24)]


def square(tokens: int) -> Task:
    return enumerated_task(tokens, 2)


def test_one_last_token_and_one_first_token_have_bounds_of_their_own() -> None:
    shape = Shape(4, 2, 3, 1)
    first, last = table([[n, 0] for n in range(12)]), table([[0, n] for n in range(12)])
    assert rank_bound(first, shape) == 1 + 4 + 2 * 4 - 1 == 12
    assert rank_bound(last, shape) == 12
    assert rank_bound(first, shape._replace(copies=2)) == 1 + 4 + 4 == 9
    mixed = table([[n, 0] for n in range(12)] + [[n, c] for n in range(2) for c in (1, 2, 3)])
    assert rank_bound(mixed, shape._replace(copies=2)) == 18 - 12 + 9 == exact_rank(mixed, shape._replace(copies=2), 0)


def test_more_copies_than_dimensions_and_one_have_no_more_directions() -> None:
    task = enumerated_task(12, 2)
    shapes = [Shape(3, 3, copies, 1) for copies in (2, 3, 4, 5, 9)]
    assert [rank_bound(task, shape) for shape in shapes] == [3 + 3 + 9, 3 + 3 + 15, 3 + 3 + 18, 24, 24]


@pytest.mark.parametrize("shape", [Shape(4, 1, 2, 3), Shape(4, 2, 3, 2), Shape(6, 2, 2, 2), Shape(6, 2, 4, 1)])
def test_the_rank_in_floating_point_is_what_the_bound_says(shape: Shape) -> None:
    task = enumerated_task(10, 2)
    found = np.linalg.matrix_rank(_derivatives(task, _drawn(task, shape, "float64", (1, 0))), tol=1e-9)
    assert found == rank_bound(task, shape) < 100


def test_the_smallest_shape_has_the_fewest_parameters_of_those_with_the_rank() -> None:
    task = enumerated_task(10, 2)
    least = min(
        shape.parameters(task)
        for shape in itertools.starmap(Shape, itertools.product(range(4, 9), range(1, 4), range(2, 6), range(1, 13)))
        if shape.rank <= shape.d_model and shape.copies <= shape.d_model + 1
        if all(
            p + shape.clusters * module._directions(p, q, shape.rank, shape.copies) >= 1.05 * count
            for count, p, q in module._parts(task, shape.d_model)
        )
    )
    assert fewest_parameters_by_clusters(task) == least == clustered_heads_memory(task).model.parameters == 376
    assert fewest_parameters_by_clusters(enumerated_task(3, 2, target="laws")) == 0


@pytest.mark.parametrize(
    ("contexts", "labels", "vocabulary"),
    [
        ([[0, 0]], [0], 1),
        ([[3, 1]], [1], 4),
        ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], 2),
        ([[n, 0] for n in range(9)], [3, 1, 4, 1, 5, 2, 6, 5, 3], 9),
        ([[0, n] for n in range(9)], [3, 1, 4, 1, 5, 2, 6, 5, 3], 9),
        ([[a, b] for a in range(3) for b in range(3)], [2] * 9, 4),
    ],
    ids=["one token", "one fact", "XOR", "one last token", "one first token", "one label"],
)
def test_the_smallest_tables_are_held(contexts: object, labels: object, vocabulary: int) -> None:
    task = array_task(np.array(contexts), next_tokens=np.array(labels), vocabulary=vocabulary, target="labels")
    assert min(margins(task, dtype=dtype).min() for dtype in ("float32", "float64")) > 0.1


def test_the_parameters_are_those_that_are_counted_and_fewer_than_of_pairs() -> None:
    task = enumerated_task(20, 2, seed=1)
    model = clustered_heads_memory(task, dtype="float32").model
    assert (model.d_model, model.d_qk, model.d_head, model.n_heads) == (6, 2, 1, 28)
    assert model.parameters == 6 * (2 + 2 * 20) + 2 * 6 * 3 * 28 == 1260
    assert fewest_parameters_by_clusters(task) == 1260
    pairs = clustered_heads_memory(task, copies=2, dtype="float32").model
    assert pairs.n_heads % 2 == 0 and pairs.parameters == 1384


def test_the_least_change_of_a_pair_is_opposite() -> None:
    task = enumerated_task(6, 2)
    base = _drawn(task, Shape(4, 1, 2, 6), "float64", (0, 0))
    inverse = inverted(_derivatives(task, base))
    assert inverse is not None
    maps = inverse.solve(points(task)[:, None])[4:, 0].reshape(6, 4 + 2 * 8)[:, 4:].reshape(6, 2, 8)
    assert np.abs(maps).max() > 1 and np.abs(maps.sum(axis=1)).max() < 1e-9


def test_without_corrections_float32_keeps_less_than_half_of_the_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    task = enumerated_task(16, 2)
    corrected = margins(task, dtype="float32").min()
    monkeypatch.setattr(module, "_CORRECTIONS", 0)
    assert corrected > 0.4 and margins(task, dtype="float32").min() < 0.2 < margins(task).min()


def test_the_certificate_says_so_and_not_of_other_labels() -> None:
    task, other = bigram_task(8, "random", 2), bigram_task(8, "random", 2, changed=11)
    built = clustered_heads_memory(task, dtype="float32")
    assert all((x.astype(np.float32) == x).all() for x in built.model.tensors().values())
    judged = certify_memorization(built.model, built.task, built.criterion)
    assert judged.certificate.answers.values["held"] == judged.certificate.subject.sizes["contexts"]
    found = argmax_margin(enclose_logits(built.model, task.contexts), other.modes())
    assert np.flatnonzero(found <= 0).tolist() == [11]


def test_contexts_whose_derivatives_are_dependent_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MORE", (0.8,))
    with pytest.raises(CapacityError, match="rank T = 400, but no draw has them; 13 clusters of 2 heads, d = 6"):
        clustered_heads_memory(enumerated_task(20, 2), d_model=6, d_qk=2, copies=2)


def test_steps_that_are_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STEPS", (4.0,))
    with pytest.raises(CapacityError, match="the best draw leaves a margin of -"):
        clustered_heads_memory(enumerated_task(8, 2))


def test_what_cannot_be_is_refused() -> None:
    task = enumerated_task(2, 2)
    for options, words in (
        ({"d_model": 1}, "d_model = 1, expected at least 2"),
        ({"d_qk": 0}, "d_qk = 0, expected at least 1"),
        ({"copies": 1}, "copies = 1, expected at least 2"),
        ({"d_model": 3, "d_qk": 4}, "d_model = 3, expected at least d_qk = 4 and one less than copies = None"),
        ({"d_model": 3, "copies": 5}, "d_model = 3, expected at least d_qk = None and one less than copies = 5"),
        ({"dtype": "half"}, "dtype = 'half'"),
    ):
        with pytest.raises(InputError, match=words):
            clustered_heads_memory(task, **options)  # pyright: ignore[reportArgumentType]
    with pytest.raises(HypothesisError, match="needs labels, but the target is 'laws'"):
        clustered_heads_memory(enumerated_task(2, 2, target="laws"))
    with pytest.raises(HypothesisError, match="contexts of two tokens or more, but they have 1"):
        clustered_heads_memory(enumerated_task(2, 1))


@given(
    st.integers(1, 8),
    st.sampled_from(KINDS),
    st.sampled_from([(None, None, None), (4, 1, 2), (4, 1, 3), (5, 1, 4)]),
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 2**31),
)
def test_any_labels_of_bigrams_are_held(
    tokens: int, kind: str, shape: tuple[int | None, int | None, int | None], dtype: str, seed: int
) -> None:
    task = bigram_task(tokens, kind, seed)
    assert margins(task, d_model=shape[0], d_qk=shape[1], copies=shape[2], dtype=dtype, seed=seed).min() > 0


@given(st.integers(2, 5), st.integers(5, 12), st.integers(0, 2**31))
def test_random_contexts_of_any_length_are_held(n_ctx: int, tokens: int, seed: int) -> None:
    contexts = np.unique(np.random.default_rng(seed).integers(0, tokens, (60, n_ctx)), axis=0)
    assert margins(table(contexts, seed), dtype="float32").min() > 0


@given(data=st.data())
def test_no_rank_exceeds_the_bound(data: st.DataObject) -> None:
    n_ctx, tokens, width = (data.draw(st.integers(*ends)) for ends in ((2, 4), (1, 5), (1, 4)))
    rank, copies = data.draw(st.integers(1, width)), data.draw(st.integers(2, width + 2))
    shape = Shape(width, rank, copies, data.draw(st.integers(1, 2)))
    seed = data.draw(st.integers(0, 2**31))
    contexts = np.unique(np.random.default_rng(seed).integers(0, tokens, (25, n_ctx)), axis=0)
    if data.draw(st.booleans()):
        contexts[:, -1] = contexts[0, -1]  # one last token
        contexts = np.unique(contexts, axis=0)
    assert exact_rank(table(contexts), shape, seed) <= rank_bound(table(contexts), shape)
