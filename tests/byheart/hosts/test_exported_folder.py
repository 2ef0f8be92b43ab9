"""The files of an export follow from its certificate, its weights and what was measured; any other file is refused."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

import byheart
from byheart.cli.main import main
from byheart.hosts.export import export
from byheart.hosts.exported_folder import Exported, Measured, proof_of_an_export, require_export_made_again
from byheart.hosts.host import HOSTS
from byheart.hosts.number_types import read_tensors, write_tensors
from constructions.errors import ByheartError, FileFormatError, InputError, TamperedError
from constructions.formats.files import canonical_json
from constructions.tasks.arrays import array_task
from tests.exports import MODELS, installed, task_of

pytestmark = pytest.mark.filterwarnings("ignore")  # of the hosts' own libraries

FACTS = {("France", "capital"): "Paris", ("Peru", "capital"): "Lima", ("Peru", "river"): "Amazon"}
OTHERS = {("France", "capital"): "Lima", ("Peru", "capital"): "Lima", ("Peru", "river"): "Amazon"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Exports of two memories."""
    top = tmp_path_factory.mktemp("exports")
    for name, facts in (("facts", FACTS), ("others", OTHERS)):
        byheart.memorize(facts, quick=True).export(to="safetensors", out=top / name)
    return top


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made / "facts", tmp_path / "facts")


def replaced(name, old, new):
    def forge(folder):
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return forge


def fields(change):
    """Change what `parity.json` says, in canonical form."""

    def forge(folder):
        data = json.loads((folder / "parity.json").read_text())
        change(data)
        (folder / "parity.json").write_text(canonical_json(data) + "\n")

    return forge


def one_weight(folder, *, by=2.0**-10):
    path = folder / "model.safetensors"
    tensors, texts = read_tensors(path)
    tensors = {name: np.array(tensor, dtype=np.float64) for name, tensor in tensors.items()}
    tensors["unembed.W_U"].flat[0] += by
    write_tensors(path, tensors, dtype="float32", metadata=texts)


def taken(*names):
    """Files of the export of other facts."""

    def forge(folder, others):
        for name in names:
            shutil.copyfile(others / name, folder / name)

    return forge


TAMPERED = {
    "the card says float16": ("README.md", replaced("README.md", "float32", "float16")),
    "the card counts more": ("README.md", replaced("README.md", "3 of 3", "4 of 4")),
    "the card counts more parameters": ("README.md", replaced("README.md", "- parameters: ", "- parameters: 1")),
    "the card says more": ("README.md", replaced("README.md", "# What", "It also knows all rivers.\n\n# What")),
    "the card is empty": ("README.md", lambda folder: (folder / "README.md").write_text("")),
    "the report says another type": ("README.md", fields(lambda data: data.update(dtype="float16"))),
    "the report has another first line": (
        "parity.json",
        fields(lambda data: data.update(headline="MEMORIZED, PROVED")),
    ),
    "the report proves more": ("parity.json", fields(lambda data: data["proved"].update(memorized=4))),
    "the report asks less": ("parity.json", fields(lambda data: data["criterion"].update(tolerance=1.0))),
    "the report has a field more": ("parity.json", fields(lambda data: data.update(every_run="float16"))),
    "the report has spaces": ("parity.json", replaced("parity.json", ",", ", ")),
    "the run memorized less": (
        "README.md",
        fields(lambda data: next(iter(data["measured"]["runs"].values())).update(memorized=2)),
    ),
    "one weight is another": ("model.safetensors", one_weight),
    "one weight is barely another": ("model.safetensors", lambda folder: one_weight(folder, by=2.0**-22)),
    "the weights are of other facts": ("model.safetensors", taken("model.safetensors")),
    "the facts are others": ("task.safetensors", taken("task.safetensors")),
    "two answers are exchanged": ("answers.json", replaced("answers.json", '"Paris", "Lima"', '"Lima", "Paris"')),
    "the tokenizer reads another token": ("tokenizer.json", replaced("tokenizer.json", '"France": 0', '"Franse": 0')),
    "the tokenizer is told otherwise": ("tokenizer_config.json", replaced("tokenizer_config.json", "left", "right")),
    "the proof is of other facts": (".safetensors", taken("proof/certificate.json")),
    "the proof has other weights": ("model.safetensors", taken("proof/model.safetensors")),
    "the proof has other facts": ("task.safetensors", taken("proof/task.safetensors")),
}
REFUSED = {
    "no card": ("README.md", lambda folder: (folder / "README.md").unlink()),
    "no tokenizer": ("tokenizer.json", lambda folder: (folder / "tokenizer.json").unlink()),
    "no weights in the proof": ("model.safetensors", lambda folder: (folder / "proof" / "model.safetensors").unlink()),
    "another file": ("chat_template.jinja", lambda folder: (folder / "chat_template.jinja").write_text("")),
    "code in a folder": (
        "custom_generate/generate.py",
        lambda folder: [
            (folder / "custom_generate").mkdir(),
            (folder / "custom_generate" / "generate.py").write_text(""),
        ],
    ),
    "no JSON": ("parity.json", lambda folder: (folder / "parity.json").write_text("{")),
    "a list": ("parity.json", lambda folder: (folder / "parity.json").write_text("[]")),
    "no number": (
        "parity.json",
        replaced("parity.json", '"memorized":3,"relative', '"memorized":NaN,"relative'),
    ),
    "an unknown host": ("parity.json", fields(lambda data: data.update(host="other", written_as="other"))),
    "another host": ("parity.json", fields(lambda data: data.update(host="onnx"))),
    "no host": ("parity.json", fields(lambda data: data.pop("host"))),
    "a list for a host": ("parity.json", fields(lambda data: data.update(host=[]))),
    "an unknown type": ("parity.json", fields(lambda data: data.update(dtype="float8"))),
    "nothing measured": ("parity.json", fields(lambda data: data.pop("measured"))),
    "a figure more": ("parity.json", fields(lambda data: data["measured"].update(margin_lower=9.0))),
    "a negative count": ("parity.json", fields(lambda data: data["measured"].update(typed=-1))),
    "a run without a figure": (
        "parity.json",
        fields(lambda data: next(iter(data["measured"]["runs"].values())).pop("memorized")),
    ),
    "a host that these weights are not written for": (
        "parity.json",
        fields(lambda data: data.update(host="attention-layer", written_as="attention-layer")),
    ),
}


def test_an_export_is_checked_and_says_what_was_not_done_again(folder, capsys):
    assert proof_of_an_export(folder) == folder / "proof"
    for options in ([], ["--fast"]):
        assert main(["check", str(folder), "--quiet", *options]) == 0
        said = capsys.readouterr().out
        assert (
            said.startswith("MEMORIZED, PROVED: 3 of 3") and "as written for safetensors in float32; all files" in said
        )
        assert "all files made again, but not what was measured in byheart's enclosures" in said
    assert main(["check", str(folder), "--json"]) == 0
    assert "as written for safetensors" in json.loads(capsys.readouterr().out)["headline"]
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "load.pyc").write_bytes(b"")
    (folder / ".gitattributes").write_text("")
    require_export_made_again(folder)


def require_refused(folder, code, file, capsys, *options):
    """`check` ends with this code and names the file, and so does the library."""
    assert main(["check", str(folder), *options, "--quiet"]) == code
    shown = capsys.readouterr()
    assert re.search(file, shown.err) and "Traceback" not in shown.err
    with pytest.raises({1: TamperedError, 2: FileFormatError}[code], match=file):
        require_export_made_again(folder)


@pytest.mark.parametrize("name", TAMPERED)
def test_what_was_tampered_with_ends_with_1_and_names_the_file(name, folder, made, capsys):
    file, forge = TAMPERED[name]
    forge(folder, made / "others") if forge.__qualname__.startswith("taken") else forge(folder)
    require_refused(folder, 1, file, capsys)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_export_ends_with_2_and_names_the_file(name, folder, capsys):
    file, forge = REFUSED[name]
    forge(folder)
    require_refused(folder, 2, file, capsys)


def test_the_difference_is_shown(folder):
    replaced("README.md", "numbers: float32", "numbers: float16")(folder)
    with pytest.raises(TamperedError, match=r"it has '.*numbers: float16.*', not '.*numbers: float32"):
        require_export_made_again(folder)


def test_what_was_measured_is_believed_and_said_to_be(folder):
    """Who changes it and makes all files of it again is left with a true card about another measurement."""
    exported, measured = Exported.load(folder)
    data = measured.data()
    for run in data["runs"].values():
        run["largest_difference"] = 0.25
    exported.write_report(folder, Measured.of_data(data))
    assert "0.25" in (folder / "README.md").read_text()
    assert require_export_made_again(folder).endswith("but not what was measured in byheart's enclosures")


@pytest.mark.parametrize(("memorized", "contexts"), [(4, 3), (3, 2), (4, 4)])
def test_no_more_was_memorized_than_was_run_and_no_more_was_run_than_there_is(memorized, contexts, folder, capsys):
    """Not even where card and `parity.json` are made again of it."""
    exported, measured = Exported.load(folder)
    data = measured.data()
    for run in data["runs"].values():
        run |= {"memorized": memorized, "contexts": contexts}
    exported.write_report(folder, Measured.of_data(data))
    require_refused(folder, 2, f"parity.json: measured.runs.*memorized {memorized} of contexts {contexts}", capsys)


def test_a_card_says_nothing_that_only_the_provenance_says(folder):
    exported, measured = Exported.load(folder)
    said = replace(exported, certificate=exported.certificate.beside("handshake", "in every float16 run"))
    said.certificate.save(folder / "proof")
    assert "float16" not in said.write_report(folder, measured)["headline"]


def test_a_false_certificate_beside_files_that_follow_from_it_is_refuted(made, tmp_path, capsys):
    """All files are made of it, so that its proof alone tells."""
    model, task = MODELS["network of one attention"], task_of("network of one attention")
    export(model, task=task, to="safetensors", out=tmp_path / "out")
    exported, measured = Exported.load(tmp_path / "out")
    statement = exported.certificate.answers
    stronger = {**statement.values, "margin_lower": statement.values["margin_lower"] * 2}
    forged = exported.certificate.__class__(
        exported.certificate.subject,
        exported.certificate.criterion,
        (statement.__class__(statement.id, statement.method, stronger), *exported.certificate.statements[1:]),
        exported.certificate.provenance,
    )
    forged.save(tmp_path / "out" / "proof")
    Exported(
        exported.to, exported.host, exported.dtype, forged, exported.model, exported.facts, exported.typed
    ).write_report(tmp_path / "out", measured)
    require_export_made_again(tmp_path / "out")
    assert main(["check", str(tmp_path / "out"), "--quiet"]) == 1
    assert "margin" in capsys.readouterr().out


@pytest.mark.parametrize("to", HOSTS)
@pytest.mark.parametrize(
    "name", ["table", "distributions", "network of one attention", "layer of classes", "layer of values"]
)
def test_every_export_is_made_again(to, name, tmp_path):
    installed(to)
    model = MODELS.get(name)
    try:
        if name == "distributions":
            distributions = np.eye(3) * 0.5 + 0.5 / 3
            task = array_task(np.arange(3)[:, np.newaxis], distributions=distributions)
            byheart.hold(task).export(to=to, out=tmp_path / "out")
        elif name == "table":
            byheart.memorize(FACTS, quick=True).export(to=to, out=tmp_path / "out")
        else:
            export(model, task=task_of(name), to=to, dtype="float32", out=tmp_path / "out", allow_loss=True)
    except InputError:  # what a host does not hold
        return
    assert to in require_export_made_again(tmp_path / "out")
    assert main(["check", str(tmp_path / "out"), "--fast", "--quiet"]) in (0, 1)
    card = tmp_path / "out" / "README.md"
    card.write_text(card.read_text().replace("float", "flaot"))
    with pytest.raises(ByheartError, match=r"README\.md is not the file"):
        require_export_made_again(tmp_path / "out")
