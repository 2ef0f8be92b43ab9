"""Windows limit how long a context may be, and an output is scaled only where that is exact."""

import numpy as np
import pytest

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import multiplied, window
from constructions.errors import InputError
from constructions.model.blocks import FeedForward


@pytest.mark.parametrize(
    ("said", "used", "kinds", "expected"),
    [(5, True, None, 5), (None, True, None, 9), (5, False, None, 9), (50, True, None, 9),
     (5, True, ["full_attention"], 9), (5, True, ["sliding_attention"], 5)],
)  # fmt: skip
def test_a_window_limits_the_positions_where_a_layer_has_it(said, used, kinds, expected):
    c = Checkpoint({}, {"model_type": "mistral", "sliding_window": said})
    assert window(c, 1, 9, used=used, kinds=kinds) == expected


def test_a_kind_of_layer_that_nobody_knows_is_refused():
    c = Checkpoint({}, {"model_type": "qwen2", "sliding_window": 5, "layer_types": ["chunked_attention"]})
    with pytest.raises(InputError, match="qwen2 with layer_types"):
        c.each("layer_types", 1, "sliding_attention", "full_attention")


def test_outputs_and_shifts_are_multiplied_together():
    block = FeedForward(np.ones((2, 3)), np.ones((3, 2)), b_out=np.ones(2))
    half = multiplied(Checkpoint({}, {"model_type": "granite"}), block, 0.5)
    assert half.W_out.tolist() == [[0.5, 0.5]] * 3 and half.b_out.tolist() == [0.5, 0.5]
    assert multiplied(Checkpoint({}, {"model_type": "granite"}), block, 1.0) is block
