"""Count exactly the labels that a model of words of bits memorizes, and its nonzero entries.

Page: docs/claims/bits.md
"""

from dataclasses import dataclass

import numpy as np
from flint import fmpq

from constructions.model.blocks import FeedForward, tensor_fields
from constructions.model.model import Model
from verify.forward.in_rationals import exact_network_logits


@dataclass(frozen=True)
class Words:
    """A model of words, judged.

    Args:
        memorized: Contexts whose label has the largest logit.
        count: Contexts.
        entries: Entries of the blocks after the first that are not 0.
        other_entries: All other entries that are not 0.
        blocks: Blocks after the first.
        longest: Bits of the longest integer among the entries.
        code_bits: Bits of the largest number of the first register after the first block.
        label_bits: Bits of the largest label.
    """

    memorized: int
    count: int
    entries: int
    other_entries: int
    blocks: int
    longest: int
    code_bits: int
    label_bits: int

    @property
    def item_entries(self) -> int:
        """Entries per item of a word: eight per bit, and 21."""
        return 8 * (self.code_bits + self.label_bits) + 21


def judge_words(model: Model, contexts: np.ndarray, labels: np.ndarray) -> Words:
    r"""Count in exact rationals which labels are in front, and the entries of the model.

    Args:
        model: A rational model, whose blocks after the first are residual ReLU blocks.
        contexts: `[T, S]`.
        labels: `[T]`.

    Returns:
        The counts; none are memorized where the model has another shape.

    Example:
        >>> from constructions.rational.word_network import word_network
        >>> labels = np.array([1, 0, 2])
        >>> found = judge_words(word_network(np.array([[0], [1], [2]]), labels), np.arange(3)[:, None], labels)
        >>> found.memorized, found.blocks
        (3, 7)
    """
    logits = exact_network_logits(model, contexts).tolist()
    memorized = 0
    for row, label in zip(logits, labels.tolist(), strict=True):
        memorized += all(row[label] > other for j, other in enumerate(row) if j != label)
    rest = model.blocks[1:]
    fits = all(isinstance(block, FeedForward) and block.skip and block.activation == "relu" for block in rest)
    everything = sum(_nonzero(tensor) for tensor in model.tensors().values())
    blocks = sum(_nonzero(tensor) for block in rest for _, tensor in tensor_fields(block))
    # The stream behind the first block, read by the identity.
    d_model = model.W_U.shape[0]
    identity = np.array([[fmpq(int(i == j)) for j in range(d_model)] for i in range(d_model)], dtype=object)
    first = Model(model.blocks[:1], W_U=identity, W_E=model.W_E, W_pos=model.W_pos)
    codes = [row[0] for row in exact_network_logits(first, contexts).tolist()]
    whole = all(code.q == 1 and code >= 0 for code in codes) and len(set(map(str, codes))) == len(codes)
    return Words(
        memorized=memorized if fits and whole else 0,
        count=len(contexts),
        entries=blocks,
        other_entries=everything - blocks,
        blocks=len(rest),
        longest=max(abs(int(x.p)).bit_length() for tensor in model.tensors().values() for x in tensor.ravel()),
        code_bits=max(1, max(int(code.p) for code in codes).bit_length()),
        label_bits=max(1, int(labels.max()).bit_length()),
    )


def _nonzero(tensor: np.ndarray) -> int:
    return sum(x != 0 for x in tensor.ravel())
