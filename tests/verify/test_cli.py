"""The command line as a person or a program meets it."""

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from constructions.full_rank_attention import FRONT_ENDS
from constructions.memory import TAILS
from constructions.text import default_text
from verify import cli
from verify.cli import main

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
    assert code == 0 and summary["memorized"] == summary["argmax_proved"] == 2 and summary["vocabulary"] == 6


def test_arrays_are_memorized(tmp_path, capsys):
    np.savez(tmp_path / "facts.npz", contexts=np.array([[0, 1], [1, 2], [2, 0]]), next_tokens=np.array([2, 0, 1]))
    code = main(["memorize", str(tmp_path / "facts.npz"), "--json", "--out", str(tmp_path / "out")])
    assert code == 0 and json.loads(capsys.readouterr().out)["verdict"] == "PROVED"


def test_check_proves_the_folder_again(folder, capsys):
    assert main(["check", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "PROVED"
    assert main(["check", str(folder), "--independent"]) in (0, 3)
    assert "feature-rank" in capsys.readouterr().out


def test_check_needs_no_torch(folder):
    script = (
        "import sys; sys.modules['torch'] = None; from verify.cli import main; "
        f"code = main(['check', {str(folder)!r}]); sys.exit(code)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120).returncode == 0


def test_run_judges_the_folder(folder, capsys):
    for dtype, within in (("float64", True), ("float32", True), ("bfloat16", None)):
        assert main(["run", str(folder), "--dtype", dtype, "--json"]) == 0
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
    assert name in error and error.count("memproof:") == 1


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
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--facts", "1000000"], "1000000"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--facts", "0"], "facts = 0"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--mass", "1.5"], "mass"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--mass", "0.5", "--facts", "3"], "--facts 3"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--context", "0"], "context = 0"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--vocabulary", "0"], "vocabulary = 0"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--dim", "8", "--head-dim", "9"], "head-dim = 9"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--dim", "8"], "N - 1"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--heads", "2"], "heads suffice"),
        (lambda p: ["--table", written(p / "t.csv", b"a,b,c\na,b\n")], "line 2"),
        (lambda p: ["--table", written(p / "t.csv", b"a,b,c\na,b,c\n")], "repeats line 1"),
        (lambda p: ["--table", written(p / "t.csv", b"")], "empty"),
        (lambda p: ["--table", written(p / "t.csv", b"a,b,nan\n"), "--weights"], "weight 'nan'"),
        (lambda p: ["--table", written(p / "t.csv", b"a,b,c\n"), "--context", "2"], "--context 2"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--table", str(p / "t.csv")], "one of them"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--seed", "-1"], "seed = -1"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, capsys, arguments, message):
    place = tmp_path / "in"
    place.mkdir()
    assert main(["memorize", *arguments(place), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error and error.count("memproof:") == 1
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
    process = subprocess.Popen(
        [sys.executable, "-m", "verify", "memorize", str(novel), "--out", str(tmp_path / "out"), "--context", "6"],
        cwd=Path(cli.__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130 and b"interrupted" in error and b"Traceback" not in error
    assert {path.name for path in tmp_path.iterdir()} == {"novel.txt"}


def test_help_imports_nothing_heavy():
    script = (
        "import sys\nfrom verify.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "sys.exit(any(name in sys.modules for name in ('torch', 'matplotlib', 'scipy', 'numpy')))"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120)
    assert finished.returncode == 0 and b"memorize" in finished.stdout


def test_the_choices_of_the_command_line_are_those_of_the_library():
    assert cli.FRONT_END_CHOICES == FRONT_ENDS and set(TAILS) == {"fit", "none"}
