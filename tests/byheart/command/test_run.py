"""`byheart run`: the weights in torch, judged against the certificate."""

import json
from dataclasses import replace

import pytest

from byheart.command.main import main


def test_run_judges_the_folder(folder, capsys):
    for dtype, within, code in (("float64", True, 0), ("float32", True, 0), ("bfloat16", None, 3)):
        assert main(["run", str(folder), "--dtype", dtype, "--json"]) == code
        shown = json.loads(capsys.readouterr().out)
        assert shown["within_bound"] is within
        assert shown["headline"].startswith({0: "HELD, MEASURED: 50 of 50", 3: "NOT JUDGED: "}[code])
        assert f"run in {dtype} on cpu" in shown["headline"]


@pytest.mark.parametrize(
    ("within", "all_held", "every_run", "code", "words"),
    [
        (True, True, False, 0, "HELD, MEASURED: "),
        (True, False, False, 1, "NOT HELD: "),
        (False, True, False, 1, "OUTSIDE THE PROVED BOUNDS: "),
        (False, False, False, 1, "OUTSIDE THE PROVED BOUNDS: "),
        (None, True, False, 3, "NOT JUDGED: "),
        (None, False, False, 3, "NOT JUDGED: "),
        (None, True, True, 0, "HELD, MEASURED: "),
        (None, False, True, 1, "OUTSIDE THE PROVED BOUNDS: "),
    ],
)
def test_the_first_words_say_what_the_exit_code_says(
    folder, within, all_held, every_run, code, words, monkeypatch, capsys
):
    pytest.importorskip("torch")
    from verify.replica import run as module

    original = module.run

    def changed(model, task, **options):
        found = original(model, task, **options)
        proved = task.n_contexts if every_run else None
        return replace(found, within_bound=within, held=task.n_contexts - (not all_held), held_proved=proved)

    monkeypatch.setattr(module, "run", changed)
    assert main(["run", str(folder)]) == code
    assert capsys.readouterr().out.startswith(words)


def test_run_on_a_missing_device_is_skipped_with_the_reason(folder, capsys):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    assert main(["run", str(folder), "--device", "cuda", "--json"]) == 3
    printed = capsys.readouterr()
    assert "CUDA" in json.loads(printed.out)["skipped"] and "skipped" in printed.err
