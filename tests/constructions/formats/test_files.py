"""Files are whole or absent."""

import os
from pathlib import Path

import pytest

from constructions.errors import FileFormatError, InputError
from constructions.formats.files import canonical_json, json_object, new_folder, refuse_existing, write_atomically


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.bin"
    write_atomically(path, b"old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_folder_does_not_appear(tmp_path, error):
    with pytest.raises(error), new_folder(tmp_path / "deep" / "out") as folder:
        (folder / "half").write_text("written")
        raise error
    assert list((tmp_path / "deep").iterdir()) == []


def test_an_existing_folder_is_refused_before_any_work(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="exists"), new_folder(tmp_path / "out"):
        pytest.fail("the block must not run")


def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="not a folder"), new_folder(tmp_path / "file" / "deep" / "out"):
        pytest.fail("the block must not run")


@pytest.mark.parametrize("name", ["n" * 300, "n" * 250, "deep/" + "n" * 300 + "/out"])
def test_a_name_that_is_too_long_for_a_folder_is_said_before_any_work(tmp_path, name):
    with pytest.raises(InputError, match="too long for a folder, expected a shorter one"), new_folder(tmp_path / name):
        pytest.fail("the block must not run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a file system that takes no folders")
@pytest.mark.parametrize("out", ["/proc/out", "/proc/deep/out"])
def test_a_file_system_that_takes_no_folders_is_named_without_a_temporary_name(out):
    with pytest.raises(InputError, match=f"^out: {out} cannot be made, as /proc is not a folder that") as refused:
        refuse_existing(Path(out), overwrite=False)
    assert "Errno" not in str(refused.value) and "/proc/." not in str(refused.value)


def test_overwrite_replaces_only_what_byheart_wrote(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="not written by byheart"), new_folder(out, overwrite=True):
        pytest.fail("the block must not run")
    (out / "certificate.json").write_text("{}")
    with new_folder(out, overwrite=True) as folder:
        (folder / "certificate.json").write_text("new")
    assert [p.name for p in out.iterdir()] == ["certificate.json"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_failed_overwrite_keeps_the_old_folder(tmp_path):
    out = tmp_path / "out"
    with new_folder(out) as folder:
        (folder / "certificate.json").write_text("old")
    with pytest.raises(ValueError, match="no"), new_folder(out, overwrite=True):
        raise ValueError("no")
    assert (out / "certificate.json").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_canonical_json_has_one_text_per_value():
    assert canonical_json({"b": 1, "a": [True, None]}) == canonical_json({"a": [True, None], "b": 1})
    with pytest.raises(InputError, match="canonical JSON"):
        canonical_json({"x": float("nan")})


def test_a_file_that_holds_no_object_of_json_is_named(tmp_path):
    path = tmp_path / "options.json"
    path.write_text('{"a": 1}')
    assert json_object(path, "options") == {"a": 1}
    for data, said in ((b"[1]", "holds list, expected options"), (b"{", "readable JSON"), (b"\xff", "readable JSON")):
        path.write_bytes(data)
        with pytest.raises(FileFormatError, match=f"options.json .*{said}"):
            json_object(path, "options")
    with pytest.raises(FileFormatError, match="readable JSON"):
        json_object(tmp_path / "none.json", "options")
