"""The record of what is to be memorized."""

import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import FileFormatError, HypothesisError, InputError, ResourceError
from constructions.tasks.task import Counts, Task, make_task, smoothed_distributions
from tests import task_files

count_rows = st.lists(st.dictionaries(st.integers(0, 6), st.integers(1, 50), min_size=1), min_size=1, max_size=12)


@st.composite
def tasks(draw, target=None):
    rows = draw(count_rows)
    n_ctx = draw(st.integers(1, 3))
    contexts = draw(
        st.lists(st.tuples(*[st.integers(0, 6)] * n_ctx), min_size=len(rows), max_size=len(rows), unique=True)
        if 7**n_ctx >= len(rows)
        else st.nothing()
    )
    facts = draw(st.integers(1, len(rows)))
    return make_task(
        np.array(contexts, dtype=np.int64),
        Counts.from_rows(rows),
        vocabulary=tuple("abcdefg"),
        target=target or draw(st.sampled_from(["distributions", "labels"])),
        facts=facts,
    )


@given(count_rows)
def test_sparse_counts_agree_with_their_dense_form(rows):
    counts = Counts.from_rows(rows)
    dense = np.array([[row.get(token, 0) for token in range(7)] for row in rows])
    assert (counts.dense(0, len(rows), 7) == dense).all()
    assert (counts.totals() == dense.sum(axis=1)).all()
    assert (counts.first_maxima() == dense.argmax(axis=1)).all()
    order = np.arange(len(rows))[::-1].copy()
    assert (counts.take(order).dense(0, len(rows), 7) == dense[::-1]).all()
    assert (counts.rows(1, len(rows)).dense(0, len(rows) - 1, 7) == dense[1:]).all()


@given(count_rows, st.integers(7, 12))
def test_each_smoothed_distribution_is_the_rounded_rational_of_the_rule(rows, size):
    counts = Counts.from_rows(rows)
    distributions = smoothed_distributions(counts, size)
    for i, row in enumerate(rows):
        n = sum(row.values())
        exact = [(Fraction(row.get(j, 0)) + Fraction(1, 2 * size)) / (n + Fraction(1, 2)) for j in range(size)]
        assert sum(exact) == 1
        for value, rational in zip(distributions[i], exact, strict=True):
            assert abs(Fraction(float(value)) - rational) <= rational * Fraction(1, 2**52)
        assert set(np.flatnonzero(distributions[i] == distributions[i].max())) == {
            j for j in row if row[j] == max(row.values())
        }


def test_a_token_outside_the_vocabulary_has_no_distribution():
    with pytest.raises(InputError, match="answer 7"):
        smoothed_distributions(Counts.from_rows([{7: 1}]), 7)


def test_distributions_that_would_not_fit_in_memory_are_refused_before_they_are_made():
    counts = Counts.from_rows([{0: 1}] * 6000)
    with pytest.raises(ResourceError, match="6000 distributions over 50000 answers"):
        smoothed_distributions(counts, 50_000)


@given(tasks())
def test_the_most_frequent_contexts_are_memorized_and_the_rest_is_the_tail(task):
    kept, rest = task.counts.totals(), task.tail_counts.totals()
    assert (np.diff(kept) <= 0).all()
    assert not len(rest) or rest.max() <= kept[-1]
    assert task.prior.sum() == pytest.approx(kept.sum() / (kept.sum() + rest.sum()))
    together = [tuple(row) for row in np.concatenate([task.contexts, task.tail_contexts])]
    assert len(set(together)) == task.n_all == len(together)


@given(tasks())
def test_a_task_survives_the_disk_bit_for_bit(tmp_path_factory, task):
    folder = tmp_path_factory.mktemp("task")
    task.save(folder / "a")
    again = Task.load(folder / "a")
    again.save(folder / "b")
    assert again.sha256() == task.sha256()
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    assert again.vocabulary == task.vocabulary and again.target == task.target


def test_every_array_enters_the_hash():
    counts = Counts.from_rows([{0: 3, 1: 1}, {1: 2}, {0: 1, 2: 1}])
    contexts = np.array([[0, 0], [0, 1], [1, 0]])
    base = make_task(contexts, counts, vocabulary=("a", "b", "c"), facts=2)
    hashes = {base.sha256()}
    changes = [
        dict(vocabulary=("a", "b", "d"), answers=()),
        dict(answers=("a", "b", "d")),
        dict(answers=("c", "b", "a")),
        dict(contexts=np.array([[0, 0], [1, 1]])),
        dict(counts=Counts.from_rows([{0: 3, 2: 1}, {1: 2}])),
        dict(counts=Counts.from_rows([{0: 2, 1: 2}, {1: 2}])),
        dict(distributions=np.array([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1]])),
        dict(origin="own"),
        dict(labels=np.array([0, 1]), distributions=None, target="labels"),
        dict(tail_contexts=np.array([[2, 2]])),
        dict(tail_counts=Counts.from_rows([{0: 2}])),
    ]
    for change in changes:
        hashes.add(dataclasses.replace(base, **{"origin": "", **change}).sha256())
    assert len(hashes) == len(changes) + 1


def test_mass_takes_the_smallest_number_of_contexts_that_hold_it():
    counts = Counts.from_rows([{0: 1}, {0: 2}, {0: 3}, {0: 4}])
    contexts = np.arange(4)[:, None]
    for mass, expected in [(0.4, 1), (Fraction(2, 5), 1), (0.41, 2), (0.7, 2), (0.9, 3), (1, 4), (1e-9, 1)]:
        task = make_task(contexts, counts, vocabulary=tuple("abcd"), mass=Fraction(str(mass)))
        assert task.n_contexts == expected, mass


def test_modes_of_a_distribution_are_all_its_maxima_and_of_a_label_only_the_label():
    counts = Counts.from_rows([{0: 2, 2: 2, 3: 1}])
    contexts = np.array([[1]])
    distributions = make_task(contexts, counts, vocabulary=tuple("abcd"), target="distributions")
    labels = make_task(contexts, counts, vocabulary=tuple("abcd"), target="labels")
    assert distributions.modes(slice(1)).tolist() == [[True, False, True, False]]
    assert labels.modes(slice(1)).tolist() == [[True, False, False, False]]


CONTEXTS = np.array([[0, 1], [1, 0]])
COUNTS = Counts.from_rows([{0: 2}, {1: 1}])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(facts=0), "facts = 0, expected 1 .. 2"),
        (dict(facts=3), "facts = 3, expected 1 .. 2"),
        (dict(mass=0.0), "mass = 0.0"),
        (dict(mass=1.5), "mass = 1.5"),
        (dict(mass=float("nan")), "mass = nan"),
        (dict(facts=1, mass=0.5), "facts = 1 is given beside mass = 0.5"),
        (dict(target="lows"), "target is 'lows'"),
        (dict(vocabulary=("a", "a")), "pairwise distinct"),
        (dict(vocabulary=("a", "")), "empty"),
        (dict(vocabulary=()), "non-empty"),
        (dict(vocabulary=("a",)), r"expected 0 \.\. 0"),
        (dict(contexts=np.array([[0, 1], [0, 1]])), "occur more than once"),
        (dict(contexts=np.array([[0, -1], [0, 1]])), "-1"),
        (dict(contexts=np.array([[0.0, 1.0], [1.0, 0.0]])), "expected integers"),
        (dict(contexts=np.array([[0, 1]])), "1 rows"),
    ],
)
def test_a_bad_argument_is_named(arguments, message):
    given = dict(contexts=CONTEXTS, counts=COUNTS, vocabulary=("a", "b"), target="labels") | arguments
    with pytest.raises(InputError, match=message):
        make_task(given.pop("contexts"), given.pop("counts"), **given)


def test_the_occurrences_of_all_contexts_stay_exact_in_float64():
    counts = Counts.from_rows([{0: 2**53}])
    one = Counts.from_rows([{0: 1}])
    make_task(CONTEXTS[:1], counts, vocabulary=("a", "b"), target="labels")
    with pytest.raises(InputError, match=r"at most 2\*\*53"):
        zero = np.zeros(1, dtype=np.int64)
        Task("labels", ("a", "b"), CONTEXTS[:1], counts, zero, None, np.ones(1), CONTEXTS[1:], one)


def test_a_distribution_without_full_support_breaks_assumption_2():
    with pytest.raises(HypothesisError, match="Assumption 2"):
        make_task(CONTEXTS, COUNTS, vocabulary=("a", "b"), distributions=np.array([[1.0, 0.0], [0.5, 0.5]]))


@pytest.mark.parametrize(
    ("indptr", "indices", "data"),
    [
        ([0, 2], [1, 0], [1, 1]),
        ([0, 2], [0, 0], [1, 1]),
        ([0, 1], [0], [0]),
        ([0, 0], [], []),
        ([0, 1], [-1], [1]),
        ([1, 1], [0], [1]),
        ([0, 2], [0], [1]),
        ([0, 2, 1], [0], [1]),
        ([0, 2], [0, 1], [2**53, 1]),
        ([0, 2], [0, 1], [2**63 - 1, 2**63 - 1]),
        ([], [], []),
    ],
)
def test_arrays_that_are_no_sparse_matrix_are_refused(indptr, indices, data):
    with pytest.raises(InputError, match="counts_"):
        Counts(*(np.array(part, dtype=np.int64) for part in (indptr, indices, data)))


@pytest.mark.parametrize(
    "damage",
    ["truncated", "missing array", "extra array", "prior", "distributions", "text", "pickle", "absent", "archive"],
)
def test_a_file_that_is_no_task_is_refused(tmp_path, damage):
    path = tmp_path / "task.safetensors"
    task = make_task(CONTEXTS, COUNTS, vocabulary=("a", "b"))
    task.save(path)
    given = task_files.parts(task)
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:-40])
    elif damage == "missing array":
        task_files.write(path, {name: array for name, array in given.items() if name != "counts_data"})
    elif damage == "extra array":
        task_files.write(path, {**given, "surprise": np.zeros(1)})
    elif damage in ("prior", "distributions"):  # which follow from the counts
        task_files.write(path, {**given, damage: getattr(task, damage)})
    elif damage == "text":
        path.write_text("not a task")
    elif damage == "archive":
        with path.open("wb") as file:
            np.savez(file, **task.arrays())
    elif damage == "pickle":
        path.write_bytes(pickle.dumps(given))
    else:
        path.unlink()
    with pytest.raises(FileFormatError, match="task"):
        Task.load(path)


@pytest.mark.parametrize("target", ["labels", "distributions"])
def test_a_file_holds_only_what_does_not_follow(tmp_path, target):
    task = make_task(CONTEXTS, COUNTS, vocabulary=("a", "b"), target=target, facts=1)
    task.save(tmp_path / "task")
    assert set(task_files.read(tmp_path / "task")) == set(task_files.parts(task)) == {
        *("target", "origin", "vocabulary", "contexts", "counts_indptr", "counts_indices", "counts_data"),
        *("tail_contexts", "tail_counts_indptr", "tail_counts_indices", "tail_counts_data"),
    }  # fmt: skip
    again = Task.load(tmp_path / "task")
    for name in ("labels", "distributions", "prior"):
        assert np.array_equal(getattr(again, name), getattr(task, name))
    own = dataclasses.replace(task, origin="own")
    assert set(own.arrays()) - set(task.arrays()) == {target}


APART = make_task(
    np.array([[0, 1], [1, 0], [1, 1]]),
    Counts.from_rows([{0: 1, 2: 1, 3: 1}, {1: 2}, {2: 1}]),
    vocabulary=("a", "b"),
    answers=("x", "b", "y", "a"),
    target="labels",
    facts=2,
)


def test_answers_have_a_vocabulary_of_their_own():
    assert (APART.d_vocab, APART.n_answers, APART.apart) == (2, 4, True)
    assert [APART.answers[label] for label in APART.labels] == ["x", "b"]
    assert APART.modes().tolist() == [[True, False, False, False], [False, True, False, False]]
    distributions = make_task(APART.contexts, APART.counts, vocabulary=("a", "b"), answers=APART.answers)
    assert (
        distributions.distributions is not None
        and (distributions.distributions == smoothed_distributions(APART.counts, 4)).all()
    )
    assert distributions.origin == "smoothed counts"


def test_answers_survive_the_disk(tmp_path):
    APART.save(tmp_path / "task.safetensors")
    again = Task.load(tmp_path / "task.safetensors")
    assert again.answers == APART.answers and again.sha256() == APART.sha256() and again.apart


def test_the_same_names_are_one_vocabulary_and_one_hash(tmp_path):
    given = {"vocabulary": ("a", "b"), "target": "labels"}
    counts, contexts = Counts.from_rows([{0: 1}, {1: 1}]), np.array([[0], [1]])
    alike = make_task(contexts, counts, answers=("a", "b"), **given)
    other = make_task(contexts, counts, answers=("b", "a"), **given)
    assert not alike.apart and other.apart
    assert alike.sha256() == make_task(contexts, counts, **given).sha256() != other.sha256()
    assert "answers" not in alike.words() and "answers" in other.words()


def test_in_one_vocabulary_every_context_keeps_its_counts_and_its_answer():
    one = APART.in_one_vocabulary()
    assert one.vocabulary == one.answers == ("a", "b", "x", "y") and one.in_one_vocabulary() is one
    assert [one.vocabulary[label] for label in one.labels] == ["x", "b"]
    assert one.origin == "own"  # of three answers that follow once each, "a" is the first now
    assert one.counts.dense(0, 2, 4).tolist() == [[1, 0, 1, 1], [0, 2, 0, 0]]
    assert one.tail_counts.dense(0, 1, 4).tolist() == [[0, 0, 0, 1]]
    assert (one.contexts == APART.contexts).all() and (one.prior == APART.prior).all()


def test_in_one_vocabulary_distributions_are_smoothed_anew_and_own_ones_refused():
    task = make_task(APART.contexts, APART.counts, vocabulary=("a", "b"), answers=APART.answers)
    one = task.in_one_vocabulary()
    assert one.origin == "smoothed counts" and (one.distributions == smoothed_distributions(one.counts, 4)).all()
    own = dataclasses.replace(
        task, distributions=np.full((2, 4), 0.25), labels=np.zeros(2, dtype=np.int64), origin="own"
    )
    with pytest.raises(InputError, match="not smoothed counts"):
        own.in_one_vocabulary()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(answers=("x", "x", "y", "a")), "answers: tokens must be pairwise distinct"),
        (dict(answers=("x", "", "y", "a")), "answers: the token '' is empty"),
        (dict(answers=("x", "b", "y")), "counts of contexts: answer 3, expected 0 .. 2"),
        (dict(labels=np.array([4, 1])), "labels in .*4.*, expected 0 .. 3"),
        (dict(contexts=np.array([[0, 2], [1, 0]])), "contexts has tokens in .*2.*, expected 0 .. 1"),
        (dict(tail_counts=Counts.from_rows([{4: 1}])), "counts of tail_contexts: answer 4, expected 0 .. 3"),
    ],
)
def test_what_belongs_to_no_vocabulary_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        dataclasses.replace(APART, **change)


@given(
    st.lists(st.dictionaries(st.integers(0, 5), st.integers(1, 9), min_size=1), min_size=1), st.permutations(range(6))
)
def test_renumbered_counts_are_the_same_columns_in_another_order(rows, new):
    counts = Counts.from_rows(rows)
    dense = counts.renumbered(np.array(new)).dense(0, len(rows), 6)
    assert (dense[:, new] == counts.dense(0, len(rows), 6)).all()


def test_contexts_of_one_kind_have_one_label():
    counts = Counts.from_rows([{0: 2}, {0: 1}, {0: 3, 1: 1}, {1: 1}])
    contexts = np.arange(4)[:, None]
    task = make_task(contexts, counts, vocabulary=tuple("abcd"), target="labels")
    kinds = {tuple(c): k for c, k in zip(task.contexts.tolist(), task.kinds.tolist(), strict=True)}
    assert kinds[(0,)] == kinds[(1,)] == kinds[(2,)] != kinds[(3,)]
    assert len(set(make_task(contexts, counts, vocabulary=tuple("abcd"), target="distributions").kinds.tolist())) == 4
