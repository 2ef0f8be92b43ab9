from pathlib import Path

import numpy as np
import pytest

from byheart.edited_runs import HOW, run_in_host
from byheart.editing import Edited, edit
from constructions.errors import InputError
from tests.edited_hosts import LENGTH, TOKENS, facts, gpt2


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Edited]:
    place = tmp_path_factory.mktemp("runs")
    source = gpt2(place / "m")
    return source, place / "out", edit(source, facts([[1, 2], [3, 4]], [0, 1]), keep_domain=LENGTH, out=place / "out")


def test_the_host_answers_in_every_type_as_it_was_proved(folders: tuple[Path, Path, Edited]) -> None:
    pytest.importorskip("transformers", reason="needs `pip install 'byheart[huggingface]'`")
    runs = run_in_host(*folders)
    assert [(run.dtype, run.attention) for run in runs] == list(HOW)
    for run in runs:
        assert (run.edited, run.asked, run.all_kept) == (2, 2, TOKENS**LENGTH - 2)
        assert run.kept == run.all_kept or run.dtype == "bfloat16"
        assert run.as_before == run.all_kept
    # run on the model before the edit it is another answer
    source, _, done = folders
    assert all(run.edited < 2 for run in run_in_host(source, source, done)[:1])


def test_a_host_that_is_not_there_is_named(folders: tuple[Path, Path, Edited], monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("byheart.edited_runs.import_module", missing)
    with pytest.raises(InputError, match="needs torch"):
        run_in_host(*folders)
    assert np.isfinite(folders[2].proof.kept.moved).all()
