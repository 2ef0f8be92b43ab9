"""`byheart claims`: the claims of the literature and the verdict on each."""

import json
import re
from pathlib import Path

import pytest

from byheart.cli.main import main
from constructions.named.registry import names
from verify.theorems.audit import NEEDED
from verify.theorems.claims import REGISTER, claim

ROOT = Path(__file__).parents[3]


def test_claims_are_listed_with_their_verdicts(capsys):
    assert main(["claims", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [claim["id"] for claim in listed] == list(REGISTER)
    assert {claim["verdict"] for claim in listed} <= set(NEEDED)
    assert main(["claims"]) == 0
    assert "dana.lemma-2" in capsys.readouterr().out


def test_a_claim_is_shown_in_full(capsys):
    assert main(["claims", "dana.lemma-2"]) == 0
    printed = capsys.readouterr().out
    for phrase in ("printed", "verdict", "false", "true", "docs/claims/closed_forms.md", "--contexts"):
        assert phrase in printed


@pytest.mark.parametrize("command", ["claims", "audit"])
def test_an_unknown_claim_is_refused_before_any_work(command, capsys):
    assert main([command, "dana.lemma-2", "dana.lemma-99"]) == 2
    assert "no claim 'dana.lemma-99'; did you mean 'dana.lemma-" in capsys.readouterr().err


def test_every_listing_says_what_is_no_statement_and_what_was_not_read_in_full(capsys):
    assert main(["claims"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert main(["claims", *REGISTER]) == 0
    full = " ".join(capsys.readouterr().out.split())
    for record in map(claim, REGISTER):
        words = [record.judgement]
        words += [record.kind] if record.kind in ("remark", "summary", "fit") else []
        words += ["not read in full"] if record.reconstructed else []
        assert f"{record.id} {', '.join(words)}: " in listed
        [mine] = re.findall(rf" {re.escape(record.id)}: {re.escape(record.title)} source (.*?) page docs/", full)
        assert f" verdict {', '.join(words)} " in mine
        assert (" in its words " in mine, " not at hand " in mine) == (
            bool(record.quotation),
            bool(record.reconstructed),
        )


def test_conditions_are_said_to_be_those_of_what_is_built_or_of_what_is_true(tmp_path, capsys):
    assert main(["claims", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    for said in listed:
        if not said["hypotheses"]:
            continue
        assert main(["claims", said["id"]]) == 0
        labels = [line[2:].split("  ")[0] for line in capsys.readouterr().out.splitlines()]
        if said["id"] in names():  # a construction builds it, which says itself what it needs
            assert "builds" in labels and not {"builds where", "true where"} & set(labels)
            continue
        own, other = ("builds where", "true where")[:: 1 if said["parameters"] is not None else -1]
        assert labels.count(own) == len(said["hypotheses"])
        assert other not in labels and "needs" not in labels
    sizes = ["--param", "d_head=3"]
    assert main(["build", "dana.proposition-3", *sizes, "--out", str(tmp_path / "out")]) == 2
    assert "what is built for Dana, Pydi, Chevaleyre (2024), Proposition 3 needs" in capsys.readouterr().err


def chosen(capsys, *words: str) -> list[str]:
    assert main(["claims", "--json", *words]) == 0
    return [said["id"] for said in json.loads(capsys.readouterr().out)]


@pytest.mark.parametrize(
    ("words", "selects"),
    [
        (["dana"], lambda said: said.id.startswith("dana.")),
        (["DANA.*"], lambda said: said.id.startswith("dana.")),
        (["*.theorem-?"], lambda said: re.fullmatch(r".*\.theorem-\d", said.id)),
        (["dana.lemma-2"], lambda said: said.id == "dana.lemma-2"),
        (["Chevaleyre"], lambda said: "Chevaleyre" in said.source),
        (["theorem  1"], lambda said: re.search(r"\bTheorem 1\b", said.source)),
        (["hsu", "dana.lemma-1"], lambda said: said.id in ("dana.lemma-1", "hsu-2026.parity-heads")),
        (["--verdict", "false"], lambda said: said.judgement == "false"),
        (["--verdict", "false", "--verdict", "slip"], lambda said: said.judgement in ("false", "slip")),
        (["slides", "--verdict", "hypothesis"], lambda said: "slides." in said.id and said.judgement == "hypothesis"),
        (["--kind", "fit"], lambda said: said.kind == "fit"),
    ],
)
def test_words_and_filters_select_claims_in_the_order_of_the_register(capsys, words, selects):
    assert chosen(capsys, *words) == [id for id in REGISTER if selects(claim(id))] != []


def test_a_place_is_found_in_every_source_alone_or_among_others(capsys):
    for number, mine in ((2, {"dana.lemma-2"}), (3, {"dana.lemma-3"}), (4, {"dana.lemma-4"}), (5, set())):
        found = chosen(capsys, f"Lemma {number}")
        assert {*mine, "mahdavi.lemmas-1-5"} <= set(found)
        others = set(found) - {"mahdavi.lemmas-1-5"}
        assert all(re.search(rf"\bLemma {number}\b", claim(id).source) for id in others)
    assert chosen(capsys, "Claim 2") == ["mahdavi.claims-1-2"]


@pytest.mark.parametrize("word", ["danna", "lema-2", "Lemma 99", "dana.x*", "", " ", "("])
@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"], ["--latex"], ["--verdict", "false"]])
def test_a_word_that_matches_nothing_is_refused(capsys, word, form):
    assert main(["claims", "dana", *form, word]) == 2
    said = capsys.readouterr()
    assert f"no claim {word!r}; " in said.out + said.err
    assert ("did you mean 'dana" in said.out + said.err) == (len(word) > 1)


def test_a_verdict_is_no_word(capsys):
    assert main(["claims", "--verdict", "false", "slip"]) == 2
    assert "`--verdict slip` selects by verdict" in capsys.readouterr().err


def test_filters_that_leave_nothing_say_so(capsys):
    assert main(["claims", "hsu", "--verdict", "holds"]) == 0
    assert capsys.readouterr().out == "0 claims\n"
    assert chosen(capsys, "hsu", "--verdict", "holds") == []


def test_one_claim_is_shown_in_full_and_several_as_a_list(capsys):
    assert main(["claims", "hsu"]) == 0
    assert "  verdict " in capsys.readouterr().out
    assert main(["claims", "slides"]) == 0
    assert "  verdict " not in capsys.readouterr().out


def test_a_claim_says_first_its_words_then_what_is_true_what_is_wrong_how_it_is_read_and_what_is_built(capsys):
    order = ["source", "verdict", "in its words", "what is true", "what is wrong", "what is printed", "how it is read"]
    order += ["what was not at hand", "builds"]
    assert main(["claims", *REGISTER]) == 0
    for said in re.split(r"^(?=\S+\.\S+: )", capsys.readouterr().out, flags=re.MULTILINE)[1:]:
        labels = [label for label in re.findall(r"^  (\S+(?: \S+)*)  ", said, re.MULTILINE) if label in order]
        assert labels == sorted(labels, key=order.index)
        assert {"source", "verdict", "what is true", "builds"} <= set(labels)


@pytest.mark.parametrize("form", ["--csv", "--latex"])
def test_tables_are_written_for_the_claims_that_are_asked_for(capsys, form):
    assert main(["claims", form, "dana", "--verdict", "false"]) == 0
    said = capsys.readouterr().out
    assert "dana." in said and "XOR" in said and "slides." not in said
    assert ("longtable" in said) == (form == "--latex")


def test_what_is_false_is_listed_with_its_counterexample_and_with_what_is_true_in_its_place(capsys):
    assert main(["claims", "--verdict", "false"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    rows = (ROOT / "docs" / "register.md").read_text(encoding="utf-8")
    for record in (record for record in map(claim, REGISTER) if record.judgement == "false"):
        counterexample, _, truth = record.wrong.partition("; true ")
        assert re.search(r"\d|XOR", counterexample) and len(truth) > 20, record.id
        assert f"{record.id} false: {record.title}: {' '.join(record.wrong.split())}" in listed
        [row] = [
            row for row in rows.splitlines() if row.startswith("| ") and f"](#{record.id.replace('.', '')}): " in row
        ]
        assert "; true " in row
