"""The lists of mutants: each change can be made, and the tests that have to notice it are there."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LISTS = sorted(path.stem for path in (ROOT / "tests" / "mutants").glob("*.py") if path.stem not in ("__init__", "run"))


@pytest.mark.parametrize("name", LISTS)
def test_what_a_mutant_changes_occurs_once_and_its_tests_are_there(name):
    sources = {}
    for mutant in importlib.import_module(f"tests.mutants.{name}").MUTANTS:
        source = sources.setdefault(mutant.file, (ROOT / mutant.file).read_text(encoding="utf-8"))
        assert source.count(mutant.original) == 1, (mutant.file, mutant.original)
        assert mutant.original != mutant.mutated, (mutant.file, mutant.original)
        for test in mutant.tests.split():
            file, _, function = test.partition("::")
            text = sources.setdefault(file, (ROOT / file).read_text(encoding="utf-8"))
            assert not function or re.search(rf"^def {re.escape(function.partition('[')[0])}\(", text, re.M), test


def test_no_mutant_is_listed_twice_for_the_same_tests():
    changes = [
        (mutant.file, mutant.original, mutant.mutated, mutant.tests)
        for name in LISTS
        for mutant in importlib.import_module(f"tests.mutants.{name}").MUTANTS
    ]
    assert len(set(changes)) == len(changes) > 1000
