import numpy as np

from constructions.model.blocks import Normalization
from verify.forward.matrices import norm_parts


def test_the_normalization_of_each_head_has_its_own_gains_and_shifts() -> None:
    whole = Normalization("rms", w=np.arange(6.0), b=10.0 + np.arange(6.0), epsilon=1e-3)
    parts = norm_parts(whole, 2)
    assert [part.w.tolist() for part in parts] == [[0, 1], [2, 3], [4, 5]]
    assert [part.b.tolist() for part in parts if part.b is not None] == [[10, 11], [12, 13], [14, 15]]
    assert {(part.kind, part.epsilon) for part in parts} == {("rms", 1e-3)}


def test_without_shifts_the_parts_have_none() -> None:
    assert [part.b for part in norm_parts(Normalization("layer", w=np.ones(4)), 2)] == [None, None]
