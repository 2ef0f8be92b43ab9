"""The statement `runs`: sums that some run rounds are never proved."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byheart.reciting import whole_text
from constructions.memories.probes.probe_memory import probe_memory
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from tests.verify.kernel import folders
from verify.kernel.check import outcome


def detector(folder: Path, large: float, place: str) -> Path:
    """The answer to token 0 is whether (L + 1) - L, summed in one place, is above 1/2; token 1 has the other answer."""
    W_E, W_pos, blocks = np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros((1, 2)), []
    sums = np.array([[large, 0.0], [1.0, 0.0], [-large, 0.0]])
    out = np.array([[2.0, 0.0], [0.0, 2.0]])
    if place == "neurons":
        blocks = [FeedForward(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), sums, skip=False)]
    elif place == "shift":
        row = np.array([[large, 0.0], [-large, 0.0]])
        blocks = [FeedForward(np.array([[1.0, 1.0], [0.0, 0.0]]), row, b_out=np.array([1.0, 0.0]), skip=False)]
    elif place == "skip":
        row = np.array([[large, 0.0], [-large, 0.0]])
        blocks = [FeedForward(np.array([[1.0, 1.0], [0.0, 0.0]]), row, skip=True)]
    elif place == "readout":
        W_E, W_pos = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), np.zeros((1, 3))
        out = np.array([[2 * large, 0.0], [2.0, 0.0], [-2 * large, 0.0]])
    model = Model(blocks=tuple(blocks), W_U=out, b_U=np.array([0.0, 1.0]), W_E=W_E, W_pos=W_pos)
    labels = np.array([0, 0 if place == "shift" else 1])
    task = array_task(np.array([[0], [1]]), next_tokens=labels, vocabulary=2, target="labels")
    return folders.stated(folders.written(folder, model, task), folders.runs_record("float32", 2))


@pytest.mark.parametrize("place", ["neurons", "shift", "skip", "readout"])
def test_a_detector_of_the_order_is_not_proved(place: str, tmp_path: Path) -> None:
    code, text = outcome(detector(tmp_path / "large", 2.0**24, place))
    assert code == 3 and "context 0 is not proved to be memorized in every run" in text
    assert folders.code(detector(tmp_path / "small", 2.0**20, place)) == 0


def test_a_claim_that_no_run_keeps_is_refuted(tmp_path: Path) -> None:
    folder = folders.probes(tmp_path)
    data = folders.certificate(folder)
    count = data["subject"]["sizes"]["contexts"]
    mask = "7" + "f" * (-(-count // 4) - 1)
    mask = mask[:-1] + f"{int(mask[-1], 16) & (0xF << (-count % 4)) & 0xF:x}"
    data["statements"][1] = folders.runs_record("float32", count, count - 1, mask)
    assert folders.code(folders.rewritten(folder, data)) == 0
    model = Model(blocks=(), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
    task = array_task(np.array([[0], [1]]), next_tokens=np.array([0, 0]), vocabulary=2, target="labels")
    other = folders.written(tmp_path / "other", model, task)
    code, text = outcome(folders.stated(other, folders.runs_record("float32", 2)))
    assert (code, text) == (1, "NOT PROVED: runs in float32: context 1 is not memorized in any run")


@pytest.mark.parametrize(
    "change",
    [{"format": "float8"}, {"hypotheses": "H1"}, {"hypotheses": "H5 H2 H1"}, {"more": ""}, {"format": ["float32"]}],
)
def test_other_formats_and_hypotheses_are_refused(change: dict, tmp_path: Path) -> None:
    folder = folders.probes(tmp_path)
    data = folders.certificate(folder)
    data["statements"][1]["named"].update(change)
    code, text = outcome(folders.rewritten(folder, data))
    assert code == 2 and text.startswith("BAD INPUT: certificate.json: statements[1].named ")


def test_hypotheses_that_the_proof_does_not_rest_on_leave_it_undecided(tmp_path: Path) -> None:
    folder = folders.probes(tmp_path)
    data = folders.certificate(folder)
    record = data["statements"][1]
    record["named"]["hypotheses"] = "H1 H2 H3 H4"
    record["values"]["exp_ulps"] = (4.0).hex()
    record["statement"] = record["statement"].replace("H1, H2 and H5.", "H1, H2, H3 and H4.")
    assert folders.code(folders.rewritten(folder, data)) == 3
    record["named"]["hypotheses"] = "H1 H2 H3 H4 H5"  # the kernel's proof would do, but others were needed
    record["statement"] = record["statement"].replace("H3 and H4.", "H3, H4 and H5.")
    code, text = outcome(folders.rewritten(folder, data))
    assert (code, text) == (3, "UNDECIDED: runs in float32: the kernel has no proof of what rests on H1 H2 H3 H4 H5")
    record["values"].pop("exp_ulps")
    assert folders.code(folders.rewritten(folder, data)) == 2


def detecting_attention(name: str, large: float) -> tuple[Model, list[list[int]]]:
    """A model with one attention that sums (L + 1) - L in one place, and its contexts: only the first one has L."""
    entry = np.array([[2.0, 0.0]])
    zero, one = np.zeros((1, 4, 1)), np.zeros((1, 4, 1))
    one[0, 3] = 1.0
    sums = np.array([large, 1.0, -large])
    parts: dict[str, Any] = {"W_Q": zero, "W_K": zero, "W_V": one, "W_O": entry[None], "skip": False}
    W_E, W_U, contexts = np.zeros((3, 4)), np.eye(2), [[0, 2], [1, 2]]
    W_E[0, 3] = 1.0
    if name == "values":
        W_E[0], contexts = 1.0, [[0], [1]]
        parts["W_V"] = np.append(sums, 0.0).reshape(1, 4, 1)
    elif name in ("heads", "entries"):
        W_E[0], contexts = 1.0, [[0], [1]]
        heads = np.eye(4)[:3, :, None] if name == "heads" else np.eye(4)[None, :, :3]
        out = sums[:, None] * entry
        parts.update(W_V=heads, W_O=out[:, None] if name == "heads" else out[None])
        parts.update(W_Q=0.0 * heads, W_K=0.0 * heads)
    elif name == "skip row of an attention":
        W_E[0], contexts, out = 1.0, [[0], [1]], np.zeros((1, 2, 4))
        out[0, :, 0] = large, -large
        parts.update(W_Q=np.zeros((1, 4, 2)), W_K=np.zeros((1, 4, 2)), W_V=np.eye(4)[None, :, :2], W_O=out, skip=True)
        W_U = np.zeros((4, 2))
        W_U[0, 0] = 2.0
    elif name == "average":
        W_E = np.zeros((4, 4))
        W_E[:, 3], contexts = [large, 1.0, -large, 0.0], [[0, 1, 2, 3], [0, 2, 3, 3]]
        parts["W_O"] = 4.0 * entry[None]
    elif name == "scores":  # of keys of two rows, 256 of them is told from 128
        W_E[0, :3], W_E[1, :3], W_E[2, :3] = 256.0 * sums, [0.0, 128.0, 0.0], [0.0, 128.0, 0.0]
        parts.update(W_Q=np.zeros((1, 4, 3)), W_K=np.eye(4)[None, :, :3], b_Q=np.ones((1, 3)))
    elif name == "queries":  # both rows that are read have a key, the first one a value as well
        W_E = np.zeros((3, 5))
        W_E[0, 3:], W_E[1, 4], W_E[2, :3] = 1.0, 1.0, 1.0
        parts.update(W_Q=np.zeros((1, 5, 1)), W_K=np.eye(5)[None, :, 4:], W_V=np.eye(5)[None, :, 3:4])
        parts["W_Q"][0, :3, 0] = 256.0 * sums
    elif name == "keys":
        W_E[:2, :3] = 1.0
        parts.update(W_K=np.append(256.0 * sums, 0.0).reshape(1, 4, 1), b_Q=np.ones((1, 1)))
    W_pos = np.zeros((len(contexts[0]), W_E.shape[1]))
    model = Model(blocks=(Attention(**parts),), W_U=W_U, b_U=np.array([0.0, 1.0]), W_E=W_E, W_pos=W_pos)
    return model, contexts


@pytest.mark.parametrize(
    "name", ["values", "heads", "entries", "skip row of an attention", "average", "scores", "queries", "keys"]
)
def test_a_detector_in_an_attention_is_not_proved(name: str, tmp_path: Path) -> None:
    for large, expected in ((2.0**20, 0), (2.0**24, 3)):
        model, contexts = detecting_attention(name, large)
        labels, vocabulary = np.array([0, 1]), model.d_vocab
        task = array_task(np.array(contexts), next_tokens=labels, vocabulary=vocabulary, answers=2, target="labels")
        folder = folders.written(tmp_path / str(large), model, task)
        assert folders.code(folder) == 0
        assert folders.code(folders.stated(folder, folders.runs_record("float32", 2))) == expected


def test_a_detector_among_many_neurons_is_not_proved(tmp_path: Path) -> None:
    """Neurons that read one column are added up once for each reading; (2^24 + 1) - 2^22 rounds."""
    for large, expected in ((2.0**22, 0), (2.0**24, 3)):
        W_out = np.zeros((20, 1))
        W_out[:3, 0] = large, 1.0, -large / 4
        block = FeedForward(np.ones((1, 20)), W_out, skip=False)
        W_U, b_U = np.array([[2.0, 0.0]]), np.array([-1.5 * large, 1.0])
        W_E = np.array([[1.0], [0.0]])
        model = Model(blocks=(block,), W_U=W_U, b_U=b_U, W_E=W_E, W_pos=np.zeros((1, 1)))
        task = array_task(np.array([[0], [1]]), next_tokens=np.array([0, 1]), vocabulary=2, target="labels")
        folder = folders.stated(folders.written(tmp_path / str(large), model, task), folders.runs_record("float32", 2))
        assert folders.code(folder) == expected


def test_of_what_a_head_reads_a_number_that_no_logit_depends_on_need_not_be_known(tmp_path: Path) -> None:
    task = whole_text(" c cc")
    folder = folders.written(tmp_path, probe_memory(task).model, task)
    assert outcome(folders.stated(folder, folders.runs_record("float32", task.n_contexts)))[0] == 0
