import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from byheart.command.main import main
from byheart.editing import edit_model
from constructions.errors import FileFormatError, TamperedError
from constructions.models.appended_neurons import editable, without_neurons
from constructions.models.blocks import FeedForward, Normalization
from constructions.models.model import Model
from tests.edited_models import TOKENS, forged
from verify import Verdict, enclose_logits
from verify.domains.sample import most_wrong
from verify.edits.certificate import FLAT, Asked, EditCertificate
from verify.edits.judge import reading_model
from verify.independent.edit_check import check_edit_independently
from verify.provers.edit import Edit, check_edit, prove_edit, save_edit


def checks(path: Path) -> list[Verdict]:
    return [check_edit(path).verdict, check_edit_independently(path, full=True).verdict]


def test_both_readers_prove_an_edit_again(saved: Path) -> None:
    assert checks(saved) == [Verdict.PROVED, Verdict.PROVED]


def test_a_sample_has_neither_the_word_nor_the_verdict_of_a_proof_and_says_what_it_may_miss(saved: Path) -> None:
    found = check_edit_independently(saved)
    assert found.verdict is Verdict.UNDECIDED and found.looked_at == 200
    said = found.summary()
    assert said["headline"].startswith("SAMPLED, NOT PROVED: 4 of 4 edits answered as asked")
    assert "200 of 211 kept contexts, drawn at random, keep their answer" in said["headline"]
    assert said["wrong_upper"] == most_wrong(211, 200, 0)
    assert f"at most {most_wrong(211, 200, 0)} of all 211 are otherwise" in said["headline"]
    assert said["headline"].endswith("but for a draw of probability 2^-128; 11 not looked at")
    assert said["asked"].endswith("200 of 211 kept contexts, drawn at random, keep their answer")
    assert "11 not looked at (--full looks at all)" in said["statements"][0]["reason"]
    whole = check_edit_independently(saved, full=True)
    assert whole.verdict is Verdict.PROVED and whole.looked_at == 211 and whole.wrong_upper is None


def changing_some(folder: Path, contexts: int, fires: int, note: str = "") -> EditCertificate:
    """An edit whose neuron fires in some contexts that are to be kept, with a certificate that denies it."""
    rng, d = np.random.default_rng(0), 8
    norm = Normalization("layer", w=np.ones(d))
    base = FeedForward(rng.normal(size=(d, 4)), rng.normal(size=(4, d)), b_in=np.zeros(4), norm=norm)
    maps = {"W_E": rng.normal(size=(contexts, d)), "W_U": rng.normal(size=(d, 9)), "W_pos": np.zeros((1, d))}
    kept = np.arange(1, contexts)[:, None]
    done = edit_model(Model(blocks=(base, norm), **maps), np.array([[0]]), np.array([3]), kept)
    block, reads = done.model.blocks[0], enclose_logits(reading_model(done.model, 1), np.arange(contexts)[:, None])
    assert isinstance(block, FeedForward) and block.b_in is not None
    shifts, level = block.b_in.copy(), np.sort(reads.midpoint[:, 0])[::-1]
    shifts[-1] -= (level[fires] + level[fires + 1]) / 2.0
    bad = replace(done.model, blocks=(replace(block, b_in=shifts), norm))
    said = {"before": 0, "same": contexts - 1, "changed": 0, "moved": 0.0}
    original = without_neurons(bad, 1)
    values = {**prove_edit(original, bad, done.edit).values, **said}
    hashes = original.sha256(), bad.sha256(), done.edit.asked().sha256()
    certificate = EditCertificate(*hashes, 1, None, False, values, {"note": note})
    save_edit(folder, bad, done.edit, certificate)
    return certificate


def test_no_certificate_of_an_edit_that_changes_what_is_kept_ends_as_a_proof_however_many_are_tried(
    tmp_path: Path,
) -> None:
    first = changing_some(tmp_path, 450, 4)
    found = check_edit(tmp_path)
    assert found.verdict is Verdict.REFUTED and found.reason.startswith("changed: ")
    assert main(["check", str(tmp_path), "--quiet"]) == 1
    misses = dict[bool, int]()
    for note in range(60):  # whoever makes a certificate draws again with each word that they change
        replace(first, provenance={"note": str(note)}).save(tmp_path)
        misses[not check_edit_independently(tmp_path).reason] = note
        if len(misses) == 2:
            break
    assert set(misses) == {True, False}
    replace(first, provenance={"note": str(misses[True])}).save(tmp_path)
    assert main(["check", str(tmp_path), "--independent", "--quiet"]) == 3
    others = [check_edit_independently(tmp_path, sample_seed=str(seed)) for seed in range(4)]
    assert any("does not follow" in each.reason for each in others)
    assert all(each.verdict is Verdict.UNDECIDED for each in others)
    assert "does not follow" in check_edit_independently(tmp_path, full=True).reason


def test_a_certificate_that_says_less_than_was_asked_is_proved_again_as_it_is(saved: Path, tmp_path: Path) -> None:
    path = forged(saved, tmp_path, same=100)
    for report in (check_edit(path), check_edit_independently(path, full=True)):
        assert report.verdict is Verdict.UNDECIDED and report.looked_at == 211
        said = report.summary()["headline"]
        assert said.startswith("NOT PROVED: 4 of 4 edits") and "100 of 211 kept contexts" in said
        assert said.endswith("so says the certificate, and every number was proved again")


@pytest.mark.parametrize("changes", [{"moved": 1e-300}, {"moved": 0.0}, {"spread": 1e-9}, {"outside": 1e-300}])
def test_a_bound_that_is_too_good_is_not_proved(saved: Path, tmp_path: Path, changes: dict[str, float]) -> None:
    assert Verdict.PROVED not in checks(forged(saved, tmp_path, **changes))


@pytest.mark.parametrize(
    "changes", [{"kept": 300, "same": 300}, {"kept": 1, "same": 1}, {"asked": 5, "held": 5, "edits": 6}]
)
def test_counts_that_are_not_those_of_the_contexts_are_refused(
    saved: Path, tmp_path: Path, changes: dict[str, int]
) -> None:
    path = forged(saved, tmp_path, **changes)
    for check in (check_edit, check_edit_independently):
        try:
            assert check(path).verdict is not Verdict.PROVED
        except TamperedError:
            pass


def test_weights_rounded_after_the_proof_are_noticed(saved: Path, tmp_path: Path) -> None:
    path = forged(saved, tmp_path)
    model = Model.load(path / "model.safetensors")
    model.with_each(lambda _, tensor: tensor.astype(np.float16).astype(np.float64)).save(path / "model.safetensors")
    for check in (check_edit, check_edit_independently):
        with pytest.raises(TamperedError):
            check(path)


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
    for check in (check_edit, check_edit_independently):
        with pytest.raises(TamperedError, match="original"):
            check(path)


def test_answers_that_the_model_does_not_give_are_not_proved_even_with_the_right_hashes(
    saved: Path, tmp_path: Path
) -> None:
    path = forged(saved, tmp_path)
    asked = Asked(**json.loads((path / "contexts.json").read_text()))
    other = replace(asked, answers=[each if each < 0 else (each + 1) % TOKENS for each in asked.answers])
    (path / "contexts.json").write_text(other.to_json())
    replace(EditCertificate.load(path), edit=other.sha256()).save(path)
    assert Verdict.PROVED not in checks(path)


def test_nothing_is_proved_of_a_model_of_which_balls_say_nothing(tmp_path: Path) -> None:
    """Rows that are wider than the model has numbers are refused by the balls; the law is not uniform."""
    rng, wide, norm = np.random.default_rng(0), 4096, Normalization("rms", w=np.ones(2))
    hole = FeedForward(np.zeros((2, 0)), np.zeros((0, wide)), skip=False)
    back = FeedForward(np.zeros((wide, 0)), np.zeros((0, 2)), skip=False)
    last = FeedForward(rng.normal(size=(2, 1)), np.ones((1, 2)), b_in=np.ones(1), norm=norm)
    maps = {"W_U": rng.normal(size=(2, 3)), "W_E": rng.normal(size=(3, 2)), "W_pos": np.zeros((1, 2))}
    model = Model(blocks=(hole, back, last, norm), **maps)
    edit = Edit(np.array([[0]]), np.array([FLAT]), np.array([[1], [2]]))
    values = {
        "asked": 0,
        "held": 0,
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
    assert Verdict.PROVED not in checks(tmp_path)


def test_a_domain_of_contexts_that_the_model_cannot_read_is_refused(saved: Path, tmp_path: Path) -> None:
    path = forged(saved, tmp_path, kept=TOKENS**5, same=TOKENS**5)
    asked = replace(Asked(**json.loads((path / "contexts.json").read_text())), domain=5)
    (path / "contexts.json").write_text(asked.to_json())
    replace(EditCertificate.load(path), edit=asked.sha256()).save(path)
    for check in (check_edit, check_edit_independently):
        with pytest.raises(FileFormatError):
            check(path)
