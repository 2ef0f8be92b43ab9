"""Claims that are false, or about something else than they seem: Coq refuses each, and accepts the honest ones."""

import re

import pytest

from tests.machine_checked import accepts, capitals, compiled_library, needs_coq, rose, sources

pytestmark = [needs_coq, pytest.mark.slow]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compiled_library(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return sources(capitals(tmp_path_factory.mktemp("table")))


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return sources(rose(tmp_path_factory.mktemp("text")))


def with_a_second_entry(weight):
    """The table with a second entry of the stream that is always 0, and this weight on it: every label stays."""

    def change(claim):
        embeddings, rest = claim.split("\n  []\n")
        widened = re.sub(r"\[(-?\d+)\]", r"[\1; 0]", embeddings)
        readout = re.sub(r"Neuron \[(-?\d+)\]", r"Neuron [\1; 0]", rest)
        return f"{widened}\n  []\n{readout.replace('; 0]', f'; {weight}]', 1)}"

    return change


def replaced(pattern, by, count=1):
    def change(claim):
        changed, found = re.subn(pattern, by, claim, count=count, flags=re.DOTALL)
        assert found == count
        return changed

    return change


ATTACKS_ON_A_TABLE = {
    "a weight above the largest number": with_a_second_entry(2**140),
    "a weight that float32 does not hold": with_a_second_entry(2**24 + 1),
    "a token that the model does not have": replaced(r"\(\[3\], 3\)", "([7], 3)"),
    "two tokens for one position": replaced(r"\(\[3\], 3\)", "([3; 1], 3)"),
    "no token": replaced(r"\(\[3\], 3\)", "([], 3)"),
    "a wrong label": replaced(r"\(\[3\], 3\)", "([3], 2)"),
    "a label that is no logit": replaced(r"\(\[3\], 3\)", "([3], 5)"),
    "a row that is too short": replaced(r"\[\[-?\d+\];", "[[];"),
    "a row that is too long": replaced(r"\[\[(-?\d+)\];", r"[[\1; 1];"),
    "a neuron with two shifts": replaced(r"(Neuron \[-?\d+\]) \[(-?\d+)\]", r"\1 [\2; 0]"),
    "another number of logits": replaced(r"stored 1 5 facts", "stored 1 6 facts"),
    "more positions than there are": replaced(r"stored 1 5 facts", "stored 2 5 facts"),
    "a changed weight": replaced(r"Neuron \[16\] \[-16\]", "Neuron [16] [-48]"),
    "an exponential that need not vanish": replaced(r"far : Z := 1000", "far : Z := 1"),
    "a bound that is no bound": replaced(r"far : Z := 1000", "far : Z := -1"),
}

ATTACKS_ON_A_TEXT = {
    "a wrong letter": replaced(r'"a rose is a rose\.', '"a rose is a nose.'),
    "a letter less": replaced(r'"a rose is a rose\.', '"a rose is a rose'),
    "no end": replaced(r"; \d+\]\)\]%nat\.", "])]%nat."),
    "two ends": replaced(r"; (\d+)\]\)\]%nat\.", r"; \1; \1])]%nat."),
    "another token for the end": replaced(r"(float32 far stored \d+ \d+) 0 \d+ texts", r"\1 0 0 texts"),
    "a title that does not stay": replaced(r"(facts_of_texts) 0", r"\1 1"),
    "gaps of scores that are too small": replaced(r"far : Z := 1000", "far : Z := 1000000"),
    "an omitted character": replaced(r"(texts : list \(nat \* list nat\) := \[\(\d+, \[\d+); \d+", r"\1"),
}


def test_the_honest_claims_are_accepted(library, table, text):
    for files in (table, text):
        good, said = accepts(library, files)
        assert good, said


def test_a_weight_that_float32_holds_may_stand_on_an_entry_that_is_0(library, table):
    honest = {**table, "claim.v": with_a_second_entry(2**20)(table["claim.v"])}
    good, said = accepts(library, honest)
    assert good, said


@pytest.mark.parametrize("name", ATTACKS_ON_A_TABLE)
def test_a_false_claim_about_a_table_is_refused(library, table, name):
    false = ATTACKS_ON_A_TABLE[name](table["claim.v"])
    assert false != table["claim.v"]
    good, _ = accepts(library, {**table, "claim.v": false})
    assert not good


@pytest.mark.parametrize("name", ATTACKS_ON_A_TEXT)
def test_a_false_claim_about_a_text_is_refused(library, text, name):
    false = ATTACKS_ON_A_TEXT[name](text["claim.v"])
    assert false != text["claim.v"]
    good, _ = accepts(library, {**text, "claim.v": false})
    assert not good


def test_a_claim_compiles_before_it_is_refused(library, table):
    """So that what refuses it is the proof and not a slip in the attack."""
    for name, change in ATTACKS_ON_A_TABLE.items():
        good, said = accepts(library, {"claim.v": change(table["claim.v"])})
        assert good, f"{name}: {said}"
