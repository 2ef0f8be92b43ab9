"""Where a certificate was made."""

import json

from verify.certificates import provenance as module
from verify.certificates.provenance import all_that_judges, provenance


def test_the_software_and_the_arithmetic_are_named_in_texts():
    found = provenance()
    assert {"byheart", "python", "flint", "python-flint"} <= set(found)
    assert any(name.startswith("arithmetic: ") for name in found)
    assert all(isinstance(value, str) and value for value in found.values())


def test_all_that_judges_is_the_program_the_arithmetic_and_every_library(monkeypatch):
    found = all_that_judges()
    assert json.loads(json.dumps(found)) == found == all_that_judges()
    for name, value in (("program_sha256", ""), ("provenance", {"arithmetic: threads": ""}), ("_installed", {})):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, lambda value=value: value)
            assert all_that_judges() != found
    some, many = ({**provenance(), "arithmetic: threads": threads} for threads in ("2", "64"))
    monkeypatch.setattr(module, "provenance", some.copy)
    assert all_that_judges() == found
    monkeypatch.setattr(module, "provenance", many.copy)
    assert all_that_judges() == found
    assert {"numpy", "scipy", "python-flint"} <= set(found["installed"])
