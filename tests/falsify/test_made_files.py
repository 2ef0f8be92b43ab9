"""The sentence on the screen is in the certificate: whoever changes it in a file of the folder is found out."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from byheart import memorize
from byheart.cli.main import main
from byheart.hosts.certify import certify_rule
from constructions.formats.files import canonical_json
from tests.byheart.hosts.test_every_run import NEARLY
from verify.certificates.certificate import RUNS, Certificate

MADE = ("summary.json", "report.html", "measured.json")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A text, facts and a rule, as commands write them."""
    root = tmp_path_factory.mktemp("made")
    memorize("to be or not to be", quick=True).save(root / "text")
    memorize({("Peru", "capital"): "Lima", ("Peru", "river"): "Amazon"}, quick=True).save(root / "facts")
    certify_rule(NEARLY, "max", every_run="float32", out=root / "rule")
    return {path.name: path for path in root.iterdir()}


def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def checked(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    code = main(["check", str(folder), "--quiet", *more])
    said = capsys.readouterr()
    return code, said.out + said.err


@pytest.mark.parametrize("name", ["text", "facts"])
@pytest.mark.parametrize("how", [(), ("--fast",)])
def test_what_was_written_is_made_again_byte_for_byte(folders, name, how, tmp_path, capsys):
    folder = copy(folders[name], tmp_path)
    code, said = checked(folder, capsys, *how)
    assert code == 0 and "PROVED" in said
    assert Certificate.load(folder).headline().split(";")[0] == said.split(";")[0].strip()
    assert json.loads((folder / "summary.json").read_text())["headline"] == Certificate.load(folder).headline()


@pytest.mark.parametrize("name", ["text", "facts", "rule"])
@pytest.mark.parametrize("file", MADE)
def test_a_number_format_that_is_changed_is_found_out(folders, name, file, tmp_path, capsys):
    folder = copy(folders[name], tmp_path)
    if not (folder / file).exists():
        pytest.skip("a rule has no page")
    text = (folder / file).read_text(encoding="utf-8")
    if "float32" not in text:
        pytest.skip("it says nothing of float32")
    (folder / file).write_text(text.replace("float32", "float16"), encoding="utf-8")
    code, said = checked(folder, capsys)
    assert code in (1, 2) and any(each in said for each in MADE) and "PROVED:" not in said


def test_a_certificate_of_other_statements_makes_other_files(folders, tmp_path, capsys):
    """Whoever takes a statement away, or changes its format, with the digest put right, has to make all files anew."""
    for number, change in enumerate(
        (
            lambda statement: [],
            lambda statement: [replace(statement, named={**statement.named, "format": "float64"})],
        )
    ):
        folder = copy(folders["facts"], tmp_path / str(number))
        made = Certificate.load(folder)
        statements = [x for each in made.statements for x in (change(each) if each.id == RUNS else [each])]
        replace(made, statements=tuple(statements)).save(folder)
        code, said = checked(folder, capsys)
        assert code in (1, 2) and "summary.json" in said


@pytest.mark.parametrize("file", MADE)
@pytest.mark.parametrize("place", [0, 0.3, 0.6, 0.999])
def test_a_byte_that_is_changed_is_found_out(folders, file, place, tmp_path, capsys):
    folder = copy(folders["text"], tmp_path)
    data = bytearray((folder / file).read_bytes())
    data[int(place * len(data))] ^= 1
    (folder / file).write_bytes(bytes(data))
    code, said = checked(folder, capsys)
    assert code in (1, 2) and any(each in said for each in MADE) and "PROVED:" not in said


@pytest.mark.parametrize("file", ["summary.json", "report.html"])
def test_a_file_that_is_cut_off_or_longer_is_found_out(folders, file, tmp_path, capsys):
    for number, change in enumerate((lambda data: data[:-1], lambda data: data + b"\n", lambda data: b"")):
        folder = copy(folders["facts"], tmp_path / str(number))
        (folder / file).write_bytes(change((folder / file).read_bytes()))
        code, said = checked(folder, capsys)
        assert code in (1, 2) and file in said


def rewritten(folder: Path, change: Callable[[dict], object]) -> None:
    data = json.loads((folder / "measured.json").read_text())
    change(data)
    (folder / "measured.json").write_text(canonical_json(data) + "\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["figures"].update(verdict="PROVED"),
        lambda data: data["figures"].update(headline="MEMORIZED, PROVED: in every float16 run"),
        lambda data: data["figures"].update(memorized=99),
        lambda data: data["figures"].update(margin_lower=99.0),
        lambda data: data["figures"].update(files={}),
        lambda data: data.update(verdict="PROVED"),
        lambda data: data.update(version=2),
        lambda data: data.update(figures=[]),
        lambda data: data.update(source=1),
        lambda data: data.update(drawn={}),
        lambda data: data.update(drawn=None),
        lambda data: data["drawn"].update(margin_lower=[[1.0, -1]]),
        lambda data: data["drawn"].update(margin_lower=[[1.0, 10**12]]),
        lambda data: data["drawn"].update(attention={"x": []}),
        lambda data: data["drawn"].update(predictions=[]),
        lambda data: data["figures"].update(memories=[{"memory": "a", "strange": 1}]),
        lambda data: data["figures"].update(torch={"float8": {}}),
    ],
)
def test_what_only_a_certificate_may_say_is_refused_in_measured_numbers(folders, change, tmp_path, capsys):
    folder = copy(folders["text"], tmp_path)
    rewritten(folder, change)
    (folder / "summary.json").unlink()
    code, said = checked(folder, capsys)
    assert code in (1, 2) and "measured.json" in said


def test_a_measured_sentence_stands_in_the_measured_block_alone(folders, tmp_path, capsys):
    """A maker who lies in measured.json, and makes all files anew, has a page that says whose word it is."""
    from byheart.measured import Measured, summary_json
    from byheart.memory import load
    from byheart.report.pages import page

    folder, lie = copy(folders["text"], tmp_path), "BY HEART, PROVED: in every float16 run"
    rewritten(folder, lambda data: data["figures"].update(built=lie))
    memory = load(folder)
    measured = Measured.load(folder, memory.certificate)
    text = page(folder, memory.certificate, memory.model, memory.task, measured)
    (folder / "report.html").write_text(text, encoding="utf-8")
    (folder / "summary.json").write_text(summary_json(memory.certificate, measured), encoding="utf-8")
    code, said = checked(folder, capsys)
    assert code == 0 and "float16" not in said
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["measured"].pop("built") == lie and lie not in json.dumps(summary)
    assert text.index("Nobody proves again what stands below") < text.index(lie)


@pytest.mark.parametrize("file", ["summary.json", "report.html"])
def test_without_measured_numbers_no_summary_or_page_is_believed(folders, file, tmp_path, capsys):
    folder = copy(folders["text"], tmp_path)
    for name in MADE:
        if name != file:
            (folder / name).unlink()
    code, said = checked(folder, capsys)
    assert code in (1, 2) and file in said and "remove it" in said
    (folder / file).unlink()
    assert checked(folder, capsys)[0] == 0
