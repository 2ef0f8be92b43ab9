"""The reader by numpy and the kernel's: a file means the same to both, or nothing to either."""

import json
import math
import os
import struct
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from constructions.errors import FileFormatError
from constructions.formats.files import canonical_json
from constructions.model.model import Model
from constructions.tasks.task import Counts, Task, make_task
from constructions.tasks.vectors import VectorTask
from tests.by_kernel import read_model_file, read_task_file
from tests.layers import random_layer_task
from tests.memories import changed, memory, random_task
from tests.random_models import random_model
from tests.task_files import own, parts, write


def hash_or_none(read):
    try:
        return read()
    except FileFormatError:
        return None


def task_hashes(path):
    return hash_or_none(lambda: Task.load(path).sha256()), hash_or_none(lambda: read_task_file(path).sha256)


def network_hashes(path):
    return hash_or_none(lambda: Model.load(path).sha256()), hash_or_none(lambda: read_model_file(path).sha256)


DISTRIBUTIONS, LABELS = random_task(), random_task(target="labels")
APART = random_task(answers=3)  # of the five tokens that are read none is an answer


@pytest.mark.parametrize("task", [DISTRIBUTIONS, LABELS, APART, random_task(tail=0), random_task(facts=1, tail=0)])
def test_what_task_saves_both_read_alike(tmp_path, task):
    path = tmp_path / "task.safetensors"
    task.save(path)
    assert task_hashes(path) == (task.sha256(), task.sha256())
    write(path, parts(task))
    assert task_hashes(path) == (task.sha256(), task.sha256())


# Arrays of other values, types and shapes, as numpy writes them.


def put(name, change):
    def mutate(arrays):
        return {**arrays, name: change(arrays[name])}

    return mutate


def without(parts, *names):
    return {name: value for name, value in parts.items() if name not in names}


def entry(index, value):
    return lambda words: [*words[:index], value, *words[index + 1 :]]


def at(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


def swapped_first_row(arrays):
    """The entries of the first row of several in another order: the same counts, written another way."""
    indptr, indices, data = (arrays[f"counts_{part}"].copy() for part in ("indptr", "indices", "data"))
    i = int(np.flatnonzero(np.diff(indptr) > 1)[0])
    row = slice(indptr[i], indptr[i + 1])
    indices[row], data[row] = indices[row][::-1].copy(), data[row][::-1].copy()
    return {**arrays, "counts_indices": indices, "counts_data": data}


def scaled_counts(factor):
    def mutate(arrays):
        return {**arrays, "counts_data": arrays["counts_data"] * factor}

    return mutate


def a_distribution_with_a_zero(distributions):
    """The least mass of the first distribution joins the largest: the sum and the mode stay."""
    distributions = distributions.copy()
    least = distributions[0].argmin()
    distributions[0, distributions[0].argmax()] += distributions[0, least]
    distributions[0, least] = 0.0
    return distributions


def a_count_of_zero(arrays):
    """Written out although it is 0."""
    data = arrays["counts_data"].copy()
    row = int(np.diff(arrays["counts_indptr"]).argmax())  # one of several counts: its sum stays positive
    data[arrays["counts_indptr"][row]] = 0
    return {**arrays, "counts_data": data}


ONE_TAIL = (2**53 - int(DISTRIBUTIONS.counts.totals().sum())) // len(DISTRIBUTIONS.tail_counts.indices)

ARRAYS = {
    "contexts as int32": put("contexts", lambda a: a.astype(np.int32)),
    "contexts as uint64": put("contexts", lambda a: a.astype(np.uint64)),
    "contexts as floats": put("contexts", lambda a: a.astype(float)),
    "contexts in three dimensions": put("contexts", lambda a: a[None]),
    "contexts twice": put("contexts", lambda a: a[[0, 0, *range(2, len(a))]]),
    "contexts of another order": put("contexts", lambda a: a[::-1].copy()),
    "a context of the tail": put("tail_contexts", lambda a: DISTRIBUTIONS.contexts[: len(a)]),
    "contexts without tokens": put("contexts", lambda a: a[:, :0]),
    "a tail of another length": put("tail_contexts", lambda a: a[:, :2]),
    "a tail of no rows": put("tail_contexts", lambda a: a[:0]),
    "a token too large": put("contexts", at((0, 0), 5)),
    "a token below 0": put("contexts", at((0, 0), -1)),
    "a token of the tail too large": put("tail_contexts", at((0, 0), 5)),
    "distributions with a zero": put("distributions", at((0, 0), 0.0)),
    "a distribution with a zero and its old sum": put("distributions", a_distribution_with_a_zero),
    "distributions with a negative": put("distributions", at((0, 0), -1.0)),
    "distributions with NaN": put("distributions", at((0, 0), np.nan)),
    "distributions that are infinite": put("distributions", at((0, 0), np.inf)),
    "distributions that overflow": put("distributions", lambda a: np.full_like(a, 1e308)),
    "distributions that sum to 2": put("distributions", lambda a: 2 * a),
    "distributions that sum to 1 + 1e-8": put("distributions", lambda a: a * (1 + 1e-8)),
    "distributions that sum to 1 + 1e-10": put("distributions", lambda a: a * (1 + 1e-10)),
    "uniform distributions": put("distributions", lambda a: np.full_like(a, 0.2)),
    "labels beside distributions": lambda a: {**a, "labels": DISTRIBUTIONS.labels},
    "a prior": lambda a: {**a, "prior": DISTRIBUTIONS.prior},
    "distributions of one token less": put("distributions", lambda a: a[:, :-1]),
    "distributions for labels": put("target", lambda a: "labels"),
    "counts with a zero": put("counts_data", at(0, 0)),
    "a count of 0 and its frequencies": a_count_of_zero,
    "counts twice as large": scaled_counts(2),
    "counts beyond 2**53": scaled_counts(2**50),
    "counts that wrap around": put("counts_data", lambda a: np.full_like(a, 2**62)),
    "one tail count of 2**53": put("tail_counts_data", at(0, 2**53)),
    "counts all scaled in the tail": put("tail_counts_data", lambda a: np.full_like(a, ONE_TAIL)),
    "counts in decreasing order": swapped_first_row,
    "a counted token too large": put("counts_indices", at(-1, 5)),
    "a counted token below 0": put("counts_indices", at(0, -1)),
    "an empty row of counts": put("counts_indptr", lambda a: np.array([0, 0, *a[2:]])),
    "rows of counts that do not begin at 0": put("counts_indptr", at(0, 1)),
    "no rows of counts": put("counts_indptr", lambda a: a[:0]),
    "target as a list": put("target", lambda a: [a]),
    "target as a number": put("target", lambda a: 1),
    "target of another case": put("target", lambda a: "Distributions"),
    "target empty": put("target", lambda a: ""),
    "origin smoothed counts beside distributions": put("origin", lambda a: "smoothed counts"),
    "origin smoothed counts": lambda a: {**without(a, "distributions"), "origin": "smoothed counts"},
    "no distributions of one's own": lambda a: without(a, "distributions"),
    "origin table": put("origin", lambda a: "table"),
    "origin table without distributions": lambda a: {**without(a, "distributions"), "origin": "table"},
    "origin most frequent": lambda a: {**without(a, "distributions"), "origin": "most frequent"},
    "origin empty": put("origin", lambda a: ""),
    "origin unknown": put("origin", lambda a: "counts"),
    "origin unknown without distributions": lambda a: {**without(a, "distributions"), "origin": "counts"},
    "origin as a list": put("origin", lambda a: [a]),
    "origin as a number": put("origin", lambda a: 1),
    "counts too large for smoothed distributions": lambda a: {
        **scaled_counts(2**48)(without(a, "distributions")),
        "origin": "smoothed counts",
    },
    "vocabulary twice the same": put("vocabulary", entry(1, "token 0")),
    "vocabulary of an empty token": put("vocabulary", entry(1, "")),
    "vocabulary of a NUL inside": put("vocabulary", entry(1, "a\0b")),
    "vocabulary equal but for a NUL": put("vocabulary", entry(1, "token 0\0")),
    "vocabulary of a surrogate": put("vocabulary", entry(1, "\ud800")),
    "vocabulary of the last character": put("vocabulary", entry(1, "\U0010ffff")),
    "vocabulary of a byte order mark": put("vocabulary", entry(1, "\ufeffa")),
    "vocabulary of a number": put("vocabulary", entry(1, 1)),
    "vocabulary of a list": put("vocabulary", entry(1, ["a"])),
    "vocabulary of lists": put("vocabulary", lambda a: [a]),
    "vocabulary as one text": put("vocabulary", lambda a: "abcde"),
    "vocabulary by name": put("vocabulary", lambda a: dict.fromkeys(a, 1)),
    "vocabulary empty": put("vocabulary", lambda a: []),
    "vocabulary one longer": put("vocabulary", lambda a: [*a, "more"]),
    "vocabulary too long": put("vocabulary", lambda a: [*a[1:], "x" * 2**24]),
    "one more word": lambda a: {**a, "more": "more"},
    "null for an origin": put("origin", lambda a: None),
    "one more array": lambda a: {**a, "more": np.arange(3)},
    "nothing": lambda a: {},
}
HARMLESS = {
    "counts twice as large",
    "counts all scaled in the tail",
    "origin smoothed counts",
    "contexts of another order",
    "distributions that sum to 1 + 1e-10",
    "uniform distributions",
    "vocabulary of a NUL inside",
    "vocabulary equal but for a NUL",
    "vocabulary of the last character",
    "vocabulary of a byte order mark",
}


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_other_values_mean_the_same_to_both(tmp_path, name):
    write(tmp_path / "task.safetensors", ARRAYS[name](own(DISTRIBUTIONS)))
    numpy_hash, plain_hash = task_hashes(tmp_path / "task.safetensors")
    assert numpy_hash == plain_hash and (numpy_hash is not None) == (name in HARMLESS)


LABELLED = {
    "labels as int32": put("labels", lambda a: a.astype(np.int32)),
    "labels as floats": put("labels", lambda a: a.astype(float)),
    "labels out of range": put("labels", at(0, 5)),
    "labels below 0": put("labels", at(0, -1)),
    "labels of two dimensions": put("labels", lambda a: a[:, None]),
    "labels of one context less": put("labels", lambda a: a[:-1]),
    "no labels": lambda a: without(a, "labels"),
    "distributions beside labels": lambda a: {**a, "distributions": DISTRIBUTIONS.distributions},
    "distributions for labels": lambda a: {**without(a, "labels"), "distributions": DISTRIBUTIONS.distributions},
    "other labels": put("labels", lambda a: (a + 1) % 5),
}


@pytest.mark.parametrize("name", LABELLED)
def test_labels_of_other_values_mean_the_same_to_both(tmp_path, name):
    write(tmp_path / "task.safetensors", LABELLED[name](own(LABELS)))
    numpy_hash, plain_hash = task_hashes(tmp_path / "task.safetensors")
    assert numpy_hash == plain_hash and (numpy_hash is not None) == (name == "other labels")


HEADERS = {
    "the version before": {"version": 2},
    "a version that is a float": {"version": 4.0},
    "a version that is true": {"version": True},
    "no version": {"version": None},
    "another format": {"format": "byheart-model"},
    "another kind": {"task": "vectors"},
    "a rule": {"task": "rule"},
    "a kind that is a list": {"task": ["tokens"]},
}


@pytest.mark.parametrize("name", HEADERS)
def test_another_header_is_refused_by_both(tmp_path, name):
    write(tmp_path / "task.safetensors", parts(DISTRIBUTIONS), **HEADERS[name])
    assert task_hashes(tmp_path / "task.safetensors") == (None, None)


TEXTS = {
    "as they are": (lambda a: a, True),
    "one longer": (lambda a: [*a, "more"], False),
    "one shorter": (lambda a: a[:-1], False),
    "empty": (lambda a: a[:0], False),
    "twice the same": (entry(1, "answer 0"), False),
    "an empty one": (entry(1, ""), False),
    "a NUL at the end of another": (entry(1, "answer 0\0"), True),
    "a NUL inside": (entry(1, "a\0b"), True),
    "a surrogate": (entry(1, "\ud800"), False),
    "in another order": (lambda a: a[::-1], True),
    "a token's": (entry(0, "token 0"), True),
    "numbers": (lambda a: [*range(len(a))], False),
    "of lists": (lambda a: [[each] for each in a], False),
    "one text": (lambda a: a[0], False),
    "nothing": (lambda a: None, False),
}


@pytest.mark.parametrize("name", TEXTS)
def test_answers_of_other_texts_mean_the_same_to_both(tmp_path, name):
    change, harmless = TEXTS[name]
    write(tmp_path / "task.safetensors", put("answers", change)(own(APART)))
    numpy_hash, plain_hash = task_hashes(tmp_path / "task.safetensors")
    assert numpy_hash == plain_hash and (numpy_hash is not None) == harmless
    changed_names = harmless and name != "as they are"
    unchanged = Task(**{**vars(APART), "origin": "own"}).sha256()
    assert (
        not harmless or (numpy_hash != unchanged) == changed_names
    )  # a certificate names the answers that it is about


def with_swapped_names(arrays):
    return {**arrays, "vocabulary": arrays["answers"], "answers": arrays["vocabulary"]}


VOCABULARIES = {
    "answers left out": lambda a: without(a, "answers"),  # then distributions have three entries for five tokens
    "vocabularies swapped": with_swapped_names,
    "a label that is a token and no answer": lambda a: {**a, "labels": at(0, 3)(APART.labels)},
    "a counted answer that is a token and no answer": put("counts_indices", at(-1, 4)),
    "a counted answer of the tail that is none": put("tail_counts_indices", at(-1, 3)),
    "distributions as wide as the vocabulary": put("distributions", lambda a: np.full((len(a), 5), 0.2)),
    "a token that is not an answer is read": put("contexts", at((0, 0), 5)),
    "answers stored twice": lambda a: {**a, "answer": a["answers"]},
}


@pytest.mark.parametrize("name", VOCABULARIES)
def test_vocabularies_that_do_not_fit_are_refused_by_both(tmp_path, name):
    write(tmp_path / "task.safetensors", VOCABULARIES[name](own(APART)))
    assert task_hashes(tmp_path / "task.safetensors") == (None, None)


@pytest.mark.parametrize("name", [name for name in VOCABULARIES if name.startswith("a ")])
def test_labels_and_counts_beyond_the_answers_are_refused_by_both(tmp_path, name):
    """Without distributions, whose width would give them away: 3 and 4 are tokens, but no answers."""
    task = random_task(target="labels", answers=3)
    write(tmp_path / "task.safetensors", VOCABULARIES[name](own(task)))
    assert task_hashes(tmp_path / "task.safetensors") == (None, None)


def test_without_answers_it_is_the_task_of_the_tokens_to_both(tmp_path):
    task = random_task(target="labels", answers=3)
    write(tmp_path / "task.safetensors", without(parts(task), "answers"))
    hashes = task_hashes(tmp_path / "task.safetensors")
    assert hashes[0] == hashes[1] not in (None, task.sha256())


def test_the_vocabulary_once_more_or_nothing_as_answers_is_refused_by_both(tmp_path):
    """One task has one file: the same names twice would be another hash of the same task."""
    for task in (DISTRIBUTIONS, LABELS):
        for names in (list(task.vocabulary), []):
            write(tmp_path / "task.safetensors", {**parts(task), "answers": names})
            assert task_hashes(tmp_path / "task.safetensors") == (None, None)


def test_a_file_without_answers_has_one_vocabulary_to_both(tmp_path):
    LABELS.save(tmp_path / "task.safetensors")
    assert "answers" not in LABELS.words()
    assert not Task.load(tmp_path / "task.safetensors").apart
    assert read_task_file(tmp_path / "task.safetensors").width == LABELS.d_vocab == 5


def test_fewer_tokens_than_answers_are_read_by_both(tmp_path):
    task = random_task(vocabulary=3, answers=7, facts=8, tail=2)
    task.save(tmp_path / "task.safetensors")
    assert task_hashes(tmp_path / "task.safetensors") == (task.sha256(), task.sha256())
    write(tmp_path / "task.safetensors", put("contexts", at((0, 0), 3))(parts(task)))  # a number of an answer
    assert task_hashes(tmp_path / "task.safetensors") == (None, None)


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("factor", [1.0, 1e-3])
def test_both_take_exactly_the_distributions_whose_exact_sum_is_near_one(tmp_path, side, factor):
    """Sums that float64 sees on the limit, a few units of the last entry to either side of it."""
    rng = np.random.default_rng(3)
    limit = Fraction(1) + side * Fraction(1, 10**9)
    rest = [factor * float(x) for x in rng.dirichlet(np.ones(4)) / 3]
    last = float(limit - sum(map(Fraction, rest)))
    found = set()
    for step in range(-6, 7):
        distribution = [*rest, last + step * math.ulp(last)]
        near = abs(sum(map(Fraction, distribution)) - 1) <= Fraction(1, 10**9)
        distributions = DISTRIBUTIONS.distributions.copy()
        distributions[7] = distribution
        write(tmp_path / "task.safetensors", {**own(DISTRIBUTIONS), "distributions": distributions})
        hashes = task_hashes(tmp_path / "task.safetensors")
        assert hashes[0] == hashes[1] and (hashes[0] is not None) == near
        found.add(near)
    assert found == {True, False}


@pytest.mark.parametrize("name", ["own", "most frequent", "table", "smoothed counts", ""])
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("kind", ["one next token each", "several"])
def test_origins_of_labels_are_taken_or_refused_by_both(tmp_path, name, kind, stored):
    task = make_task(
        np.array([[0], [1], [2]]),
        Counts.from_rows([{1: 2}, {0: 1}, {2: 1} if kind == "one next token each" else {1: 3, 2: 3}]),
        vocabulary=("a", "b", "c"),
        target="labels",
    )
    write(tmp_path / "task.safetensors", {**(own(task) if stored else parts(task)), "origin": name})
    hashes = task_hashes(tmp_path / "task.safetensors")
    borne_out = {"own": stored, "most frequent": not stored, "table": kind == "one next token each" and not stored}
    assert hashes[0] == hashes[1] and (hashes[0] is not None) == borne_out.get(name, False)
    if hashes[0] is not None:
        plain = read_task_file(tmp_path / "task.safetensors")
        assert list(plain.labels) == Task.load(tmp_path / "task.safetensors").labels.tolist() == task.labels.tolist()


@pytest.mark.parametrize("name", own(DISTRIBUTIONS))
def test_a_missing_part_is_refused_by_both(tmp_path, name):
    write(tmp_path / "task.safetensors", without(own(DISTRIBUTIONS), name))
    assert task_hashes(tmp_path / "task.safetensors") == (None, None)


@pytest.mark.parametrize("task", [DISTRIBUTIONS, LABELS, APART])
def test_what_follows_from_the_counts_is_the_same_to_both(tmp_path, task):
    task.save(tmp_path / "task.safetensors")
    plain, again = read_task_file(tmp_path / "task.safetensors"), Task.load(tmp_path / "task.safetensors")
    assert list(plain.labels) == again.labels.tolist() == task.labels.tolist()
    assert again.prior.tolist() == task.prior.tolist()
    if task.distributions is not None:
        assert plain.distributions is not None and again.distributions is not None
        assert (
            [list(distribution) for distribution in plain.distributions]
            == again.distributions.tolist()
            == task.distributions.tolist()
        )


@pytest.mark.parametrize("read", [Task.load, read_task_file, Model.load, read_model_file])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "empty").touch()
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**34 + 1)
    for name in ("pipe", "loop", "empty", "large", ".", "missing"):
        with pytest.raises(FileFormatError):
            read(tmp_path / name)
    with pytest.raises(FileFormatError):
        read(type(tmp_path)("/dev/zero"))


# Networks.

NETWORK = memory(DISTRIBUTIONS, n_heads=3)
METADATA = canonical_json({"format": "byheart-model", "version": 2, **NETWORK.options()})


def entries_and_body(tensors, order=None):
    entries, body = {}, b""
    for name in order or tensors:
        data = np.asarray(tensors[name]).tobytes()
        entries[name] = {
            "dtype": "F64",
            "shape": list(np.shape(tensors[name])),
            "data_offsets": [len(body), len(body) + len(data)],
        }
        body += data
    return entries, body


def safetensors_of(entries, body, *, metadata: object = None, text=None):
    if text is None:
        text = json.dumps({"__metadata__": {"byheart": METADATA} if metadata is None else metadata, **entries})
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data + body


ENTRIES, BODY = entries_and_body(NETWORK.tensors())
TEXT = json.dumps({"__metadata__": {"byheart": METADATA}, **ENTRIES})
HONEST = safetensors_of(ENTRIES, BODY)


def with_entry(name, **fields):
    return safetensors_of({**ENTRIES, name: {**ENTRIES[name], **fields}}, BODY)


def with_text(text):
    return safetensors_of(ENTRIES, BODY, text=text)


PLACES = {name.rpartition(".")[2]: name for name in NETWORK.tensors()}


def with_tensors(**tensors):
    placed = {PLACES[name]: tensor for name, tensor in tensors.items()}
    return safetensors_of(*entries_and_body({**NETWORK.tensors(), **placed}))


def with_metadata(**fields):
    text = canonical_json({**json.loads(METADATA), **fields})
    return safetensors_of(ENTRIES, BODY, metadata={"byheart": text})


def with_options(**fields):
    (options,) = json.loads(METADATA)["blocks"]
    return with_metadata(blocks=[{**options, **fields}])


def without_heads(d_qk, d_head):
    d_model = NETWORK.d_model
    query, value = np.zeros((0, d_model, d_qk)), np.zeros((0, d_model, d_head))
    return with_tensors(W_Q=query, W_K=query, W_V=value, W_O=np.zeros((0, d_head, d_model)))


NAN = NETWORK.W_E.copy()
NAN[0, 0] = math.nan
WIDE = NETWORK.d_model + 1

MODELS = {
    "empty": b"",
    "cut in the size": HONEST[:7],
    "cut in the header": HONEST[:50],
    "cut in the body": HONEST[:-1],
    "one byte more": HONEST + b"\0",
    "a huge header": struct.pack("<Q", 2**63) + HONEST[8:],
    "no header": struct.pack("<Q", 0) + HONEST[8:],
    "a byte order mark": with_text("\ufeff" + TEXT),
    "UTF-16": with_text(TEXT.encode("utf-16")),
    "not UTF-8": with_text(TEXT.encode().replace(b"F64", b"F\xff4", 1)),
    "a list": with_text("[" + TEXT + "]"),
    "text after": with_text(TEXT + "x"),
    "a NUL after": with_text(TEXT + "\0"),
    "deeply nested": with_text('{"embed.W_E":' + "[" * 100_000),
    "deeply nested and closed": with_text('{"embed.W_E":' + "[" * 100_000 + "]" * 100_000 + "}"),
    "a tensor more": safetensors_of({**ENTRIES, "W_X": {**ENTRIES["embed.W_E"]}}, BODY),
    "a tensor less": safetensors_of(
        *entries_and_body({k: v for k, v in NETWORK.tensors().items() if k != "unembed.W_U"})
    ),
    "no metadata": with_text(json.dumps(ENTRIES)),
    "metadata null": with_text(TEXT.replace(json.dumps({"byheart": METADATA}), "null")),
    "metadata of another version": with_metadata(version=1),
    "a version that is a float": with_metadata(version=2.0),
    "a version that is infinite": safetensors_of(
        ENTRIES, BODY, metadata={"byheart": METADATA.replace('"version":2', '"version":1e400')}
    ),
    "another format": with_metadata(format="byheart"),
    "vectors for tokens": with_metadata(input="vectors"),
    "no block": with_metadata(blocks=[]),
    "blocks that are no list": with_metadata(blocks={}),
    "a block of no kind": with_options(kind="convolution"),
    "a block of a list of kinds": with_options(kind=["attention"]),
    "a block of another kind": with_options(kind="feed-forward"),
    "one more option": with_options(more=1),
    "1 for True": with_options(skip=1),
    "True for 1": with_options(score_root=True),
    "a root of 1.0": with_options(score_root=1.0),
    "a root of 0": with_options(score_root=0),
    "a root beyond 2**31": with_options(score_root=2**31 + 1),
    "attends elsewhere": with_options(attends="first"),
    "attends to several": with_options(attends=["last"]),
    "queries of the task": with_options(queries="task"),
    "queries of the task without skip": with_options(queries="task", skip=False),
    "a norm without tensors": with_options(norm={"epsilon": (0.1).hex(), "kind": "layer"}),
    "a norm that is not an object": with_options(norm="layer"),
    "a norm that is empty": with_options(norm={}),
    "a norm that is False": with_options(norm=False),
    "an epsilon that overflows": with_options(norm={"epsilon": "0x1p99999", "kind": "layer"}),
    "metadata with spaces": safetensors_of(ENTRIES, BODY, metadata={"byheart": METADATA.replace(":", ": ")}),
    "metadata with one more key": safetensors_of(ENTRIES, BODY, metadata={"byheart": METADATA, "more": "1"}),
    "metadata that is not a text": safetensors_of(ENTRIES, BODY, metadata={"byheart": json.loads(METADATA)}),
    "float32": with_entry("embed.W_E", dtype="F32"),
    "int64": with_entry("embed.W_E", dtype="I64"),
    "an unknown type": with_entry("embed.W_E", dtype="f64"),
    "no type": with_entry("embed.W_E", dtype=None),
    "a shape as text": with_entry("embed.W_E", shape="5,6"),
    "a shape of floats": with_entry("embed.W_E", shape=[5.0, 6.0]),
    "a shape with True": with_entry("embed.W_E", shape=[30, True]),
    "a shape below 0": with_entry("embed.W_E", shape=[-5, -6]),
    "a shape of other bytes": with_entry("embed.W_E", shape=[5, 7]),
    "a shape of another order": with_entry("embed.W_E", shape=[6, 5]),
    "a huge shape": with_entry("embed.W_E", shape=[2**40, 2**40]),
    "a shape that wraps around": with_entry("embed.W_E", shape=[2**62, 2**62]),
    "a shape beyond 64 bits": with_entry("embed.W_E", shape=[2**64, 1]),
    "a shape of nothing": with_entry("embed.W_E", shape=[2**40, 0]),
    "minus zero": with_text(TEXT.replace("[0, ", "[-0, ", 1)),
    "zero as a float": with_text(TEXT.replace("[0, ", "[0e0, ", 1)),
    "a zero before": with_text(TEXT.replace("[0, ", "[00, ", 1)),
    "three places": with_entry("embed.W_E", data_offsets=[0, 240, 240]),
    "places in another order": with_entry("embed.W_E", data_offsets=[240, 0]),
    "places that overlap": with_entry("pos_embed.W_pos", data_offsets=[0, 144]),
    "a gap at the start": safetensors_of(
        {k: {**v, "data_offsets": [x + 8 for x in v["data_offsets"]]} for k, v in ENTRIES.items()}, bytes(8) + BODY
    ),
    "NaN": with_tensors(W_E=NAN),
    "infinity": with_tensors(W_U=np.where(NETWORK.W_U == 0, math.inf, NETWORK.W_U)),
    "NaN in the header": with_entry("embed.W_E", shape=[math.nan, 6]),
    "another width of W_U": with_tensors(W_U=np.ones((WIDE, 5))),
    "another width of W_K": with_tensors(W_K=np.ones((3, NETWORK.d_model, 3))),
    "other heads of W_O": with_tensors(W_O=np.ones((2, 2, NETWORK.d_model))),
    "d_qk of 0": with_tensors(W_Q=np.ones((3, WIDE - 1, 0)), W_K=np.ones((3, WIDE - 1, 0))),
    "d_head of 0": with_tensors(W_V=np.ones((3, WIDE - 1, 0)), W_O=np.ones((3, 0, WIDE - 1))),
    "no tokens": with_tensors(W_E=np.ones((0, WIDE - 1))),
    "no positions": with_tensors(W_pos=np.ones((0, WIDE - 1))),
    "no outputs": with_tensors(W_U=np.ones((WIDE - 1, 0))),
    "no width": safetensors_of(
        *entries_and_body(
            {name: np.ones([0 if n == WIDE - 1 else n for n in t.shape]) for name, t in NETWORK.tensors().items()}
        )
    ),
    "W_E in three dimensions": with_tensors(W_E=NETWORK.W_E[None]),
    "a tensor twice": with_text(TEXT[:-1] + ', "embed.W_E": ' + json.dumps(ENTRIES["embed.W_E"]) + "}"),
    "metadata twice": with_text(TEXT[:-1] + ', "__metadata__": ' + json.dumps({"byheart": METADATA}) + "}"),
    "a type twice": with_text(TEXT.replace('"dtype": "F64"', '"dtype": "F64", "dtype": "F64"', 1)),
    "one more field": with_entry("embed.W_E", more=1),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_another_form_is_refused_by_both(tmp_path, name):
    (tmp_path / "model").write_bytes(MODELS[name])
    assert network_hashes(tmp_path / "model") == (None, None)


GOOD = {
    "another order of the tensors of a block": safetensors_of(
        *entries_and_body(dict(reversed(NETWORK.tensors().items())))
    ),
    "by hand": HONEST,
    "tensors in another order": safetensors_of(*entries_and_body(NETWORK.tensors(), sorted(NETWORK.tensors()))),
    "spaces after": with_text(TEXT + " " * 7),
    "without spaces": with_text(TEXT.replace(", ", ",").replace('": ', '":')),
    "an escaped name": with_text(TEXT.replace('"embed.W_E"', '"embed.W_\\u0045"')),
    "fields in another order": safetensors_of({k: dict(reversed(v.items())) for k, v in ENTRIES.items()}, BODY),
}


@pytest.mark.parametrize("name", GOOD)
def test_the_same_tensors_in_another_layout_are_the_same_network_to_both(tmp_path, name):
    (tmp_path / "model").write_bytes(GOOD[name])
    assert network_hashes(tmp_path / "model") == (NETWORK.sha256(), NETWORK.sha256())


BEYOND = {
    "a space before": with_text(" " + TEXT),
    "no heads, a huge d_qk": without_heads(2**9, 2).replace(b"512]", b"2199023255552]"),
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_header_that_byheart_would_not_write_is_refused_by_both(tmp_path, name):
    (tmp_path / "model").write_bytes(BEYOND[name])
    assert network_hashes(tmp_path / "model") == (None, None)


def test_a_header_of_more_than_64_mebibytes_is_refused_by_both(tmp_path):
    (tmp_path / "model").write_bytes(with_text(TEXT + " " * 2**26))
    assert network_hashes(tmp_path / "model") == (None, None)


@pytest.mark.parametrize("name", ["W_V", "W_O"])
def test_heads_wider_than_the_stream_are_the_same_network_to_both(tmp_path, name):
    wide = with_tensors(W_V=np.ones((3, WIDE - 1, WIDE)), W_O=np.ones((3, WIDE, WIDE - 1)))
    (tmp_path / "model").write_bytes(wide)
    first, second = network_hashes(tmp_path / "model")
    assert first == second is not None


@pytest.mark.parametrize(("d_qk", "d_head"), [(1, 1), (2, 6), (0, 1), (1, 0), (2**10, 3)])
def test_a_network_without_heads_means_the_same_to_both(tmp_path, d_qk, d_head):
    (tmp_path / "model").write_bytes(without_heads(d_qk, d_head))
    numpy_hash, plain_hash = network_hashes(tmp_path / "model")
    assert numpy_hash == plain_hash and numpy_hash is not None


def test_a_size_beside_0_that_nothing_pays_for_is_refused_by_the_kernel(tmp_path):
    (tmp_path / "model").write_bytes(without_heads(2**20, 3))
    numpy_hash, plain_hash = network_hashes(tmp_path / "model")
    assert numpy_hash is not None and plain_hash is None


def test_negative_zeros_are_kept_by_both(tmp_path):
    network = changed(NETWORK, W_U=-NETWORK.W_U)
    network.save(tmp_path / "model")
    assert network_hashes(tmp_path / "model") == (network.sha256(), network.sha256())


# Mutations at random: bytes of any file, and the structure of its header.

PAIRS = {
    "tokens": (Task.load, read_task_file),
    "vectors": (VectorTask.load, partial(read_task_file, vectors=True)),
    "model": (Model.load, read_model_file),
}
OPTION_VALUES = (
    None, True, False, 0, 1, 2, 1.0, -1, 2**31, 2**31 + 1, 10**30, "", "last", "causal", "all", "stream", "task",
    "relu", "gelu", "gelu-tanh", "silu", "layer", "rms", "attention", "feed-forward", "tokens", "vectors", [], {},
    "0x1.0000000000000p-2", "0x1p-2", "inf", "nan", "0x0.0p+0", "own", "table", "most frequent", "smoothed counts",
    {"epsilon": "0x1.0000000000000p-2", "kind": "rms"},
)  # fmt: skip


def originals(rng):
    """A file of each kind, small enough that most bytes mean something."""
    kind = rng.choice(["distributions", "labels"])
    yield "tokens", random_task(target=kind, facts=3, tail=int(rng.integers(0, 2)), seed=int(rng.integers(99)))
    yield "vectors", random_layer_task(examples=2, tokens=2, d_model=2, shared=bool(rng.integers(2)),
                                       kind=str(rng.choice(["regression", "classification"])))  # fmt: skip
    for tokens in (True, False, True, False):
        yield "model", random_model(rng, vectors=not tokens)


def changed_bytes(rng, data):
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(data)))
        move = int(rng.integers(6))
        if move <= 2:
            data[place] ^= 1 << int(rng.integers(8)) if move else int(rng.integers(1, 256))
        elif move == 3:
            data[place] = int(rng.choice([0, 1, 2, 8, 0x30, 0x50, 0x7F, 0xFF]))
        elif move == 4:
            del data[place : place + int(rng.integers(1, 9))]
        else:
            other = int(rng.integers(len(data)))
            data[place:place] = data[other : other + int(rng.integers(1, 9))]
        if not data:
            return b"x"
    return bytes(data)


def changed_header(rng, data):
    """A file with one thing of its header or metadata changed, and all lengths put right."""
    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    metadata = json.loads(header.pop("__metadata__")["byheart"])
    names = list(header)
    move = int(rng.integers(9))
    name = names[int(rng.integers(len(names)))]
    if move == 0:
        header[str(rng.choice([*names, "blocks.0.attn.b_Q", "blocks.0.mlp.b_in", "ln_final.b"]))] = header.pop(name)
    elif move == 1:
        shape = header[name]["shape"]
        header[name]["shape"] = [shape[::-1], [*shape, 1], shape[:-1], [0, *shape[1:]]][int(rng.integers(4))]
    elif move == 2:
        header[name]["data_offsets"][int(rng.integers(2))] += int(rng.choice([-8, 8, 1]))
    elif move == 3:
        header[name]["dtype"] = str(rng.choice(["F64", "I64", "U64", "I32", "F32"]))
    else:
        target = metadata
        while rng.random() < 0.8:
            deeper = list(target.values()) if isinstance(target, dict) else target
            deeper = [value for value in deeper if isinstance(value, dict | list) and value]
            if not deeper:
                break
            target = deeper[int(rng.integers(len(deeper)))]
        value = OPTION_VALUES[int(rng.integers(len(OPTION_VALUES)))]
        if isinstance(target, list):
            target.insert(int(rng.integers(len(target) + 1)), value if rng.random() < 0.5 else target[0])
        else:
            key = str(rng.choice([*target, "more"]))
            target[key] = value
            if rng.random() < 0.1:
                del target[key]
    text = json.dumps(metadata, sort_keys=True, separators=(",", ":"))
    return safetensors_of(header, body, metadata={"byheart": text})


def accepted_by_one_alone(path, count, seed):
    """How many of so many mutants both readers accept, and those that one accepts, or both with another hash."""
    rng = np.random.default_rng(seed)
    both, apart, made = 0, [], 0
    while made < count:
        for kind, original in originals(rng):
            original.save(path)
            data = path.read_bytes()
            load, read = PAIRS[kind]
            for _ in range(20):
                mutant = changed_header(rng, data) if rng.random() < 0.6 else changed_bytes(rng, data)
                path.write_bytes(mutant)
                found = hash_or_none(lambda: load(path).sha256()), hash_or_none(lambda: read(path).sha256)  # noqa: B023
                made += 1
                both += found[0] is not None and found[0] == found[1]
                if found[0] != found[1]:
                    apart.append((kind, mutant))
    return both, apart


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_no_mutant_is_accepted_by_one_reader_alone(tmp_path, seed):
    both, apart = accepted_by_one_alone(tmp_path / "file", 500, seed)
    assert not apart and both > 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3, 13))
def test_of_a_hundred_thousand_mutants_none_is_accepted_by_one_reader_alone(tmp_path, seed):
    both, apart = accepted_by_one_alone(tmp_path / "file", 10_000, seed)
    assert not apart and both > 400
