"""Ranks of what heads read are proved from both sides, and a bound that is one off is not."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from tests.layers import layers_and_tasks
from tests.verify.kernel import folders
from tests.verify.kernel.test_feature_rank import agree
from tests.verify.kernel.test_features import changed, network
from verify.forward.logits import enclose_logits
from verify.kernel import rank_heads
from verify.kernel.certificate import read_certificate
from verify.kernel.check import outcome
from verify.kernel.evaluation import Evaluation
from verify.kernel.model import read_model
from verify.kernel.task import read_task
from verify.kernel.verdicts import NotProvedError, UndecidedError


def with_ranks(folder: Path) -> Path:
    """A head that reads two of three values, in a model that holds the labels that it gives."""
    model, task = network(5, 1)
    value = model.attention.W_V.copy()
    value[:, :, 2] = value[:, :, 1]
    model = changed(model, W_V=value)
    labels = enclose_logits(model, task.contexts).midpoint.argmax(1)
    assert len(set(labels)) > 1
    own = array_task(task.contexts, next_tokens=labels, vocabulary=3, target="labels")
    return folders.written(folder, model, own, rank_of_heads=True, rank_with_skip=True)


NUMBERS = {"rows": 5, "columns": 3, "lower": 2, "upper": 2, "all_weights_upper": 3}


@pytest.mark.parametrize(
    "change, expected",
    [
        ({}, "PROVED"),
        ({"lower": 1}, "PROVED"),
        ({"upper": 3}, "PROVED"),
        ({"lower": 3, "upper": 3}, "NOT PROVED"),
        ({"lower": 1, "upper": 1}, "NOT PROVED"),
        ({"lower": 0, "upper": 0, "all_weights_upper": 0}, "NOT PROVED"),
        ({"all_weights_upper": 2}, "UNDECIDED"),  # false of other weights, of which nothing is looked for
        ({"columns": 4}, "NOT PROVED"),
        ({"rows": 4}, "BAD INPUT"),
        ({"all_weights_upper": 4}, "BAD INPUT"),
        ({"lower": 3}, "BAD INPUT"),
    ],
)
def test_bounds_that_are_one_off(change: dict[str, int], expected: str, tmp_path: Path) -> None:
    folder = with_ranks(tmp_path)
    data = folders.certificate(folder)
    assert data["statements"][1]["values"] == NUMBERS
    folder = folders.changed(folders.rewritten(folder, {**data, "statements": data["statements"][:2]}), 1, **change)
    assert outcome(folder)[1].startswith(expected), outcome(folder)


@pytest.mark.parametrize("lead", [100.0, 400.0, 800.0])
def test_a_head_that_hardly_reads_a_row_has_read_it(lead: float, tmp_path: Path) -> None:
    """What it reads of (0, 1) and of (1, 1) differs by e^-lead, which balls of 1024 bits do not tell from 0 at 400."""
    maps = {
        "W_Q": np.array([[[0.0], [lead]]]),
        "W_K": np.array([[[0.0], [1.0]]]),
        "W_V": np.eye(2)[None],
        "W_O": np.eye(2)[None],
    }
    model = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_U=np.eye(2), **maps)
    contexts = np.array([[0, 1], [1, 1]])
    task = array_task(contexts, next_tokens=np.array([1, 1]), vocabulary=2, target="labels")
    folder = folders.written(tmp_path, model, task, rank_of_heads=True)
    changed_to_2 = folders.changed(folder, 1, lower=2, upper=2, all_weights_upper=2)
    assert "independent by balls of" in outcome(changed_to_2)[1], outcome(changed_to_2)


def test_two_heads_that_are_one_leave_a_rank_open(tmp_path: Path) -> None:
    """They read three values, and nothing that is proved from above says that it is not six, or five of five rows."""
    model, task = network(5, 2)
    twins = {name: np.repeat(getattr(model.attention, name)[:1], 2, axis=0) for name in ("W_Q", "W_K", "W_V")}
    folder = folders.written(tmp_path, changed(model, **twins), task, Criterion.at_most(1e300), rank_of_heads=True)
    values = folders.certificate(folder)["statements"][1]["values"]
    assert values["lower"] == 3 < values["upper"]
    read = read_certificate(folders.changed(folder, 1, lower=4))
    statement = rank_heads.read("", read.statements[1], read)
    with pytest.raises(UndecidedError, match="not proved to be 4"):
        rank_heads.check(statement, read, Evaluation(read_model(folder), read_task(folder), []))


def test_a_model_of_two_layers_has_no_features(tmp_path: Path) -> None:
    folder = with_ranks(tmp_path)
    model = Model.load(folder / "model.safetensors")
    replace(model, blocks=(*model.blocks, *model.blocks)).save(folder / "model.safetensors")
    read = read_certificate(folder)
    statement = rank_heads.read("", read.statements[1], read)
    with pytest.raises(NotProvedError, match="no such features"):
        rank_heads.check(statement, read, Evaluation(read_model(folder), read_task(folder), []))


def test_no_heads_read_nothing(tmp_path: Path) -> None:
    model, task = network(0, 0)
    asked = {"rank_of_heads": True, "rank_with_skip": True}
    folder = folders.written(tmp_path, model, task, Criterion.at_most(1e300), **asked)
    heads, skip = folders.certificate(folder)["statements"][1:]
    assert heads["values"] == {"rows": 5, "columns": 0, "lower": 0, "upper": 0, "all_weights_upper": 0}
    assert skip["values"]["lower"] == skip["values"]["upper"] == 2
    assert outcome(folder)[1].startswith(("PROVED", "UNDECIDED: the question")), outcome(folder)


@given(st.integers(0, 2**32), st.integers(1, 3), st.booleans(), st.booleans())
def test_networks_have_the_ranks_that_are_stated(seed: int, n_heads: int, coarse: bool, skip: bool) -> None:
    model, task = network(seed, n_heads)
    if coarse:
        model = changed(model, W_V=np.rint(0.4 * model.attention.W_V))
    with tempfile.TemporaryDirectory() as name:
        asked = {"rank_of_heads": True, "rank_with_skip": True}
        agree(folders.written(Path(name), changed(model, skip=skip), task, Criterion.at_most(1e300), **asked))


@given(layers_and_tasks())
def test_layers_have_the_ranks_that_are_stated(drawn) -> None:
    layer, task = drawn
    with tempfile.TemporaryDirectory() as name:
        agree(folders.written(Path(name), layer, task, Criterion.at_most(1e300), rank_of_heads=True))
