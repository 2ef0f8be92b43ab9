"""Arrays become a task: three ways to say what follows, and what is refused."""

from itertools import product

import numpy as np
import pytest

from constructions.errors import FileFormatError, HypothesisError, InputError, ResourceError
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task, read_arrays
from constructions.tasks.task import Counts

CONTEXTS = np.array([[0, 1], [1, 1], [2, 0]])
DISTRIBUTIONS = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5]])


def test_equal_rows_of_next_tokens_add_up():
    contexts = np.array([[1, 1], [0, 1], [1, 1], [1, 1]])
    task = array_task(contexts, next_tokens=np.array([2, 0, 2, 1]), weights=np.array([1, 9, 3, 5]), target="labels")
    assert task.contexts.tolist() == [[0, 1], [1, 1]]
    assert task.labels.tolist() == [0, 1]
    assert task.counts.dense(0, 2, 3).tolist() == [[9, 0, 0], [0, 5, 4]]
    assert task.vocabulary == ("0", "1", "2")


def test_counts_are_taken_as_they_are():
    counts = Counts.from_rows([{2: 1}, {0: 4, 1: 4}, {1: 3}])
    task = array_task(CONTEXTS, counts=counts, vocabulary=("a", "b", "c"), target="labels")
    assert task.contexts.tolist() == [[1, 1], [2, 0], [0, 1]]
    assert task.labels.tolist() == [0, 1, 2]
    assert task.vocabulary == ("a", "b", "c")


def test_distributions_are_memorized_unchanged():
    task = array_task(CONTEXTS, distributions=DISTRIBUTIONS, weights=np.array([1, 3, 2]), facts=2)
    assert task.contexts.tolist() == [[1, 1], [2, 0]]
    assert task.distributions.tolist() == DISTRIBUTIONS[[1, 2]].tolist()
    assert task.prior.tolist() == [3 / 6, 2 / 6]
    counted = array_task(CONTEXTS, distributions=DISTRIBUTIONS, counts=Counts.from_rows([{0: 5}, {1: 1}, {2: 7}]))
    assert counted.contexts.tolist() == [[2, 0], [0, 1], [1, 1]]
    assert counted.distributions.tolist() == DISTRIBUTIONS[[2, 0, 1]].tolist()


def test_for_labels_only_the_modes_of_distributions_matter():
    distributions = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.25, 0.25, 0.5]])
    task = array_task(CONTEXTS, distributions=distributions, target="labels")
    assert task.labels.tolist() == [0, 1, 2] and task.distributions is None
    weighted = array_task(
        CONTEXTS, distributions=distributions, counts=Counts.from_rows([{0: 1}, {0: 9}, {0: 2}]), target="labels"
    )
    assert weighted.contexts.tolist() == [[1, 1], [2, 0], [0, 1]]
    assert weighted.labels.tolist() == [1, 2, 0]


def test_a_distribution_without_full_support_breaks_the_assumption_of_the_theorem():
    distributions = DISTRIBUTIONS.copy()
    distributions[1] = [0.25, 0.75, 0.0]
    with pytest.raises(
        HypothesisError, match=r"Assumption 2.*row 1 of distributions gives the token 2 the probability 0"
    ):
        array_task(CONTEXTS, distributions=distributions)


def test_the_labels_of_distributions_that_nobody_counted_are_custom_targets():
    """A model holds whatever it puts out itself, and its outputs may be given as distributions."""
    contexts, distributions = np.array([[0], [1]]), np.array([[0.2, 0.8], [0.9, 0.1]])
    counts = Counts.from_rows([{0: 3, 1: 1}, {1: 2}])
    for given in ({}, {"counts": counts}, {"weights": np.array([2, 3])}):
        assert array_task(contexts, distributions=distributions, target="labels", **given).origin == "own"
    assert array_task(contexts, counts=counts, target="labels").origin == "most frequent"
    assert array_task(contexts, next_tokens=np.array([1, 0]), target="labels").origin == "most frequent"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, 0.5, 1e-8], "row 2 sums to"),
        ([1.5, -0.5, 0.0], "row 2 has an entry that is negative"),
        ([np.nan, 0.5, 0.5], "row 2 has an entry that is negative or not finite"),
        ([np.inf, 0.5, 0.5], "row 2 has an entry that is negative or not finite"),
    ],
)
@pytest.mark.parametrize("target", ["distributions", "labels"])
def test_distributions_that_are_no_probabilities_are_refused(row, message, target):
    distributions = DISTRIBUTIONS.copy()
    distributions[2] = row
    with pytest.raises(InputError, match=message):
        array_task(CONTEXTS, distributions=distributions, target=target)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"contexts": CONTEXTS.astype(float)}, "contexts is float64"),
        ({"contexts": CONTEXTS[:, 0]}, "contexts is int64 of shape"),
        ({"contexts": CONTEXTS[:0]}, "contexts has shape"),
        ({"contexts": CONTEXTS - 1}, "contexts has entries in"),
        ({"contexts": CONTEXTS + 2**40}, "number them from 0"),
        ({"contexts": CONTEXTS[[0, 0, 1]], "next_tokens": None, "distributions": DISTRIBUTIONS}, "more than once"),
        ({"next_tokens": None}, "must be given"),
        ({"distributions": DISTRIBUTIONS}, "must be given"),
        ({"next_tokens": np.array([0, 1])}, "next_tokens has shape"),
        ({"next_tokens": np.array([0.0, 1, 2])}, "next_tokens is float64"),
        ({"weights": np.array([1, 0, 1])}, "weights has shape"),
        ({"weights": np.array([1, 1])}, "weights has shape"),
        ({"weights": np.array([1, 2.5, 1])}, "weights is float64"),
        ({"weights": np.array([2**53, 2**53, 1])}, "sums to"),
        ({"vocabulary": ("a", "b")}, "the token 2 occurs"),
        ({"vocabulary": 2}, "the token 2 occurs"),
        ({"vocabulary": 0}, "vocabulary has 0 tokens"),
        ({"vocabulary": 10**12}, "number them from 0"),
        ({"next_tokens": None, "counts": Counts.from_rows([{0: 1}])}, "counts has 1"),
        (
            {"next_tokens": None, "counts": Counts.from_rows([{0: 1}] * 3), "weights": np.ones(3, int)},
            "in addition to counts",
        ),
        ({"next_tokens": None, "distributions": DISTRIBUTIONS[:2]}, "distributions is float64 of shape"),
        ({"next_tokens": None, "distributions": DISTRIBUTIONS.astype(np.float32)}, "distributions is float32"),
        ({"next_tokens": None, "distributions": DISTRIBUTIONS, "vocabulary": 4}, "one column for each"),
        ({"facts": 4}, "facts = 4"),
        ({"target": "both"}, "'both'"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, message):
    arguments = {"contexts": CONTEXTS, "next_tokens": np.array([0, 1, 2]), **changes}
    with pytest.raises(InputError, match=message):
        array_task(**arguments)


def test_sums_of_weights_beyond_64_bits_do_not_wrap_around():
    contexts, weights = np.zeros((40, 1), dtype=int), np.full(40, 2**61)
    with pytest.raises(InputError, match="add up to"):
        array_task(contexts, next_tokens=np.zeros(40, dtype=int), weights=weights)


def test_arrays_are_read_from_a_file(tmp_path):
    path = tmp_path / "facts.npz"
    counts = Counts.from_rows([{2: 1}, {0: 4, 1: 4}, {1: 3}])
    np.savez(
        path,
        contexts=CONTEXTS,
        counts_indptr=counts.indptr,
        counts_indices=counts.indices,
        counts_data=counts.data,
        distributions=DISTRIBUTIONS,
        vocabulary=np.array(["a", "b", "c"]),
    )
    expected = array_task(CONTEXTS, counts=counts, distributions=DISTRIBUTIONS, vocabulary=("a", "b", "c"))
    assert array_task(**read_arrays(path)).sha256() == expected.sha256()


def test_files_that_hold_no_such_arrays_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    with pytest.raises(FileFormatError, match="not a readable"):
        read_arrays(path)
    path.write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(FileFormatError, match="not a readable"):
        read_arrays(path)
    np.savez(path, contexts=np.array([[None]], dtype=object))
    with pytest.raises(FileFormatError, match="not a readable"):
        read_arrays(path)
    np.save(tmp_path / "x.npy", CONTEXTS)
    with pytest.raises(FileFormatError, match="single array"):
        read_arrays(tmp_path / "x.npy")
    np.savez(path, contexts=CONTEXTS, labels=np.zeros(3))
    with pytest.raises(FileFormatError, match="'labels'"):
        read_arrays(path)
    np.savez(path, next_tokens=np.zeros(3))
    with pytest.raises(FileFormatError, match="expected contexts"):
        read_arrays(path)
    np.savez(path, contexts=CONTEXTS, counts_data=np.ones(3, int))
    with pytest.raises(FileFormatError, match="all of counts_indptr"):
        read_arrays(path)
    np.savez(path, contexts=CONTEXTS, vocabulary=np.arange(3))
    with pytest.raises(FileFormatError, match="vocabulary is int64"):
        read_arrays(path)
    np.savez(path, contexts=CONTEXTS, next_tokens=np.arange(3))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FileFormatError, match="not a readable"):
        read_arrays(path)


def test_all_contexts_are_enumerated_in_lexicographic_order():
    assert [tuple(row) for row in all_contexts(3, 2).tolist()] == list(product(range(3), repeat=2))
    with pytest.raises(InputError, match="n_ctx = 0"):
        all_contexts(2, 0)
    with pytest.raises(ResourceError, match=r"50\*\*40"):
        all_contexts(50, 40)


def test_enumerated_tasks_hold_all_contexts_with_what_is_asked():
    labels = np.arange(8) % 2
    task = enumerated_task(2, 3, labels=labels)
    assert task.contexts.tolist() == all_contexts(2, 3).tolist() and task.labels.tolist() == labels.tolist()
    drawn = enumerated_task(4, 2, target="distributions", seed=3)
    assert drawn.distributions.shape == (16, 4) and (drawn.distributions > 0).all()
    assert enumerated_task(4, 2, target="distributions", seed=3).sha256() == drawn.sha256()
    assert enumerated_task(4, 2, seed=4).sha256() != enumerated_task(4, 2, seed=3).sha256()
    with pytest.raises(InputError, match="distributions are given"):
        enumerated_task(2, 1, distributions=np.full((2, 2), 0.5))
    with pytest.raises(InputError, match="labels are given"):
        enumerated_task(2, 1, labels=np.array([0, 1]), target="distributions")
    with pytest.raises(InputError, match="next_tokens has shape"):
        enumerated_task(2, 2, labels=np.array([0, 1]))


def test_answers_are_numbered_by_themselves(tmp_path):
    contexts, following = np.array([[0, 1], [1, 1]]), np.array([4, 0])
    task = array_task(contexts, next_tokens=following, answers=5, target="labels")
    assert (task.d_vocab, task.n_answers) == (2, 5)
    assert task.answers == tuple("01234") and task.labels.tolist() == [4, 0]
    distributions = array_task(
        CONTEXTS, distributions=DISTRIBUTIONS[:, ::-1].copy(), vocabulary=4, answers=("x", "y", "z")
    )
    assert (
        distributions.distributions is not None
        and distributions.distributions.shape == (3, 3)
        and distributions.d_vocab == 4
    )
    names = {"vocabulary": np.array(["a", "b"]), "answers": np.array(["u", "v", "w", "x", "y"])}
    np.savez(tmp_path / "facts.npz", contexts=contexts, next_tokens=following, **names)
    read = array_task(**read_arrays(tmp_path / "facts.npz"), target="labels")
    assert [read.answers[label] for label in read.labels] == ["y", "u"] and read.vocabulary == ("a", "b")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(answers=4), "the answer 4 occurs, expected answers 0 .. 3 of answers"),
        (dict(answers=("x",)), "the answer 4 occurs, expected answers 0 .. 0"),
        (dict(vocabulary=1, answers=9), "the token 1 occurs, expected tokens 0 .. 0 of vocabulary"),
        (dict(vocabulary=4), "the token 4 occurs, expected tokens 0 .. 3"),
        (dict(answers=0), "answers has 0 answers"),
    ],
)
def test_numbers_beyond_their_vocabulary_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        array_task(np.array([[0, 1], [1, 1]]), next_tokens=np.array([4, 0]), target="labels", **given)


def test_distributions_of_another_width_than_the_answers_are_refused():
    with pytest.raises(InputError, match="one column for each of the 4 answers"):
        array_task(CONTEXTS, distributions=DISTRIBUTIONS, vocabulary=3, answers=4)
    with pytest.raises(InputError, match="the answer 2 occurs"):
        array_task(CONTEXTS, distributions=DISTRIBUTIONS, vocabulary=3, answers=2)


def test_arrays_that_contradict_themselves_are_refused_as_tables_are():
    contexts = np.array([[0], [0], [1]])
    with pytest.raises(InputError, match="'0' -> '0' and '1' contradict each other equally often"):
        array_task(contexts, next_tokens=np.array([0, 1, 1]), target="labels")
    found = array_task(contexts, next_tokens=np.array([0, 1, 1]), weights=np.array([51, 50, 1]), target="labels")
    assert found.labels.tolist() == [0, 1] and found.contradicted == 50
    assert array_task(contexts, next_tokens=np.array([0, 1, 1]), target="distributions").n_contexts == 2
