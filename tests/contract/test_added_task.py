"""A kind of task that is added by one file outside of the package is memorized, asked, certified and exported."""

import json
import runpy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import byheart
from byheart.cli.main import main
from byheart.hosts.certify import certify
from byheart.hosts.export import export
from constructions.errors import InputError
from constructions.tasks.any_task import AnyTask
from constructions.tasks.vectors import load_task
from tests.by_kernel import check_by_kernel
from verify.kernel.check import check_folder
from verify.provers.memorization import check_memorization
from verify.verdict import Verdict

FILE = Path(__file__).with_name("graph_task.py")


@pytest.fixture(scope="module")
def graphs() -> Any:
    return runpy.run_path(str(FILE))["GRAPHS"]


@pytest.fixture(scope="module")
def memory(graphs: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[byheart.CertifiedMemory, Path]:
    out = tmp_path_factory.mktemp("graphs") / "memory"
    return byheart.memorize(graphs, quick=True, out=out), out


def test_it_is_a_task(graphs: Any) -> None:
    assert isinstance(graphs, AnyTask) and graphs.n_contexts == 8


def test_its_memory_is_asked_in_its_own_terms(memory: tuple[byheart.CertifiedMemory, Path]) -> None:
    made, _ = memory
    assert made.certificate.verdict is Verdict.PROVED
    assert made[((0, 1),)] == "2 parts" and made[((0, 1), (1, 2))] == "1 part"
    assert made.ask(()).token == "3 parts" and ((0, 1),) in made
    found = made.explain(((1, 0),))
    assert (found.context, found.token, found.fate) == (("0-1",), "2 parts", "memorized")
    with pytest.raises(InputError, match="pairs of the vertices"):
        made.ask(((0, 7),))


def test_all_checkers_prove_its_folder(graphs: Any, memory: tuple[byheart.CertifiedMemory, Path]) -> None:
    _, out = memory
    assert load_task(out / "task.safetensors").sha256() == graphs.sha256()
    assert check_memorization(out).verdict is Verdict.PROVED
    assert check_by_kernel(out).verdict is Verdict.PROVED
    assert check_folder(out)  # the kernel raises where it does not prove
    assert "edge" in (out / "report.html").read_text(encoding="utf-8")


def test_it_is_certified_of_weights_that_are_given(graphs: Any, memory: tuple[byheart.CertifiedMemory, Path]) -> None:
    made, _ = memory
    figures = certify(made.model, graphs, every_run="float32")
    assert (figures["verdict"], figures["memorized"], figures["wrong_facts"]) == ("PROVED", 8, [])


def test_it_is_exported(graphs: Any, memory: tuple[byheart.CertifiedMemory, Path], tmp_path: Path) -> None:
    made, _ = memory
    report = export(made.model, task=graphs, to="safetensors", dtype="float32", out=tmp_path / "out")
    assert report["verdict"] == "PROVED" and report["facts"] == 8
    assert made.export(to="safetensors", out=tmp_path / "again")["proved"]["memorized"] == 8


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_it_is_run(graphs: Any, memory: tuple[byheart.CertifiedMemory, Path]) -> None:
    from verify.torch.run import run

    made, _ = memory
    assert run(made.model, graphs, dtype="float32").memorized == 8


def test_the_command_line_learns_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "graphs"
    assert main(["memorize", f"{FILE}:GRAPHS", "--quick", "--json", "--out", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["facts"] == 8
    assert main(["check", str(out)]) == 0
    assert "8 of 8" in capsys.readouterr().out
    assert main(["memorize", f"{FILE}:NONE", "--out", str(tmp_path / "none")]) == 2
    assert "has no task 'NONE', expected one of GRAPHS" in capsys.readouterr().err
    assert main(["memorize", f"{FILE}:GRAPHS", "--facts", "3", "--out", str(tmp_path / "few")]) == 2
    assert "a task says itself what is to be learned" in capsys.readouterr().err
