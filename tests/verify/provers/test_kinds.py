"""The provers of the kinds of statement: one for each kind of the kernel, found by its name and by nothing else."""

from pathlib import Path

import pytest

from constructions.errors import InputError
from verify.kernel.kinds import find_statement
from verify.provers.kinds import find_prover, read_kinds


def test_each_kind_of_the_kernel_has_a_prover_of_its_name():
    names = {path.stem.replace("_", "-") for path in Path("verify/kernel").glob("*.py")}
    kinds = {name for name in names if find_statement(name) is not None}
    assert len(kinds) > 9 and {find_prover(kind).ID for kind in kinds} == kinds


@pytest.mark.parametrize("id", ["halts", "evaluation", "kinds", "__init__", "", "../verdict", "a\0b", "Answers"])
def test_what_is_no_kind_has_no_prover(id):
    assert find_prover(id) is None


def test_no_folder_replaces_a_prover_and_what_cannot_be_run_is_named(tmp_path):
    (tmp_path / "provers").mkdir()
    (tmp_path / "provers" / "answers.py").write_text('ID = "answers"\n')
    (tmp_path / "provers" / "few.py").write_text("import nothing_of_this_name\n")
    assert find_prover("answers", tmp_path) is find_prover("answers")
    assert find_prover("many", tmp_path) is None
    with pytest.raises(InputError, match=r"few\.py the module cannot be run: No module named"):
        find_prover("few", tmp_path)
    with pytest.raises(InputError, match="has no file of a kind of statement"):
        read_kinds(tmp_path)
    assert read_kinds(None) == []
