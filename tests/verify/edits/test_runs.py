"""What every run of an edited model answers: stated, proved again, and found out where it is more than is so."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.editing import Edited
from constructions.errors import FileFormatError, InputError
from tests.corpus.forging import rewrite
from tests.edited_models import TOKENS as WORDS
from tests.edited_models import edited
from verify.edits.certificate import EditCertificate, EditRuns
from verify.edits.runs import answered_in_every_run, state_edit_runs
from verify.provers.edit import check_edit, edit_in_every_run, save_edit
from verify.verdict import Verdict


@pytest.fixture(scope="module")
def done() -> Edited:
    made = edited(edits=3, kind="rms", activation="relu")
    runs = edit_in_every_run(made.model, made.edit, made.proof, dtype="float32")
    return replace(made, certificate=replace(made.certificate, runs=runs))


@pytest.fixture
def folder(done: Edited, tmp_path: Path) -> Path:
    save_edit(tmp_path, done.model, done.edit, done.certificate)
    return tmp_path


def test_what_every_run_answers_is_a_part_of_what_is_proved(done: Edited) -> None:
    edits, others = (done.edit.contexts, done.edit.answers), done.edit.kept
    new, kept = answered_in_every_run(done.model, edits, others, done.proof.kept, dtype="float32")
    assert new.shape == (3,) and kept.shape == (len(others),)
    assert new.any() and not (kept & ~done.proof.kept.same).any()  # the bound is wide behind steep neurons
    wrong = edits[0], (edits[1] + 1) % WORDS
    assert not answered_in_every_run(done.model, wrong, others, done.proof.kept, dtype="float32")[0].any()
    nothing = np.zeros(3, dtype=bool)
    assert state_edit_runs(nothing, nothing, dtype="float32") is None


def test_what_is_stated_is_in_the_certificate_and_its_first_line_and_is_proved_again(
    done: Edited, folder: Path
) -> None:
    assert EditCertificate.load(folder) == done.certificate
    assert done.certificate.headline().endswith("in every float32 run (fast prover only)")
    assert done.certificate.runs is not None and "this rests on H1, H2, H3 and H4" in done.certificate.runs.words()
    assert check_edit(folder).verdict is Verdict.PROVED
    assert [main(["check", str(folder), *how]) for how in ([], ["--fast"])] == [3, 0]


@pytest.mark.parametrize("change", [{"format": "float16"}, {"exp_ulps": 1e9}])
def test_other_runs_than_were_proved_are_not_proved(done: Edited, folder: Path, change: dict[str, object]) -> None:
    assert done.certificate.runs is not None
    replace(done.certificate, runs=replace(done.certificate.runs, **change)).save(folder)
    found = check_edit(folder)
    assert found.verdict is Verdict.UNDECIDED and found.reason.startswith("runs in ")
    assert main(["check", str(folder), "--fast"]) == 3


@pytest.mark.parametrize("name", ["edits", "kept"])
def test_one_context_more_than_is_proved_is_not_proved(done: Edited, folder: Path, name: str) -> None:
    """With exponentials so bad that some contexts are lost."""
    runs = edit_in_every_run(done.model, done.edit, done.proof, dtype="float32", exp_ulps=2.0**17)
    assert runs is not None and runs.edits < done.certificate.values["asked"]
    for more, verdict in ((0, Verdict.PROVED), (1, Verdict.UNDECIDED)):
        stated = replace(runs, **{name: getattr(runs, name) + more})
        replace(done.certificate, runs=stated).save(folder)
        assert check_edit(folder).verdict is verdict


@pytest.mark.parametrize(
    "change",
    [
        {"format": "float8"}, {"format": ["float32"]}, {"hypotheses": "H1 H2 H5"}, {"exp_ulps": 4}, {"exp_ulps": "4"},
        {"exp_ulps": "-0x1.0000000000000p+2"}, {"edits": 4}, {"edits": -1}, {"edits": True}, {"edits": 0, "kept": 0},
        {"kept": 10**9}, {"statement": "In every float16 run all is well."}, {"more": 1},
    ],
)  # fmt: skip
def test_what_no_runs_can_be_is_refused(folder: Path, change: dict[str, object]) -> None:
    data = json.loads((folder / "edit.json").read_text())
    data["runs"].update(change)
    rewrite(folder, data, "edit.json")
    with pytest.raises(FileFormatError, match=r"edit\.json"):
        EditCertificate.load(folder)
    assert main(["check", str(folder), "--fast"]) == 2


def test_runs_of_no_number_are_refused() -> None:
    with pytest.raises(InputError, match="a finite float above 0"):
        EditRuns("float32", "H1 H2 H3 H4", 0.0, 1, 1)
