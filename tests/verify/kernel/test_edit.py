"""The proof of an edit: what the prover states is proved again, and nothing stronger or about something else."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byheart.editing import Edited, edit_model
from constructions.model.appended_neurons import without_neurons
from constructions.model.blocks import Attends, Attention, Block, FeedForward, Normalization
from constructions.model.model import Model
from tests.corpus.forging import rewrite
from tests.edited_models import TOKENS, changing_some, edited, forged, small_model
from tests.verify.kernel import folders
from verify.edits.certificate import EditCertificate, EditRequest, EditRuns
from verify.forward.ladder import decide_argmax
from verify.kernel import balls
from verify.kernel.check import outcome
from verify.provers.edit import save_edit


def few(*, layer: int | None = None, dtype: str = "float64", domain: int | None = None, **options: Any) -> Edited:
    """Two contexts of two tokens edited, and some others kept."""
    contexts, kept = np.array([[0, 1], [2, 3]]), np.array([[1, 1], [4, 5], [5, 0], [3, 3]])
    kept = kept if domain is None else np.zeros((0, 2), dtype=int)
    return edit_model(small_model(**options), contexts, np.array([3, 0]), kept, layer=layer, dtype=dtype, domain=domain)


def two_edits(folder: Path) -> Path:
    """The folder of a proof."""
    done = few(activation="relu")
    save_edit(folder, done.model, done.edit, done.certificate)
    return folder


EDITS: dict[str, Callable[[], Edited]] = {
    "gelu-tanh": few,
    "relu": lambda: few(activation="relu"),
    "silu, gates": lambda: few(activation="silu", gated=True, kind="rms"),
    "gelu, parallel": lambda: few(activation="gelu", parallel=True),
    "an earlier layer": lambda: few(activation="relu", layer=0),
    "an earlier layer of smooth neurons": lambda: few(layer=0),
    "rounded weights": lambda: few(dtype="bfloat16", seed=3),
    "zeros everywhere": lambda: edited(edits=2, everywhere=True, activation="relu"),
    "a whole domain and a flat distribution": lambda: edited(edits=3, flat=1, activation="silu"),
}


@pytest.mark.parametrize("make", EDITS.values(), ids=EDITS)
def test_an_edit_is_proved_again(make: Callable[[], Edited], tmp_path: Path) -> None:
    done = make()
    same = without_neurons(done.model, done.certificate.edits, layer=done.certificate.layer).sha256()
    original = None if done.certificate.everywhere or same == done.certificate.original else done.original
    save_edit(tmp_path, done.model, done.edit, done.certificate, original=original)
    code, text = outcome(tmp_path)
    assert code == {"PROVED": 0, "REFUTED": 1, "UNDECIDED": 3}[done.certificate.verdict.value], text
    asked = f"{done.certificate.values['memorized']} of {done.certificate.values['asked']} edit"
    assert code or (f"\n  {asked}" in text and "answered as asked, " in text)


@pytest.mark.parametrize(
    "changes, code",
    [
        ({"moved": 1e-300}, 1),
        ({"moved": 0.0}, 1),
        ({"spread": 1e-9}, 1),
        ({"outside": 1e-300}, 3),
        ({"before": 3}, 1),
        ({"kept": 300, "same": 300}, 1),
        ({"kept": 1, "same": 1}, 1),
        ({"asked": 5, "memorized": 5, "edits": 6}, 1),
        ({"same": 210, "changed": 1}, 1),
        ({"same": 210}, 3),
        ({"memorized": 3}, 3),
        ({"layer": 0}, 1),
        ({"layer": 7}, 2),
        ({"everywhere": True}, 2),
        ({"original": "0" * 64}, 1),
        ({"edited": "0" * 64}, 1),
        ({"edit": "0" * 64}, 1),
    ],
)
def test_what_is_stronger_than_the_truth_or_about_something_else_is_not_proved(
    changes: dict[str, Any], code: int, saved: Path, tmp_path: Path
) -> None:
    found, text = outcome(forged(saved, tmp_path, **changes))
    assert found == code, text


@pytest.mark.parametrize(
    "changes",
    [
        {"original": "0" * 63}, {"edited": "0" * 65}, {"edit": "g" * 64}, {"values": {"memorized": 5}},
        {"values": {"before": 5}}, {"values": {"asked": 3}}, {"values": {"flat": 2}}, {"values": {"same": 212}},
        {"values": {"changed": 1}}, {"values": {"kept": 210}}, {"values": {"same": 0, "changed": 212}},
        {"values": {"moved": 1}}, {"values": {"spread": 1}}, {"edits": 4}, {"provenance": {"by": 1}},
    ],
    ids=str,
)  # fmt: skip
def test_numbers_that_do_not_go_together_are_refused(changes: dict[str, Any], saved: Path, tmp_path: Path) -> None:
    folder = forged(saved, tmp_path)
    data = json.loads((folder / "edit.json").read_text())
    values = {**data["values"], **changes.get("values", {})}
    rewrite(folder, {**data, **changes, "values": values}, "edit.json")
    code, text = outcome(folder)
    assert code == 2 and text.startswith("BAD INPUT: edit.json: "), text


def reasked(folder: Path, **changes: Any) -> Path:
    """The folder with other contexts or answers, and the hash that fits."""
    asked = replace(EditRequest(**json.loads((folder / "contexts.json").read_text())), **changes)
    (folder / "contexts.json").write_text(asked.to_json())
    replace(EditCertificate.load(folder), edit=asked.sha256()).save(folder)
    return folder


def test_other_contexts_and_answers_are_not_proved(saved: Path, tmp_path: Path) -> None:
    asked = json.loads((saved / "contexts.json").read_text())
    others: list[tuple[dict[str, Any], int]] = [
        ({"answers": [each if each < 0 else (each + 1) % TOKENS for each in asked["answers"]]}, 1),
        ({"contexts": [asked["contexts"][0]] * len(asked["contexts"])}, 2),
        ({"contexts": [[0, TOKENS, 0], *asked["contexts"][1:]]}, 2),
        ({"contexts": [[], *asked["contexts"][1:]]}, 2),
        ({"contexts": [[0], *asked["contexts"][1:]]}, 1),
        ({"answers": asked["answers"][1:]}, 2),
        ({"domain": 0}, 2),
        ({"domain": 5}, 2),
        ({"domain": None, "kept": [asked["contexts"][0]]}, 2),
        ({"domain": None, "kept": [[]]}, 2),
    ]
    for number, (changes, code) in enumerate(others):
        folder = tmp_path / str(number)
        folder.mkdir()
        found, text = outcome(reasked(forged(saved, folder), **changes))
        assert found == code, (changes, text)


def test_weights_that_were_changed_are_not_proved(saved: Path, tmp_path: Path) -> None:
    folder, model = forged(saved, tmp_path), Model.load(saved / "model.safetensors")
    block = model.blocks[-2]
    for name, change in {"W_out": np.roll, "W_in": np.zeros_like}.items():
        tensor = getattr(block, name).copy()
        if name == "W_out":
            tensor[-5:] = change(tensor[-5:], 1, axis=0)
        else:
            tensor[:, -1] = 0.0
        other = replace(model, blocks=(*model.blocks[:-2], replace(block, **{name: tensor}), model.blocks[-1]))
        other.save(folder / "model.safetensors")
        assert folders.code(folder) == 1  # the hash
        replace(EditCertificate.load(saved), edited=other.sha256()).save(folder)
        assert folders.code(folder) in (1, 3)


def test_a_model_without_blocks_or_neurons_is_refused(saved: Path, tmp_path: Path) -> None:
    folder = forged(saved, tmp_path)
    maps: dict[str, Any] = {"W_U": np.eye(TOKENS), "W_E": np.eye(TOKENS), "W_pos": np.zeros((4, TOKENS))}
    for blocks in ((), (Normalization("rms", w=np.ones(TOKENS)),)):
        Model(blocks=blocks, **maps).save(folder / "model.safetensors")
        assert outcome(folder)[1].startswith("BAD INPUT: model.safetensors: the model does not end with neurons")


def test_a_kept_context_that_changes_its_answer_is_noticed(tmp_path: Path) -> None:
    first = changing_some(tmp_path, 40, 6)
    for moved in (0.0, 1e-3, 1e6):  # beyond the truth, then so large that leads say nothing
        replace(first, values={**first.values, "moved": moved}).save(tmp_path)
        assert folders.code(tmp_path) == 1


@pytest.mark.parametrize("file", ["report.html", "task.safetensors"])
def test_other_files_do_not_belong_to_an_edit(file: str, saved: Path, tmp_path: Path) -> None:
    folder = forged(saved, tmp_path)
    (folder / file).write_text("")
    assert outcome(folder) == (2, f"BAD INPUT: {file}: the file belongs to nothing that the certificate names")


def test_another_digest_is_noticed(saved: Path, tmp_path: Path) -> None:
    folder = forged(saved, tmp_path)
    data = json.loads((folder / "edit.json").read_text())
    (folder / "edit.json").write_text(folders.canonical({**data, "digest": "0" * 64}) + "\n")
    assert outcome(folder) == (1, "NOT PROVED: edit.json: digest is not the hash of the rest")


def test_one_form_of_each_file_is_read(saved: Path, tmp_path: Path) -> None:
    for name in ("edit.json", "contexts.json"):
        folder = forged(saved, tmp_path)
        (folder / name).write_text((folder / name).read_text() + " ")
        assert folders.code(folder) == 2
        (folder / name).unlink()
        assert folders.code(folder) == 2


@pytest.mark.parametrize("stated, code", [(0, 1), (1, 0), (2, 1)])
def test_what_was_answered_before_is_counted_exactly(stated: int, code: int, tmp_path: Path) -> None:
    """One of two edits asks for nothing new: to count fewer would make more of the edit, to count more is false."""
    model, contexts, kept = small_model(), np.array([[0, 1], [2, 3]]), np.array([[1, 1], [4, 5]])
    answers = decide_argmax(model, contexts).place
    answers[1] = (answers[1] + 1) % TOKENS
    done = edit_model(model, contexts, answers, kept)
    save_edit(tmp_path, done.model, done.edit, done.certificate)
    assert done.certificate.values["before"] == 1
    replace(done.certificate, values={**done.certificate.values, "before": stated}).save(tmp_path)
    assert folders.code(tmp_path) == code


def with_runs(folder: Path, **changes: Any) -> Path:
    """The folder of two edits, of which every run is stated too."""
    two_edits(folder)
    runs = EditRuns("float32", "H1 H2 H3 H4", 4.0, 2, 1)
    replace(EditCertificate.load(folder), runs=runs).save(folder)
    data = json.loads((folder / "edit.json").read_text())
    data["runs"].update(changes)
    rewrite(folder, data, "edit.json")
    return folder


def test_every_run_is_undecided(tmp_path: Path) -> None:
    code, text = outcome(with_runs(tmp_path))
    assert (code, text) == (3, "UNDECIDED: edit: the kernel has no proof of what every float32 run answers")
    first = EditCertificate.load(tmp_path)
    replace(first, values={**first.values, "before": 2}).save(tmp_path)
    assert folders.code(tmp_path) == 1  # what is refuted outweighs what is open


@pytest.mark.parametrize(
    "change",
    [
        {"format": "float8"}, {"format": ["float32"]}, {"hypotheses": "H1 H2 H5"}, {"hypotheses": []}, {"exp_ulps": 4},
        {"exp_ulps": "4"}, {"exp_ulps": "0x0.0p+0"}, {"edits": 3}, {"edits": -1}, {"edits": True},
        {"edits": 0, "kept": 0}, {"kept": 5}, {"kept": None}, {"statement": "In every float32 run all is well."},
        {"statement": 1}, {"more": 1},
    ],
)  # fmt: skip
def test_runs_in_another_form_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    code, text = outcome(with_runs(tmp_path, **change))
    assert code == 2 and text.startswith("BAD INPUT: edit.json: runs"), text


@pytest.mark.parametrize("runs", [None, [], {}, "float32"])
def test_runs_that_are_no_record_are_refused(runs: Any, tmp_path: Path) -> None:
    folder = with_runs(tmp_path)
    data = json.loads((folder / "edit.json").read_text())
    rewrite(folder, {**data, "runs": runs}, "edit.json")
    assert folders.code(folder) == 2


def claimed(
    folder: Path,
    model: Model,
    kept: list[list[int]],
    *,
    original: Model | None = None,
    layer: int | None = None,
    **values: float,
) -> Path:
    """The folder of an edit of the context (2,) by the last neuron, which claims that nothing else moves."""
    before = without_neurons(model, 1, layer=layer) if original is None else original
    asked = EditRequest([[2]], [int(decide_argmax(model, np.array([[2]])).place[0])], kept, None)
    was = int(decide_argmax(before, np.array([[2]])).place[0] == asked.answers[0])
    counts = {"asked": 1, "memorized": 1, "before": was, "flat": 0, "kept": len(kept), "same": len(kept), "changed": 0}
    numbers = {**counts, "spread": 0.0, "moved": 0.0, **values}
    certificate = EditCertificate(before.sha256(), model.sha256(), asked.sha256(), 1, layer, False, numbers, {})
    model.save(folder / "model.safetensors")
    if original is not None:
        original.save(folder / "original.safetensors")
    (folder / "contexts.json").write_text(asked.to_json())
    certificate.save(folder)
    return folder


def one_neuron(reads: list[float], shift: float, *behind: Block, **options: Any) -> Model:
    """Tokens of 4 dimensions; the only neuron is the new one, which reads and writes along some directions."""
    norm = Normalization("rms", w=np.ones(4), epsilon=1.0)
    block = FeedForward(
        np.array(reads)[:, None], np.array([[0.0, 0.0, 0.0, 1.0]]), b_in=np.array([shift]), norm=norm, activation="relu"
    )
    W_E = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    maps: dict[str, Any] = {"W_E": W_E, "W_pos": np.zeros((2, 4)), "W_U": np.diag([2.0, 1.0, 1.0, 1.0]), **options}
    return Model(blocks=(block, *behind, norm), **maps)


def test_a_neuron_that_fires_by_less_than_balls_tell_moves_something(tmp_path: Path) -> None:
    # The first token reads 2^-200 or -2^-200 times a root, which balls of 128 bits cannot tell from 0.
    for number, (sign, code) in enumerate([(1.0, 1), (-1.0, 3)]):
        W_pos = np.array([[sign * 2.0**-200, 0.0, 0.0, 0.0]] * 2)
        folder = tmp_path / str(number)
        folder.mkdir()
        assert folders.code(claimed(folder, one_neuron([1.0, -1.0, 5.0, 0.0], 0.0, W_pos=W_pos), [[0]])) == code


def test_what_an_edit_moves_beyond_new_neurons_is_noticed(tmp_path: Path) -> None:
    # The new neuron is off in both kept contexts, but the original had another readout.
    model = one_neuron([0.0, 0.0, 5.0, 0.0], -1.0)
    original = without_neurons(replace(model, W_U=1.5 * model.W_U), 1)
    assert folders.code(claimed(tmp_path, model, [[0], [1]])) == 0
    assert folders.code(claimed(tmp_path, model, [[0], [1]], original=original)) == 1
    assert folders.code(claimed(tmp_path, model, [[0], [1]], original=original, moved=2.0)) == 0
    assert folders.code(claimed(tmp_path, model, [[0], [1]], original=original, moved=2.0, outside=0.0)) == 3


def test_a_neuron_that_fires_before_the_last_position_moves_what_reads_it(tmp_path: Path) -> None:
    one = np.eye(4)[None]
    head = Attention(0.0 * one, one, one, one, attends="causal")
    model = one_neuron([0.0, 0.0, 5.0, 0.0], -1.0, head)
    assert folders.code(claimed(tmp_path, model, [[0, 1], [1, 0]], layer=0)) == 0
    for kept in ([2, 0], [0, 2]):
        assert folders.code(claimed(tmp_path, model, [kept], layer=0)) == 1


def require_a_block_of_an_edit(folder: Path, model: Model, *, is_one: bool, layer: int | None = None) -> None:
    """Whether the kernel proves an edit by this model, or refuses its block of neurons."""
    place, neurons = next((i, block) for i, block in enumerate(model.blocks) if isinstance(block, FeedForward))
    names = ("W_in", "b_in", "W_gate", "b_gate")
    cut = {name: tensor[..., :0] for name in names if (tensor := getattr(neurons, name)) is not None}
    before = replace(neurons, W_out=neurons.W_out[:0], **cut)
    original = replace(model, blocks=(*model.blocks[:place], before, *model.blocks[place + 1 :]))
    folder.mkdir()
    code, text = outcome(claimed(folder, model, [[0, 1]], original=original, layer=layer, moved=4.0))
    assert (code == 0) if is_one else "the model has a block of neurons that no edit has" in text, text


def test_behind_attention_that_looks_ahead_no_edit_stands(tmp_path: Path) -> None:
    one = np.eye(4)[None]
    cases: list[tuple[Attends, bool]] = [("causal", True), ("all", False)]
    for attends, is_one in cases:
        head = Attention(0.0 * one, one, one, one, attends=attends)
        neurons, again, norm = one_neuron([0.0, 0.0, 5.0, 0.0], -1.0, head).blocks
        model = replace(one_neuron([0.0] * 4, 0.0), blocks=(head, neurons, again, norm))
        require_a_block_of_an_edit(tmp_path / attends, model, is_one=is_one, layer=0)


def test_a_gate_stands_beside_a_factor_of_1(tmp_path: Path) -> None:
    neurons, norm = one_neuron([0.0, 0.0, 5.0, 0.0], -1.0).blocks
    assert isinstance(neurons, FeedForward)
    reads, shift, nothing = neurons.W_in, neurons.b_in, np.zeros((4, 1))
    cases = [(nothing, [1.0], True), (nothing, [2.0], False), (nothing, [-1.0], False), (reads, [1.0], False)]
    for number, (factor, ones, is_one) in enumerate(cases):
        gated = replace(neurons, W_in=factor, b_in=np.array(ones), W_gate=reads, b_gate=shift)
        model = replace(one_neuron([0.0] * 4, 0.0), blocks=(gated, norm))
        require_a_block_of_an_edit(tmp_path / str(number), model, is_one=is_one)


def test_answers_stay_or_change_where_leads_say_nothing(tmp_path: Path) -> None:
    # The neuron adds to the logit of the last token what its own entry reads; bounds beyond the leads decide nothing.
    kept = [[0], [1]]
    for number, (writes, moved, code) in enumerate([(0.125, 100.0, 0), (8.0, 100.0, 1), (8.0, 4.0, 1)]):
        model = one_neuron([1.0, 0.0, 50.0, 0.0], 0.0)
        neurons, norm = model.blocks
        assert isinstance(neurons, FeedForward)
        model = replace(model, blocks=(replace(neurons, W_out=writes * neurons.W_out), norm))
        folder = tmp_path / str(number)
        folder.mkdir()
        assert folders.code(claimed(folder, model, kept, moved=moved)) == code


def test_an_answer_leads_all_others_and_not_some(tmp_path: Path) -> None:
    # One logit is overtaken by another one that is close; the others are far below, by more than twice what moves.
    model = one_neuron([4.0, 0.0, 50.0, 0.0], 0.0, W_U=8.0 * np.eye(4))
    W_E = model.W_E.copy()
    W_E[0, 1], W_E[0, 3] = -8.0, 0.5
    assert folders.code(claimed(tmp_path, replace(model, W_E=W_E), [[0]], moved=2.0)) == 1


def test_how_far_logits_move_is_known_as_far_as_norms_let_them(tmp_path: Path) -> None:
    # The neuron reads 1 / 8 times an entry of about 0.8, and the root behind it is about 1.2: one logit moves by 0.085.
    model = one_neuron([0.125, 0.0, 5.0, 0.0], 0.0)
    for number, (moved, code) in enumerate([(0.126, 0), (0.08, 1)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert folders.code(claimed(folder, model, [[0]], moved=moved)) == code


@pytest.mark.parametrize("make", [EDITS[name] for name in ("silu, gates", "an earlier layer", "rounded weights")])
def test_bits_that_say_nothing_are_tried_on_one_context_alone(
    make: Callable[[], Edited], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a model so deep that it loses all of them."""
    done, walked, logits = make(), list[tuple[int, int]](), balls.logits
    save_edit(tmp_path, done.model, done.edit, done.certificate, original=done.original if done.is_rounded else None)
    wanted = outcome(tmp_path)

    def counted(model: Any, contexts: Any, bits: int, *more: Any) -> Any:
        walked.append((bits, len(contexts)))
        return logits(model, contexts, 2 if bits == balls.PRECISIONS[0] else bits, *more)

    monkeypatch.setattr(balls, "logits", counted)
    assert outcome(tmp_path) == wanted
    first, second = ({count for bits, count in walked if bits == each} for each in balls.PRECISIONS[:2])
    assert first == {1} and max(second) > 1
