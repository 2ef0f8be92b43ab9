"""The skip connection as a head, on a network that holds labels."""

import numpy as np
import pytest

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.model.attention import logits
from constructions.named.context_rows import ContextRows
from constructions.named.labelled_contexts import random_contexts
from constructions.named.skip_connection_head import skip_connection_memory
from verify.provers.memorization import certify_memorization

ROWS = random_contexts(d_vocab=3, n_ctx=3, n_contexts=12, seed=2)


@pytest.mark.parametrize(("d_head", "copying"), [(4, 1), (3, 2), (1, 4)])
def test_the_labels_of_the_network_are_memorized_without_its_skip_connection(d_head, copying):
    made = skip_connection_memory(ROWS, d_model=4, d_head=d_head)
    assert not made.model.attention.skip and made.heads.n_copying_heads == copying
    assert certify_memorization(made.model, made.task).certificate.verdict.value == "PROVED"
    own = logits(made.heads.network, made.task.contexts).argmax(axis=1)
    assert (own == made.task.labels).all()


def test_what_it_cannot_be_built_for_is_refused():
    twice = ContextRows(np.array([[0, 1], [0, 1]]), ("a", "b"))
    with pytest.raises(HypothesisError, match=r"Section 4\.1 needs pairwise distinct contexts"):
        skip_connection_memory(twice, d_model=4, d_head=2)
    with pytest.raises(CapacityError):
        skip_connection_memory(ROWS, d_model=4, d_head=1, n_heads=1)
    for sharpness in (0, -1, 701):
        with pytest.raises(InputError, match="sharpness"):
            skip_connection_memory(ROWS, d_model=4, d_head=2, sharpness=sharpness)
