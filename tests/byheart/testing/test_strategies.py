"""The public strategies give what they promise, and they reach the instances on which theorems fail."""

from itertools import combinations

import numpy as np
import pytest
from flint import fmpq, fmpq_mat, fmpz_mat
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from byheart import testing
from byheart.testing import strategies
from byheart.testing.strategies import Sizes
from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.exact_attention import exact_features
from constructions.model.shapes import dana_tensors
from verify.forward.in_balls import logits_in_balls
from verify.forward.in_rationals import exact_network_logits

# An instance is enough, the smallest one is not asked for.
SEARCH = settings(max_examples=5000, database=None, phases=[Phase.generate])


def found(strategy, wanted):
    """An instance that has what is wanted."""
    instance = find(strategy, wanted, settings=SEARCH)
    assert wanted(instance)
    return instance


@given(
    size=strategies.sizes(max_d_vocab=5, max_n_ctx=4, max_d_model=6, max_n_heads=2, min_n_heads=1),
    wide=strategies.sizes(wide_heads=True),
)
def test_sizes_stay_within_their_limits(size, wide):
    assert 1 <= size.d_vocab <= 5 and 1 <= size.n_ctx <= 4 and 1 <= size.n_heads <= 2
    assert 1 <= size.d_head <= size.d_model <= 6
    assert 1 <= wide.d_head <= 4 and 0 <= wide.n_heads <= 3


@pytest.mark.parametrize(
    "wanted",
    [
        lambda size: size.n_heads == 0,
        lambda size: size.n_ctx == 1 and size.d_model > 1,
        lambda size: size.d_vocab == 1 and size.n_heads == 3,
        lambda size: size.d_model > size.d_vocab + size.n_ctx - 1,
        lambda size: size.d_vocab**size.n_ctx == size.d_model + size.n_heads * size.d_head,
    ],
)
def test_degenerate_and_critical_sizes_are_found(wanted):
    found(strategies.sizes(), wanted)


def test_heads_wider_than_the_stream_are_found_only_where_they_are_asked_for():
    found(strategies.sizes(wide_heads=True), lambda size: size.d_head > size.d_model)
    with pytest.raises(Exception, match="No"):
        find(strategies.sizes(), lambda size: size.d_head > size.d_model)


@given(data=st.data(), d_vocab=st.integers(1, 4), n_ctx=st.integers(1, 4))
def test_contexts_are_distinct_rows_of_tokens_within_their_limits(data, d_vocab, n_ctx):
    least = data.draw(st.integers(1, min(5, d_vocab**n_ctx)))
    most = data.draw(st.integers(least, 9))
    rows = data.draw(strategies.contexts(d_vocab=d_vocab, n_ctx=n_ctx, min_size=least, max_size=most))
    assert rows.dtype == np.int64 and rows.shape == (len(rows), n_ctx)
    assert least <= len(rows) <= most
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert 0 <= rows.min() and rows.max() < d_vocab


def is_a_square(rows):
    indicators = [[int(row[s] == n) for s in range(len(row)) for n in range(3)] for row in rows.tolist()]
    return len(rows) == 4 and len(set(rows[:, -1].tolist())) == 1 and fmpz_mat(indicators).rank() == 3


@pytest.mark.parametrize(
    "wanted",
    [
        is_a_square,
        lambda rows: len(rows) == 12 and len(set(rows[:, -1].tolist())) > 1,
        lambda rows: len(rows) == 3 and (rows == rows[:, :1]).all(),
        lambda rows: len(rows) == 9 and len(set(rows[:, -1].tolist())) == 1,
    ],
)
def test_the_contexts_on_which_theorems_fail_are_found(wanted):
    found(strategies.contexts(d_vocab=3, n_ctx=3), wanted)


def test_all_contexts_are_found():
    found(strategies.contexts(d_vocab=2, n_ctx=3), lambda rows: len(rows) == 8)


@given(
    data=st.data(), d_vocab=st.integers(1, 6), rows=st.integers(1, 3), smallest=st.sampled_from([1e-300, 1e-30, 0.08])
)
def test_distributions_have_full_support_and_sum_to_one(data, d_vocab, rows, smallest):
    distributions = data.draw(strategies.distributions(d_vocab=d_vocab, rows=rows, smallest=smallest))
    assert distributions.shape == (rows, d_vocab) and distributions.dtype == np.float64
    assert (distributions >= smallest).all()
    assert (np.abs(distributions.sum(axis=1) - 1) <= 1e-14).all()


@pytest.mark.parametrize(
    "wanted",
    [
        lambda distribution: distribution.min() < 1e-29,
        lambda distribution: distribution.max() > 1 - 1e-6,
        lambda distribution: (distribution == distribution[0, 0]).all(),
        lambda distribution: distribution[0, 0] == distribution[0, 1] != distribution[0, 2],
    ],
)
def test_adversarial_distributions_are_found(wanted):
    found(strategies.distributions(d_vocab=3, rows=1), wanted)


@given(data=st.data(), size=strategies.sizes())
def test_exact_front_ends_have_their_sizes_and_rational_attention(data, size):
    front_end = data.draw(strategies.front_ends(size=size))
    assert (front_end.d_vocab, front_end.n_ctx, front_end.d_model) == (size.d_vocab, size.n_ctx, size.d_model)
    assert front_end.n_heads == size.n_heads and front_end.d_head == (size.d_head if size.n_heads else 0)
    rows = data.draw(strategies.contexts(d_vocab=size.d_vocab, n_ctx=size.n_ctx, max_size=3))
    assert exact_features(front_end, rows).nrows() == len(rows)


@given(data=st.data())
def test_embeddings_stay_within_their_bound(data):
    W_E, W_pos = data.draw(strategies.embeddings(d_vocab=3, n_ctx=2, d_model=4, largest=1))
    assert W_E.shape == (3, 4) and W_pos.shape == (2, 4)
    assert max(abs(W_E).max(), abs(W_pos).max()) <= 1


def test_degenerate_embeddings_are_found():
    strategy = strategies.embeddings(d_vocab=3, n_ctx=2, d_model=2)
    found(strategy, lambda pair: (pair[0][0] == pair[0][1]).all() and (pair[0][0] != 0).all())


@given(data=st.data(), size=strategies.sizes(min_n_heads=1))
def test_networks_have_their_sizes_and_stay_within_their_bound(data, size):
    network = data.draw(strategies.transformers(size=size, n_outputs=2, largest=5.0))
    assert (network.d_vocab, network.n_ctx, network.d_model) == (size.d_vocab, size.n_ctx, size.d_model)
    assert (network.n_heads, network.d_head, network.d_vocab_out) == (size.n_heads, size.d_head, 2)
    assert all(abs(tensor).max() <= 5 for tensor in dana_tensors(network).values())


@given(
    data=st.data(),
    d_vocab=st.integers(1, 4),
    n_ctx=st.integers(1, 3),
    answers=st.one_of(st.none(), st.integers(1, 5)),
    target=st.sampled_from(["labels", "distributions"]),
)
def test_tasks_have_their_sizes_and_their_target(data, d_vocab, n_ctx, answers, target):
    sizes = {"d_vocab": d_vocab, "n_ctx": n_ctx, "answers": answers}
    task = data.draw(strategies.tasks(**sizes, target=target, max_contexts=5))
    assert (task.d_vocab, task.n_ctx, task.target) == (d_vocab, n_ctx, target)
    assert (task.n_answers, task.apart) == (answers or d_vocab, answers is not None)
    assert 1 <= task.n_contexts <= task.n_all <= 5


def test_a_task_with_a_tail_is_found():
    found(strategies.tasks(d_vocab=2, n_ctx=2), lambda task: len(task.tail_contexts) > 1)


def smallest_rank_of_subsets(rows, size):
    """The smallest rank of `size` of the rows, or of all where there are fewer."""
    return min(fmpz_mat(list(map(list, chosen))).rank() for chosen in combinations(rows, min(size, len(rows))))


@given(instance=strategies.dana_instances(), perfect=strategies.dana_instances(perfect=True, min_n_heads=0))
def test_dana_instances_satisfy_the_hypotheses_of_theorem_1(instance, perfect):
    for each in (instance, perfect):
        size, rows = each.size, each.contexts
        assert 1 <= len(rows) <= size.n_heads * size.d_head + size.d_model and size.d_head <= size.d_model
        assert len(np.unique(rows, axis=0)) == len(rows) and rows.shape[1] == size.n_ctx
        assert 0 <= rows.min() and rows.max() < size.d_vocab
        assert each.distributions.shape == (len(rows), size.d_vocab) and (each.distributions > 0).all()
    assert instance.size.n_heads >= 1 and perfect.size.d_model >= perfect.size.d_vocab - 1


@given(
    data=st.data(),
    limits=st.fixed_dictionaries(
        {"max_d_vocab": st.integers(1, 5), "max_n_ctx": st.integers(1, 4), "max_d_model": st.integers(1, 5)}
    ),
    heads=st.tuples(st.integers(0, 3), st.integers(0, 3)).map(sorted),
    max_contexts=st.integers(1, 6),
)
def test_dana_instances_stay_within_their_limits(data, limits, heads, max_contexts):
    options = {**limits, "min_n_heads": heads[0], "max_n_heads": heads[1], "max_contexts": max_contexts}
    instance = data.draw(strategies.dana_instances(**options))
    size = instance.size
    assert len(instance.contexts) <= max_contexts and heads[0] <= size.n_heads <= heads[1]
    assert all(getattr(size, name.removeprefix("max_")) <= most for name, most in limits.items())


@pytest.mark.parametrize(
    "wanted",
    [
        lambda i: len(i.contexts) == i.size.n_heads * i.size.d_head + i.size.d_model > 4,
        lambda i: is_a_square(i.contexts) and i.size.n_heads == 1,
        lambda i: is_a_square(i.contexts) and i.distributions.argmax(axis=1).tolist() == [0, 0, 1, 1],
        lambda i: i.size.n_ctx == 1 and len(i.contexts) > i.size.d_model,
        lambda i: len(i.contexts) == 3 and i.size.d_head == 1 and i.size.n_ctx == 2 and len(set(i.contexts[:, 1])) == 1,
    ],
    ids=["critical", "a square", "XOR", "one position", "collinear"],
)
def test_the_instances_on_which_theorem_1_fails_are_found(wanted):
    found(strategies.dana_instances(), wanted)


@given(instance=strategies.mahdavi_instances())
def test_mahdavi_instances_satisfy_the_hypotheses_of_theorem_1(instance):
    task = instance.task
    assert 1 <= task.n_examples <= instance.n_heads * (min(task.n_ctx, instance.d_head) - 1) + 1
    assert task.n_ctx < task.d_model
    queries = task.queries.astype(int).tolist()
    assert smallest_rank_of_subsets(queries, task.n_ctx) == min(task.n_ctx, len(queries))
    assert all(fmpz_mat(keys.astype(int).tolist()).rank() == task.n_ctx for keys in task.contexts)


@pytest.mark.parametrize(
    "wanted",
    [
        lambda i: i.task.n_examples == i.n_heads * (min(i.task.n_ctx, i.d_head) - 1) + 1 > 4,
        lambda i: not i.task.shared,
        lambda i: i.task.d_out == 2 and (i.task.labels[0] != i.task.labels[-1]).all(),
        lambda i: i.task.n_examples > i.task.d_model,
        lambda i: i.task.n_examples > 3 and fmpz_mat(i.task.queries.astype(int).tolist()).rank() == 2,
    ],
    ids=["critical", "contexts that differ", "labels that differ", "dependent queries", "queries of low rank"],
)
def test_mahdavi_instances_of_every_kind_are_found(wanted):
    found(strategies.mahdavi_instances(), wanted)


@given(data=st.data(), rows=st.integers(1, 5), columns=st.integers(1, 5))
def test_near_singular_matrices_are_near_singular_and_their_rank_is_exact(data, rows, columns):
    known = data.draw(strategies.near_singular(rows=rows, columns=columns))
    exact = fmpq_mat(rows, columns, [fmpq(*x.as_integer_ratio()) for x in known.matrix.ravel().tolist()])
    assert known.matrix.shape == (rows, columns) and known.rank == exact.rank()
    scale = abs(known.matrix).max() or 1.0
    singular = np.linalg.svd(known.matrix / scale, compute_uv=False)
    assert min(rows, columns) == 1 or singular[-1] <= 1e-11 * max(1, singular[0])


@pytest.mark.parametrize(
    "wanted",
    [
        lambda known: known.rank == 2,
        lambda known: known.rank == 1 and abs(known.matrix).max() > 1,
        lambda known: known.rank == 2 and np.linalg.matrix_rank(known.matrix) == 1,
        lambda known: known.rank == 2 and abs(known.matrix).max() > 1e200,
        lambda known: known.rank == 2 and 0 < abs(known.matrix).min(where=known.matrix != 0, initial=1.0) < 1e-310,
    ],
    ids=["full", "singular", "numpy is wrong", "huge", "subnormal"],
)
def test_near_singular_matrices_of_every_kind_are_found(wanted):
    found(strategies.near_singular(rows=2), wanted)


@given(matrix=strategies.hostile_matrices(rows=2, columns=3))
def test_hostile_matrices_are_finite(matrix):
    assert matrix.shape == (2, 3) and matrix.dtype == np.float64 and np.isfinite(matrix).all()


@pytest.mark.parametrize(
    "wanted",
    [
        lambda a: (a[0] == a[1]).all() and (a[0] != 0).all(),
        lambda a: abs(a).max() > 1e300,
        lambda a: ((a != 0) & (abs(a) < 1e-310)).any(),
        lambda a: (a[0] == a[0].max()).sum() == 2 and a[0].max() > 1,
        lambda a: 0 < np.sort(a[0])[2] - np.sort(a[0])[1] <= 1e-15 and a[0].max() >= 1,
    ],
    ids=["equal rows", "huge", "subnormal", "a tie", "nearly a tie"],
)
def test_hostile_matrices_of_every_kind_are_found(wanted):
    found(strategies.hostile_matrices(rows=2, columns=3), wanted)


@pytest.mark.parametrize(
    "wanted",
    [
        lambda model: (model.W_E[0] == model.W_E[1]).all() and model.W_E.all(),
        lambda model: (model.W_U[:, 0] == model.W_U[:, 1]).all() and model.W_U.all(),
        lambda model: max(abs(x).max() for x in model.tensors().values()) > 1e300,
    ],
    ids=["equal embeddings", "tied logits", "huge"],
)
def test_hostile_transformers_of_every_kind_are_found(wanted):
    found(strategies.transformers(size=Sizes(2, 1, 1, 1, 1), hostile=True), wanted)


def test_importing_all_brings_the_strategies_only():
    namespace = {}
    exec("from byheart.testing.strategies import *", namespace)
    names = set(namespace) - {"__builtins__"}
    assert names == set(strategies.__all__) <= set(testing.__all__)
    assert all(getattr(testing, name) is namespace[name] for name in names)
    assert all(value.__module__ == "byheart.testing.strategies" for name, value in namespace.items() if name in names)
    public = {
        name
        for name, value in vars(strategies).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == "byheart.testing.strategies"
    }
    assert public == names


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (lambda: strategies.sizes(max_d_vocab=0), "max_d_vocab = 0, expected an integer of at least 1"),
        (lambda: strategies.sizes(max_n_heads=1, min_n_heads=2), "max_n_heads = 1, expected an integer of at least 2"),
        (lambda: strategies.contexts(d_vocab=2, n_ctx=0), "n_ctx = 0, expected"),
        (lambda: strategies.contexts(d_vocab=2, n_ctx=2, min_size=5), r"min_size = 5, expected at most .* 2\*\*2"),
        (lambda: strategies.contexts(d_vocab=9, n_ctx=2, min_size=5, max_size=4), "min_size = 5"),
        (lambda: strategies.distributions(d_vocab=2, rows=0), "rows = 0, expected"),
        (lambda: strategies.distributions(d_vocab=2, rows=1, smallest=0.3), r"smallest = 0\.3, expected a mass in"),
        (lambda: strategies.embeddings(d_vocab=True, n_ctx=1, d_model=1), "d_vocab = True, expected"),
        (lambda: strategies.transformers(size=Sizes(2, 2, 2, 1, 0)), "heads = 0, expected an integer of at least 1"),
        (lambda: strategies.transformers(size=Sizes(2, 2, 2, 1, 1), largest=float("nan")), "largest = nan"),
        (lambda: strategies.transformers(size=Sizes(2, 2, 2, 1, 1), largest=1.0, hostile=True), "largest = 1.0 beside"),
        (lambda: strategies.transformers(size=(2, 2, 2, 1, 1)), r"size is \(2, 2, 2, 1, 1\), expected Sizes"),
        (lambda: strategies.transformers(size=Sizes(2, 2, 0, 1, 1)), "d_model = 0, expected"),
        (lambda: strategies.front_ends(size=Sizes(2, 2, 2, 1, -1)), "n_heads = -1, expected"),
        (lambda: strategies.front_ends(size=None), "size is None, expected Sizes"),
        (lambda: strategies.inputs(model=3), "model is 3, expected a Model"),
        (lambda: strategies.tasks(d_vocab=2, n_ctx=1, answers=0), "answers = 0, expected"),
        (
            lambda: strategies.tasks(d_vocab=2, n_ctx=1, target="distribution"),
            "target = 'distribution', expected one of",
        ),
        (lambda: strategies.tasks(d_vocab=2, n_ctx=1, max_contexts=0), "max_contexts = 0, expected"),
        (lambda: strategies.contexts(d_vocab=2, n_ctx=1, max_size="2"), "max_size = '2', expected an integer"),
        (lambda: strategies.distributions(d_vocab=2, rows=1, smallest="tiny"), "smallest = 'tiny', expected a mass"),
        (lambda: strategies.transformers(size=Sizes(2, 2, 2, 1, 1), largest="8"), "largest = '8', expected a finite"),
        (lambda: strategies.dana_instances(max_contexts=0), "max_contexts = 0, expected an integer of at least 1"),
        (lambda: strategies.dana_instances(max_n_ctx=0), "max_n_ctx = 0, expected"),
        (lambda: strategies.dana_instances(max_n_heads=0), "max_n_heads = 0, expected an integer of at least 1"),
        (lambda: strategies.mahdavi_instances(max_d_model=1), "max_d_model = 1, expected an integer of at least 2"),
        (lambda: strategies.mahdavi_instances(largest=-1), "largest = -1, expected"),
        (lambda: strategies.near_singular(rows=0), "rows = 0, expected"),
        (lambda: strategies.near_singular(rows=2, columns=2.0), r"columns = 2\.0, expected"),
        (lambda: strategies.hostile_matrices(rows=1, columns=0), "columns = 0, expected"),
        (lambda: strategies.front_ends(size=Sizes(2, 2, 2, 1, 1), d_qk=0), "d_qk = 0"),
        (lambda: strategies.models(max_blocks=0), "max_blocks = 0, expected"),
        (lambda: strategies.models(max_d_model=0), "max_d_model = 0, expected"),
    ],
)
def test_limits_between_which_there_is_nothing_are_refused(strategy, message):
    with pytest.raises(InputError, match=message):
        find(strategy(), lambda found: True)


@given(data=st.data(), rational=st.booleans(), hostile=st.booleans())
def test_models_stay_within_their_limits_and_read_their_inputs(data, rational, hostile):
    model = data.draw(strategies.models(rational=rational, hostile=hostile, max_blocks=2, max_d_model=2))
    given_inputs = data.draw(strategies.inputs(model=model, hostile=hostile))
    assert model.is_rational == rational and len(model.blocks) <= 2 and model.d_model <= 2
    if rational:
        assert logits_in_balls(model, given_inputs, 64).nrows() == exact_network_logits(model, given_inputs).nrows()
    elif not hostile:
        assert all(abs(tensor).max(initial=0) <= 2 for tensor in model.tensors().values())


@pytest.mark.parametrize(
    "wanted",
    [
        lambda model: {type(block) for block in model.blocks} == {Attention, FeedForward, Normalization},
        lambda model: any(getattr(block, "queries", "") == "task" and block.n_heads for block in model.blocks),
        lambda model: not model.reads_tokens and any(getattr(block, "attends", "") == "all" for block in model.blocks),
        lambda model: any(getattr(block, "score_root", 1) > 1 and block.b_Q is not None for block in model.blocks),
        lambda model: any(getattr(block, "activation", "") == "gelu-tanh" for block in model.blocks),
        lambda model: any(getattr(block, "norm", None) is not None for block in model.blocks),
    ],
    ids=["all kinds", "queries of the task", "all positions", "scaled and shifted", "gelu-tanh", "a norm"],
)
def test_models_with_every_option_are_found(wanted):
    found(strategies.models(), wanted)


def test_hostile_models_with_huge_and_tiny_entries_are_found():
    def wanted(model):
        entries = np.concatenate([tensor.ravel() for tensor in model.tensors().values()])
        return (abs(entries) > 1e20).any() and ((entries != 0) & (abs(entries) < 1e-300)).any()

    found(strategies.models(hostile=True), wanted)
