"""Whatever holds facts becomes the task that it says."""

from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

import byheart
from byheart.facts import memorize, read_facts
from constructions.errors import InputError
from constructions.tasks.task import Task
from constructions.tasks.text import OTHER

PAIRS = {("France", "capital"): "Paris", ("France", "river"): "Seine", ("Peru", "capital"): "Lima"}
ROWS = [(*context, following) for context, following in PAIRS.items()]
TABLE = "\n".join(",".join(row) for row in ROWS)


def named(task: Task) -> dict[tuple[str, ...], str]:
    return {
        tuple(task.vocabulary[t] for t in context): task.answers[label]
        for context, label in zip(task.contexts.tolist(), task.labels.tolist(), strict=True)
    }


class Frame:
    """As much of a data frame as rows take."""

    def itertuples(self, *, index: bool, name: str | None) -> list[tuple[str, ...]]:
        assert not index and name is None
        return ROWS


def test_mappings_rows_and_frames_hold_the_same_facts(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text(TABLE)
    row = namedtuple("row", "subject relation answer")
    for given in (PAIRS, ROWS, iter(ROWS), Frame(), [row(*each) for each in ROWS], np.array(ROWS), path, str(path)):
        assert named(read_facts(given).task) == PAIRS
    assert named(read_facts({"France": "Paris", 3: 4}).task) == {("France",): "Paris", ("3",): "4"}
    assert named(read_facts([("a", "b", 2), ("a", "c", 5)], weights=True).task) == {("a",): "c"}


def test_files_are_tables_texts_or_arrays_by_their_names(tmp_path: Path) -> None:
    for name in ("facts.csv", "facts.TSV", "facts.txt"):
        (tmp_path / name).write_text(TABLE.replace(",", "\t"))
    assert named(read_facts(tmp_path / "facts.csv").task) == named(read_facts(tmp_path / "facts.TSV").task) == PAIRS
    assert read_facts(tmp_path / "facts.txt").task.n_ctx == 4
    assert named(read_facts(tmp_path / "facts.txt", table=True).task) == PAIRS
    assert read_facts(tmp_path / "facts.csv", table=False).task.target == "laws"
    np.savez(tmp_path / "facts.npz", contexts=np.array([[0], [1]]), next_tokens=np.array([1, 0]))
    assert read_facts(tmp_path / "facts.npz").task.n_contexts == 2


def test_texts_are_texts() -> None:
    text = "to be or not to be"
    assert read_facts(text, context=2).task.n_ctx == 2
    assert read_facts(text, unit="word", context=1).task.vocabulary[:2] == ("to", "be")
    assert OTHER not in read_facts("".join(map(chr, range(300, 420))) * 2).task.vocabulary
    assert read_facts(text, vocabulary=3).reading.endswith("a vocabulary of 7 keeps all")
    assert read_facts(None, facts_at_most=5).task.n_contexts == 5


@pytest.mark.parametrize(
    ("given", "options", "reason"),
    [
        ("missing.csv", {}, "does not exist"),
        (Path("missing"), {}, "does not exist"),
        (PAIRS, {"unit": "word"}, "unit = 'word'"),
        (PAIRS, {"header": True}, "header = True"),
        ("some text", {"delimiter": ";"}, "delimiter = ';'"),
        (7, {}, "facts is int"),
        (["abc"], {}, "row 0 is 'abc'"),
        ([], {}, "no facts"),
        ([("a", "b"), ("a", "c")], {}, "facts 1 and 2 contradict"),
        ([("a",)], {}, "fact 1 has 1 cell,"),
        ("some text", {"facts_at_most": 3, "mass": 0.5}, "expected one of them"),
    ],
)
def test_what_holds_no_facts_is_refused(given: object, options: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_facts(given, **options)  # type: ignore[arg-type]


def test_facts_are_memorized_in_one_call(tmp_path: Path) -> None:
    memory = byheart.memorize(PAIRS, out=tmp_path / "out", seed=3)
    assert str(memory).startswith("HELD, PROVED: 3 of 3 contexts")
    assert (tmp_path / "out" / "certificate.json").is_file()
    assert {context: memory.ask(context).token for context in PAIRS} == PAIRS
    with pytest.raises(TypeError):
        memorize(PAIRS, colour="red")
