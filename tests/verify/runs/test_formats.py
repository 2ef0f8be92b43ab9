from pathlib import Path

import numpy as np
import pytest

from verify.runs.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, FORMATS, FloatFormat, every_run_is


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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_every_run_is_names_the_type_what_is_no_such_run_and_its_page(dtype: str) -> None:
    said = every_run_is(dtype, 2.0)
    assert said.startswith(f"each operation in {dtype}") and "no TF32" in said and "at most 2 units" in said
    assert "assumed of layer_norm in torch" in said  # what H4 assumes and does not prove
    page = Path(__file__).parents[3] / "docs" / "rigour" / "runs.md"
    assert str(page).endswith("docs/rigour/runs.md") and "docs/rigour/runs.md" in said
    text = page.read_text(encoding="utf-8")
    assert all(f"**{name}.**" in text for name in ("H1", "H2", "H3", "H4")) and "**H5**" in text
    assert "### What people run" in text


def test_a_run_may_be_finer_up_to_64_bits_but_of_float16() -> None:
    finer = {each.name: " or finer (up to 64 bits) and rounded" in every_run_is(each.name) for each in FORMATS.values()}
    assert finer == {"float64": True, "float32": True, "bfloat16": True, "float16": False}
    assert {each.name: each.finest == 2.0**-64 for each in FORMATS.values()} == finer
    assert FLOAT16.finest == FLOAT16.unit_roundoff
