"""The statement `integer-weights`: all weights are integers of at most so many bits. What is believed of the kind."""

from collections.abc import Iterator
from typing import Any

from verify.kernel.certificate import Certificate, read_values
from verify.kernel.evaluation import Evaluation
from verify.kernel.model import Block, Model
from verify.kernel.numerals import counted
from verify.kernel.verdicts import NotProvedError

ID = "integer-weights"


def read(field: str, record: dict[str, Any], certificate: Certificate) -> int:
    """The number of bits."""
    return read_values(field, record, ("bits",), ())["bits"]


def sentence(bits: int, certificate: Certificate) -> str:
    """The statement in words."""
    return f"All weights are integers of at most {counted(bits, 'bit')}."


def check(bits: int, certificate: Certificate, evaluation: Evaluation) -> str:
    """Prove the statement, weight by weight.

    Raises:
        NotProvedError: A weight is not an integer, or a longer one.
    """
    for weight in weights_of(evaluation.model):
        if not weight.is_integer() or int(weight).bit_length() > bits:
            raise NotProvedError(f"{ID}: {weight!r} is a weight")
    return f"{counted(evaluation.model.parameters, 'weight')}, one by one"


def weights_of(model: Model) -> Iterator[float]:
    """Every weight of a model: of its ends, and of its blocks with their norms."""
    for tensor in model.tensors.values():
        yield from tensor.values
    for block in model.blocks:
        yield from _weights_of_block(block)


def _weights_of_block(block: Block) -> Iterator[float]:
    for tensor in block.tensors.values():
        yield from tensor.values
    for norm in (block.norm, *block.norms.values()):
        if norm is not None:
            yield from _weights_of_block(norm)
