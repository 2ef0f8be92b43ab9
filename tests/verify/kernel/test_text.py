"""The statement `text`: other texts, parts and formats than those that are said are not proved."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from byheart.reciting import whole_text
from constructions.memories.probes.probe_memory import probe_memory
from tests.verify.kernel import folders
from verify.kernel.check import outcome
from verify.kernel.task import Text
from verify.kernel.text import texts_of

OTHER = folders.TEXT[:-1] + "s"
NO_TEXTS = {
    "named": {"format": "float32", "texts": []},
    "statement": "Greedy decoding, in every float32 run, says 0 texts of 0 bytes, in 1 part, byte for byte, "
    "and then that each part ends.",
    "values": {"bytes": 0, "parts": 1, "texts": 0},
}
CHANGES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "another text": (
        lambda text: text["named"]["texts"][0].update(sha256=hashlib.sha256(OTHER.encode()).hexdigest()),
        1,
    ),
    "another title": (lambda text: text["named"]["texts"][0].update(title="Hamlet"), 1),
    "another length": (lambda text: text["named"]["texts"][0].update(bytes=7), 2),
    "two texts": (lambda text: text["values"].update(texts=2), 2),
    "another format": (lambda text: text["named"].update(format="float64"), 2),
    "half a hash": (lambda text: text["named"]["texts"][0].update(sha256="00"), 2),
    "no texts": (lambda text: text.update(NO_TEXTS), 2),
    "a mask": (lambda text: text.update(memorized="f"), 2),
    "parts of a text with a title": (lambda text: text["values"].update(parts=2), 2),
    "no part": (lambda text: text["values"].update(parts=0), 2),
    "more characters than bytes": (lambda text: text["values"].update(characters=10**6), 2),
}


@pytest.mark.parametrize("change, code", CHANGES.values(), ids=CHANGES)
def test_another_text_is_not_proved(change: Callable[[Any], Any], code: int, tmp_path: Path) -> None:
    folder = folders.text(tmp_path)
    data = folders.certificate(folder)
    change(data["statements"][2])
    assert folders.code(folders.rewritten(folder, data)) == code


def test_a_text_needs_a_statement_about_all_contexts_in_its_format(tmp_path: Path) -> None:
    folder = folders.text(tmp_path)
    data = folders.certificate(folder)
    answers, _, text = data["statements"]
    data["statements"] = [answers, text]
    code, said = outcome(folders.rewritten(folder, data))
    assert code == 2 and "needs all contexts memorized in float32, which no statement says" in said
    text["named"]["format"] = "real arithmetic"
    text["statement"] = text["statement"].replace("in every float32 run", "in real arithmetic")
    assert folders.code(folders.rewritten(folder, data)) == 0


@pytest.mark.parametrize("named", [[], "float32", None, {"format": ["float32"]}])
def test_a_text_in_front_of_what_it_rests_on_is_refused(named: Any, tmp_path: Path) -> None:
    folder = folders.text(tmp_path)
    data = folders.certificate(folder)
    answers, runs, text = data["statements"]
    runs["named"] = named
    data["statements"] = [text, runs, answers]
    assert folders.code(folders.rewritten(folder, data)) == 2


def test_characters_are_those_of_the_text(tmp_path: Path) -> None:
    folder = folders.text(tmp_path)
    data = folders.certificate(folder)
    record = data["statements"][2]
    record["values"]["characters"] -= 1
    count = len(folders.TEXT)
    record["statement"] = (
        f"Greedy decoding, in every float32 run, says 1 text of {count} bytes ({count - 1} characters), "
    )
    record["statement"] += "byte for byte, and then that it ends."
    assert folders.code(folders.rewritten(folder, data)) == 1


def test_a_task_of_contexts_says_no_text(tmp_path: Path) -> None:
    task = whole_text("abab, abac")
    record = folders.certificate(folders.text(tmp_path / "text"))["statements"][2]
    folder = folders.lookup(tmp_path / "lookup")
    record["named"]["format"] = "real arithmetic"
    record["statement"] = record["statement"].replace("in every float32 run", "in real arithmetic")
    code, text = outcome(folders.stated(folder, record))
    assert (code, text) == (1, "NOT PROVED: text: the task is not one of whole texts")
    assert folders.code(folders.written(tmp_path / "other", probe_memory(task).model, task)) == 0


def test_titles_parts_and_bytes() -> None:
    names = ["a", "\\xff", "é", "<|end|>", "<one>", "<two>", "<1/2>", "<2/2>"]
    assert texts_of(Text([0, 2, 3, 1, 3], [4, 5], 2, names)) == [("one", b"a\xc3\xa9", 2), ("two", b"\xff", None)]
    assert texts_of(Text([0, 3, 2, 3], [6, 7], 2, names)) == [("", b"a\xc3\xa9", 2)]
    assert texts_of(Text([0, 0, 3], [3], 1, names)) == [("", b"aa", 2)]
