from pathlib import Path

import numpy as np
import pytest

from byheart.edited_page import cap_distances
from byheart.editing import edit
from byheart.hosts.reading import read_model
from tests.edited_hosts import LENGTH, TOKENS, answer, facts, gpt2
from tests.edited_models import edited


def test_the_page_says_what_was_asked_what_changed_what_did_not_and_that_deletion_hides(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    old = answer(read_model(source), [1, 2])
    new = facts([[1, 2], [3, 4]], [(old + 1) % TOKENS, 0])
    done = edit(source, new, keep_domain=LENGTH, out=tmp_path / "out")
    page = (tmp_path / "out" / "edit.html").read_text()
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
