"""`byheart run`: the weights in torch, judged against the certificate."""

import json
from dataclasses import replace
from functools import partial

import pytest

from byheart.cli.main import main


def test_run_judges_the_folder(folder, capsys):
    for dtype, within, code in (("float64", True, 0), ("float32", True, 0), ("bfloat16", None, 3)):
        assert main(["run", str(folder), "--dtype", dtype, "--json"]) == code
        shown = json.loads(capsys.readouterr().out)
        assert shown["within_bound"] is within
        assert shown["headline"].startswith({0: "MEMORIZED, MEASURED: 50 of 50", 3: "NOT JUDGED: "}[code])
        assert f"run in {dtype} on cpu" in shown["headline"]


@pytest.mark.parametrize(
    ("within", "all_memorized", "every_run", "code", "words"),
    [
        (True, True, False, 0, "MEMORIZED, MEASURED: "),
        (True, False, False, 1, "NOT MEMORIZED: "),
        (False, True, False, 1, "OUTSIDE THE PROVED BOUNDS: "),
        (False, False, False, 1, "OUTSIDE THE PROVED BOUNDS: "),
        (None, True, False, 3, "NOT JUDGED: "),
        (None, False, False, 3, "NOT JUDGED: "),
        (None, True, True, 0, "MEMORIZED, MEASURED: "),
        (None, False, True, 1, "OUTSIDE THE PROVED BOUNDS: "),
    ],
)
def test_the_first_words_say_what_the_exit_code_says(
    folder, within, all_memorized, every_run, code, words, monkeypatch, capsys
):
    pytest.importorskip("torch")
    from verify.torch import run as module

    original = module.run

    def changed(model, task, **options):
        found = original(model, task, **options)
        proved = task.n_contexts if every_run else None
        return replace(
            found, within_bound=within, memorized=task.n_contexts - (not all_memorized), memorized_proved=proved
        )

    monkeypatch.setattr(module, "run", changed)
    assert main(["run", str(folder)]) == code
    assert capsys.readouterr().out.startswith(words)


@pytest.mark.parametrize("proved", [None, 0, 1, 49, 50])
@pytest.mark.parametrize("within", [True, None, False])
def test_the_first_line_says_how_many_facts_every_run_holds(folder, proved, within, monkeypatch, capsys):
    pytest.importorskip("torch")
    from verify.torch import run as module

    original = module.run
    monkeypatch.setattr(
        module,
        "run",
        lambda *given, **how: replace(original(*given, **how), memorized_proved=proved, within_bound=within),
    )
    main(["run", str(folder)])
    line = capsys.readouterr().out.splitlines()[0]
    assert (f"{proved} of 50 memorized in every such run, proved" in line) == (
        within is not False and proved in (1, 49)
    )
    assert ("; proved for every such run" in line) == (within is not False and proved == 50)


def test_a_mean_is_not_said_to_be_proved_for_every_run(tmp_path, capsys):
    pytest.importorskip("torch")
    assert main(["build", "johnson-lindenstrauss-unembedding", "--out", str(tmp_path / "a"), "--quiet"]) == 0
    assert main(["run", str(tmp_path / "a")]) == 0
    assert "every such run" not in capsys.readouterr().out.splitlines()[1]


def test_run_on_a_missing_device_is_skipped_with_the_reason(folder, capsys):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    assert main(["run", str(folder), "--device", "cuda", "--json"]) == 3
    printed = capsys.readouterr()
    assert "CUDA" in json.loads(printed.out)["skipped"] and "skipped" in printed.err


def test_without_a_folder_a_record_of_the_device_is_written(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    from byheart.device_runs import record as device_record

    whole = [case for case in device_record.cases() if case.name in ("affine", "knots")]
    monkeypatch.setattr(device_record, "cases", lambda: iter(whole))
    monkeypatch.setattr(device_record, "record_device", partial(device_record.record_device, modes=("eager",)))
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--dtype", "float64"]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("AGREES, MEASURED: 8 of 8 judged runs on cpu are within what is proved")
    assert any(line.split()[:3] == ["knots", "float64", "eager"] for line in rest)
    written = json.loads((tmp_path / "out" / "device.json").read_text())
    assert written["headline"] == first
    assert main(["run", "--minutes", "1e-9", "--record", "again.json", "--json"]) == 3
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "again.json").read_text())


def test_without_a_folder_a_missing_device_is_one_sentence(tmp_path, monkeypatch, capsys):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--device", "cuda"]) == 3
    printed = capsys.readouterr()
    assert printed.out == "" and "skipped: no CUDA device" in printed.err and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("option", "value"), [("--record", "r.json"), ("--minutes", "3")])
def test_options_of_the_record_are_refused_beside_a_folder(folder, capsys, option, value):
    assert main(["run", str(folder), option, value]) == 2
    assert f"{option} = " in capsys.readouterr().err
