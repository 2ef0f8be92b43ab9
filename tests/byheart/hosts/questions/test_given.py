"""What is read of a model that is given in some way, and who can be asked about it."""

import numpy as np
import pytest

from byheart.hosts.questions.given import read_given
from constructions.errors import InputError
from constructions.model.model import Model

ECHO = Model(blocks=(), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))


def read(source, config=None, names=None, key=None, ignored=(), handshake=True):
    return read_given(source, config, names, key, ignored, handshake)


def test_a_model_is_taken_as_it_is():
    assert read(ECHO).model is ECHO and read(ECHO).asked is ECHO and read(ECHO).options == {}


def test_tensors_by_name_are_asked_with_their_configuration():
    given = read(ECHO.tensors(), ECHO.options())
    assert given.model.sha256() == ECHO.sha256() and given.config == ECHO.options()


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (3, {}, "source is int, expected a path, a Model, a module or tensors by name"),
        (ECHO.tensors(), {}, "config is missing"),
        (ECHO.tensors(), {"config": ECHO.options(), "names": {"unembed.W_U": "none"}}, "names has 'none'"),
        (ECHO, {"key": "model"}, "key = 'model' is given, but no file"),
        (ECHO, {"ignored": ("cap",), "handshake": False}, "ignore_field = 'cap' is given, but without a handshake"),
    ],
)
def test_what_is_no_model_is_refused(source, options, message):
    with pytest.raises(InputError, match=message):
        read(source, **options)
