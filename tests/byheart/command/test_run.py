"""`byheart run`: the weights in torch, judged against the certificate."""

import json

import pytest

from byheart.command.main import main


def test_run_judges_the_folder(folder, capsys):
    for dtype, within, code in (("float64", True, 0), ("float32", True, 0), ("bfloat16", None, 3)):
        assert main(["run", str(folder), "--dtype", dtype, "--json"]) == code
        assert json.loads(capsys.readouterr().out)["within_bound"] is within


def test_run_on_a_missing_device_is_skipped_with_the_reason(folder, capsys):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    assert main(["run", str(folder), "--device", "cuda", "--json"]) == 3
    printed = capsys.readouterr()
    assert "CUDA" in json.loads(printed.out)["skipped"] and "skipped" in printed.err
