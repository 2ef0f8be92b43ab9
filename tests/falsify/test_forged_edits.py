"""Forged certificates of edits, with hashes that fit: neither reader proves them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.terminal.edit_report import check_edit_by_kernel
from constructions.errors import FileFormatError, TamperedError
from constructions.model.appended_neurons import editable, without_neurons
from constructions.model.blocks import FeedForward, Normalization
from constructions.model.model import Model
from tests.edited_models import TOKENS, changing_some, edited, forged
from verify import Verdict
from verify.edits.certificate import FLAT, EditCertificate, EditRequest
from verify.provers.edit import Edit, check_edit, save_edit


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An edit with its certificate, as it was written."""
    path, done = tmp_path_factory.mktemp("edit"), edited(activation="silu", flat=1)
    save_edit(path, done.model, done.edit, done.certificate)
    return path


def checks(path: Path) -> list[Verdict]:
    return [check_edit(path).verdict, check_edit_by_kernel(path).verdict]


def test_both_readers_prove_an_edit_again(saved: Path) -> None:
    assert checks(saved) == [Verdict.PROVED, Verdict.PROVED]


def test_a_certificate_that_says_less_than_was_asked_is_proved_again_as_it_is(saved: Path, tmp_path: Path) -> None:
    path = forged(saved, tmp_path, same=100)
    for report in (check_edit(path), check_edit_by_kernel(path)):
        assert report.verdict is Verdict.UNDECIDED
        said = report.summary()["headline"]
        assert said.startswith("NOT PROVED: 4 of 4 edits") and "100 of 211 kept contexts" in said
        assert said.endswith("so says the certificate, and every number was proved again")


@pytest.mark.parametrize("changes", [{"moved": 1e-300}, {"moved": 0.0}, {"spread": 1e-9}, {"outside": 1e-300}])
def test_a_bound_that_is_too_good_is_not_proved(saved: Path, tmp_path: Path, changes: dict[str, float]) -> None:
    assert Verdict.PROVED not in checks(forged(saved, tmp_path, **changes))


@pytest.mark.parametrize(
    "changes", [{"kept": 300, "same": 300}, {"kept": 1, "same": 1}, {"asked": 5, "memorized": 5, "edits": 6}]
)
def test_counts_that_are_not_those_of_the_contexts_are_refused(
    saved: Path, tmp_path: Path, changes: dict[str, int]
) -> None:
    path = forged(saved, tmp_path, **changes)
    for check in (check_edit, check_edit_by_kernel):
        try:
            assert check(path).verdict is not Verdict.PROVED
        except TamperedError:
            pass


def test_weights_rounded_after_the_proof_are_noticed(saved: Path, tmp_path: Path) -> None:
    path = forged(saved, tmp_path)
    model = Model.load(path / "model.safetensors")
    model.with_each(lambda _, tensor: tensor.astype(np.float16).astype(np.float64)).save(path / "model.safetensors")
    with pytest.raises(TamperedError):
        check_edit(path)
    assert check_edit_by_kernel(path).verdict is Verdict.REFUTED


def test_neurons_that_were_swapped_are_not_proved_even_with_the_right_hashes(saved: Path, tmp_path: Path) -> None:
    path, model = forged(saved, tmp_path), Model.load(saved / "model.safetensors")
    block = editable(model).neurons
    writes = block.W_out.copy()
    writes[-5:] = np.roll(writes[-5:], 1, axis=0)
    swapped = replace(model, blocks=(*model.blocks[:-2], replace(block, W_out=writes), model.blocks[-1]))
    swapped.save(path / "model.safetensors")
    replace(EditCertificate.load(path), edited=swapped.sha256()).save(path)
    assert Verdict.PROVED not in checks(path)


def test_another_original_is_refused(saved: Path, tmp_path: Path) -> None:
    path = forged(saved, tmp_path, original="0" * 64)
    with pytest.raises(TamperedError, match="original"):
        check_edit(path)
    found = check_edit_by_kernel(path)
    assert found.verdict is Verdict.REFUTED and "original" in found.reason


def test_answers_that_the_model_does_not_give_are_not_proved_even_with_the_right_hashes(
    saved: Path, tmp_path: Path
) -> None:
    path = forged(saved, tmp_path)
    asked = EditRequest(**json.loads((path / "contexts.json").read_text()))
    other = replace(asked, answers=[each if each < 0 else (each + 1) % TOKENS for each in asked.answers])
    (path / "contexts.json").write_text(other.to_json())
    replace(EditCertificate.load(path), edit=other.sha256()).save(path)
    assert Verdict.PROVED not in checks(path)


def test_nothing_is_proved_of_a_model_of_which_balls_say_nothing(tmp_path: Path) -> None:
    """Rows that are wider than the model has numbers are refused by the kernel; the distribution is not uniform."""
    rng, wide, norm = np.random.default_rng(0), 4096, Normalization("rms", w=np.ones(2))
    hole = FeedForward(np.zeros((2, 0)), np.zeros((0, wide)), skip=False)
    back = FeedForward(np.zeros((wide, 0)), np.zeros((0, 2)), skip=False)
    last = FeedForward(rng.normal(size=(2, 1)), np.ones((1, 2)), b_in=np.ones(1), norm=norm)
    maps = {"W_U": rng.normal(size=(2, 3)), "W_E": rng.normal(size=(3, 2)), "W_pos": np.zeros((1, 2))}
    model = Model(blocks=(hole, back, last, norm), **maps)
    edit = Edit(np.array([[0]]), np.array([FLAT]), np.array([[1], [2]]))
    values = {
        "asked": 0,
        "memorized": 0,
        "before": 0,
        "changed": 0,
        "flat": 1,
        "kept": 2,
        "same": 2,
        "spread": 0.0,
        "moved": 0.0,
        "outside": 1e300,
    }
    hashes = without_neurons(model, 1).sha256(), model.sha256(), edit.asked().sha256()
    save_edit(tmp_path, model, edit, EditCertificate(*hashes, 1, None, False, values, {}))
    assert check_edit(tmp_path).verdict is not Verdict.PROVED
    with pytest.raises(FileFormatError, match=r"W_out\.shape"):
        check_edit_by_kernel(tmp_path)


def test_a_domain_of_contexts_that_the_model_cannot_read_is_refused(saved: Path, tmp_path: Path) -> None:
    path = forged(saved, tmp_path, kept=TOKENS**5, same=TOKENS**5)
    asked = replace(EditRequest(**json.loads((path / "contexts.json").read_text())), domain=5)
    (path / "contexts.json").write_text(asked.to_json())
    replace(EditCertificate.load(path), edit=asked.sha256()).save(path)
    for check in (check_edit, check_edit_by_kernel):
        with pytest.raises(FileFormatError):
            check(path)


def test_neurons_that_fire_at_kept_contexts_are_found_however_few_they_are(tmp_path: Path) -> None:
    changing_some(tmp_path, 450, 4)
    found = check_edit(tmp_path)
    assert found.verdict is Verdict.REFUTED and found.reason.startswith("changed: ")
    assert check_edit_by_kernel(tmp_path).verdict is Verdict.REFUTED
    assert [main(["check", str(tmp_path), "--quiet", *how]) for how in ([], ["--fast"])] == [1, 1]
