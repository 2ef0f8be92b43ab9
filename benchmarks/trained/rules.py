"""What the models of `train.py` have learned, as functions of rows of inputs, for `byheart certify --rule`."""

import numpy as np


def addition_53(inputs):
    """Return a + b modulo 53."""
    return inputs.sum(axis=1) % 53


def addition_113(inputs):
    """Return a + b modulo 113."""
    return inputs.sum(axis=1) % 113


def dyck(inputs):
    """1 where 0 opens and 1 closes brackets that match, else 0."""
    depth = np.cumsum(1 - 2 * inputs, axis=1)
    return ((depth >= 0).all(axis=1) & (depth[:, -1] == 0)).astype(np.int64)


def maximum(inputs):
    """Return the largest token."""
    return inputs.max(axis=1)


def induction(inputs):
    """Return what followed the latest earlier place of the last token, or the last token itself where it is new."""
    found = inputs[:, -1].copy()
    for place in range(inputs.shape[1] - 1):
        again = inputs[:, place] == inputs[:, -1]
        found[again] = inputs[again, place + 1]
    return found
