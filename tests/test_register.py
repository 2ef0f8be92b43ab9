"""One battery over all claims of the register: each is complete, and each file belongs to a claim."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from constructions.claims import REGISTER, claim, claims, listing
from constructions.claims.claim import Claim
from constructions.errors import InputError
from verify.claims import theorems
from verify.claims.theorem import Theorem

ROOT = Path(__file__).parents[1]
SOURCES = {
    "dana": "Dana",
    "slides": "slides",
    "mahdavi": "Mahdavi",
    "zhang-2017": "Zhang",
    "madden-2024": "Madden",
    "huben-2023": "Huben",
    "bubeck-2020": "Bubeck",
    "vardi-2022": "Vardi",
    "kim-2023": "Kim",
    "kajitsuka-sato-2024": "Kajitsuka, Sato (2024)",
    "kajitsuka-sato-2025": "Kajitsuka, Sato (2025)",
    "nichani-2024": "Nichani",
    "cabannes-2024": "Cabannes",
}


SHARED = {
    "constructions/claims": {"claim"},
    "verify/claims": {
        "attended_tokens",
        "audit",
        "comparison",
        "encoder_bracket",
        "evidence",
        "exclusive_or",
        "formula",
        "held_labels",
        "largest_rank",
        "quantifier",
        "theorem",
        "theorems",
        "unread_heads",
        "words",
    },
}
THEOREMS = {name: found for name, found in vars(theorems).items() if isinstance(found, Theorem)}


def modules(folder: str) -> set[str]:
    return {path.stem for path in (ROOT / folder).glob("*.py") if path.stem != "__init__"}


def test_the_list_says_what_the_records_say() -> None:
    assert listing() == [found.listed() for found in claims()], "run python docs/register.py"
    assert [listed["id"] for listed in listing(["dana.lemma-3", "dana.lemma-2"])] == ["dana.lemma-2", "dana.lemma-3"]
    with pytest.raises(InputError, match=r"did you mean 'dana\.lemma-2'"):
        listing(["dana.lemma2"])


@pytest.mark.parametrize("id", REGISTER)
def test_a_claim_is_complete(id: str) -> None:
    found = claim(id)
    assert isinstance(found, Claim) and found.id == id
    assert SOURCES[id.split(".")[0]] in found.source
    for text in (found.title, found.printed, found.truth):
        assert len(text.split()) >= 2 and text.strip() == text
    assert (ROOT / found.page).is_file()


@pytest.mark.parametrize("id", REGISTER)
def test_the_page_of_a_claim_names_it(id: str) -> None:
    assert f"`{id}`" in (ROOT / claim(id).page).read_text(encoding="utf-8")


@pytest.mark.parametrize("id", REGISTER)
def test_the_parameters_of_a_claim_are_those_of_its_construction(id: str) -> None:
    found = claim(id)
    if found.build is None:
        assert not found.parameters
        return
    assert set(inspect.signature(found.build).parameters) == set(found.parameters)
    assert all(isinstance(value, int) for value in found.parameters.values())
    found.require(**found.parameters)


@pytest.mark.parametrize("id", REGISTER)
def test_a_claim_has_its_evidence(id: str) -> None:
    evidence = importlib.import_module(f"verify.claims.{claim(id).module}").evidence
    assert inspect.isgeneratorfunction(evidence)
    assert inspect.signature(evidence).parameters["full"].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("folder", ["constructions/claims", "verify/claims"])
def test_a_file_belongs_to_a_claim(folder: str) -> None:
    assert modules(folder) - SHARED[folder] == {found.module for found in claims()}


def test_claims_come_in_the_order_of_the_register_and_once() -> None:
    assert [found.id for found in claims()] == list(REGISTER)
    assert len(set(REGISTER)) == len(REGISTER)
    assert [found.id for found in claims([REGISTER[2], REGISTER[0], REGISTER[2]])] == [REGISTER[0], REGISTER[2]]


def test_an_unknown_claim_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no claim 'dana.lemma-0'; did you mean 'dana.lemma-[1-4]'"):
        claim("dana.lemma-0")


def test_every_theorem_that_the_evidence_uses_is_in_one_list() -> None:
    for path in (ROOT / "verify/claims").glob("*.py"):
        module = importlib.import_module(f"verify.claims.{path.stem}")
        for found in vars(module).values():
            assert not isinstance(found, Theorem) or found in THEOREMS.values()


@pytest.mark.parametrize("name", sorted(THEOREMS))
def test_a_theorem_is_proved_on_its_page(name: str) -> None:
    text = (ROOT / THEOREMS[name].page).read_text(encoding="utf-8")
    headings = [match.group(1) for match in re.finditer(r"^#+ +(.+?) *$", text, re.MULTILINE)]
    assert THEOREMS[name].heading in headings


@pytest.mark.parametrize("name", sorted(THEOREMS))
def test_the_judge_of_a_theorem_is_a_function_of_verify_by_its_name(name: str) -> None:
    module, _, function = THEOREMS[name].named_judge.rpartition(".")
    assert module.startswith("verify.") and not module.startswith("verify.claims.")
    found = getattr(importlib.import_module(module), function)
    assert inspect.isfunction(found) and found is THEOREMS[name].judge
    assert inspect.getsourcefile(found) == str(ROOT / Path(*module.split("."))) + ".py"


@pytest.mark.parametrize("id", REGISTER)
def test_a_decimal_in_a_claim_is_one_that_the_evidence_computes(id: str) -> None:
    """Small integers and short fractions of the instances aside, a number stands in a formula."""
    found = claim(id)
    if id.startswith("mahdavi."):
        return
    text = " ".join((found.printed, found.truth))
    for formula in found.formulas.values():
        text = text.replace(formula, " ")
    assert not re.findall(r"(?<![\w.(])\d+\.\d\d+", text)
