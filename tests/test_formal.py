"""The proofs in Coq compile and assume nothing of their own; what is not a proof is refused; the page lists all."""

import importlib.util
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from byheart.coq.compiled import AXIOMS
from tests.machine_checked import needs_coq

ROOT = Path(__file__).parents[1]
FORMAL = ROOT / "formal"
PAGE = ROOT / "docs" / "register.md"
RUNS = FORMAL / "float32"
PAGE_OF_RUNS = ROOT / "docs" / "rigour" / "kernel.md"
ROW = re.compile(r"^\| ((?:`formal/[\w/]+\.v:\w+`(?:, )?)+) \|.*\|$", re.MULTILINE)
AXIOM = re.compile(r"^\| `([\w.]+)` \|", re.MULTILINE)
HALF = "From Coq Require Import Reals Lra.\nOpen Scope R_scope.\n"
TWO = "Theorem two : 1 + 1 = 2.\nProof. reflexivity. Qed.\n"  # which needs no library
PROVED = HALF + "Theorem half : 1 / 2 + 1 / 2 = 1.\nProof. lra. Qed.\n"

coqc = pytest.mark.skipif(shutil.which("coqc") is None, reason="no proof is checked: there is no coqc on this machine")


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check", FORMAL / "check.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = load()


def folder_with(folder: Path, source: str) -> Path:
    (folder / "_CoqProject").write_text("-Q . Formal\nhalf.v\n", encoding="utf-8")
    (folder / "half.v").write_text(source, encoding="utf-8")
    return folder


def listed_theorems(page: Path = PAGE) -> list[str]:
    names = " ".join(ROW.findall(page.read_text(encoding="utf-8")))
    return [f"{file}.{theorem}" for file, theorem in re.findall(r"`formal/(?:float32/)?(\w+)\.v:(\w+)`", names)]


@coqc
@pytest.mark.slow
def test_the_theorems_are_proved_from_the_axioms_that_the_page_lists() -> None:
    proved, found = check.check(FORMAL)
    assert sorted(proved) == sorted(listed_theorems())
    assert found == check.ALLOWED == set(AXIOM.findall(PAGE.read_text(encoding="utf-8")))


def test_the_page_lists_every_theorem_and_no_other() -> None:
    listed = listed_theorems()
    _, sources = check.listed_files(FORMAL)
    proved = check.all_theorems(sources)
    assert len(listed) == len(set(listed)) > 60
    assert sorted(listed) == sorted(proved)


@needs_coq
@pytest.mark.slow
def test_the_library_of_runs_is_proved_from_the_same_axioms() -> None:
    proved, found = check.check(RUNS)
    assert sorted(proved) == sorted(listed_theorems(PAGE_OF_RUNS))
    assert found == check.ALLOWED


def test_a_claim_may_rest_on_the_same_axioms() -> None:
    assert set(AXIOMS) == check.ALLOWED


def test_the_page_of_runs_lists_every_theorem_and_no_other() -> None:
    _, sources = check.listed_files(RUNS)
    assert sorted(listed_theorems(PAGE_OF_RUNS)) == sorted(check.all_theorems(sources))


def test_what_the_page_of_runs_quotes_is_in_the_library() -> None:
    quoted = re.findall(r"^```coq\n(.*?)^```", PAGE_OF_RUNS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    semantics = (RUNS / "semantics.v").read_text(encoding="utf-8")
    assert len(quoted) > 5
    assert [block for block in quoted if block not in semantics] == []


def test_the_semantics_prove_nothing_and_rest_on_flocq_and_the_model_alone() -> None:
    for name, imported in (("model.v", set()), ("semantics.v", {"model"})):
        source = (RUNS / name).read_text(encoding="utf-8")
        own = re.findall(r"From Float32 Require (?:Import|Export) ([\w ]+)\.", source)
        assert {each for line in own for each in line.split()} == imported
        assert not re.search(r"\b(?:Lemma|Theorem|Proof|Qed)\b", check.without_comments(source))


@coqc
def test_a_proof_is_accepted(tmp_path: Path) -> None:
    proved, found = check.check(folder_with(tmp_path, PROVED))
    assert proved == ["half.half"]
    assert "ClassicalDedekindReals.sig_forall_dec" in found <= check.ALLOWED
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["_CoqProject", "half.v"]


@pytest.mark.parametrize(
    "source",
    [
        HALF + "Theorem half : 1 / 2 = 1.\nProof. Admitted.\n",
        HALF + "Theorem half : 1 / 2 = 1.\nProof. admit. Qed.\n",
        HALF + "Axiom wrong : 1 / 2 = 1.\nTheorem half : 1 / 2 = 1.\nProof. exact wrong. Qed.\n",
        HALF + "Parameter wrong : 1 / 2 = 1.\nTheorem half : 1 / 2 = 1.\nProof. exact wrong. Qed.\n",
        PROVED + "Conjecture wrong : 1 / 2 = 1.\n",
        "#[bypass_check(guard)] Fixpoint loop (n : nat) : False := loop n.\n" + PROVED,
        "Unset Guard Checking.\n" + PROVED,
    ],
)
def test_a_source_that_assumes_is_refused_before_it_is_compiled(tmp_path: Path, source: str) -> None:
    with pytest.raises(check.ProofError, match=r"half\.v, line \d+: .* assumes what has to be proved"):
        check.check(folder_with(tmp_path, source))


@coqc
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (TWO.replace("= 2", "= 3"), r"half\.v does not compile"),
        (TWO.replace("= 2", "= 3").replace("Qed", "Abort"), r"half\.v does not compile"),
        (TWO.replace("reflexivity. Qed", "Abort"), "is not known"),
        ("Hypothesis wrong : 1 + 1 = 3.\nTheorem two : 1 + 1 = 3.\nProof. exact wrong. Qed.\n", "wrong"),
        (
            "From Coq Require Import ProofIrrelevance.\nTheorem half : forall (P : Prop) (p q : P), p = q.\n"
            "Proof. apply proof_irrelevance. Qed.\n",
            "proof_irrelevance",
        ),
        (TWO.replace("Theorem", "Lemma"), "theorems were expected"),
    ],
)
def test_what_is_no_proof_from_the_axioms_of_the_reals_is_refused(tmp_path: Path, source: str, reason: str) -> None:
    with pytest.raises(check.ProofError, match=reason):
        check.check(folder_with(tmp_path, source))


@coqc
def test_the_exit_code_and_the_message_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([str(folder_with(tmp_path, TWO))]) == 0
    assert "1 theorems proved" in capsys.readouterr().out
    assert check.main([str(folder_with(tmp_path, TWO.replace("= 2.", "= 3.")))]) == 1
    assert "does not compile" in capsys.readouterr().err


def test_without_coqc_nothing_is_called_proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert check.main([]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and "no proof was checked" in shown.err


def test_a_file_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, PROVED)
    (folder / "forgotten.v").write_text("", encoding="utf-8")
    with pytest.raises(check.ProofError, match=r"forgotten\.v"):
        check.listed_files(folder)


def test_comments_and_strings_assume_nothing_and_hide_nothing() -> None:
    assert check.assumed('(* Axiom (* Admitted. *) admit *) Check "Parameter".\n') == []
    assert check.assumed("(* one\n*) Axiom two : True.\n") == [(2, "Axiom")]
    assert check.theorems("(* Theorem no : True. *)\n  Theorem yes : True.\n") == ["yes"]


@pytest.mark.parametrize(
    ("printed", "names"),
    [
        ("Closed under the global context\n", set()),
        ("Axioms:\nA.b : Prop\nC.d\n  : forall x : nat,\n    x = x\n", {"A.b", "C.d"}),
        ("Section Variables:\nx : nat\n", {"Section", "x"}),
        ("Closed under the global context\nloop is assumed to be guarded.\n", {"loop is assumed to be guarded."}),
    ],
)
def test_whatever_coq_prints_beside_nothing_counts_as_an_axiom(printed: str, names: set[str]) -> None:
    assert check.printed_axioms(printed) == names


SUMMARY = """
CONTEXT SUMMARY
===============

* Theory: Set is predicative

* Axioms:
    Coq.Reals.ClassicalDedekindReals.sig_not_dec
    Coq.Logic.Classical_Prop.classic

* Constants/Inductives relying on type-in-type: <none>

* Constants/Inductives relying on unsafe (co)fixpoints: <none>

* Inductives whose positivity is assumed: <none>
"""


def test_the_summary_of_coqchk_is_read() -> None:
    assert (
        check.summarized_axioms(SUMMARY)
        == {"ClassicalDedekindReals.sig_not_dec", "Classical_Prop.classic"}
        < check.ALLOWED
    )
    assert (
        check.summarized_axioms(re.sub(r"Axioms:.*?\* Con", "Axioms: <none>\n* Con", SUMMARY, count=1, flags=re.DOTALL))
        == set()
    )


@pytest.mark.parametrize(
    ("original", "other", "reason"),
    [
        ("type-in-type: <none>", "type-in-type: Formal.half.loop", "relying on type-in-type: Formal.half.loop"),
        ("assumed: <none>", "assumed: Formal.half.bad", "positivity is assumed: Formal.half.bad"),
        ("* Inductives whose positivity is assumed: <none>", "", "another summary"),
        ("Set is predicative", "Set is impredicative", "another summary"),
        ("* Axioms:", "* Assumptions:", "another summary"),
    ],
)
def test_a_summary_of_coqchk_that_is_not_as_it_should_be_is_refused(original: str, other: str, reason: str) -> None:
    assert SUMMARY.count(original) == 1
    with pytest.raises(check.ProofError, match=reason):
        check.summarized_axioms(SUMMARY.replace(original, other))


@coqc
@pytest.mark.skipif(
    shutil.which("coqchk") is None, reason="nothing is checked again: there is no coqchk on this machine"
)
def test_coqchk_accepts_a_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([str(folder_with(tmp_path, TWO)), "--coqchk"]) == 0
    assert "checked again by coqchk" in capsys.readouterr().out


def test_coq_that_prints_nothing_is_not_believed() -> None:
    with pytest.raises(check.ProofError, match="nothing was printed"):
        check.printed_axioms("")
