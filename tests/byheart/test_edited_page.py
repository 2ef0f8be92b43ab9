import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.edited_page import cap_distances, require_edit_page_made_again
from byheart.editing import edit
from byheart.hosts.reading import read_model
from constructions.errors import FileFormatError, TamperedError
from constructions.formats.files import canonical_json
from tests.edited_hosts import LENGTH, TOKENS, answer, facts, gpt2
from tests.edited_models import edited

Forge = Callable[[Path], Any]


def test_the_page_says_what_was_asked_what_changed_what_did_not_and_that_deletion_hides(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    old = answer(read_model(source), [1, 2])
    new = facts([[1, 2], [3, 4]], [(old + 1) % TOKENS, 0])
    done = edit(source, new, keep_domain=LENGTH, out=tmp_path / "out")
    page = (tmp_path / "out" / "edit.html").read_text()
    assert repr(done) == done.certificate.headline()
    assert f"<h1>{done.certificate.headline()}" in page and "Deletion hides and does not unlearn" in page
    assert f"<tr><td>1 2</td><td>{old}</td><td>{(old + 1) % TOKENS}</td></tr>" in page
    assert "2 neurons more in the last layer" in page and "Inside of a cap nothing is claimed" in page
    assert page.count("<svg") == 1 and page.count("the cap, up to") == 2 and "<script" not in page
    early = edit(source, new, keep_domain=LENGTH, layer=0, out=tmp_path / "early")
    page = (tmp_path / "early" / "edit.html").read_text()
    assert early.certificate.layer == 0 and "What follows an edited context may change" in page
    assert "neither edited nor kept nothing is claimed" in page


@pytest.mark.parametrize("layer", [None, 0])
def test_on_the_map_the_edited_row_lies_in_its_cap_and_all_others_beyond_the_rim(layer: int | None) -> None:
    done = edited(layer=layer)
    own, rim, nearest, others = cap_distances(done.model, done.edit, layer, np.arange(5))
    assert (own < rim).all() and (rim < nearest).all()
    assert others.shape[0] == 5 and others.shape[1] >= 200
    assert (others.min(axis=1) >= nearest * (1 - 1e-4)).all()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Edits of a model whose weights stay, and of one whose weights are rounded."""
    top = tmp_path_factory.mktemp("edits")
    source = gpt2(top / "m")
    new = facts([[1, 2], [3, 4]], [(answer(read_model(source), row) + 1) % TOKENS for row in ([1, 2], [3, 4])])
    edit(source, new, keep_domain=LENGTH, out=top / "plain")
    edit(source, new, keep_domain=LENGTH, dtype="bfloat16", out=top / "rounded")
    return top


@pytest.fixture(params=["plain", "rounded"])
def folder(request: pytest.FixtureRequest, folders: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folders / request.param, tmp_path / "out"))


def replaced(name: str, old: str, new: str) -> Forge:
    def forge(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return forge


def fields(change: Callable[[dict[str, Any]], Any]) -> Forge:
    def forge(folder: Path) -> None:
        data = json.loads((folder / "measured.json").read_text())
        change(data)
        (folder / "measured.json").write_text(canonical_json(data) + "\n")

    return forge


FORGED = {
    "another first line": replaced("edit.html", "2 of 2 edits", "9 of 9 edits"),
    "another count": replaced("edit.html", "kept contexts keep", "contexts keep"),
    "another sentence": replaced("edit.html", "Inside of a cap nothing", "Inside of a cap the same"),
    "one sentence more": replaced("edit.html", "</main>", "<p>No other context ever changes.</p></main>"),
    "an empty page": lambda folder: (folder / "edit.html").write_text(""),
    "other names": fields(lambda data: data["tokens"].update({"1": "one"})),
    "another map": fields(lambda data: data["caps"][0].update(rim=0.001)),
}
DAMAGED = {
    "no JSON": replaced("measured.json", "{", "["),
    "spaces": replaced("measured.json", ",", ", "),
    "no number": replaced("measured.json", '"own":', '"own":NaN,"more":'),
    "another version": fields(lambda data: data.update(version=2)),
    "a field more": fields(lambda data: data.update(headline="EDITED, PROVED")),
    "a word for a number": fields(lambda data: data["caps"][0].update(rim="far")),
    "no such context": fields(lambda data: data["caps"][0].update(context=99)),
    "a name less": fields(lambda data: data["tokens"].pop("1")),
    "nothing noted": lambda folder: (folder / "measured.json").unlink(),
}


@pytest.mark.parametrize("name", FORGED)
def test_another_page_ends_with_1(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name == "another sentence" and "Inside of a cap" not in (folder / "edit.html").read_text():
        pytest.skip("nothing is claimed outside of the caps either")
    FORGED[name](folder)
    assert main(["check", str(folder), "--fast", "--quiet"]) == 1
    assert "edit.html is not the page" in capsys.readouterr().err


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_noted_and_damaged_ends_with_2(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    DAMAGED[name](folder)
    assert main(["check", str(folder), "--fast", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "measured.json" in said and "Traceback" not in said


@pytest.mark.parametrize("options", [[], ["--fast"]])
def test_the_page_as_it_was_written_is_made_again(folder: Path, options: list[str]) -> None:
    assert main(["check", str(folder), "--quiet", *options]) == 0
    (folder / "edit.html").unlink()
    assert main(["check", str(folder), "--quiet", *options]) == 0


def test_a_page_that_names_changed_contexts_is_made_again(tmp_path: Path) -> None:
    source, out = gpt2(tmp_path / "m", seed=3), tmp_path / "out"
    new = facts([[1, 2]], [(answer(read_model(source), [1, 2]) + 1) % TOKENS])
    done = edit(source, new, keep_domain=3, dtype="bfloat16", out=out)
    page = (out / "edit.html").read_text()
    assert done.changed() and f"with another answer, {len(done.changed())} in all: {done.changed()[0]};" in page
    require_edit_page_made_again(out, out / "proof", "bfloat16")
    (out / "edit.html").write_text(page.replace("with another answer, ", "with another answer, 1"))
    with pytest.raises(TamperedError, match=r"edit\.html"):
        require_edit_page_made_again(out, out / "proof", "bfloat16")
    (out / "measured.json").unlink()
    with pytest.raises(FileFormatError, match=r"without measured\.json"):
        require_edit_page_made_again(out, out / "proof", "bfloat16")
