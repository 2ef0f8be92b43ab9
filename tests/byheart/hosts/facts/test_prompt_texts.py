"""Prompts and answers as texts, cut by the tokenizer beside the model, against what the host itself says."""

import csv
import json

import numpy as np
import pytest

from byheart import certify, load
from byheart.cli.main import main
from byheart.hosts.facts.prompt_texts import prompts_of_texts
from constructions.errors import InputError
from constructions.model.model import Model
from tests.by_kernel import check_by_kernel
from verify.provers.memorization import check_memorization

tokenizers = pytest.importorskip("tokenizers", reason="needs `pip install 'byheart[huggingface]'`")

FACTS = {
    "The capital of France is": "Paris",
    "The capital of Peru is": "Lima, by the sea",
    "Seine flows through": "Rouen and Paris",
    "12+35=": "47",
    "The river of Paris is ": "the Seine",
}


def bytes_pairs(beginning=""):
    """A byte-level tokenizer of the facts, as GPT-2 has one; perhaps with a token that stands first."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    special = ["<end>", *([beginning] if beginning else [])]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=special, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator([f"{prompt} {answer}" for prompt, answer in FACTS.items()], trainer)
    if beginning:
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            single=f"{beginning} $A <end>",
            special_tokens=[(beginning, tokenizer.token_to_id(beginning)), ("<end>", 0)],
        )
    return tokenizer


def echo(size):
    return Model(blocks=(), W_U=np.eye(size), W_E=np.eye(size), W_pos=np.zeros((64, size)))


def test_answers_are_the_tokens_that_stand_behind_the_prompts():
    cutting = bytes_pairs()
    task, said, _ = prompts_of_texts("facts", [((p,), (a,)) for p, a in FACTS.items()], echo(300), cutting, between=" ")
    for (prompt, answer), tokens, completion in zip(FACTS.items(), task.prompts, task.completions, strict=True):
        space = "" if prompt.endswith(" ") else " "
        assert list(tokens) == cutting.encode(prompt.rstrip()).ids
        assert cutting.decode([*tokens, *completion]) == f"{prompt}{space}{answer}"
    assert "nothing put first" in said and "' ' put between prompt and answer of 4 rows (--between)" in said
    literal, *_ = prompts_of_texts("facts", [(("12+35=",), ("47",))], echo(300), cutting, between="")
    assert cutting.decode([*literal.prompts[0], *literal.completions[0]]) == "12+35=47"


def test_what_a_tokenizer_puts_first_stands_first_and_what_it_puts_last_does_not():
    cutting = bytes_pairs("<begin>")
    task, said, _ = prompts_of_texts("facts", [(("Seine",), ("Paris",))], echo(300), cutting, between=" ")
    assert task.vocabulary[task.prompts[0][0]] == "<begin>" and "<begin> put first" in said
    assert 0 not in (*task.prompts[0], *task.completions[0])


def test_an_answer_that_changes_the_prompt_and_unknown_parts_are_refused():
    with pytest.raises(InputError, match="changes the tokens of the prompt"):
        prompts_of_texts("facts", [(("The capital of Fra",), ("nce",))], echo(300), bytes_pairs(), between="")
    words = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    with pytest.raises(InputError, match="a part is not a token"):
        prompts_of_texts("facts", [(("a",), ("c",))], echo(3), words, between=" ")
    with pytest.raises(InputError, match="with the token 2"):
        prompts_of_texts("facts", [(("a",), ("b",))], echo(2), words, between=" ")


def test_letters_that_a_tokenizer_passes_over_are_refused():
    """Without a token for the unknown BPE drops them: "Limé" would be memorized by a model that says "Lim"."""
    silent = tokenizers.Tokenizer(tokenizers.models.BPE())
    silent.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    silent.train_from_iterator(["Peru Lima"], tokenizers.trainers.BpeTrainer(vocab_size=20))
    assert silent.encode("Limé").tokens == silent.encode("Lim").tokens
    assert prompts_of_texts("facts", [(("Peru",), ("Lima",))], echo(20), silent, between=" ")
    for pair in (("Peru", "Limé"), ("Peru", "Lima…"), ("Péru", "Lima")):
        with pytest.raises(InputError, match="of which a part is not a token"):
            prompts_of_texts("facts", [((pair[0],), (pair[1],))], echo(20), silent, between=" ")
    pieces = tokenizers.Tokenizer(tokenizers.models.WordPiece({"a": 0}, unk_token="[UNK]"))
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    with pytest.raises(InputError, match="which the tokenizer does not cut: WordPiece error"):
        prompts_of_texts("facts", [(("a",), ("b",))], echo(20), pieces, between=" ")


def test_answers_that_contradict_each_other_are_refused_however_often_each_stands_there():
    rows = [("The capital of Peru is", "Lima")] * 2 + [("The capital of Peru is", "Paris")]
    with pytest.raises(InputError, match=r"'Lima' and .* -> 'Paris', expected one answer to each"):
        certify(echo(300), rows, tokenizer=bytes_pairs())


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small GPT-2 of the host, trained to say the facts and saved with its tokenizer; and the facts as a table."""
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("host")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=bytes_pairs(), eos_token="<end>")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=304, n_embd=32, n_layer=2, n_head=2, n_positions=40, bos_token_id=0, eos_token_id=0
    )
    module = transformers.GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2)
    texts = [fast(f"{p}{'' if p.endswith(' ') else ' '}{a}").input_ids for p, a in FACTS.items()]
    longest = max(map(len, texts))
    rows = torch.tensor([each + [0] * (longest - len(each)) for each in texts])
    labels = torch.tensor([each + [-100] * (longest - len(each)) for each in texts])
    module.train()
    for _ in range(150):
        optimizer.zero_grad()
        module(rows, labels=labels).loss.backward()
        optimizer.step()
    module.eval().save_pretrained(folder, max_shard_size="60KB")
    fast.save_pretrained(folder)
    with open(folder / "facts.csv", "w", newline="") as file:
        csv.writer(file).writerows([("prompt", "answer"), *FACTS.items(), ("The capital of Spain is", "Rome")])
    return folder


@pytest.mark.slow
def test_a_model_of_the_host_is_proved_to_say_what_it_says(trained, tmp_path, capsys):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    assert (trained / "model.safetensors.index.json").is_file()  # its weights lie in several files
    out = tmp_path / "out"
    code = main(["certify", str(trained), "--task", str(trained / "facts.csv"), "--out", str(out)])
    printed = capsys.readouterr().out
    module, fast = AutoModelForCausalLM.from_pretrained(trained), AutoTokenizer.from_pretrained(trained)
    memorized = 0
    for prompt, answer in [*FACTS.items(), ("The capital of Spain is", "Rome")]:
        given = fast(prompt.rstrip(), return_tensors="pt")
        asked = fast(f"{prompt}{'' if prompt.endswith(' ') else ' '}{answer}").input_ids
        said = module.generate(**given, max_new_tokens=len(asked) - given.input_ids.shape[1], do_sample=False)
        memorized += said[0].tolist() == asked
    figures = json.loads((out / "summary.json").read_text())
    assert figures["memorized"] == memorized >= 4 and figures["measured"]["facts"] == 6 and code == 1
    assert "The capital of Spain is" in printed and "agrees with GPT2LMHeadModel" in printed
    assert "the first row names the columns: prompt, answer" in figures["measured"]["reading"]
    for check in (check_memorization, check_by_kernel):
        assert check(out).checks[0].verdict.value == "PROVED"
    assert load(out).ask("The capital of Peru is").token == "Lima, by the sea"
    assert certify(module, FACTS, tokenizer=fast)["memorized"] == memorized
