"""What the core calls by name is found, or named where it is missing; what is there and does not run is not hidden."""

import sys

import pytest

from constructions.errors import InputError
from constructions.plug_ins import plug_in, required_plug_in


@pytest.mark.parametrize("name", ["constructions.missing", "constructions.missing.deeper", "missing_altogether.module"])
def test_what_is_not_there_is_none_and_is_named_where_it_is_needed(name):
    assert plug_in(name) is None
    with pytest.raises(InputError, match=f"{name.replace('.', '/')}.py is not there"):
        required_plug_in(name)


def test_a_module_that_is_there_is_the_one_that_is_imported():
    import constructions.counted as counted

    assert plug_in("constructions.counted") is counted is required_plug_in("constructions.counted")


def test_an_error_in_a_plug_in_is_not_taken_for_its_absence(tmp_path, monkeypatch):
    (tmp_path / "own_plug_in.py").write_text("import a_module_that_nobody_has\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="a_module_that_nobody_has"):
        plug_in("own_plug_in")
    assert "own_plug_in" not in sys.modules
