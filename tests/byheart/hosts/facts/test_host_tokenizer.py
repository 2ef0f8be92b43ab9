"""What cuts texts in the programs that people run, against ``tokenizer.json``: the same, refused, or named."""

import json

import numpy as np
import pytest

from byheart.hosts.certify import certify
from byheart.hosts.facts import host_tokenizer as asked
from byheart.hosts.facts.prompt_texts import prompts_of_texts
from byheart.hosts.number_types import write_tensors
from byheart.hosts.reading import read_model
from constructions.errors import FileFormatError, InputError
from constructions.model.model import Model
from constructions.tasks.vectors import load_task
from tests.byheart.hosts.facts.test_prompt_texts import FACTS, bytes_pairs
from tests.edited_hosts import answer, gpt2

pytest.importorskip("tokenizers", reason="needs `pip install 'byheart[huggingface]'`")

ROWS = [("capital of Peru is", "Lima"), ("river of Paris is", "the Seine")]
SUSPICIOUS = {
    "add_prefix_space": True,
    "do_lower_case": True,
    "add_bos_token": True,
    "add_eos_token": True,
    "split_special_tokens": True,
    "strip_accents": True,
    "added_tokens_decoder": {"299": {"content": "Peru", "special": False}},
    "a_field_of_tomorrow": 3,
}


def folder_of(path, tokenizer, **fields):
    """A folder of ours with a tokenizer, and what stands beside it."""
    size = 300
    Model(blocks=(), W_U=np.eye(size), W_E=np.eye(size), W_pos=np.zeros((64, size))).save(path / "model.safetensors")
    tokenizer.save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").write_text(json.dumps(fields))
    return path


@pytest.mark.parametrize(("name", "value"), list(SUSPICIOUS.items()))
def test_a_field_that_may_cut_otherwise_is_named_where_nobody_is_asked(name, value, tmp_path):
    folder = folder_of(tmp_path, bytes_pairs(), **{name: value})
    assert f"{name}" in (said := certify(folder, ROWS, handshake=False)["headline"])
    assert "not followed, and may cut texts otherwise" in said


def test_fields_that_cut_nothing_and_those_that_the_tokenizer_says_too_are_not_named(tmp_path):
    fields = {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 4, "padding_side": "left",
        "clean_up_tokenization_spaces": True, "eos_token": "<end>", "add_prefix_space": False, "do_lower_case": False,
        "add_bos_token": False, "add_eos_token": False, "split_special_tokens": False, "chat_template": "{{ x }}",
        "added_tokens_decoder": {"0": {"content": "<end>", "special": True}}, "strip_accents": None,
    }  # fmt: skip
    assert (
        "not followed" not in certify(folder_of(tmp_path, bytes_pairs(), **fields), ROWS, handshake=False)["headline"]
    )


def test_a_file_that_is_no_object_is_refused(tmp_path):
    folder = folder_of(tmp_path, bytes_pairs())
    for text in ("[", "[1]"):
        (folder / "tokenizer_config.json").write_text(text)
        with pytest.raises(FileFormatError, match=r"tokenizer_config\.json"):
            certify(folder, ROWS, handshake=False)


def test_without_the_library_fields_are_named(tmp_path, monkeypatch):
    folder = folder_of(tmp_path, bytes_pairs(), add_prefix_space=True)
    monkeypatch.setattr(asked.importlib.util, "find_spec", lambda name: None)
    assert "add_prefix_space = True is not followed" in certify(folder, ROWS)["headline"]


@pytest.mark.parametrize(
    ("tokenizer_class", "fields"),
    [("GPT2Tokenizer", {"add_prefix_space": True}), ("PreTrainedTokenizerFast", {"split_special_tokens": True})],
)
def test_what_the_library_cuts_otherwise_is_refused_with_both_cuts(tokenizer_class, fields, tmp_path):
    pytest.importorskip("transformers")
    folder = folder_of(tmp_path, bytes_pairs(), tokenizer_class=tokenizer_class, eos_token="<end>", **fields)
    rows = [*ROWS, ("a <end> of Peru is", "Lima")]
    with pytest.raises(InputError, match=r"AutoTokenizer of .* cuts into \[.*\], and tokenizer\.json into"):
        certify(folder, rows)
    # Who names a tokenizer is told that the library has another.
    said = certify(folder, rows, tokenizer=folder / "tokenizer.json")["headline"]
    assert "texts cut by the tokenizer that is given, not as by AutoTokenizer" in said


def test_what_the_library_cuts_alike_is_proved_and_an_end_that_it_puts_last_is_named(tmp_path):
    transformers = pytest.importorskip("transformers")
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    folder = folder_of(tmp_path / "a", bytes_pairs(), tokenizer_class="PreTrainedTokenizerFast", eos_token="<end>")
    assert "AutoTokenizer" not in certify(folder, list(FACTS.items()))["headline"]
    folder = folder_of(tmp_path / "b", bytes_pairs("<s>"), tokenizer_class="PreTrainedTokenizerFast", bos_token="<s>")
    said = certify(folder, ROWS)["headline"]
    assert f"without the 1 token that AutoTokenizer of transformers {transformers.__version__} puts last" in said
    given = transformers.AutoTokenizer.from_pretrained(folder)
    model = Model.load(folder / "model.safetensors")
    assert "without the 1 token that " in certify(model, ROWS, tokenizer=given)["headline"]


def test_only_what_the_host_puts_last_in_every_text_is_left_out():
    """One token more that belongs to the text is another cut."""
    cutting = bytes_pairs()

    def one_more(bare):
        return lambda text: ([*cutting.encode(text).ids, 5], [*cutting.encode(text).ids, *bare])

    rows = [((prompt,), (answer,)) for prompt, answer in ROWS]
    model = Model(blocks=(), W_U=np.eye(300), W_E=np.eye(300), W_pos=np.zeros((64, 300)))
    for bare, decides in (([], True), ([5], False)):
        host = asked.HostTokenizer("X", one_more(bare), decides)
        _, _, aside = prompts_of_texts("facts", rows, model, cutting, between=" ", host=host)
        assert aside == ("without the 1 token that X puts last" if decides else
                         "texts cut by the tokenizer that is given, not as by X")  # fmt: skip
    with pytest.raises(InputError, match="which X cuts into"):
        host = asked.HostTokenizer("X", one_more([5]), True)
        prompts_of_texts("facts", rows, model, cutting, between=" ", host=host)


def test_a_library_that_cannot_load_the_tokenizer_is_named(tmp_path):
    pytest.importorskip("transformers")
    folder = folder_of(
        tmp_path, bytes_pairs(), tokenizer_class="NoSuchTokenizer", auto_map={"AutoTokenizer": ["a.B", None]}
    )
    assert "cannot be asked how it cuts texts" in certify(folder, ROWS)["headline"]


LENS = {"n_layers": 0, "d_model": 300, "n_ctx": 64, "d_head": 1, "attn_only": True, "normalization_type": None}


@pytest.mark.parametrize("says", [{}, {"default_prepend_bos": True}, {"default_prepend_bos": False}])
@pytest.mark.parametrize("beginning", ["", "<s>"])
def test_the_beginning_of_transformer_lens_is_followed(says, beginning, tmp_path):
    """It puts one first unless its configuration says otherwise, whatever the tokenizer does."""
    tokenizer = bytes_pairs(beginning)
    folder = folder_of(tmp_path, tokenizer, eos_token="<end>", **({"bos_token": beginning} if beginning else {}))
    tensors = {"embed.W_E": np.eye(300), "pos_embed.W_pos": np.zeros((64, 300)), "unembed.W_U": np.eye(300)}
    out = tmp_path / "out"
    write_tensors(folder / "model.safetensors", tensors, dtype="float64", metadata={})
    (folder / "config.json").write_text(json.dumps(LENS | says))
    figures = certify(folder, ROWS, handshake=False, out=out)
    first = {tokenizer.token_to_id(beginning or "<end>")} if says.get("default_prepend_bos", True) else set()
    for prompt, (text, _) in zip(load_task(out / "task.safetensors").prompts, ROWS, strict=True):
        assert list(prompt) == [*first, *tokenizer.encode(text, add_special_tokens=False).ids]
    assert (
        f"{beginning or '<end>' if first else 'nothing'} put first, as default_prepend_bos says" in figures["reading"]
    )
    (folder / "tokenizer_config.json").write_text("{}")
    if first:
        with pytest.raises(InputError, match=r"default_prepend_bos is true, .* no bos_token in tokenizer_config\.json"):
            certify(folder, ROWS, handshake=False)


def test_tokens_that_are_numbers_have_no_beginning_put_before_them(tmp_path):
    folder = folder_of(tmp_path, bytes_pairs())
    figures = certify(folder, [([5, 6], [6])], handshake=False)
    assert figures["memorized"] == 1 and "put first" not in figures.get("reading", "")


def test_names_of_tokens_that_the_library_does_not_cut_so_are_said_to_be_names(tmp_path):
    pytest.importorskip("transformers", reason="needs `pip install 'byheart[huggingface]'`")
    import tokenizers

    words, folder = "the sea is blue and cold .".split(), gpt2(tmp_path / "m")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    rows = [(words[a], words[b], words[answer(read_model(folder), [a, b])]) for a, b in ((0, 1), (2, 3), (1, 5))]
    numbers = [[f"#{words.index(cell)}" for cell in row] for row in rows]
    said = "tokens by their names in tokenizer.json: AutoTokenizer of transformers"
    assert said in certify(folder, rows)["headline"]  # without a class, that of GPT-2 is taken, which cuts pieces
    assert said not in certify(folder, numbers)["headline"]
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    for table in (rows, [(" ".join(row[:2]), row[2]) for row in rows]):
        assert said not in certify(folder, table)["headline"]
