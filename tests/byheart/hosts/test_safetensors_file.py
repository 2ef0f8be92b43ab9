"""Weights alone: every tensor as it is, under its name."""

import json

import numpy as np
import pytest

from byheart.hosts.conversion import rounded_model
from byheart.hosts.number_types import DTYPES, read_tensors
from byheart.hosts.safetensors_file import HOST, METADATA
from constructions.models.model import assembled
from tests.exports import MODELS


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MODELS)
def test_out_and_in_again_is_equal_bit_by_bit(name, dtype, tmp_path):
    model = rounded_model(MODELS[name], dtype)
    HOST.write(HOST.convert(model), tmp_path, dtype)
    tensors, texts = read_tensors(tmp_path / "model.safetensors")
    assert assembled(json.loads(texts[METADATA]), tensors).sha256() == model.sha256()
    assert all(np.array_equal(tensors[key], tensor) for key, tensor in model.tensors().items())
