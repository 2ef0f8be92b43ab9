"""What Coq says is reported as it is: axioms are compared, a failing proof proves nothing, certificates agree."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from byheart.cli.main import main
from byheart.coq import compiled
from byheart.coq.claim import claim_of
from byheart.coq.compiled import AXIOMS, CoqReport, check_by_coq, printed_axioms, require_same
from constructions.errors import InputError, TamperedError
from tests.machine_checked import CAPITALS, made, needs_coq, needs_native_code
from verify.certificates.certificate import Certificate
from verify.verdict import Verdict


@pytest.mark.parametrize(
    ("printed", "names"),
    [
        ("Closed under the global context\n", ()),
        ("Axioms:\nC.d\n  : forall x : nat,\n    x = x\nA.b : Prop\n", ("A.b", "C.d")),
        ("Axioms:\nloop is assumed to be guarded.\n", ("loop",)),
        ("Closed under the global context\nloop is assumed to be guarded.\n", ("loop is assumed to be guarded.",)),
        ("", ("something that it did not print",)),
        ("Section Variables:\nx : nat\n", ("something that it did not print",)),
    ],
)
def test_whatever_coq_prints_counts(printed, names):
    assert printed_axioms(printed) == names


def test_without_coqc_one_sentence_says_what_to_install(capitals_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["check", str(capitals_folder), "--coq"]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and "apt install coq libcoq-flocq" in shown.err


def pretend(monkeypatch, place, script):
    """Put a program in the place of coqc, which gets the file to compile as its last word."""
    program = place / "coqc"
    program.write_text('#!/bin/sh\nfor file; do true; done\ncase "$file" in\n' + script + "esac\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/bin:/usr/bin")


def test_without_flocq_one_sentence_says_what_to_install(capitals_folder, tmp_path, monkeypatch):
    missing = "Cannot find a physical path bound to logical path Core with prefix Flocq."
    pretend(monkeypatch, tmp_path, f"*semantics.v) echo '{missing}' >&2; exit 1;;\n")
    with pytest.raises(InputError, match=r"needs Flocq, which is not installed here.*libcoq-flocq"):
        check_by_coq(capitals_folder)


@pytest.mark.parametrize(
    ("script", "verdict", "said"),
    [
        ("*proof.v) echo Axioms:; echo 'Classical_Prop.classic : forall P';;\n", Verdict.PROVED, ""),
        ("*proof.v) echo Axioms:; echo 'cheat : claim';;\n", Verdict.UNDECIDED, "the proof rests on cheat besides"),
        ("*proof.v) true;;\n", Verdict.UNDECIDED, "the proof rests on something that it did not print"),
        ("*proof.v) echo Error; exit 1;;\n", Verdict.UNDECIDED, "the claim is not proved: Error"),
        ("*answers_0.v) exit 1;;\n", Verdict.UNDECIDED, "one of the facts 1 to 5 is not answered"),
        ("*probe.v) exit 1;;\n", Verdict.UNDECIDED, "of the facts that are tried first, not all are answered"),
    ],
)
def test_what_the_compiler_says_is_what_is_reported(capitals_folder, tmp_path, monkeypatch, script, verdict, said):
    pretend(monkeypatch, tmp_path, script)
    report = check_by_coq(capitals_folder)
    assert report.verdict is verdict and report.said.startswith(said)
    assert (report.said == "") == (verdict is Verdict.PROVED)


def test_a_library_is_compiled_once_for_several_folders(capitals_folder, rose_folder, tmp_path, monkeypatch):
    """The program in the place of coqc writes what it compiled, and the names of all files that it is given."""
    axioms = "*proof.v) echo Axioms:; echo 'Classical_Prop.classic : forall P';;\n"
    names, library = tmp_path / "names", tmp_path / "library"
    pretend(monkeypatch, tmp_path, axioms + f'float32/*) echo "$file" >> {names}; touch "${{file}}o";;\n')
    library.mkdir()
    compiled.compile_library(compiled.Coqc.found(), library)
    once = names.read_text(encoding="utf-8")
    for folder in (capitals_folder, rose_folder):
        assert check_by_coq(folder, library=library).verdict is Verdict.PROVED
    assert names.read_text(encoding="utf-8") == once and "float32/facts.v" in once


@pytest.mark.parametrize("end", ["kill -9 $$", "echo 'Error: Stack overflow.' >&2; exit 1", "exit 2"])
@pytest.mark.parametrize("file", ["network.v", "probe.v", "answers_0.v", "proof.v"])
def test_a_compiler_that_does_not_finish_says_nothing_about_the_facts(
    capitals_folder, tmp_path, monkeypatch, file, end
):
    pretend(monkeypatch, tmp_path, f"*{file}) {end};;\n")
    with pytest.raises(InputError, match=f"did not finish .*{file}"):
        check_by_coq(capitals_folder)


@pytest.mark.parametrize(
    "end", ["echo 'native compiler is disabled, falling back' >&2", "echo 'Unbound module Nativevalues' >&2; exit 1"]
)
def test_native_code_that_cannot_be_had_is_not_replaced_in_silence(capitals_folder, tmp_path, monkeypatch, end):
    pretend(monkeypatch, tmp_path, f"*native.v) {end};;\n")
    with pytest.raises(InputError, match=r"--native.*cannot be used.*libcoq-core-ocaml-dev"):
        check_by_coq(capitals_folder, native=True)


def test_native_code_is_trusted_where_it_is_used(capitals_folder, tmp_path, monkeypatch):
    kept = tmp_path / "answers"
    axioms = "*proof.v) echo Axioms:; echo 'Classical_Prop.classic : forall P';;\n"
    pretend(monkeypatch, tmp_path, f'*answers_0.v) cp "$file" {kept};;\n' + axioms)
    for native, machine in ((True, "native"), (False, "vm")):
        trusted = check_by_coq(capitals_folder, native=native).summary()["trusted"]
        assert any("native code that OCaml's compiler makes" in each for each in trusted) is native
        assert f"{machine}_cast_no_check" in kept.read_text(encoding="utf-8")


def test_native_code_is_for_coq_alone(capitals_folder, capsys):
    assert main(["check", str(capitals_folder), "--native"]) == 2
    assert "is given without --coq" in capsys.readouterr().err


def certificate_that_states(claim, folder, **changes):
    """The certificate of a folder with statements about runs and texts as certificates make them, some changed."""
    statements = []
    for kind, fields in claim.statements().items():
        given = {"hypotheses": "H1 H2 H5"} if kind == "runs" else {}
        fields = {"named": {**given, **fields["named"]}, "values": fields["values"]}
        named, values = ({**part, **{n: v for n, v in changes.items() if n in part}} for part in fields.values())
        statements.append(SimpleNamespace(id=kind, named=named, values=values))
    return SimpleNamespace(subject=Certificate.load(folder).subject, statements=statements)


def test_the_certificate_and_the_theorem_state_the_same_field_by_field(rose_folder):
    claim = claim_of(rose_folder, "float32")
    compared, beside = require_same(certificate_that_states(claim, rose_folder), claim)
    sizes = {"context_length", "contexts", "outputs", "parameters"}
    runs = {"runs: named.format", "runs: values.contexts", "runs: values.memorized"}
    named, values = ("named.format", "named.texts"), ("bytes", "characters", "parts", "texts")
    text = {f"text: {name}" for name in (*named, *(f"values.{name}" for name in values))}
    assert set(compared) == sizes | runs | text and beside == ()
    assert require_same(certificate_that_states(claim, rose_folder, memorized=3), claim) == (compared, beside)
    other = [{**claim.statements()["text"]["named"]["texts"][0], "sha256": "0" * 64}]
    for change in ({"bytes": 17}, {"parts": 2}, {"texts": other}, {"memorized": 20}, {"contexts": 18}):
        with pytest.raises(TamperedError, match="the certificate states"):
            require_same(certificate_that_states(claim, rose_folder, **change), claim)


def test_a_context_or_a_token_that_is_left_out_is_missed(rose_folder, capitals_folder):
    """Coq would prove what is left of the claim."""
    table, text = claim_of(capitals_folder, "float32"), claim_of(rose_folder, "float32")
    with pytest.raises(TamperedError, match="contexts"):
        require_same(Certificate.load(capitals_folder), replace(table, facts=table.facts[:-1]))
    [whole] = text.texts
    for tokens in (whole.tokens[1:], (*whole.tokens[:3], *whole.tokens[4:])):
        shorter = replace(text, texts=(replace(whole, tokens=tokens),))
        with pytest.raises(TamperedError, match="text: "):
            require_same(certificate_that_states(text, rose_folder), shorter)


def test_what_other_runs_hold_is_not_compared(rose_folder):
    claim = claim_of(rose_folder, "float32")
    for change in ({"format": "bfloat16"}, {"hypotheses": "H1 to H4"}):
        compared, beside = require_same(certificate_that_states(claim, rose_folder, **change), claim)
        of_texts = {name for name in compared if name.startswith("text:")}
        assert not any(name.startswith("runs:") for name in compared) and "runs" in beside
        assert bool(of_texts) == ("text" not in beside) == ("format" not in change)


def test_of_every_other_statement_it_is_said_that_the_theorem_says_nothing(capitals_folder, tmp_path, monkeypatch):
    pretend(monkeypatch, tmp_path, "*proof.v) echo Axioms:; echo 'Classical_Prop.classic : forall P';;\n")
    stated = {statement.id for statement in Certificate.load(capitals_folder).statements}
    beside = check_by_coq(capitals_folder).summary()["beside"]
    assert set(beside) == stated - {"runs"} != set()


def test_a_text_or_a_number_that_the_theorem_does_not_have_is_refused(rose_folder):
    claim = claim_of(rose_folder, "float32")
    certificate = certificate_that_states(claim, rose_folder)
    with pytest.raises(TamperedError, match="states a text"):
        require_same(certificate, replace(claim, texts=(), vocabulary=()))
    certificate.statements[-1].values["lines"] = 1
    with pytest.raises(
        TamperedError, match=r"states 1 for text: values\.lines, and the theorem would be about nothing"
    ):
        require_same(certificate, claim)


def test_a_proof_that_fails_refutes_nothing(rose_folder):
    claim = claim_of(rose_folder, "float32")
    report = CoqReport(claim, 1000, "one of the facts 1 to 19 is not answered", (), "Coq 8.16.1", (), ())
    assert report.verdict is Verdict.UNDECIDED
    assert report.headline() == "NOT PROVED BY COQ: one of the facts 1 to 19 is not answered"


@needs_coq
@pytest.mark.slow
def test_the_command_proves_a_text_and_says_what_is_trusted(rose_folder, capsys):
    assert main(["check", str(rose_folder), "--coq", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["headline"].startswith("PROVED BY COQ: greedy decoding says a text of 18 bytes")
    assert set(report["axioms"]) <= set(AXIOMS) and any("semantics.v" in each for each in report["trusted"])


@needs_coq
@pytest.mark.slow
def test_a_memory_whose_runs_round_is_not_proved(tmp_path, capsys):
    folder = made(tmp_path, "capitals.csv", CAPITALS, "--no-header", memory="newton")
    capsys.readouterr()
    assert main(["check", str(folder), "--coq"]) == 3
    assert capsys.readouterr().out.startswith(
        "NOT PROVED BY COQ: of the facts that are tried first, not all are answered"
    )


@needs_coq
@pytest.mark.slow
def test_a_proof_that_assumes_the_claim_is_not_accepted(capitals_folder, monkeypatch):
    cheat = (
        "From Memory Require Import claim.\nAxiom cheat : claim.\nTheorem by_heart : claim.\nProof. exact cheat. Qed.\n"
    )
    cheating = {"proof.v": cheat + "Print Assumptions by_heart.\n"}
    monkeypatch.setattr(compiled, "proof_sources", lambda claim, native: cheating)
    report = check_by_coq(capitals_folder)
    assert report.verdict is Verdict.UNDECIDED and report.said.startswith("the proof rests on cheat besides")


@needs_native_code
@pytest.mark.slow
def test_native_code_proves_what_is_true_and_refuses_what_is_false(capitals_folder, monkeypatch):
    assert check_by_coq(capitals_folder, native=True).verdict is Verdict.PROVED
    true = claim_of(capitals_folder, "float32")
    (context, label), *others = true.facts
    false = replace(true, facts=(*others, (context, (label + 1) % true.outputs)))
    monkeypatch.setattr(compiled, "claim_of", lambda folder, number_format: false)
    report = check_by_coq(capitals_folder, native=True)
    assert report.verdict is Verdict.UNDECIDED and report.said.startswith(
        "of the facts that are tried first, not all are answered"
    )
