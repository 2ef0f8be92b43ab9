"""A text becomes windows and counts: judged by counting the slow way, and by files that are no text."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.tasks import text as module
from constructions.tasks.text import default_text, read_text, text_task
from constructions.tasks.vocabulary import OTHER


def counted(task):
    """What the task says follows each context, as texts."""
    found = {}
    for contexts, counts in ((task.contexts, task.counts), (task.tail_contexts, task.tail_counts)):
        for i, context in enumerate(contexts):
            tokens, data = counts.row(i)
            key = tuple(task.vocabulary[token] for token in context)
            assert key not in found
            found[key] = {task.vocabulary[t]: int(c) for t, c in zip(tokens, data, strict=True)}
    return found


def counted_slowly(tokens, context):
    found = {}
    for i in range(len(tokens) - context):
        found.setdefault(tuple(tokens[i : i + context]), Counter())[tokens[i + context]] += 1
    return found


@given(st.text("abcdé\n ", min_size=7, max_size=60), st.integers(1, 6))
def test_every_window_counts_once_with_what_follows_it(text, context):
    task = text_task(text, context=context, target="labels")
    assert counted(task) == counted_slowly(text, context)


@given(st.binary(min_size=5, max_size=60), st.integers(1, 4))
@example(b"\\x0a\n~\x7f \x1f\xff", 1)
def test_bytes_are_tokens_under_readable_names(text, context):
    task = text_task(text, unit="byte", context=context, target="labels")
    names = [chr(b) if 32 <= b < 127 and b != 92 else f"\\x{b:02x}" for b in text]
    assert counted(task) == counted_slowly(names, context)


def test_words_keep_their_case_and_punctuation_stands_alone():
    text = "He said: don't. He said: stop_it!\n\nHe said: été 42."
    task = text_task(text, unit="word", context=2, target="labels")
    tokens = "He said : don ' t . He said : stop_it ! He said : été 42 .".split()
    assert counted(task) == counted_slowly(tokens, 2)
    assert task.vocabulary[:3] == ("He", "said", ":")


def test_the_vocabulary_is_ordered_by_frequency_and_the_rest_is_other():
    task = text_task("ccbbaaad" * 3, vocabulary=3, context=1, target="labels")
    assert task.vocabulary == ("a", "c", OTHER)
    assert counted(task) == counted_slowly([x if x in "ac" else OTHER for x in "ccbbaaad" * 3], 1)


def test_a_vocabulary_that_just_fits_has_no_other():
    assert text_task("abcabc", vocabulary=3, target="labels").vocabulary == ("a", "b", "c")
    assert text_task("abcabc", vocabulary=1, context=1, target="labels").vocabulary == (OTHER,)
    assert text_task("aaaa", vocabulary=1, context=1, target="labels").vocabulary == ("a",)


def test_a_token_written_other_is_not_confused_with_the_rest():
    task = text_task("<other> x <other> y <other> z", unit="word", vocabulary=4, context=1, target="labels")
    assert task.vocabulary == ("<", "other", ">", OTHER)


def test_contexts_come_by_frequency_and_then_in_lexicographic_order():
    task = text_task("abab" + "cdcd" + "abdc", context=2, target="labels")
    totals = task.counts.totals()
    rows = [(-int(total), *context) for total, context in zip(totals, task.contexts.tolist(), strict=True)]
    assert rows == sorted(rows) and totals[0] > totals[-1]


@given(st.text("abcdefgh", min_size=30, max_size=80), st.integers(1, 12), st.integers(3, 40))
def test_packing_windows_into_numbers_in_parts_changes_nothing(text, context, bits):
    whole = text_task(text, context=context, target="labels")
    largest, module._LARGEST_KEY = module._LARGEST_KEY, max(2**bits, 8 * len(text))
    try:
        parts = text_task(text, context=context, target="labels")
    finally:
        module._LARGEST_KEY = largest
    assert parts.sha256() == whole.sha256()


def test_long_contexts_over_a_large_vocabulary_do_not_overflow():
    rng = np.random.default_rng(0)
    words = [f"w{n}" for n in rng.integers(0, 3000, 9000)]
    task = text_task(" ".join(words), unit="word", vocabulary=50_000, context=40, facts=64, target="labels")
    assert counted(task) == counted_slowly(words, 40)


def test_the_memorized_share_is_the_smallest_that_holds_the_mass():
    text = default_text()[:20_000]
    task = text_task(text, context=3, mass=0.5, target="labels")
    assert task.prior.sum() >= 0.5 > task.prior[:-1].sum()
    assert task.n_all == len(counted_slowly(text if task.vocabulary[-1] != OTHER else [], 3) or range(task.n_all))


def test_distributions_are_the_smoothed_counts():
    task = text_task("abababac", context=1)
    row = task.contexts.tolist().index([task.vocabulary.index("a")])
    expected = {"a": 1 / 27, "b": 19 / 27, "c": 7 / 27}  # 3 b and 1 c after a, half an observation spread over three
    assert {name: task.distributions[row][i] for i, name in enumerate(task.vocabulary)} == pytest.approx(expected)


def test_the_same_text_gives_the_same_task():
    text = default_text()[:5000]
    assert text_task(text, facts=20).sha256() == text_task(text, facts=20).sha256()


@pytest.mark.parametrize("unit", ["char", "word"])
def test_files_are_read_as_text(tmp_path, unit):
    path = tmp_path / "x.txt"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n\xc3\xa9")
    assert read_text(path, unit) == "\ufeffa\r\nb\rc\né"
    assert read_text(str(path), "byte") == path.read_bytes()


def test_files_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "latin").write_bytes(b"\xef\xbb\xbfcaf\xe9 noir")
    with pytest.raises(InputError, match="does not exist"):
        read_text(tmp_path / "missing")
    with pytest.raises(InputError, match="is empty"):
        read_text(tmp_path / "empty", "byte")
    with pytest.raises(InputError, match="folder"):
        read_text(tmp_path)
    with pytest.raises(InputError, match=r"not UTF-8.* at byte 6, expected UTF-8.*--tokens bytes"):
        read_text(tmp_path / "latin")
    with pytest.raises(InputError, match="cannot be read"):
        read_text("a\0b")
    with pytest.raises(InputError, match="'letter'"):
        read_text(tmp_path / "latin", "letter")
    assert read_text(tmp_path / "latin", "byte")[-4:] == b"noir"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "has 0 [a-z]+, expected more than the 4 of a context"),
        ("abcd", {}, "has 4 [a-z]+, expected more than the 4"),
        ("a b c d", {"unit": "word"}, "has 4 [a-z]+, expected more than the 4"),
        ("   \n", {"unit": "word"}, "has 0 [a-z]+, expected more than the 4 of a context"),
        (b"", {"unit": "byte"}, "has 0 [a-z]+, expected more than the 4 of a context"),
        ("abcdef", {"unit": "byte"}, "str, expected bytes"),
        (b"abcdef", {}, "bytes, expected str"),
        ("abcdef", {"unit": "token"}, "'token'"),
        ("abcdef", {"vocabulary": 0}, "vocabulary = 0"),
        ("abcdef", {"context": 0}, "context = 0"),
        ("abcdef", {"facts": 3}, "facts = 3, expected 1 .. 2"),
        ("abcdef", {"facts": 0}, "facts = 0"),
        ("abcdef", {"facts": 1, "mass": 0.5}, "facts = "),
        ("abcdef", {"mass": 1.5}, "mass = 1.5"),
        ("abcdef", {"target": "distribution"}, "'distribution'"),
        ("ab\0cdef", {}, "NUL at character 2"),
        ("ab\udc80cdef", {}, "surrogate .* at character 2"),
    ],
)
def test_texts_that_make_no_task_are_refused(text, options, message):
    with pytest.raises(InputError, match=message):
        text_task(text, **options)


def test_five_characters_hold_one_context_of_four():
    task = text_task("abcde", target="labels")
    assert (task.n_all, task.vocabulary[task.labels[0]]) == (1, "e")


def test_the_default_text_is_long_and_has_many_contexts():
    text = default_text()
    assert len(text) > 100_000 and text_task(text, facts=1024).n_all > 10_000
