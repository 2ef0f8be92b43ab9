"""`byheart claims`: the claims of the literature and the verdict on each."""

import json
import re

import pytest

from byheart.command.main import main
from verify.audit import NEEDED
from verify.claims import REGISTER, claim


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
    for phrase in ("printed", "verdict", "false", "true", "docs/claims/closed_forms.md", "--param"):
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
        labels = [line.strip() for line in capsys.readouterr().out.splitlines()]
        own, other = ("builds where", "true where")[:: 1 if said["parameters"] is not None else -1]
        assert sum(line.startswith(own) for line in labels) == len(said["hypotheses"])
        assert not any(line.startswith((other, "needs ")) for line in labels)
    sizes = ["--param", "d_vocab=5", "n_ctx=3", "d_model=4", "d_head=4", "n_heads=3"]
    assert main(["build", "dana.lemma-2", *sizes, "--out", str(tmp_path / "out")]) == 2
    assert "what is built for Dana, Pydi, Chevaleyre (2024), Lemma 2 needs" in capsys.readouterr().err
