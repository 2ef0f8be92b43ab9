import json
from pathlib import Path

import pytest

from byheart.editing import edit
from byheart.hosts.reading import read_model
from tests.edited_hosts import LENGTH, TOKENS, answer, facts, gpt2
from verify import Verdict
from verify.edits.proof import check_edit


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_edited_folder_is_the_hosts_and_carries_its_proof(tmp_path: Path, dtype: str) -> None:
    source = gpt2(tmp_path / "m", dtype=dtype)
    before = read_model(source)
    new = facts([[0, 1], [3, 3]], [(answer(before, [0, 1]) + 1) % TOKENS, (answer(before, [3, 3]) + 2) % TOKENS])
    old = facts([[5, 6]], [answer(before, [5, 6])])
    done = edit(source, new, delete=old, keep_domain=LENGTH, out=tmp_path / "out")
    assert done.certificate.verdict is Verdict.PROVED and done.dtype == dtype
    after = read_model(tmp_path / "out")
    assert after.sha256() == done.model.sha256()
    assert [answer(after, row) for row in new.contexts.tolist()] == new.labels.tolist()
    assert answer(after, [5, 6]) != old.labels[0]
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["n_inner"] == 35 and config["dtype"] == dtype
    assert (tmp_path / "out" / "merges.txt").is_file()
    assert check_edit(tmp_path / "out" / "proof").verdict is Verdict.PROVED
    again = edit(tmp_path / "out", facts([[2, 2]], [0]), keep_domain=LENGTH, out=tmp_path / "twice")
    assert again.certificate.verdict is Verdict.PROVED
