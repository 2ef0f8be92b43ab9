"""A kind of block that is added: one record, one function of the walk, one of torch, and every arithmetic has it."""

from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import fmpq

from constructions.model import blocks
from constructions.model.blocks import Tensor, frozen
from constructions.model.model import Model
from tests.by_kernel import read_model_file
from tests.contract import test_blocks as contract
from verify.forward import walk
from verify.forward.walk import Stream
from verify.torch import module


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear map of each row, y = x W."""

    W: Tensor

    def __post_init__(self) -> None:
        object.__setattr__(self, "W", frozen("W", self.W, 2))

    @property
    def d_model(self) -> int:
        return self.W.shape[0]

    @property
    def d_out(self) -> int:
        return self.W.shape[1]

    def options(self) -> dict[str, Any]:
        return {"kind": "linear"}


def walked(arithmetic, block: Linear, stream: Stream, _: bool) -> Stream:
    return replace(stream, rows=arithmetic.linear(stream.rows, block.W, None))


@pytest.fixture(autouse=True)
def linear(monkeypatch):
    monkeypatch.setitem(blocks.BLOCKS, "linear", Linear)
    monkeypatch.setitem(walk.BLOCKS, Linear, walked)
    monkeypatch.setitem(module.ROW_BLOCKS, "linear", lambda rows, option, own: rows @ own["W"])


def model_of(entries):
    """An attention, the map, and neurons behind it, of rationals or of floats."""
    W = np.array([[entries(2, 1), entries(0, 1)], [entries(-1, 1), entries(1, 3)], [entries(1, 1), entries(5, 1)]])
    one = np.array([[entries(1, 1)] * 3]).reshape(1, 3, 1)
    causal = blocks.Attention(0 * one, one, one, one.reshape(1, 1, 3), attends="causal")
    neurons = blocks.FeedForward(W.T[:, :2], W[:2], skip=True)
    W_E = np.array([[entries(i - j, 1) for j in range(3)] for i in range(3)])
    return Model(blocks=(causal, Linear(W), neurons), W_U=W[:2], W_E=W_E, W_pos=0 * W_E)  # type: ignore[arg-type]


def exact(model, context):
    """Uniform attention, the map, ReLU, the readout: by hand, in fractions of mpmath."""
    x = [[mpmath.mpf(int(e.p)) / int(e.q) for e in model.W_E[t]] for t in context]
    mean = sum(sum(row) for row in x) / len(x)
    row = contract.times([value + mean for value in x[-1]], model.blocks[1].W)
    neurons = model.blocks[2]
    fired = [max(u, mpmath.mpf(0)) for u in contract.times(row, neurons.W_in)]
    return contract.times(contract.plus(row, contract.times(fired, neurons.W_out)), model.W_U)


@pytest.mark.parametrize("name", [name for name in contract.ARITHMETICS if "kernel" not in name and " on " not in name])
def test_every_arithmetic_evaluates_a_block_that_was_added(name):
    contexts = np.array([[0, 1, 2], [2, 2, 1]])
    rational = model_of(fmpq)
    arithmetic = contract.ARITHMETICS[name]
    model = rational if name == "rationals" else model_of(lambda p, q: p / q)
    found = arithmetic.outputs(model, contexts).tolist()
    with mpmath.workprec(200):
        for context, row in zip(contexts.tolist(), found, strict=True):
            for ball, value in zip(row, exact(rational, context), strict=True):
                # A third is rounded in float64, which moves an output by less than 1e-13.
                assert abs(float(ball.mid()) - float(value)) <= float(ball.rad()) + 1e-13 * (1 + abs(float(value)))
                assert float(ball.rad()) < 1e-3


def test_its_file_gives_back_its_bits_and_the_other_reader_refuses_it_by_name(tmp_path):
    model = model_of(lambda p, q: p / q)
    model.save(tmp_path / "model.safetensors")
    loaded = Model.load(tmp_path / "model.safetensors")
    assert loaded.sha256() == model.sha256() and isinstance(loaded.blocks[1], Linear)
    assert "rows.1.W" in model.tensors()
    with pytest.raises(Exception, match="linear"):
        read_model_file(tmp_path / "model.safetensors")
