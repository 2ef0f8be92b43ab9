"""The command line as a person or a program meets it."""

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import byheart
from byheart.command import main as cli
from byheart.command.main import main
from constructions.claims import REGISTER, claim
from constructions.claims.claim import Claim
from constructions.errors import InputError
from constructions.features.full_rank_attention import FRONT_ENDS
from constructions.memories.memory import TAILS
from constructions.models.construction import Construction
from constructions.models.model import Model
from constructions.tasks.task import Task
from constructions.tasks.text import default_text
from tests.layers import memory_layer, random_layer_task
from tests.memories import changed, write_memory
from verify.claims.audit import NEEDED, Audit
from verify.claims.evidence import Evidence, Means
from verify.verdict import Verdict

TEXT = default_text()[:5000]


def words(text):
    return text.split()


@pytest.fixture
def novel(tmp_path):
    path = tmp_path / "novel.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "out"
    source = out.parent / "novel.txt"
    source.write_text(TEXT, encoding="utf-8")
    sizes = words("--vocabulary 10 --context 3 --facts 50 --tail none")
    assert main(["memorize", str(source), *sizes, "--out", str(out)]) == 0
    return out


def test_memorize_prints_one_json_object_and_nothing_else(novel, tmp_path, capsys):
    code = main(
        [
            "memorize",
            str(novel),
            *words("--vocabulary 10 --facts 30 --tail none --json"),
            "--out",
            str(tmp_path / "out"),
        ]
    )
    printed = capsys.readouterr()
    summary = json.loads(printed.out)
    assert code == 0 and summary["verdict"] == "PROVED" and printed.out.count("\n") == 1
    assert printed.err == ""
    assert all(Path(path).is_file() for path in summary["files"].values())


def test_memorize_prints_tables_for_a_person(folder, capsys, novel, tmp_path):
    main(["memorize", str(novel), *words("--vocabulary 10 --facts 30 --tail none"), "--out", str(tmp_path / "out")])
    printed = capsys.readouterr().out
    for phrase in ("PROVED", "30 of 30 contexts", "heads needed, by the paper", "float32", "report.html"):
        assert phrase in printed


def test_capacity_shows_the_papers_count_beside_the_truth(novel, capsys):
    assert main(["capacity", str(novel), *words("--context 4 --facts 200 --dim 64 --head-dim 64 --json")]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["rank_lower"] == summary["rank_upper"] < summary["paper_rank"] == 200
    assert summary["paper_heads"] < summary["fewest_heads"]
    assert main(["capacity", str(novel), *words("--context 4 --facts 200 --dim 64 --head-dim 64")]) == 0
    assert "by the paper" in capsys.readouterr().out


def test_a_table_and_its_weights_are_memorized(tmp_path, capsys):
    path = tmp_path / "facts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["paris", "is in", "france", 3], ["rome", "is in", "italy", 2], ["rome", "is in", "latium", 1]]
        )
    code = main(
        [
            "memorize",
            "--table",
            str(path),
            *words("--target labels --dim 16 --weights --json"),
            "--out",
            str(tmp_path / "out"),
        ]
    )
    summary = json.loads(capsys.readouterr().out)
    assert code == 0 and summary["memorized"] == summary["held"] == 2
    assert (summary["vocabulary"], summary["answers"]) == (3, 3)


def test_arrays_are_memorized(tmp_path, capsys):
    np.savez(tmp_path / "facts.npz", contexts=np.array([[0, 1], [1, 2], [2, 0]]), next_tokens=np.array([2, 0, 1]))
    code = main(["memorize", str(tmp_path / "facts.npz"), "--json", "--out", str(tmp_path / "out")])
    assert code == 0 and json.loads(capsys.readouterr().out)["verdict"] == "PROVED"


def test_check_proves_the_folder_again(folder, capsys):
    assert main(["check", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "PROVED"
    assert main(["check", str(folder), "--independent"]) == 0
    assert "feature-rank" in capsys.readouterr().out


def test_the_first_line_is_the_answer(folder, capsys):
    for command in (["check"], ["check", "--independent"], ["run"]):
        assert main([command[0], str(folder), *command[1:]]) == 0
        assert capsys.readouterr().out.startswith("HELD")


def spoiled(folder, target, scale):
    """The folder with its unembedding scaled and an honest certificate of that."""
    target.mkdir()
    network, task = Model.load(folder / "model.safetensors"), Task.load(folder / "task.npz")
    write_memory(target, changed(network, W_U=scale * network.W_U), task)
    return target


def test_weights_that_memorize_nothing_are_not_held_and_exit_with_1(folder, tmp_path, capsys):
    faint = spoiled(folder, tmp_path / "faint", 0.01)
    for command in (["check"], ["check", "--independent"], ["run"]):
        assert main([command[0], str(faint), *command[1:]]) == 1
        assert capsys.readouterr().out.startswith("NOT HELD")


def test_questions_about_a_part_and_about_the_mean_have_their_exit_codes(folder, tmp_path, capsys):
    faint = spoiled(folder, tmp_path / "faint", 0.01)
    for independent in ([], ["--independent"]):
        capsys.readouterr()
        assert main(["check", str(folder), "--at-least", "40", *independent]) == 0
        assert capsys.readouterr().out.startswith("AS ASKED, PROVED")
        assert main(["check", str(faint), "--at-least", "40", *independent]) == 1
        assert main(["check", str(faint), "--at-most", "9", *independent]) == 0
        assert main(["check", str(faint), "--at-most", "0.01", *independent]) == 1
        assert main(["check", str(faint), "--tolerance", "9", *independent]) in (0, 1)
    assert main(["check", str(folder), "--at-most", "1", "--at-least", "1"]) == 2
    with pytest.raises(SystemExit):
        main(["check", str(folder), "--at-most", "nan"])


@pytest.mark.parametrize("command", [["check"], ["check", "--independent"], ["run"]])
def test_a_folder_with_a_foreign_file_is_refused(folder, tmp_path, capsys, command):
    copied = copy(folder, tmp_path / "copy")
    (copied / "layer.safetensors").write_bytes(b"")
    assert main([command[0], str(copied), *command[1:]]) == 1
    assert "layer.safetensors" in capsys.readouterr().err


def test_check_needs_no_torch(folder):
    script = (
        "import sys; sys.modules['torch'] = None; from byheart.command.main import main; "
        f"code = main(['check', {str(folder)!r}]); sys.exit(code)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120).returncode == 0


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


def copy(folder, target):
    target.mkdir()
    for path in folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


@pytest.mark.parametrize("name", ["model.safetensors", "task.npz", "certificate.json", "witness.npz"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing"])
def test_check_exits_1_on_a_damaged_file(folder, tmp_path, capsys, name, damage):
    copied = copy(folder, tmp_path / "copy")
    data = bytearray((copied / name).read_bytes())
    if damage == "truncated":
        (copied / name).write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        data[len(data) * 2 // 3] ^= 4
        (copied / name).write_bytes(data)
    else:
        (copied / name).unlink()
    assert main(["check", str(copied)]) == 1
    error = capsys.readouterr().err
    assert name in error and error.count("byheart:") == 1


def test_check_exits_2_without_a_folder(tmp_path, capsys):
    assert main(["check", str(tmp_path / "nothing")]) == 2
    assert "nothing" in capsys.readouterr().err


def written(path, data):
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda p: [str(p / "absent.txt")], "absent.txt"),
        (lambda p: [str(p)], str),
        (lambda p: [written(p / "a.txt", b"")], "empty"),
        (lambda p: [written(p / "a.txt", b"abc\xff\xfe")], "UTF-8"),
        (lambda p: [written(p / "a.txt", b"abc")], "too short"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--facts", "1000000"], "--facts 1000000"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--facts", "0"], "--facts 0"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--mass", "1.5"], "mass"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--mass", "0.5", "--facts", "3"], "--facts 3"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--context", "0"], "--context 0"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--vocabulary", "0"], "--vocabulary 0"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--dim", "8", "--head-dim", "9"], "--head-dim 9"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--heads", "2"], "heads suffice"),
        (lambda p: ["--table", written(p / "t.csv", b"a,b,c\na,b\n")], "line 2"),
        (lambda p: ["--table", written(p / "t.csv", b"a,b,c\na,b,c\n")], "repeats line 1"),
        (lambda p: ["--table", written(p / "t.csv", b"")], "empty"),
        (lambda p: ["--table", written(p / "t.csv", b"a,b,nan\n"), "--weights"], "weight 'nan'"),
        (lambda p: ["--table", written(p / "t.csv", b"a,b,c\n"), "--context", "2"], "--context 2"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--table", str(p / "t.csv")], "one of them"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--seed", "-1"], "--seed -1"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, capsys, arguments, message):
    place = tmp_path / "in"
    place.mkdir()
    assert main(["memorize", *arguments(place), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error and error.count("byheart:") == 1
    assert (str(place) if message is str else message) in error
    assert not (tmp_path / "out").exists()


def test_an_existing_folder_is_refused_and_kept(novel, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    assert main(["memorize", str(novel), "--out", str(tmp_path / "out")]) == 2
    assert "exists" in capsys.readouterr().err


def test_an_error_is_json_too_where_json_was_asked_for(tmp_path, capsys):
    assert main(["memorize", str(tmp_path / "absent.txt"), "--json", "--out", str(tmp_path / "out")]) == 2
    assert "absent.txt" in json.loads(capsys.readouterr().out)["error"]


def test_ctrl_c_leaves_no_file(novel, tmp_path):
    # The signal comes when the weights are in a folder and not yet certified; Python's handler is set, as whoever
    # started the tests may ignore the signal.
    script = (
        "import os, signal, sys\nimport byheart.job\nfrom byheart.command.main import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "reached = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        "byheart.job.certify_memorization = reached\nsys.exit(main(sys.argv[1:]))\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script, "memorize", str(novel), "--out", str(tmp_path / "out"), "--context", "4"],
        cwd=Path(cli.__file__).parents[1],
        capture_output=True,
        timeout=300,
    )
    assert finished.returncode == 130
    assert b"interrupted; nothing was written" in finished.stderr and b"Traceback" not in finished.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"novel.txt"}


def test_help_imports_nothing_heavy():
    script = (
        "import sys\nfrom byheart.command.main import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "sys.exit(any(name in sys.modules for name in ('torch', 'matplotlib', 'scipy', 'numpy')))"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120)
    assert finished.returncode == 0 and b"memorize" in finished.stdout


def test_the_choices_of_the_command_line_are_those_of_the_library():
    assert cli.FRONT_END_CHOICES == FRONT_ENDS and set(TAILS) == {"fit", "none"}


def test_claims_are_listed_with_their_verdicts(capsys):
    assert main(["claims", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [claim["id"] for claim in listed] == list(REGISTER)
    assert {claim["verdict"] for claim in listed} <= set(NEEDED)
    assert main(["claims"]) == 0
    assert "dana.lemma-2" in capsys.readouterr().out


def test_a_claim_is_shown_in_full(capsys):
    assert main(["claims", "dana.lemma-2"]) == 0
    printed = capsys.readouterr().out
    for phrase in ("printed", "verdict", "false", "true", "docs/claims/closed_forms.md", "--param"):
        assert phrase in printed


@pytest.mark.parametrize("command", ["claims", "audit"])
def test_an_unknown_claim_is_refused_before_any_work(command, capsys):
    assert main([command, "dana.lemma-2", "dana.lemma-99"]) == 2
    assert "no claim 'dana.lemma-99'; did you mean 'dana.lemma-" in capsys.readouterr().err


STAND_IN = Claim("source.lemma", "A lemma", "Source, Lemma", "printed", "holds", "as printed", "docs/audit.md")


def evidence_of(*verdicts):
    return tuple(
        Evidence("claim", "words", "rank >= 1", "rank >= 1", verdict, "counting", means=(Means.EXACT,))
        for verdict in verdicts
    )


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([Verdict.PROVED, Verdict.PROVED], 0),
        ([Verdict.PROVED, Verdict.UNDECIDED], 3),
        ([Verdict.UNDECIDED, Verdict.REFUTED], 1),
        ([], 3),
    ],
)
def test_audit_ends_well_only_if_every_verdict_is_confirmed(verdicts, code, monkeypatch, capsys):
    stand_in = [Audit(claim=STAND_IN, evidence=evidence_of(*verdicts), seconds=0.0)]
    monkeypatch.setattr("verify.claims.audit.audit_claims", lambda *_, **__: iter(stand_in))
    assert main(["audit", "dana.lemma-3", "--json"]) == code
    [summary] = json.loads(capsys.readouterr().out)
    assert summary["confirmed"] is (code == 0) and summary["id"] == "source.lemma"
    assert main(["audit", "dana.lemma-3"]) == code
    assert ("NOT CONFIRMED" in capsys.readouterr().out) is (code != 0)


def test_an_interrupted_audit_prints_what_it_has_certified(monkeypatch, capsys):
    def audits(*_, **__):
        yield Audit(claim=STAND_IN, evidence=evidence_of(Verdict.PROVED), seconds=0.0)
        raise KeyboardInterrupt

    monkeypatch.setattr("verify.claims.audit.audit_claims", audits)
    assert main(["audit", "--json"]) == 130
    printed = capsys.readouterr()
    assert [summary["id"] for summary in json.loads(printed.out)] == ["source.lemma"]
    assert f"interrupted after 1 of {len(REGISTER)} claims" in printed.err


@pytest.mark.parametrize("at_a_time", [[], ["--workers", "2"]])
def test_several_folders_are_checked_whatever_one_of_them_is(at_a_time, tmp_path, capsys):
    good, forged, torn = (tmp_path / name for name in ("good", "forged", "torn"))
    main(["build", "dana.lemma-3", "--out", str(good), "--json"])
    for folder in (forged, torn):
        shutil.copytree(good, folder)
    (forged / "task.npz").write_bytes((good / "task.npz").read_bytes() + b" ")
    (torn / "certificate.json").unlink()
    capsys.readouterr()
    folders = [str(good), str(forged), str(torn)]
    assert main(["check", *folders, "--json", *at_a_time]) == 1
    held, other, lost = json.loads(capsys.readouterr().out)
    assert [each["folder"] for each in (held, other, lost)] == folders
    assert held["verdict"] == "PROVED" and other["kind"] == "FileFormatError" and "error" in lost
    assert main(["check", str(good), str(good), *at_a_time]) == 0
    assert capsys.readouterr().out.startswith(f"{good}: HELD, PROVED")


def test_an_audit_on_workers_says_what_one_without_them_says(capsys):
    ids = ["slides.quality", "mahdavi.one-token"]
    printed = []
    for at_a_time in ([], ["--workers", "2"]):
        assert main(["audit", *ids, "--json", *at_a_time]) == 0
        printed.append([{**each, "seconds": 0} for each in json.loads(capsys.readouterr().out)])
    assert printed[0] == printed[1] and [each["id"] for each in printed[0]] == ids


def test_full_is_passed_on(monkeypatch, capsys):
    asked = []

    def audits(ids, *, full, progress):
        asked.append((ids, full))
        return iter(())

    monkeypatch.setattr("verify.claims.audit.audit_claims", audits)
    main(["audit", "dana.lemma-3", "--full", "--json"])
    main(["audit", "--json"])
    assert asked == [(["dana.lemma-3"], True), (list(REGISTER), False)]


def test_build_writes_a_folder_that_check_proves_again(tmp_path, capsys):
    out = str(tmp_path / "built")
    assert main(["build", "dana.lemma-3", "--out", out, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["claim"] == "dana.lemma-3" and summary["verdict"] == "PROVED"
    assert summary["construction"] == dict(claim("dana.lemma-3").parameters)
    assert main(["check", out]) == 0
    assert main(["build", "dana.lemma-3", "--out", out]) == 2
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dana.lemma-3", "--param", "wrong=1"], "dana.lemma-3 has no parameter 'wrong', expected"),
        (["dana.lemma-3", "--param", "seed=1", "--param", "seed=2"], "a name is given twice"),
        (["dana.lemma-0"], "no claim 'dana.lemma-0'"),
    ],
)
def test_build_refuses_what_the_claim_does_not_know(arguments, message, tmp_path, capsys):
    assert main(["build", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def layer_claim(kind="regression"):
    def build():
        task = random_layer_task(examples=5, tokens=4, d_model=4, kind=kind)
        return Construction(task, memory_layer(task, heads=3), "random heads")

    return Claim("x.model", "A layer", "Source", "", "holds", "", "docs/layer.md", build=build)


@pytest.fixture
def layer_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("constructions.claims.claim", lambda id: layer_claim())
    assert main(["build", "x.model", "--out", str(tmp_path / "layer")]) == 0
    shown = capsys.readouterr().out
    for phrase in ("random heads", "HELD, PROVED: 5 of 5", "distance", "15 pairs", "float32", "model.safetensors"):
        assert phrase in shown
    return tmp_path / "layer"


def test_a_layer_is_built_checked_and_run_like_a_network(layer_folder, capsys):
    assert main(["check", str(layer_folder), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert [check["id"] for check in summary["statements"]] == ["answers", "feature-rank", "saturation"]
    assert main(["check", str(layer_folder), "--independent"]) == 0
    assert "integers and balls" in capsys.readouterr().out
    assert main(["run", str(layer_folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["within_bound"] is True
    assert main(["run", str(layer_folder), "--dtype", "bfloat16"]) == 3
    assert "not judged" in " ".join(capsys.readouterr().out.split())


def test_a_layer_of_classes_shows_its_margin_and_its_accuracy(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("constructions.claims.claim", lambda id: layer_claim("classification"))
    assert main(["build", "x.model", "--out", str(tmp_path / "layer")]) == 0
    shown = capsys.readouterr().out
    assert "least margin" in shown and "accuracy 1," in shown


@pytest.mark.parametrize("name", ["model.safetensors", "task.npz", "certificate.json", "witness.npz"])
@pytest.mark.parametrize("damage", ["truncated", "missing"])
def test_check_exits_1_on_a_damaged_layer(layer_folder, capsys, name, damage):
    path = layer_folder / name
    data = path.read_bytes()
    path.unlink()
    if damage == "truncated":
        path.write_bytes(data[:-9])
    for options in ([], ["--independent"]):
        assert main(["check", str(layer_folder), *options]) == 1
    error = capsys.readouterr().err
    assert error.count("byheart: ") == 2 and "Traceback" not in error


@pytest.mark.parametrize("parameter", ["seed", "=1", "seed=", "seed=x", "seed=1.5", f"seed={10**10}"])
def test_a_parameter_that_is_no_name_and_integer_is_refused(parameter, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["build", "dana.lemma-3", "--param", parameter, "--out", str(tmp_path / "out")])
    assert stopped.value.code == 2
    assert parameter.partition("=")[2] in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["check", ""], ["run", ""], ["memorize", "--out", ""], ["capacity", ""]])
def test_an_empty_path_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "the path is empty" in capsys.readouterr().err


def test_an_interruption_while_modules_load_is_one_sentence(monkeypatch, capsys):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_judged", interrupted)
    assert main(["check", "somewhere"]) == 130
    assert capsys.readouterr().err == "byheart: interrupted; nothing was written\n"


FACTS = b"subject;relation;answer\nFrance;capital;Paris\nFrance;river;Seine\nPeru;capital;Lima\n"


def test_a_file_that_is_a_table_is_read_as_one_and_what_was_found_is_said(tmp_path, capsys):
    table = written(tmp_path / "facts.csv", FACTS)
    assert main(["memorize", table, "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("HELD, PROVED: 3 of 3 contexts") and "semicolon" in shown and "--no-header" in shown
    assert f'byheart ask {tmp_path / "out"} "France, capital"' in shown
    assert main(["memorize", table, "--no-header", "--out", str(tmp_path / "four"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memorized"] == 4
    tabs = written(tmp_path / "facts.txt", FACTS.replace(b";", b"\t"))
    assert main(["memorize", "--table", tabs, "--delimiter", "tab", "--out", str(tmp_path / "tabs"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memorized"] == 3


def test_what_of_a_text_is_not_told_apart_is_said(tmp_path, capsys):
    text = written(tmp_path / "a.txt", b"abcabdabcabdaaa")
    assert main(["memorize", text, "--vocabulary", "3", "--context", "1", "--out", str(tmp_path / "out")]) in (0, 1)
    shown = " ".join(capsys.readouterr().out.split())
    assert "of which 4 (26.67%) are not told apart" in shown and "--vocabulary 4 keeps all" in shown


def test_a_context_that_is_typed_is_answered(tmp_path, capsys, monkeypatch):
    table = written(tmp_path / "facts.csv", FACTS)
    assert main(["memorize", table, "--out", str(tmp_path / "out"), "--json"]) == 0
    capsys.readouterr()
    assert main(["ask", str(tmp_path / "out"), "France, river", "Peru,river"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "'Seine'" in first and first.endswith("(held)") and second.endswith("(not one of the facts)")
    monkeypatch.setattr("sys.stdin", io.StringIO("Peru, capital\n"))
    assert main(["ask", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["token"] == "Lima"
    assert main(["ask", str(tmp_path / "out"), "Frence, river", "France, river"]) == 2
    printed = capsys.readouterr()
    assert "did you mean 'France'" in printed.err and "'Seine'" in printed.out
    assert main(["ask", str(tmp_path / "out"), "Frence, river", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["kind"] == "InputError"
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert main(["ask", str(tmp_path / "out")]) == 2
    assert "no context is given" in capsys.readouterr().err


def test_what_a_text_has_no_token_for_is_said_to_be_read_as_other(tmp_path, capsys):
    text = written(tmp_path / "novel.txt", b"abcabcabcabd")
    options = ["--vocabulary", "3", "--context", "2", "--target", "labels", "--out", str(tmp_path / "out")]
    assert main(["memorize", text, *options]) == 0
    capsys.readouterr()
    main(["ask", str(tmp_path / "out"), "a?", "ab"])
    first, second = capsys.readouterr().out.splitlines()
    assert "read as 'a' '<other>'" in first and "read as" not in second


@pytest.fixture
def facts_table(tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text(
        "".join(f"{a},{b},{'xyz'[(a + a * b) % 3]}\n" for a in range(4) for b in range(4)), encoding="utf-8"
    )
    return path


def test_a_memory_is_asked_for_by_name_and_all_are_listed(facts_table, tmp_path, capsys):
    out = tmp_path / "out"
    code = main(["memorize", "--table", str(facts_table), *words("--memory knots --json --out"), str(out)])
    summary = json.loads(capsys.readouterr().out)
    assert code == 0 and summary["memory"] == "knots" and summary["held"] == 16
    assert main(["check", str(out)]) == 0
    capsys.readouterr()
    assert main(["memories", "--json"]) == 0
    listed = [memory["memory"] for memory in json.loads(capsys.readouterr().out)]
    assert summary["memory"] in listed and len(set(listed)) == len(listed) >= 7
    assert main(["memories"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in listed)


def test_the_smallest_memory_without_neurons_is_printed_beside_the_others(facts_table, tmp_path, capsys):
    options = [*words("--memory smallest --attention-only --dtype float64 --out"), str(tmp_path / "out")]
    assert main(["memorize", "--table", str(facts_table), *options]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "HELD, PROVED: 16 of 16" in printed
    assert "knots it has neurons" in printed and "bits/fact margin holds in" in printed and "no fewer" in printed
    assert "run in float64 holds 16 of 16, measured; of every run within the rounding bound: 16, proved" in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--memory knots --heads 3", "--heads 3 is given, but only the memory 'theorem-1' has such, not 'knots'"),
        ("--memory knots --tail fit", "--tail 'fit' is given, but only the memory 'theorem-1' has such"),
        (
            "--memory smallest --front-end table",
            "--front-end 'table' is given, but only the memory 'theorem-1' has such",
        ),
        ("--memory nothing", "memory is 'nothing', expected one of 'smallest', 'knots'"),
        ("--layers 0", "--layers 0, expected at least 1"),
        ("--memory knots --layers 1", "it has 2 layers"),
    ],
)
def test_what_a_memory_does_not_have_or_may_not_be_is_refused(options, message, facts_table, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["memorize", "--table", str(facts_table), *words(options), "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_python_and_the_command_take_the_same_memory(facts_table, tmp_path, capsys):
    assert main(["memorize", str(facts_table), "--json", "--out", str(tmp_path / "out")]) == 0
    summary = json.loads(capsys.readouterr().out)
    memory = byheart.memorize(facts_table)
    for name in ("memory", "dtype", "parameters", "built", "headline", "information_limit"):
        assert memory.summary[name] == summary[name], name
    assert byheart.memorize(facts_table, memory="smallest").model.sha256() == memory.model.sha256()
    assert summary["memory"] == "newton" and summary["dtype"] == "float32"


def test_attention_alone_and_sizes_may_be_asked_for(novel, tmp_path, capsys):
    text = [str(novel), *words("--vocabulary 10 --facts 30 --json")]
    for options, memory in ((), "knots"), (("--attention-only",), "theorem-1"), (("--heads", "30"), "theorem-1"):
        assert main(["memorize", *text, *options, "--out", str(tmp_path / "-".join(("out", *options)))]) == 0
        assert json.loads(capsys.readouterr().out)["memory"] == memory


def test_a_table_that_may_have_a_weight_names_the_options(tmp_path, capsys):
    table = written(tmp_path / "t.csv", b"a,b,weight\nc,d,2\n")
    assert main(["memorize", table, "--no-header", "--out", str(tmp_path / "out"), "--json"]) == 2
    error = capsys.readouterr().err
    assert "--header if it holds names, or --no-weights if" in error
    assert main(["memorize", table, "--no-header", "--no-weights", "--out", str(tmp_path / "out"), "--json"]) == 0


def test_an_existing_folder_is_named_with_the_option_or_the_argument_that_replaces_it(novel, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    assert main(["memorize", str(novel), "--out", str(tmp_path / "out")]) == 2
    assert "pass --overwrite to replace it" in capsys.readouterr().err
    with pytest.raises(InputError, match="pass overwrite=True to replace it"):
        byheart.memorize({"a": "b"}, out=tmp_path / "out")


def test_one_head_is_one_head(tmp_path, capsys):
    table = written(tmp_path / "facts.csv", b"a,b,x\nb,a,y\nb,b,x\na,a,x\n")
    assert main(["memorize", table, *words("--dim 9 --head-dim 9 --heads 1 --out"), str(tmp_path / "out")]) in (0, 2)
    assert main(["capacity", table, *words("--dim 2 --head-dim 2")]) == 0
    shown = capsys.readouterr().out
    assert "1 head holds, by the paper" in shown and "1 heads" not in shown


def test_long_paths_are_folded_not_cut(facts_table, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    out = tmp_path / ("a" * 70)
    assert main(["memorize", str(facts_table), "--memory", "knots", "--out", str(out)]) == 0
    shown = "".join(capsys.readouterr().out.split())
    assert str(out / "model.safetensors") in shown


def test_capacity_bounds_what_any_architecture_takes(novel, capsys):
    assert main(["capacity", str(novel), *words("--facts 40 --vocabulary 10")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "any architecture, all laws at least 360 numbers that depend on the laws; 413 suffice" in shown
    assert "any architecture, all labels at least 2 entries of float64" in shown
