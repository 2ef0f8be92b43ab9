"""Where a certificate was made."""

from verify.certificates.provenance import provenance


def test_the_software_and_the_arithmetic_are_named_in_texts():
    found = provenance()
    assert {"byheart", "python", "flint", "python-flint"} <= set(found)
    assert any(name.startswith("arithmetic: ") for name in found)
    assert all(isinstance(value, str) and value for value in found.values())
