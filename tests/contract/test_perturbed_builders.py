"""One battery over all claims: where a builder that a claim imports returns another thing, no verdict is confirmed.

Each builder is changed in the ways of `tests/perturbed.py`, one after the other, until the audit notices: what it
returns says something of the claim if one of them does, and of weights in general position not every one can.
"""

import importlib
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest

from tests.perturbed import PERTURBATIONS, NoNumberError
from verify.theorems.audit import Audit
from verify.theorems.claims import REGISTER, claim, module_of
from verify.verdict import Verdict

WITHOUT_NUMBERS = {"counted", "tensor_fields"}
"""Functions that return words or the names of tensors."""

CHANGED_ALIKE = {("madden-2024.lower", "as_rationals"): "two means are compared with one another and nothing else"}
"""What no change of the same kind in all that a builder returns can show."""

LONG = {
    "dana.corollary-1", "dana.corollary-2", "dana.definition-2", "dana.lemma-1", "dana.lemma-2", "dana.lemma-3",
    "dana.proposition-1", "dana.proposition-2", "dana.proposition-3", "dana.skip-head", "dana.theorem-1",
    "dana.theorem-1-parameters", "dana.theorem-1-tail", "dana.theorem-2", "dana.theorem-2-simple", "dana.theorem-3",
    "mahdavi.appendix-h", "mahdavi.assumptions", "mahdavi.proposition-1", "mahdavi.theorem-1",
    "slides.associative-memory", "slides.least-squares", "slides.low-entropy", "slides.quality", "slides.theorem",
    "slides.weighted-least-squares",
}  # fmt: skip
"""Claims whose audit takes some tenths of a second, and longer with all that is changed."""


def builders_of(id: str) -> dict[str, Callable[..., Any]]:
    """The functions of the wing that builds which the file of a claim imports, by the names that it calls them by."""
    return {
        name: found
        for name, found in vars(importlib.import_module(module_of(id))).items()
        if inspect.isfunction(found) and found.__module__.startswith("constructions.") and name not in WITHOUT_NUMBERS
    }


def confirmed(id: str) -> bool:
    """Whether the audit confirms a claim; it ends with the first piece of evidence that is not proved, or raises."""
    found = []
    try:
        for piece in importlib.import_module(module_of(id)).evidence(full=False):
            if piece.verdict is not Verdict.PROVED:
                return False
            found.append(piece)
    except Exception:  # of any kind: the audit calls the rest of the evidence undecided then
        return False
    return Audit(claim(id), tuple(found), 0.0).confirmed


def unnoticed(id: str, name: str, patch: pytest.MonkeyPatch) -> bool:
    """Whether the claim is confirmed whatever is changed in what a builder returns; false if nothing calls it."""
    build = builders_of(id)[name]
    for perturbed in PERTURBATIONS:
        calls: list[bool] = []

        @wraps(build)
        def changed(*args: Any, perturbed: Any = perturbed, calls: list[bool] = calls, **options: Any) -> Any:
            value = build(*args, **options)
            try:
                value, has_number = perturbed(value), True
            except NoNumberError:
                has_number = False
            calls.append(has_number)
            return value

        with patch.context() as patched:
            patched.setattr(importlib.import_module(module_of(id)), name, changed)
            still = confirmed(id)
        if not calls or not still:
            return False
    return True


@pytest.mark.parametrize("id", [pytest.param(id, marks=[pytest.mark.slow] * (id in LONG)) for id in REGISTER])
def test_a_claim_is_not_confirmed_of_what_another_builder_builds(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    alike = [name for claim_id, name in CHANGED_ALIKE if claim_id == id]
    assert [name for name in builders_of(id) if unnoticed(id, name, monkeypatch)] == alike


def test_a_builder_of_which_nothing_depends_is_noticed_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is called and whose result is thrown away is what the battery looks for."""
    from constructions.tasks.arrays import all_contexts

    [id] = [id for id in REGISTER if module_of(id).endswith(".dana_definition_1")]
    module = importlib.import_module(module_of(id))
    before = module.evidence

    def evidence(*, full: bool) -> Any:
        vars(module)["all_contexts"](2, 2)
        yield from before(full=full)

    monkeypatch.setattr(module, "evidence", evidence)
    monkeypatch.setattr(module, "all_contexts", all_contexts, raising=False)
    assert unnoticed(id, "all_contexts", monkeypatch)
