"""The corpus of good and bad folders: it is what its script makes, it says the truth, and both readers pass it."""

import importlib
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from byheart.cli.main import main
from constructions.model.model import Model
from tests.corpus.__main__ import main as judge_a_command
from tests.corpus.cases import GOOD_FOLDERS, Case, bad_folders, read_index, write_all, write_good
from tests.corpus.detectors import DETECTORS, EXACT, ROUNDED, contexts_of
from tests.corpus.good_folders import GOOD
from tests.corpus.judge import command_checker, exit_code, headline, run_checker, score, table
from tests.corpus.truth import falsehoods, lost_in_some_run
from verify.certificates.certificate import Certificate
from verify.kernel.check import outcome
from verify.kernel.kinds import find_statement
from verify.runs.formats import FORMATS

CONTROLS = ("accept_everything", "reject_everything", "accept_what_parses", "believe_numbers")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tmp_path_factory.mktemp("corpus") / "all"


@pytest.fixture(scope="module")
def cases(folders):
    """The folders, made anew."""
    return write_all(folders)


def check(*options: str):
    """`byheart check` in this process."""

    def run(folder: Path) -> int:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            return main(["check", "--quiet", *options, str(folder)])

    return run


def control(name: str):
    return importlib.import_module(f"tests.corpus.controls.{name}").check


# What the corpus is.


def test_the_index_is_what_the_script_makes(cases) -> None:
    assert cases == read_index()


def test_there_are_enough_of_each_sort_under_names_of_their_own(cases, folders) -> None:
    good, bad = ([each for each in cases if each.sort == sort] for sort in ("good", "bad"))
    assert len(good) >= 30 and len(bad) >= 120
    assert sum(each.honest == "yes" for each in bad) >= 60
    assert len({each.name for each in cases}) == len(cases)
    assert len({each.sha256 for each in cases}) == len(cases)
    assert sorted(path.name for path in folders.iterdir()) == sorted(each.name for each in cases)


def test_the_good_folders_are_what_the_script_makes(tmp_path) -> None:
    """Weights and tasks to the last bit; of what is proved of them all but the last digits, which another machine
    rounds otherwise."""
    for name in GOOD:
        write_good(name, tmp_path / name)
        kept = GOOD_FOLDERS / name
        made = {path.name for path in (tmp_path / name).iterdir()}
        # Two folders keep a witness, which a certificate may name and nothing here writes any more.
        assert {path.name for path in kept.iterdir()} - {"witness.safetensors"} == made
        for file in ("model.safetensors", "task.safetensors", "contexts.json"):
            if (kept / file).exists():
                assert (kept / file).read_bytes() == (tmp_path / name / file).read_bytes(), (name, file)
        if (kept / "edit.json").exists():
            continue
        one, two = Certificate.load(kept), Certificate.load(tmp_path / name)
        assert (one.subject, one.criterion) == (two.subject, two.criterion)
        assert [(each.id, each.memorized) for each in one.statements] == [
            (each.id, each.memorized) for each in two.statements
        ]
        for stated, made in zip(one.statements, two.statements, strict=True):
            assert stated.values == pytest.approx(made.values, rel=0.01, abs=2.0**-30)
            assert stated.named == made.named


def test_every_kind_of_block_and_target_and_statement_is_among_the_good(cases) -> None:
    models = [Model.load(GOOD_FOLDERS / name / "model.safetensors") for name in GOOD]
    text = "".join(str(model.options()) for model in models)
    options = ("attention", "feed-forward", "layer", "rms", "last", "causal", "all", "task", "halves", "neighbours",
               "key_heads", "norms_all", "clip", "score_cap", "post_norm", "q_norm", "k_norm", "parallel", "positions",
               "logit_divisor", "logit_cap", "relu", "gelu", "gelu-tanh", "gelu-bloom", "silu")  # fmt: skip
    assert [option for option in options if repr(option) not in text] == []
    tensors = {name.rpartition(".")[2] for model in models for name in model.tensors()}
    assert {"slopes", "frequencies", "W_gate", "b_gate", "b_Q", "b_K", "b_V", "b_O", "b_in", "b_out", "b_U"} <= tensors
    certificates = [Certificate.load(GOOD_FOLDERS / name) for name in GOOD if name != "edit"]
    assert {each.subject.target for each in certificates} == {"labels", "distributions", "values"}
    assert {each.criterion.asked for each in certificates} == {"memorized", "at-least", "at-most"}
    stated = {statement.id for each in certificates for statement in each.statements}
    files = {path.stem.replace("_", "-") for path in Path("verify/kernel").glob("*.py")}
    assert stated == {name for name in files if find_statement(name) is not None}
    formats = {each.named["format"] for own in certificates for each in own.statements if each.id == "runs"}
    assert formats == set(FORMATS)


# What it says of its folders, by the definitions alone.

BY_DEFINITION = ("answers", "text-divergence", "domain", "runs", "text", "divergence", "rank-heads", "rank-with-skip")

NOT_SIMULATED = {
    "runs-at-the-limit.without-h5": "H1 lets a run round what it need not",
    "runs-of-soft-heads.any-exponential": "the exponentials of numpy are better than that",
    "ranks-deficient.all-weights": "rank-exact has the same sizes, and a rank of 4",
    "runs-near-tie.bfloat16": "numpy has no bfloat16; float32, which holds all its numbers, loses the lead too",
}
"""What is false by what the hypotheses allow, of which there is no run here."""


def readable(case: Case) -> bool:
    """Whether its one certificate can be read, and is of a kind whose truth is computed."""
    return case.kind in BY_DEFINITION and case.expected != "refused" and case.of != "edit"


def test_what_is_called_false_is_false_and_what_is_called_good_is_true(cases, folders) -> None:
    looked_at = 0
    for case in filter(readable, cases):
        if case.name in NOT_SIMULATED or case.name.endswith(".bfloat16"):
            continue
        found = falsehoods(folders / case.name)
        expected = case.sort == "bad" or case.expected != "proved"
        assert bool(found) == expected, (case.name, found)
        if case.sort == "good":
            assert set(found) <= {"the answer is not yes", "a sample leaves inputs open"}, (case.name, found)
        looked_at += 1
    assert looked_at >= 120


@pytest.mark.parametrize("place", [place for place in DETECTORS if place not in ROUNDED])
def test_a_format_of_eight_bits_loses_what_float32_keeps(place: str) -> None:
    """numpy has no bfloat16: 2^36 is to float32 what 2^20 is to it, 2^12 times what its digits reach."""
    contexts, modes = contexts_of(place), np.eye(2, dtype=bool)
    assert lost_in_some_run(DETECTORS[place](2.0**36), contexts, modes, np.float32)
    assert not lost_in_some_run(DETECTORS[place](EXACT), contexts, modes, np.float32)


def test_a_bad_folder_is_another_than_the_good_one_that_it_was_made_from(cases) -> None:
    good = {case.name: case.sha256 for case in cases if case.sort == "good"}
    assert all(good[case.of] != case.sha256 for case in cases if case.sort == "bad")
    assert {bad.of for bad in bad_folders()} <= set(GOOD)


# What readers make of them.


def test_the_prover_passes_but_for_a_lead_that_it_has_no_number_for(cases, folders) -> None:
    """It keeps logits as numbers of float64 with radii, and a lead of the least of these is none."""
    found = run_checker(check("--fast"), cases, folders)
    assert not any(each.is_fault for each in found), headline(found)
    assert [each.case.name for each in found if each.fate == "undecided"] == ["labels-subnormal-lead"]


def test_the_kernel_and_the_prover_in_its_place_pass_but_for_what_is_for_the_prover_alone(cases, folders) -> None:
    found = run_checker(check(), cases, folders)
    assert not any(each.is_fault for each in found), headline(found)
    for each in found:
        if each.fate == "undecided":
            certificate = Certificate.load(folders / each.case.name)
            assert certificate.for_the_prover_alone(), each.case.name


def test_the_kernel_alone_passes_without_the_pages_that_it_does_not_read(cases, folders) -> None:
    """As `python -m tests.corpus --without pages -- python -I -m verify.kernel`, in this process."""
    read = [case for case in cases if case.kind != "pages"]
    found = run_checker(lambda folder: outcome(folder)[0], read, folders)
    assert not any(each.is_fault for each in found), headline(found)
    for each in found:
        if each.fate == "undecided":
            certificate = Certificate.load(folders / each.case.name)
            assert certificate.for_the_prover_alone(), each.case.name


def test_the_kernel_alone_does_not_tell_forged_pages_from_true_ones(cases, folders) -> None:
    """Which is why they are left out: their certificates are true, and nothing else is looked at."""
    pages = [case for case in cases if case.kind == "pages"]
    assert {case.sort for case in pages} == {"good", "bad"}
    assert {outcome(folders / case.name)[0] for case in pages} == {0}


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_fails(cases, folders, name: str) -> None:
    found = run_checker(control(name), cases, folders)
    assert exit_code(found) == 1 and headline(found).startswith("FAILED: ")


def test_whoever_believes_every_number_accepts_what_is_false_only_in_its_claim(cases, folders) -> None:
    """So the files of these are in order, and none that is not in order is among them."""
    found = run_checker(control("believe_numbers"), cases, folders)
    accepted = [each.case for each in found if each.fate == "accepted"]
    assert len(accepted) >= 60 and {each.honest for each in accepted} == {"yes"}
    assert {each.kind for each in accepted} >= {each.kind for each in cases} - {"files", "sample"}


@pytest.mark.parametrize("options", [[], ["--fast"]])
def test_a_malformed_file_is_named_in_one_sentence_and_ends_with_2(cases, folders, capsys, options) -> None:
    for case in cases:
        if case.expected != "refused":
            continue
        assert main(["check", str(folders / case.name), *options]) == 2, case.name
        said = capsys.readouterr().err
        assert said.count("byheart: ") == 1, (case.name, said)
        names = ("certificate.json", "contexts.json", "measured.json", ".safetensors")
        assert any(name in said for name in names), (case.name, said)


@pytest.mark.parametrize("options", [[], ["--fast"]])
def test_files_that_are_not_those_of_the_certificate_end_with_1(cases, folders, capsys, options) -> None:
    exchanged = [case for case in cases if (case.kind, case.expected) == ("files", "refuted")]
    assert len(exchanged) >= 10
    for case in exchanged:
        assert main(["check", str(folders / case.name), "--quiet", *options]) == 1, case.name
        shown = capsys.readouterr()
        assert (shown.out + shown.err).strip().count("\n") == 0 and (shown.out + shown.err).strip(), case.name


@pytest.mark.parametrize("options", [[], ["--fast"]])
def test_a_forged_page_ends_with_the_code_of_a_complete_checker(cases, folders, options) -> None:
    pages = [case for case in cases if case.kind == "pages"]
    assert sum(case.sort == "bad" for case in pages) >= 10
    codes = {"proved": 0, "refuted": 1, "refused": 2}
    assert {case.name: check(*options)(folders / case.name) for case in pages} == {
        case.name: codes[case.expected] for case in pages
    }


def test_a_checker_may_leave_out_what_it_does_not_read(capsys) -> None:
    words = [sys.executable, "-I", "-m", "verify.kernel"]
    assert judge_a_command(["--only", "pages-of-facts", "--json", "--without", "pages", "--", *words]) == 0
    assert json.loads(capsys.readouterr().out)["folders"] == []


# How answers are counted.


@pytest.mark.parametrize(
    ("sort", "expected", "code", "fate"),
    [
        ("good", "proved", 0, "right"),
        ("good", "proved", 1, "refused"),
        ("good", "proved", 2, "refused"),
        ("good", "proved", 3, "undecided"),
        ("good", "refuted", 0, "accepted"),
        ("good", "refuted", 1, "right"),
        ("good", "undecided", 0, "accepted"),
        ("good", "undecided", 1, "refused"),
        ("good", "undecided", 3, "right"),
        ("bad", "refuted", 0, "accepted"),
        ("bad", "refused", 1, "right"),
        ("bad", "refuted", 2, "right"),
        ("bad", "refuted", 3, "right"),
        ("bad", "refuted", 70, "no answer"),
        ("good", "proved", -11, "no answer"),
    ],
)
def test_a_fate_follows_from_what_is_expected_and_the_exit_code(sort, expected, code, fate) -> None:
    case = Case("name", sort, "answers", "name", expected, "yes", "", "")
    found = score(case, code)
    assert found.fate == fate
    assert exit_code([found]) == {"right": 0, "undecided": 3}.get(fate, 1)


def test_a_reader_that_never_decides_is_no_reader_that_passes(cases, folders) -> None:
    found = run_checker(lambda folder: 3, cases, folders)
    assert exit_code(found) == 3 and headline(found).startswith("INCOMPLETE: ")
    assert any(line.split()[0] == "answers" for line in table(found))


def test_a_command_is_judged(tmp_path, capsys) -> None:
    words = [sys.executable, str(GOOD_FOLDERS.parent / "controls" / "accept_everything.py")]
    assert judge_a_command(["--only", "labels-lookup", "--json", "--jobs", "2", "--", *words]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["headline"].startswith("FAILED: 1 of 1 good folders")
    assert {each["code"] for each in found["folders"]} == {0}
    slow = command_checker([sys.executable, "-c", "import time; time.sleep(60)"], seconds=0.2)
    assert slow(tmp_path) == -1


def test_the_folders_can_be_written_for_others(tmp_path, cases) -> None:
    assert judge_a_command(["--write", str(tmp_path / "out")]) == 0
    assert read_index(tmp_path / "out" / "index.csv") == cases
    assert (tmp_path / "out" / "labels-lookup" / "certificate.json").is_file()
