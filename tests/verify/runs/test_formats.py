import numpy as np
import pytest

from verify.runs.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, FloatFormat


@pytest.mark.parametrize("number_format", [FLOAT16, FLOAT32, FLOAT64])
def test_the_numbers_are_those_of_numpy(number_format: FloatFormat) -> None:
    found = np.finfo(number_format.name)
    assert number_format.unit_roundoff == float(found.eps) / 2
    assert number_format.smallest_normal == float(found.smallest_normal)
    assert number_format.largest == float(found.max)


def test_bfloat16_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    found = torch.finfo(torch.bfloat16)
    assert (BFLOAT16.unit_roundoff * 2, BFLOAT16.smallest_normal, BFLOAT16.largest) == (
        found.eps,
        found.tiny,
        found.max,
    )
