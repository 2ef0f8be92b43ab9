"""Folders of the corpus in Coq: a text and tables that every run knows are proved, and what is not so is refused."""

import pytest

from byheart.coq.compiled import Coqc, compile_library
from tests.coq_corpus import NOT_READ, Answer, answer_of_coq, lines, lost_contexts
from tests.corpus.cases import GOOD_FOLDERS, bad_folders, read_index, write_bad
from tests.machine_checked import needs_coq

CASES = {case.name: case for case in read_index()}
BAD = {bad.name: bad for bad in bad_folders()}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    place = tmp_path_factory.mktemp("library")
    compile_library(Coqc.found(), place)
    return place


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("text-titles", "PROVED"),
        ("sums-average", "PROVED"),
        ("labels-not-memorized", "UNDECIDED"),
        ("labels-tie", "UNDECIDED"),
        ("divergence-of-distributions", NOT_READ),
    ],
)
def test_a_folder_is_proved_if_every_run_knows_it(library, name, said):
    assert answer_of_coq(CASES[name], GOOD_FOLDERS / name, library) == Answer(CASES[name], said)


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("detector-average.every-run", "UNDECIDED"),
        ("sums-average.bfloat16", "UNDECIDED"),
        ("labels-lookup.one-wrong", "PROVED"),  # that a context is wrong which every run holds
    ],
)
def test_of_bad_folders_only_what_every_run_holds_is_proved(library, tmp_path, name, said):
    write_bad(BAD[name], tmp_path / name)
    assert answer_of_coq(CASES[name], tmp_path / name, library) == Answer(CASES[name], said)


def test_runs_are_searched_for_that_contradict_a_proof():
    assert lost_contexts(GOOD_FOLDERS / "detector-average", "float32") > 0
    assert lost_contexts(GOOD_FOLDERS / "sums-average", "float32") == 0


def test_a_contradicted_proof_is_a_fault():
    answers = [Answer(CASES["sums-average"], "PROVED"), Answer(CASES["labels-lookup.one-wrong"], "PROVED", lost=1)]
    assert [answer.is_fault for answer in answers] == [False, True]
    assert lines(answers)[0].startswith("1 faults; 1 good folders proved")
    assert lines(answers)[-1] == "some run loses 1 contexts of labels-lookup.one-wrong"
