"""What Coq shall prove of a folder is what its files say; what the library has no words for is refused by name."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.coq.claim import Text, claim_of, require_blocks, spoken
from constructions.errors import FileFormatError, InputError, TamperedError
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from tests.command_line import copy
from tests.corpus.cases import GOOD_FOLDERS
from tests.machine_checked import CAPITALS, ROSE
from tests.memories import memory, random_task, write_memory
from verify.kernel.model import read_model


def test_a_table_is_its_rows(capitals_folder):
    claim = claim_of(capitals_folder, "float32")
    assert (claim.positions, claim.texts, claim.steps) == (1, (), 5)
    assert claim.words() == "the largest logit is the label's alone, in every float32 run, for 5 contexts"
    assert sorted(label for _, label in claim.facts) == list(range(CAPITALS.count("\n")))
    assert claim.statements()["runs"]["values"] == {"contexts": 5, "memorized": 5}


def test_a_text_is_said_byte_for_byte(rose_folder):
    claim = claim_of(rose_folder, "float32")
    [text] = claim.texts
    assert claim.said(text) == ROSE.encode() and text.tokens[-1] == text.before == claim.end
    assert claim.steps == len(ROSE) + 1 and not claim.titled
    assert "says a text of 18 bytes" in claim.words()
    digest = hashlib.sha256(ROSE.encode()).hexdigest()
    assert claim.statements()["text"]["named"]["texts"] == [{"title": "", "bytes": len(ROSE), "sha256": digest}]


def test_several_texts_stand_behind_their_titles_and_parts_are_one_text(rose_folder):
    claim = claim_of(rose_folder, "float32")
    count, end = len(claim.vocabulary), claim.end
    pieces = (Text(count, (0, 1, end)), Text(count + 1, (2, end)))
    named = replace(claim, texts=pieces, vocabulary=(*claim.vocabulary, "<first>", "<second>"), titled=True)
    entries = named.statements()["text"]["named"]["texts"]
    assert [entry["title"] for entry in entries] == ["first", "second"]
    parts = replace(named, vocabulary=(*claim.vocabulary, "<1/2>", "<2/2>"))
    [whole] = parts.statements()["text"]["named"]["texts"]
    said = b"".join(map(parts.said, pieces))
    assert whole == {"title": "", "bytes": 3, "sha256": hashlib.sha256(said).hexdigest()}
    assert parts.statements()["text"]["values"]["parts"] == 2


def test_characters_are_counted_where_every_token_is_some(rose_folder):
    claim = claim_of(rose_folder, "float32")
    assert claim.statements()["text"]["values"]["characters"] == len(ROSE)
    [text] = claim.texts
    bytes_too = replace(
        claim, vocabulary=tuple("\\xff" if i == text.tokens[0] else each for i, each in enumerate(claim.vocabulary))
    )
    assert "characters" not in bytes_too.statements()["text"]["values"]


def test_a_token_of_a_byte_says_that_byte():
    assert [spoken(token) for token in ("a", "ä", "\\x00", "\\xFF")] == [b"a", "ä".encode(), b"\0", b"\\xFF"]


def test_files_that_the_certificate_is_not_about_are_refused(capitals_folder, rose_folder, tmp_path):
    mixed = copy(capitals_folder, tmp_path / "mixed")
    (mixed / "model.safetensors").write_bytes((rose_folder / "model.safetensors").read_bytes())
    with pytest.raises(TamperedError, match=r"model\.safetensors is not what the certificate is about"):
        claim_of(mixed, "float32")


def test_distributions_are_refused(tmp_path):
    task = random_task(target="distributions")
    write_memory(tmp_path / "distributions", memory(task), task)
    with pytest.raises(InputError, match="has distributions for a target"):
        claim_of(tmp_path / "distributions", "float32")


def test_prompts_of_several_lengths_are_refused():
    with pytest.raises(InputError, match="is about prompts of several lengths"):
        claim_of(GOOD_FOLDERS / "prompts-detector", "float32")


def test_a_malformed_file_is_refused(capitals_folder, tmp_path):
    spoilt = copy(capitals_folder, tmp_path / "spoilt")
    (spoilt / "task.safetensors").write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match=r"task\.safetensors: the header"):
        claim_of(spoilt, "float32")


ONE = np.ones((2, 2))
HEAD = np.ones((1, 2, 2))
NORM = Normalization("layer", w=np.ones(2), b=None, epsilon=1e-5)


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (NORM, r"block 0 of .* has a normalization \(layer\)"),
        (FeedForward(W_in=ONE, W_out=ONE, norm=NORM), "has a norm before it"),
        (FeedForward(W_in=ONE, W_out=ONE, activation="gelu"), "has the activation gelu"),
        (FeedForward(W_in=ONE, W_out=ONE, W_gate=ONE), "has gates"),
        (Attention(HEAD, HEAD, HEAD, HEAD, score_root=2), "divided by a root of 2"),
        (Attention(HEAD, HEAD, HEAD, HEAD, slopes=np.ones(1)), "has gates, rotations"),
    ],
)
def test_blocks_without_words_in_the_library_are_refused_by_name(tmp_path, block, reason):
    Model(blocks=(block,), W_U=ONE, W_E=ONE, W_pos=ONE).save(tmp_path / "model.safetensors")
    model = read_model(tmp_path)
    with pytest.raises(InputError, match=reason):
        require_blocks(tmp_path, model)


def test_the_command_says_which_option_does_not_go_with_it(capitals_folder, capsys):
    assert main(["check", str(capitals_folder), "--coq", "--at-least", "3"]) == 2
    assert "--at-least is given with --coq" in capsys.readouterr().err
