"""Every kind of words by itself: what fits a format is memorized in every run, in as many entries as are counted."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from constructions.memories.object_words.digits import Digits, digit_bits
from constructions.memories.object_words.readouts import OneColumn
from constructions.memories.object_words.words import Columns, Words
from constructions.memories.object_words.words_of_pairs import BothWords, LastWords
from constructions.memories.object_words.words_of_subjects import LongWords, OneDigitWords, ShortWords
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from verify.runs.exact_runs import exact_runs
from verify.runs.formats import FORMATS

PRECISIONS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}


@st.composite
def kinds(draw: st.DrawFn) -> Words:
    kind = draw(st.sampled_from([OneDigitWords, ShortWords, LongWords, LastWords, BothWords]))
    subjects, relations, objects = draw(st.integers(1, 24)), draw(st.integers(1, 12)), draw(st.integers(1, 200))
    apart = kind is not LastWords or draw(st.booleans())
    columns = Columns(np.arange(subjects), subjects * apart + np.arange(relations), np.arange(objects))
    places = 1 if kind is OneDigitWords else draw(st.integers(2, 5))
    digits = Digits(objects, digit_bits(objects, places) + draw(st.integers(0, 1)), places)
    if kind in (LastWords, BothWords):
        return kind(columns, digits, draw(st.booleans()))
    return kind(draw(st.sampled_from([columns, columns.exchanged])), digits)


@given(kinds(), st.booleans(), st.sampled_from(sorted(PRECISIONS)), st.integers(0, 2**32))
def test_what_fits_is_read_by_every_run(words: Words, centred: bool, dtype: str, seed: int) -> None:
    columns, digits, p = words.columns, words.digits, PRECISIONS[dtype]
    readout = OneColumn(digits, centred)
    if not (digits.fit(p) and words.fit(p) and readout.fit(p)):
        return
    shape = len(columns.subjects), len(columns.relations)
    table = np.random.default_rng(seed).integers(-1, digits.objects, shape)
    table[0, 0] = 0
    W_E = words.embedding(table, int(max(columns.subjects.max(), columns.relations.max())) + 1)
    W_U, b_U = readout.unembedding(np.arange(digits.objects), digits.objects)
    model = Model(tuple(words.blocks(readout.shift)), W_U, b_U, W_E, np.zeros((2, words.width)))
    assert sum(block.parameters for block in words.blocks()) == words.entries() and W_E.shape[1] == words.width
    s, r = np.nonzero(table >= 0)
    contexts = np.stack([columns.subjects[s], columns.relations[r]], axis=1)
    found = exact_runs(model, contexts if columns.subject_first else contexts[:, ::-1], table[s, r], FORMATS[dtype])
    assert found.memorized.all(), found.reason


def test_a_table_is_read_from_either_side() -> None:
    task = array_task(
        np.array([[0, 3], [2, 3], [2, 4]]), next_tokens=np.array([5, 1, 5]), vocabulary=6, target="labels"
    )
    columns = Columns.of(task)
    assert columns.table(task).tolist() == [[1, -1], [0, 1]]
    assert columns.exchanged.table(task).tolist() == [[1, 0], [-1, 1]]
    assert columns.are_disjoint and not replace_last(columns).are_disjoint
    assert columns.exchanged.exchanged == columns or columns.exchanged.exchanged.subject_first


def replace_last(columns: Columns) -> Columns:
    return columns._replace(relations=np.array([2, 3]))
