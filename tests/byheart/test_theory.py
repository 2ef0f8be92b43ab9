"""The folders of the theorems: what is missing is named, and what needs them is not loaded."""

import pytest

from byheart import theory


def test_all_folders_are_there_and_lead_to_the_interface():
    assert theory.missing_folders() == []
    assert theory.theorems("audit").audit_claims.__name__ == "audit_claims"


def test_without_one_folder_nothing_of_the_interface_to_the_theorems_is_loaded(monkeypatch):
    monkeypatch.setattr(theory, "FOLDERS", (*theory.FOLDERS, "constructions.not_there"))
    assert theory.missing_folders() == ["constructions.not_there"] and theory.theorems("audit") is None


@pytest.mark.parametrize("folder", theory.FOLDERS)
def test_a_missing_module_is_traced_to_its_folder(folder):
    for module in (folder, f"{folder}.some.module"):
        assert str(theory.lost(module)).startswith(f"{folder.replace('.', '/')} is not there, expected a whole copy")


@pytest.mark.parametrize("module", [None, "json", "constructions", "constructions.model", "verify.theoremsx"])
def test_another_missing_module_is_none_of_theirs(module):
    assert theory.lost(module) is None
