"""Claims that are false, or about something else than they seem: Coq refuses each, and accepts the honest ones."""

import re
import shutil

import pytest

from byheart.coq.library import LIBRARY, library_sources
from tests.machine_checked import accepts, capitals, compiled_library, coqc, needs_coq, rose, sources

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
    "a bound that is not a bound": replaced(r"far : Z := 1000", "far : Z := -1"),
}

ATTACKS_ON_A_TEXT = {
    "a wrong letter": replaced(r'"a rose is a rose\.', '"a rose is a nose.'),
    "a letter less": replaced(r'"a rose is a rose\.', '"a rose is a rose'),
    "no end": replaced(r"; \d+\]\)\]%nat\.", "])]%nat."),
    "two ends": replaced(r"; (\d+)\]\)\]%nat\.", r"; \1; \1])]%nat."),
    "another token for the end": replaced(r"(float32 far stored \d+ \d+) 0 \d+ texts", r"\1 0 0 texts"),
    "a title that does not stay": replaced(r"(facts_of_texts) 0", r"\1 1"),
    "gaps of scores that are too small": replaced(r"far : Z := 1000", "far : Z := 1000000"),
    "a coarser scale, so that scores are nearer": replaced(
        r"stored : model := Model \d+", "stored : model := Model 12"
    ),
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


ATTACKS_ON_A_PROOF = {
    "the last fact is in no piece": {
        "answers_0.v": ("piece 1000", "piece 4"),
        "proof.v": ("stored 1000 1", "stored 4 1"),
    },
    "there are fewer pieces than are needed": {"proof.v": ("stored 1000 1", "stored 1000 0")},
}


@pytest.mark.parametrize("name", ATTACKS_ON_A_PROOF)
def test_a_proof_that_leaves_something_out_is_refused(library, table, name):
    """Where pieces are only mixed up, the kernel evaluates the facts once more, and the proof is one."""
    files = dict(table)
    for file, (original, other) in ATTACKS_ON_A_PROOF[name].items():
        assert original in files[file]
        files[file] = files[file].replace(original, other)
    good, _ = accepts(library, files)
    assert not good


def test_a_claim_compiles_before_it_is_refused(library, table):
    """So that what refuses it is the proof and not a slip in the attack."""
    for name, change in ATTACKS_ON_A_TABLE.items():
        good, said = accepts(library, {"claim.v": change(table["claim.v"])})
        assert good, f"{name}: {said}"


WEAKENED = {
    "only positive terms are bounded": (
        "checker.v",
        "((p <=? limit c) && (n <=? limit c))%Z then true",
        "(p <=? limit c)%Z then true",
    ),
    "units may be larger than terms": (
        "checker.v",
        "forallb (fun z => Z.shiftl (Z.shiftr z j) j =? z) l &&",
        "true &&",
    ),
    "an error need not count the roundings": ("checker.v", "(Z.shiftr (count * size) (prec", "(Z.shiftr size (prec"),
    "a sum that is near may overflow": ("checker.v", " && (2 * size <=? reach c))%Z then Some", ")%Z then Some"),
    "what is near is taken for exact": ("checker.v", "if forallb is_point l then sum_z", "if true then sum_z"),
    "any neurons differ by their shifts": (
        "layers.v",
        "if forallb (fun p => fst p =? snd p)%Z",
        "if forallb (fun p => true)",
    ),
    "a difference need not count the roundings": (
        "layers.v",
        "Some (Z.min 0 (d - r), Z.max 0 (d + r))%Z",
        "Some (Z.min 0 d, Z.max 0 d)%Z",
    ),
    "a score is far below if it is below": ("heads.v", "(a + distance c <=? m)", "(a <=? m)"),
    "any number of rows is averaged": ("heads.v", "(w * z =? one c * one c)", "true"),
    "values may be of any size": ("heads.v", " && forallb (value_fits n bound) vs.", "."),
    "a row is taken for another one": ("network.v", "if same_row a r then Some b", "if true then Some b"),
    "a pattern of other keys is taken": ("network.v", "if same_rows (fst m) ks then snd m else []", "snd m"),
    "the second way of an average is not looked at": (
        "heads.v",
        "then Some o else None\n                      | _, _",
        "then Some o else Some t\n                      | _, _",
    ),
    "a tie wins": ("facts.v", "(snd p <? a)%Z && wins", "(snd p <=? a)%Z && wins"),
    "a weight may be of any size": ("facts.v", "&& (Z.abs z <=? 2 ^ (safe f - 1))", "&& true"),
    "a weight may have any number of digits": ("facts.v", "(Z.abs (Z.shiftr z j) <=? 2 ^ precision f)", "true"),
    "the end may come before": ("facts.v", "=> negb (t =? last_token)%nat && ends_once_z", "=> ends_once_z"),
    "terms may be left out of a sum": ("semantics.v", "      a * b = 0 -> sum_run l' x.", "      sum_run l' x."),
    "a result need not be one of the neighbours": ("semantics.v", "(x <= g -> r <= g)", "(x <= g -> r <= g + 1)"),
    "the exponential need not vanish": ("semantics.v", "exponential x y -> y = Some 0).", "exponential x y -> True)."),
}


@pytest.mark.parametrize("name", WEAKENED)
def test_no_part_of_the_library_can_be_weakened(library, tmp_path, name):
    """Of the checker, so that it accepts more; of the semantics, so that there are more runs: a proof fails."""
    file, original, weaker = WEAKENED[name]
    place = tmp_path / "weakened"
    shutil.copytree(library, place)
    source = place / LIBRARY / file
    text = source.read_text(encoding="utf-8")
    assert text.count(original) == 1
    source.write_text(text.replace(original, weaker), encoding="utf-8")
    names = list(library_sources())
    runs = (coqc(place, f"{LIBRARY}/{each}") for each in names[names.index(file) :])
    assert any(run.returncode != 0 for run in runs)
