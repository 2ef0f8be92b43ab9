"""`byheart check`: prove stored certificates again."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from byheart.cli.main import main
from constructions.model.model import Model
from constructions.tasks.task import Task
from tests import task_files
from tests.command_line import copy
from tests.memories import changed, write_memory
from tests.verify.kernel import folders
from verify.certificates.certificate import Certificate


def test_check_proves_the_folder_again(folder, capsys):
    assert main(["check", "--fast", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "PROVED"
    assert main(["check", "--fast", str(folder)]) == 0
    assert "feature-rank" in capsys.readouterr().out


def test_the_first_line_is_the_answer(folder, capsys):
    for command in (["check", "--fast"], ["run"]):
        assert main([command[0], str(folder), *command[1:]]) == 0
        assert capsys.readouterr().out.startswith("MEMORIZED")


def spoiled(folder, target, scale):
    """The folder with its unembedding scaled and an honest certificate of that."""
    target.mkdir()
    network, task = Model.load(folder / "model.safetensors"), Task.load(folder / "task.safetensors")
    write_memory(target, changed(network, W_U=scale * network.W_U), task)
    return target


def test_weights_that_memorize_nothing_are_not_memorized_and_exit_with_1(folder, tmp_path, capsys):
    faint = spoiled(folder, tmp_path / "faint", 0.01)
    for command in (["check", "--fast"], ["run"]):
        assert main([command[0], str(faint), *command[1:]]) == 1
        assert capsys.readouterr().out.startswith("NOT MEMORIZED")


def test_questions_about_a_part_and_about_the_mean_have_their_exit_codes(folder, tmp_path, capsys):
    faint = spoiled(folder, tmp_path / "faint", 0.01)
    capsys.readouterr()
    assert main(["check", str(folder), "--at-least", "40", "--fast"]) == 0
    assert capsys.readouterr().out.startswith("AS ASKED, PROVED")
    assert main(["check", str(faint), "--at-least", "40", "--fast"]) == 1
    assert main(["check", str(faint), "--at-most", "9", "--fast"]) == 1
    assert "\nNO BETTER THAN A GUESS" in capsys.readouterr().out
    assert main(["check", str(faint), "--at-most", "0.01", "--fast"]) == 1
    assert main(["check", str(faint), "--tolerance", "9", "--fast"]) == 1
    assert main(["check", "--fast", str(folder), "--at-most", "1", "--at-least", "1"]) == 2
    assert main(["check", "--fast", str(folder), "--at-most", "1", "--tolerance", "1"]) == 2
    assert (
        "--tolerance 1.0 beside --at-most 1.0 is a tolerance of each distribution, but a mean is asked for"
        in capsys.readouterr().err
    )
    with pytest.raises(SystemExit):
        main(["check", "--fast", str(folder), "--at-most", "nan"])


@pytest.mark.parametrize("command", [["check"], ["check", "--fast"], ["run"]])
def test_a_folder_with_a_foreign_file_is_refused(folder, tmp_path, capsys, command):
    copied = copy(folder, tmp_path / "copy")
    (copied / "layer.safetensors").write_bytes(b"")
    assert main([command[0], str(copied), *command[1:]]) == 2
    assert "layer.safetensors" in capsys.readouterr().err


def test_check_needs_no_torch(folder):
    script = (
        "import sys; sys.modules['torch'] = None; from byheart.cli.main import main; "
        f"code = main(['check', '--fast', {str(folder)!r}]); sys.exit(code)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode == 0


@pytest.mark.parametrize("name", ["model.safetensors", "task.safetensors", "certificate.json"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing"])
def test_a_damaged_file_is_named_and_answers_nothing(folder, tmp_path, capsys, name, damage):
    """Exit code 2 where it cannot be read, and 1 where it can, but has another hash."""
    copied = copy(folder, tmp_path / "copy")
    data = bytearray((copied / name).read_bytes())
    if damage == "truncated":
        (copied / name).write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        data[len(data) * 2 // 3] ^= 4
        (copied / name).write_bytes(data)
    else:
        (copied / name).unlink()
    code, error = main(["check", "--fast", str(copied)]), capsys.readouterr().err
    assert code == (1 if "hash" in error or "digest" in error else 2)
    assert name in error and error.count("byheart:") == 1


def test_check_exits_2_without_a_folder(tmp_path, capsys):
    assert main(["check", "--fast", str(tmp_path / "nothing")]) == 2
    assert "nothing" in capsys.readouterr().err


@pytest.mark.parametrize("at_a_time", [[], ["--workers", "2"]])
def test_several_folders_are_checked_whatever_one_of_them_is(at_a_time, tmp_path, capsys):
    good, forged, torn = (tmp_path / name for name in ("good", "forged", "torn"))
    main(["build", "dana.lemma-3", "--out", str(good), "--json"])
    for folder in (forged, torn):
        shutil.copytree(good, folder)
    (forged / "task.safetensors").write_bytes((good / "task.safetensors").read_bytes() + b" ")
    (torn / "certificate.json").unlink()
    capsys.readouterr()
    folders = [str(good), str(forged), str(torn)]
    assert main(["check", "--fast", *folders, "--json", *at_a_time]) == 2
    memorized, other, lost = json.loads(capsys.readouterr().out)
    assert [each["folder"] for each in (memorized, other, lost)] == folders
    assert memorized["verdict"] == "PROVED" and other["kind"] == "FileFormatError" and "error" in lost
    assert main(["check", "--fast", str(good), str(good), *at_a_time]) == 0
    assert capsys.readouterr().out.startswith("PROVED: 1 of 1 folder proved\n")


def test_folders_that_earlier_runs_have_checked_are_taken_over_as_long_as_nothing_changes(
    tmp_path, capsys, monkeypatch
):
    good, torn, kept = tmp_path / "good", tmp_path / "torn", tmp_path / "kept"
    main(["build", "dana.lemma-3", "--out", str(good), "--json"])
    shutil.copytree(good, torn)
    (torn / "certificate.json").write_bytes(b"")
    from verify.provers import memorization

    checked, original = [], memorization.check_memorization
    monkeypatch.setattr(
        memorization, "check_memorization", lambda *given, **o: checked.append(given[0]) or original(*given, **o)
    )

    def earlier(*options):
        checked.clear()
        capsys.readouterr()
        code = main(["check", "--fast", str(good), *options, "--json", "--keep", str(kept)])
        [*_, last] = json.loads(capsys.readouterr().out)
        return code, last.get("earlier"), len(checked)

    assert earlier() == (0, False, 1)
    assert earlier() == (0, True, 0)
    assert earlier("--at-least", "1") == (0, False, 1)
    assert earlier(str(torn)) == earlier(str(torn)) == (2, None, 1)
    assert main(["check", "--fast", str(good), "--keep", str(kept)]) == 0
    shown = capsys.readouterr()
    assert "(found by an earlier run, not checked again)" in " ".join(shown.out.split()) and "1 taken over" in shown.err
    (good / "certificate.json").write_bytes((good / "certificate.json").read_bytes() + b" ")
    assert earlier()[1:] != (True, 0)


def test_workers_that_are_elsewhere_check_the_folder_that_is_here(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["build", "dana.lemma-3", "--out", "one", "--json"])
    main(["build", "dana.lemma-3", "--param", "d_vocab=3", "--out", "elsewhere/one", "--json"])

    class Elsewhere(ThreadPoolExecutor):
        def submit(self, *call):
            os.chdir(tmp_path / "elsewhere")
            return super().submit(*call)

    monkeypatch.setattr("verify.workers.processes", Elsewhere)
    capsys.readouterr()
    assert main(["check", "--fast", "one", "--workers", "1"]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert first == "PROVED: 1 of 1 folder proved" and "  one  MEMORIZED, PROVED: 16 of 16" in "\n".join(others)


def test_a_file_that_has_no_place_is_refused_before_the_work(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("verify.provers.memorization.check_memorization", lambda *_, **__: pytest.fail("it worked"))
    assert main(["check", "--fast", str(folder), "--keep", str(folder / "kept")]) == 2
    assert f"lies in {folder}, which it would change" in capsys.readouterr().err
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert main(["check", "--fast", str(folder), "--keep", str(tmp_path / "loop")]) == 2
    assert "expected a file that --keep wrote" in capsys.readouterr().err
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert main(["check", "--fast", str(folder), "--keep", str(tmp_path / "kept")]) == 2
    assert "a new one in a folder that can be written" in capsys.readouterr().err


def test_a_check_that_nothing_can_keep_says_so_and_answers(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("verify.journal.write_atomically", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    assert main(["check", "--fast", str(folder), "--keep", str(tmp_path / "kept"), "--json"]) == 0
    assert "1 judged by this run; not all could be kept: disk full" in " ".join(capsys.readouterr().err.split())
    monkeypatch.undo()
    (tmp_path / "kept").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    assert main(["check", "--fast", str(folder), "--keep", str(tmp_path / "link")]) == 0
    assert (tmp_path / "link").is_symlink() and (tmp_path / "kept").read_bytes()


def test_an_interrupted_check_prints_and_keeps_what_it_has_found(tmp_path, capsys, monkeypatch):
    first, second, kept = tmp_path / "first", tmp_path / "second", tmp_path / "kept"
    for folder in (first, second):
        main(["build", "dana.lemma-3", "--out", str(folder), "--json"])
    (second / "summary.json").unlink()
    from verify.provers import memorization

    original = memorization.check_memorization
    stopping = [second]

    def check(folder, *given, **options):
        if folder in stopping:
            raise KeyboardInterrupt
        return original(folder, *given, **options)

    monkeypatch.setattr(memorization, "check_memorization", check)
    capsys.readouterr()
    command = ["check", "--fast", str(first), str(second), "--json", "--keep", str(kept)]
    assert main(command) == 130
    printed = capsys.readouterr()
    assert [each["folder"] for each in json.loads(printed.out)] == [str(first)]
    assert "interrupted after 1 of 2 folders" in printed.err
    stopping.clear()
    assert main(command) == 0
    assert [each["earlier"] for each in json.loads(capsys.readouterr().out)] == [True, False]


def test_the_kernel_checks_and_asks_what_the_certificate_asks(tmp_path, capsys):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folders.lookup(folder)
    assert main(["check", str(one)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith(Certificate.load(one).headline()) and "method the kernel" in shown and "answers" in shown
    (two / "more").write_text("")
    assert main(["check", str(one), str(two)]) == 2
    assert "'more'" in capsys.readouterr().out
    for option in (["--at-least", "3"], ["--at-most", "3"], ["--tolerance", "1"], ["--sample-seed", "a"]):
        assert main(["check", str(one), *option]) == 2
        assert (
            f"{option[0]} {float(option[1]) if option[0] in ('--at-most', '--tolerance') else option[1]} is given"
            in (capsys.readouterr().err)
        )
    assert main(["check", str(one), "--fast", "--coq"]) == 2
    assert "--fast and --coq are given, expected one checker" in capsys.readouterr().err


def test_what_the_fast_prover_alone_proves_is_undecided_unless_it_is_asked(folder, capsys):
    """Exit code 3, whatever else the folder states; with --fast the first line says who checked."""
    assert main(["check", str(folder), "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["path"], found["statements"]) == ("UNDECIDED", "the kernel", [])
    assert found["headline"].startswith("UNDECIDED: the kernel has no proof of every float64 run, but ")
    assert found["reason"].startswith(
        "UNDECIDED: runs in float64: the kernel has no proof of what rests on H1 H2 H3 H4"
    )
    assert main(["check", str(folder), "--fast", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "in every float64 run (fast prover only); " in found["headline"]
    assert found["headline"].endswith("; checked by the fast prover")
    assert {each["id"]: each["checker"] for each in found["statements"]}["runs (float64)"] == "prover"


def test_a_task_of_a_kind_that_there_is_not_is_bad_input(tmp_path, capsys):
    one = folders.lookup(tmp_path / "one")
    task_files.write(one / "task.safetensors", task_files.parts(Task.load(one / "task.safetensors")), task="riddle")
    for how in ([], ["--fast"]):
        assert main(["check", str(one), *how]) == 2
        assert "riddle" in capsys.readouterr().err
