"""A hash names the program that runs, and the files that there are, and nothing else."""

import pytest

from verify import program_text
from verify.program_text import files_sha256


def begun_anew(monkeypatch):
    """The hash in a process that begins now."""
    monkeypatch.setattr(program_text, "_BEGUN_WITH", program_text._program_now())
    return program_text.program_sha256()


@pytest.mark.parametrize("where", ["byheart", "constructions", "verify"])
def test_the_program_is_known_by_every_file_of_it_as_it_is_now(where, tmp_path, monkeypatch):
    for name in ("byheart", "constructions", "verify"):
        (tmp_path / name / "__pycache__").mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("")
    monkeypatch.setattr(program_text, "_TOP", tmp_path)
    found = {begun_anew(monkeypatch)}
    (tmp_path / where / "__pycache__" / "one.pyc").write_text("")
    (tmp_path / where / ".one.py.swp").write_text("")
    assert program_text.program_sha256() in found
    (tmp_path / where / "one.py").write_text("x = 1")
    found.add(begun_anew(monkeypatch))
    (tmp_path / where / "one.py").write_text("x = 2")
    found.add(begun_anew(monkeypatch))
    (tmp_path / where / "one.py").rename(tmp_path / where / "two.py")
    found.add(begun_anew(monkeypatch))
    assert len(found) == 4


def test_a_process_that_began_before_an_edit_runs_no_text_that_there_is(tmp_path, monkeypatch):
    for name in ("byheart", "constructions", "verify"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    monkeypatch.setattr(program_text, "_TOP", tmp_path)
    before = begun_anew(monkeypatch)
    (tmp_path / "verify" / "__init__.py").write_text("x = 1")
    hashes = [program_text.program_sha256() for _ in range(2)]
    assert len({before, *hashes, begun_anew(monkeypatch)}) == 4


def test_where_there_is_nothing_no_hash_is_found_twice(tmp_path):
    assert files_sha256(tmp_path / "nowhere") != files_sha256(tmp_path / "nowhere")
    assert files_sha256(tmp_path) != files_sha256(tmp_path)
    (tmp_path / "one").write_text("1")
    assert files_sha256(tmp_path) == files_sha256(tmp_path) != files_sha256(tmp_path / "one")
    before = files_sha256(tmp_path)
    (tmp_path / "empty").mkdir()
    assert files_sha256(tmp_path) != before
    (tmp_path / "folder").symlink_to(tmp_path)
    assert files_sha256(tmp_path) != files_sha256(tmp_path)  # what a link leads to is not looked at
