"""Folders and pages that a command reads or names."""

from pathlib import Path

import pytest

from byheart.terminal.places import file_of_page, require_folder
from constructions.errors import InputError


def test_what_holds_no_weights_and_no_certificate_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"nothing. is not a byheart folder \(run `byheart memorize` first\)$"):
        require_folder(tmp_path / "nothing")
    with pytest.raises(InputError, match="is not a byheart folder"):
        require_folder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"")
    require_folder(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"is a model without a certificate; `byheart certify .* --task FILE --out"):
        require_folder(tmp_path)
    (tmp_path / "parity.json").write_text("{}")
    with pytest.raises(
        InputError, match=r"was exported, without a certificate: .* parity\.json again; `byheart certify "
    ):
        require_folder(tmp_path)
    (tmp_path / "proof").mkdir()
    (tmp_path / "proof" / "certificate.json").write_text("{}")
    require_folder(tmp_path, beside=True)
    with pytest.raises(InputError, match=r"was exported, .* proved of it lies in \S+/proof, which this command takes"):
        require_folder(tmp_path)
    (tmp_path / "proof" / "certificate.json").rename(tmp_path / "certificate.json")
    require_folder(tmp_path)


def test_a_page_is_named_where_it_lies(tmp_path, monkeypatch):
    root = Path(__file__).parents[3]
    monkeypatch.chdir(root)
    assert file_of_page("docs/audit.md") == "docs/audit.md"
    monkeypatch.chdir(tmp_path)
    assert file_of_page("docs/audit.md") == str(root / "docs/audit.md")
    assert file_of_page("docs/nothing.md") == "docs/nothing.md, of the source"
    assert file_of_page("https://example.org/a.md") == "https://example.org/a.md"
