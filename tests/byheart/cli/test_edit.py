import json
from pathlib import Path

import pytest

from byheart.cli.main import main
from byheart.editing import edit
from byheart.hosts.number_types import write_tensors
from byheart.hosts.reading import read_model, tensors_of
from constructions.errors import FileFormatError
from tests.edited_hosts import TOKENS, answer, facts, gpt2, recorded
from verify.edits.certificate import EditCertificate


def test_the_command_edits_checks_and_says_that_deletion_hides(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    source = gpt2(tmp_path / "m")
    old = answer(read_model(source), [1, 2])
    (tmp_path / "old.csv").write_text(f"1,2,{old}\n")
    words = [
        "edit",
        str(source),
        "--delete",
        str(tmp_path / "old.csv"),
        "--keep-domain",
        "2",
        "--out",
        str(tmp_path / "e"),
    ]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert (
        said.startswith("EDITED, PROVED: 1 of 1 edit answered as asked; 48 of 48") and "hidden, not unlearned" in said
    )
    assert "the given weights before, and those stored in float32 after, in real arithmetic" in " ".join(said.split())
    for more in ([], ["--fast"]):
        assert main(["check", str(tmp_path / "e"), *more]) == 0
        assert capsys.readouterr().out.startswith("EDITED, PROVED")
    assert main(["check", str(tmp_path / "e"), "--fast", "--at-least", "1"]) == 2
    assert "judged as it was asked" in capsys.readouterr().err


def test_a_table_of_edits_that_may_have_a_header_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    source = gpt2(tmp_path / "m")
    given = [(a, b, answer(read_model(source), [a, b])) for a, b in ((1, 2), (3, 4))]
    for option, move in (("--facts", 1), ("--delete", 0)):
        rows = [f"{a},{b},{(to + move) % TOKENS}\n" for a, b, to in given]
        (tmp_path / "e.csv").write_text("from,with,to\n" + "".join(rows))
        words = ["edit", str(source), option, str(tmp_path / "e.csv"), "--quiet"]
        assert main([*words, "--out", str(tmp_path / "asked")]) == 2
        assert "expected --header or --no-header" in capsys.readouterr().err
        assert main([*words, "--header", "--out", str(tmp_path / option)]) == 0
        assert "2 of 2 edits" in capsys.readouterr().out


def test_a_folder_whose_host_loads_other_weights_than_were_proved_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    source, out = gpt2(tmp_path / "m"), tmp_path / "e"
    edit(source, facts([[1, 2]], [(answer(read_model(source), [1, 2]) + 1) % TOKENS]), out=out)
    config = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(json.dumps({**config, "dtype": "bfloat16"}))
    for name in ("the type", "the weights"):
        assert main(["check", str(out)]) == 1, name
        assert "holds another model than the one that is proved" in capsys.readouterr().err
        for file in ("config.json", "model.safetensors"):  # the model before the edit
            (out / file).write_bytes((source / file).read_bytes())


def test_what_generate_says_otherwise_is_refused_and_a_plain_argmax_is_named_in_every_first_line(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    source, out = gpt2(tmp_path / "m"), tmp_path / "e"
    (source / "generation_config.json").write_text('{"suppress_tokens": [3], "repetition_penalty": 1.8}')
    old = answer(read_model(source), [1, 2])
    (tmp_path / "new.csv").write_text(f"1,2,{(old + 1) % TOKENS}\n")
    words = ["edit", str(source), "--facts", str(tmp_path / "new.csv"), "--keep-domain", "2", "--out", str(out)]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "repetition_penalty = 1.8" in said and "suppress_tokens = [3]" in said and "--plain-argmax" in said
    assert not out.exists()
    for line in ([*words, "--plain-argmax"], ["check", str(out)], ["check", str(out), "--fast"]):
        assert main(line) == 0
        first = capsys.readouterr().out.split("\n")[0]
        assert "by plain argmax, without generation_config.json's repetition_penalty = 1.8" in first
    page = (out / "edit.html").read_text()
    assert "Noted when this was written: by plain argmax, without generation_config.json&#x27;s" in page


def test_check_says_of_decoding_what_the_folder_says_and_nothing_that_the_certificate_does(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    source, out = gpt2(tmp_path / "m"), tmp_path / "e"
    edit(source, facts([[1, 2]], [(answer(read_model(source), [1, 2]) + 1) % TOKENS]), keep_domain=2, out=out)
    stored = EditCertificate.load(out / "proof")
    for forged in ("all else is kept", "so far\nEDITED, PROVED: 9 of 9 edits answered as asked"):
        stored.decoded(forged).save(out / "proof")
        for more in ([], ["--fast"]):
            for folder in (out, out / "proof"):
                assert main(["check", str(folder), *more, "--quiet"]) == 0
                said = capsys.readouterr().out
                assert said.count("EDITED, PROVED") == said.count("\n") == 1 and "all else" not in said
    stored.save(out / "proof")
    (out / "generation_config.json").write_text('{"repetition_penalty": 9.0, "max_length": 2}')  # written later
    (out / "custom_generate").mkdir()
    (out / "custom_generate" / "generate.py").write_text("")
    for more in ([], ["--fast"]):
        assert main(["check", str(out), *more, "--quiet"]) == 0
        said = capsys.readouterr().out
        assert "by plain argmax, without" in said and "repetition_penalty = 9.0" in said and "max_length = 2" in said
        assert "the code in custom_generate is not run" in said
    (out / "generation_config.json").write_text("null")
    assert main(["check", str(out), "--quiet"]) != 0
    assert "holds NoneType" in capsys.readouterr().err


def test_code_beside_the_weights_is_named_in_every_first_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    source, out = recorded(tmp_path / "m", "llama", 0), tmp_path / "e"
    config = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModelForCausalLM": "own.Llama"}}))
    (source / "custom_generate").mkdir()
    (source / "custom_generate" / "generate.py").write_text("")
    old = answer(read_model(source), [1, 2])
    for name, said in (("new", (old + 1) % 11), ("own", old)):
        (tmp_path / f"{name}.csv").write_text(f"1,2,{said}\n")
    asked = ["certify", str(source), "--task", str(tmp_path / "own.csv"), "--no-header", "--no-handshake", "--quiet"]
    assert main([*asked, "--at-least", "1"]) in (0, 3)
    both = "the code that auto_map names and in custom_generate is not run"
    assert both in capsys.readouterr().out
    assert main(["edit", str(source), "--facts", str(tmp_path / "new.csv"), "--out", str(out), "--quiet"]) == 0
    assert both in capsys.readouterr().out
    assert main(["check", str(out), "--quiet"]) == 0
    assert "the code that auto_map names is not run" in capsys.readouterr().out


def test_a_deletion_to_the_uniform_distribution_says_that_the_old_answer_may_still_lead(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    source, out = gpt2(tmp_path / "m"), tmp_path / "e"
    (tmp_path / "old.csv").write_text(f"1,2,{answer(read_model(source), [1, 2])}\n")
    words = ["edit", str(source), "--delete", str(tmp_path / "old.csv"), "--to", "uniform", "--no-header", "--quiet"]
    assert main([*words, "--out", str(out)]) == 0
    assert main(["check", str(out), "--quiet"]) == 0
    for line in capsys.readouterr().out.strip().split("\n"):
        assert line.startswith("EDITED, PROVED: 1 edit within KL") and "the old answer may still lead" in line


def test_a_model_in_parts_is_edited_as_the_whole_one_is(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    whole = gpt2(tmp_path / "m")
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "config.json").write_bytes((whole / "config.json").read_bytes())
    tensors, place = tensors_of(whole), dict[str, str]()
    for number, some in enumerate((sorted(tensors)[::2], sorted(tensors)[1::2])):
        file = f"model-0000{number}-of-00002.safetensors"
        write_tensors(parts / file, {name: tensors[name] for name in some}, dtype="float32", metadata={"format": "pt"})
        place |= dict.fromkeys(some, file)
    (parts / "model.safetensors.index.json").write_text(json.dumps({"weight_map": place}))
    (tmp_path / "new.csv").write_text(f"1,2,{(answer(read_model(whole), [1, 2]) + 1) % TOKENS}\n")
    edited = []
    for source in (whole, parts):
        out = tmp_path / f"{source.name}-edited"
        words = ["edit", str(source), "--facts", str(tmp_path / "new.csv"), "--no-header", "--keep-domain", "2"]
        assert main([*words, "--quiet", "--out", str(out)]) == 0
        assert main(["check", str(out), "--quiet"]) == 0
        edited.append(read_model(out).sha256())
    assert edited[0] == edited[1] and not (out / "model.safetensors.index.json").exists()


@pytest.mark.parametrize("command", ["run", "ask", "explain", "export", "recite"])
def test_an_edit_is_no_folder_of_facts_and_nothing_is_refuted(
    tmp_path: Path, capsys: pytest.CaptureFixture, command: str
) -> None:
    source, out = gpt2(tmp_path / "m"), tmp_path / "e"
    edit(source, facts([[1, 2]], [(answer(read_model(source), [1, 2]) + 1) % TOKENS]), out=out)
    more = {"ask": ["1,2"], "explain": ["1,2"], "export": ["--to", "safetensors"]}.get(command, [])
    for folder in (out, out / "proof"):
        assert main([command, str(folder), *more]) == 2
        assert "is a model that was edited" in capsys.readouterr().err


LETTERS = "abcdefg"


def with_letters(source: Path) -> Path:
    """The folder, with a tokenizer that cuts texts into letters, which are its tokens."""
    tokenizers = pytest.importorskip("tokenizers", reason="needs `pip install 'byheart[huggingface]'`")
    cutting = tokenizers.Tokenizer(tokenizers.models.BPE({letter: i for i, letter in enumerate(LETTERS)}, []))
    cutting.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    cutting.save(str(source / "tokenizer.json"))
    return source


def test_texts_are_edited_as_certify_reads_them(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    source = with_letters(gpt2(tmp_path / "m"))
    model = read_model(source)
    new, same = (LETTERS[(answer(model, context) + moved) % TOKENS] for context, moved in (([1, 2], 1), ([3, 4], 0)))
    (tmp_path / "new.csv").write_text(f"bc,{new}\n")
    (tmp_path / "keep.csv").write_text(f"de,{same}\n")
    words = ["edit", str(source), "--facts", str(tmp_path / "new.csv"), "--keep", str(tmp_path / "keep.csv")]
    assert main([*words, "--no-header", "--between", "", "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.startswith("EDITED, PROVED: 1 of 1 edit answered as asked; 1 of 1 kept")
    assert LETTERS[answer(read_model(tmp_path / "out"), [1, 2])] == new
    assert main(["check", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("bc,a\nbcd,a\nde,a\n", "the prompt 'bcd' of 3 tokens, beside 2 of 2"),
        ("bc,ad\n", "the answer 'ad', which is cut into ['a', 'd']"),
        ("bc,a\nbc,a\n", "the line 'bc,a' 2 times"),
        ("bz,a\n", "'bz'"),
    ],
)
def test_tables_are_refused_before_the_model_is_read(
    table: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    source = with_letters(gpt2(tmp_path / "m"))
    (source / "model.safetensors").write_bytes(b"nobody reads this")
    (tmp_path / "new.csv").write_text(table)
    words = ["edit", str(source), "--facts", str(tmp_path / "new.csv"), "--no-header", "--between", ""]
    assert main([*words, "--out", str(tmp_path / "out")]) == 2
    assert said in " ".join(capsys.readouterr().err.split()) and not (tmp_path / "out").exists()


def test_weights_in_a_box_are_edited_by_their_key(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs `pip install torch`")
    source, boxed = gpt2(tmp_path / "m"), tmp_path / "boxed"
    boxed.mkdir()
    (boxed / "config.json").write_bytes((source / "config.json").read_bytes())
    tensors = {name: torch.tensor(tensor).float() for name, tensor in tensors_of(source).items()}
    torch.save({"model": tensors, "step": 3}, boxed / "pytorch_model.bin")
    new = facts([[1, 2]], [(answer(read_model(source), [1, 2]) + 1) % TOKENS])
    with pytest.raises(FileFormatError, match="--key model"):
        edit(boxed, new)
    done = edit(boxed, new, key="model", out=tmp_path / "out")
    assert done.original.sha256() == read_model(source).sha256()
    assert read_model(tmp_path / "out").sha256() == done.model.sha256()
