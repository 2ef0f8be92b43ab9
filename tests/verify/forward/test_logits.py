import numpy as np
import pytest

from constructions.errors import InputError
from constructions.model.model import Model
from tests.edited_models import LENGTH, TOKENS, small_model
from verify.forward.logits import enclose_logits, logit_chunks
from verify.provers.edit import whole_domain

CONTEXTS = whole_domain(TOKENS, LENGTH, np.zeros((0, 1), dtype=np.int64))


def test_chunks_are_the_whole_in_order_whatever_their_size() -> None:
    model = small_model()
    whole = enclose_logits(model, CONTEXTS)
    for rows in (1, 7, 1000):
        parts = list(logit_chunks(model, CONTEXTS[:20], rows=rows))
        assert [start for start, _ in parts] == list(range(0, 20, rows))
        for start, part in parts:
            exact = enclose_logits(model, CONTEXTS[start : start + len(part)], precision=300)
            assert (np.abs(part.midpoint - exact.midpoint) <= part.radius + exact.radius).all()
            assert (part.lower() <= whole.upper()[start : start + len(part)]).all()


def test_more_bits_leave_less_and_no_contexts_leave_nothing() -> None:
    model = small_model()
    wide, narrow = (enclose_logits(model, CONTEXTS[:3], precision=bits).radius.max() for bits in (64, 400))
    assert narrow < wide
    assert enclose_logits(model, CONTEXTS[:0]).shape == (0, TOKENS)


def test_what_the_model_cannot_read_is_refused() -> None:
    model = small_model()
    with pytest.raises(InputError, match="tokens from"):
        enclose_logits(model, np.array([[TOKENS]]))
    with pytest.raises(InputError, match="shape"):
        enclose_logits(model, np.zeros((1, 99), dtype=np.int64))
    with pytest.raises(InputError):
        list(logit_chunks(model, CONTEXTS, rows=0))
    one = Model(blocks=(), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
    assert enclose_logits(one, np.array([[1]])).midpoint.tolist() == [[0.0, 1.0]]
