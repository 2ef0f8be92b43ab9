"""No output says MEMORIZED unless `certify` says it of the same weights, the same task and the same criterion."""

import shutil
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.cli.main import main
from byheart.hosts.certify import certify
from constructions.model.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from constructions.tasks.vocabulary import typed
from tests.by_kernel import check_by_kernel
from tests.memories import changed, memory, random_task, write_memory
from verify.certificates.certificate import Certificate, Statement
from verify.provers.memorization import certify_memorization, check_memorization, subject_of

CRITERIA = [
    Criterion(), Criterion(tolerance=10.0), Criterion(tolerance=1e-9), Criterion.at_least(3), Criterion.at_least(12),
    Criterion.at_most(0.5), Criterion.at_most(1e300),
]  # fmt: skip
COMMANDS = [
    ["check"], ["check", "--fast"], ["run", "--dtype", "float32"], ["run", "--dtype", "bfloat16"],
    ["export", "--to", "safetensors", "--dtype", "bfloat16"],
    ["export", "--to", "safetensors", "--dtype", "float32", "--allow-loss"], ["ask"], ["explain"],
]  # fmt: skip


def spoken(folder, command, task):
    """The exit code of a command on a folder, and all that it says."""
    words = [command[0], str(folder), *command[1:]]
    if command[0] in ("ask", "explain"):
        context = typed(task, 0) or "0"
        words += [context] if command[0] == "ask" else ["--fact", context]
    if command[0] == "export":
        words += ["--out", f"{folder}-out"]
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        code = main(words)
    return code, out.getvalue()


def says_memorized(text):
    return "MEMORIZED" in text.replace("NOT MEMORIZED", "")


@given(
    st.integers(0, 10**6), st.sampled_from(["distributions", "labels"]), st.sampled_from(CRITERIA),
    st.sampled_from(COMMANDS), st.sampled_from([1.0, 1.0, 0.0, 2.0**-30, 0.01, 3.0, "rolled", "noise", "own"]),
)  # fmt: skip
def test_no_command_says_memorized_unless_certify_does(seed, target, criterion, command, change):
    if command[0] == "run":
        pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    task = random_task(target=target, tail=0, seed=seed % 97)
    model = memory(task)
    if change == "rolled":
        model = changed(model, W_U=np.roll(model.W_U, 1, axis=1))
    elif change == "noise":
        model = changed(model, W_O=rng.standard_normal(model.W_O.shape))
    elif change != "own":
        model = changed(model, W_U=change * model.W_U)
    with TemporaryDirectory() as top:
        folder = Path(top) / "folder"
        write_memory(folder, model, task, criterion=criterion, rank=False)
        code, said = spoken(folder, command, task)
        written = folder if command[0] != "export" else Path(f"{folder}-out")
        if says_memorized(said) and written.is_dir():
            figures = certify(written, task, criterion=criterion)
            assert figures["headline"].startswith("MEMORIZED, PROVED") and figures["verdict"] == "PROVED", said
        assert not says_memorized(said) or code in (0, 3) or command[0] == "export", said
        if certify_memorization(model, task, criterion).certificate.verdict.value != "PROVED":
            assert not says_memorized(said) or command[0] == "export"
            assert code != 0 or command[0] in ("ask", "explain", "export"), said


def forged(top, name):
    """Folders that the two former rounds made to look as if they memorized their facts."""
    task = random_task(target="distributions", tail=0)
    model, criterion = memory(task), Criterion()
    if name == "weights scaled to nothing":
        model, criterion = changed(model, W_U=2.0**-40 * model.W_U), Criterion(tolerance=10.0)
    elif name == "bounds of 1e300":
        model, criterion = changed(model, W_U=0.0 * model.W_U), Criterion.at_most(1e300)
    elif name == "at least one":
        model, criterion = changed(model, W_U=2.0**-40 * model.W_U), Criterion(tolerance=1e300)
    elif name == "own targets":
        from constructions.model.attention import logits

        made = np.exp(logits(model, task.contexts) * 0.1)
        made /= made.sum(axis=1, keepdims=True)
        task = Task(**{**vars(task), "distributions": made, "labels": made.argmax(axis=1), "origin": ""})
        criterion = Criterion(tolerance=50.0)
    folder = top / "forged"
    write_memory(folder, model, task, criterion=criterion, rank=False)
    if name == "mixed":
        other = random_task(target="distributions", tail=0, seed=5)
        certificate = write_memory(top / "other", memory(other, seed=5), other, rank=False).certificate
        shutil.copy(top / "other" / "model.safetensors", folder)
        subject = subject_of(Model.load(folder / "model.safetensors"), task)
        Certificate(subject, Criterion(), certificate.statements, certificate.provenance).save(folder)
    elif name == "numbers of a better one":
        certificate = Certificate.load(folder)
        weak = changed(model, W_U=0.5 * model.W_U)
        weak.save(folder / "model.safetensors")
        values = {**certificate.answers.values, "mean_upper": 1e-9, "max_upper": 1e-9}
        made = (Statement("answers", "", values),)
        Certificate(subject_of(weak, task), Criterion(), made, certificate.provenance).save(folder)
    return folder, task


@pytest.mark.parametrize(
    "name",
    ["weights scaled to nothing", "bounds of 1e300", "at least one", "own targets", "mixed", "numbers of a better one"],
)
def test_no_forged_folder_of_the_former_rounds_is_called_memorized(tmp_path, name):
    folder, task = forged(tmp_path, name)
    report = check_memorization(folder)
    assert not report.headline().startswith(("MEMORIZED", "AS ASKED"))
    assert name in ("own targets",) or report.verdict.value == "REFUTED"
    assert name in ("own targets",) or check_by_kernel(folder).verdict.value != "PROVED"
    for command in COMMANDS:
        if command[0] != "run":
            code, said = spoken(folder, command, task)
            assert not says_memorized(said) or command[0] == "explain", (command, said)
            assert code != 0 or command[0] in ("ask", "explain") or name == "own targets", (command, said)
            shutil.rmtree(f"{folder}-out", ignore_errors=True)
