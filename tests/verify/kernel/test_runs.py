"""The statement `runs`: sums that some run rounds are never proved."""

from pathlib import Path

import numpy as np
import pytest

from constructions.models.blocks import FeedForward
from constructions.models.model import Model
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
    assert code == 3 and "context 0 is not proved to be held in every run" in text
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
    assert (code, text) == (1, "NOT PROVED: runs in float32: context 1 is not held in any run")


@pytest.mark.parametrize(
    "change",
    [{"format": "float8"}, {"hypotheses": "H1"}, {"hypotheses": "H5 H2 H1"}, {"more": ""}, {"format": ["float32"]}],
)
def test_other_formats_and_hypotheses_are_refused(change: dict, tmp_path: Path) -> None:
    folder = folders.probes(tmp_path)
    data = folders.certificate(folder)
    data["statements"][1]["named"].update(change)
    assert folders.code(folders.rewritten(folder, data)) == 2


def test_hypotheses_that_the_proof_does_not_rest_on_leave_it_undecided(tmp_path: Path) -> None:
    folder = folders.probes(tmp_path)
    data = folders.certificate(folder)
    record = data["statements"][1]
    record["named"]["hypotheses"] = "H1 H2 H3 H4"
    record["values"]["exp_ulps"] = (4.0).hex()
    record["statement"] = record["statement"].replace("H1, H2 and H5.", "H1, H2, H3 and H4.")
    assert folders.code(folders.rewritten(folder, data)) == 3
    record["values"].pop("exp_ulps")
    assert folders.code(folders.rewritten(folder, data)) == 2
