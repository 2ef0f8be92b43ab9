"""Write a language model as a folder of its host, and the tables of an edit: facts that it gets wrong, prompts to keep.

    python -m benchmarks.real_edit.tables GGUF FOLDER     needs torch, transformers and gguf

The facts are the first twenty of `benchmarks.real_facts` with an answer of one token that the model answers otherwise.
To be kept are a hundred prompts with the answers that the model gives, right or wrong: the other facts, in their order,
and then paraphrases of the capitals among them; left out are those whose answer is no word, which a table of texts
cannot name. Nothing else is chosen.
"""

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

from benchmarks.real_facts import CAPITALS, facts
from byheart.hosts.gguf_file import GGUFFile, tokenizer_json
from byheart.hosts.number_types import write_tensors
from constructions.formats.files import write_atomically

EDITS, KEPT = 20, 100
PARAPHRASES = ("The capital city of {} is", "{}'s capital is", "In {}, the capital is")
MODEL, NEW_FILE, KEEP_FILE = "model", "new.csv", "keep.csv"


class Asked(NamedTuple):
    """A prompt, the word that the model answers it by, and whether a text can name that."""

    prompt: str
    answer: str
    is_named: bool


def write_host(gguf: Path, folder: Path) -> None:
    """Write the model of a GGUF file as its host loads it, in float32."""
    file = GGUFFile.read(gguf)
    config = {**file.configuration(), "architectures": ["LlamaForCausalLM"], "dtype": "float32"}
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / "model.safetensors", file.tensors(), dtype="float32", metadata={"format": "pt"})
    write_atomically(folder / "config.json", json.dumps(config, indent=2).encode())
    write_atomically(folder / "tokenizer.json", tokenizer_json(file).encode())


def asked(module: Any, cut: Tokenizer, prompt: str) -> Asked:
    """Return what the model answers, in float32."""
    tokens = cut.encode(prompt).ids
    with torch.no_grad():
        answer = int(module(torch.tensor([tokens])).logits[0, -1].argmax())
    word = cut.decode([answer]).strip()
    return Asked(prompt, word, bool(word) and cut.encode(f"{prompt} {word}").ids == [*tokens, answer])


def paraphrases(edited: set[str]) -> Iterator[str]:
    """Yield other prompts for the capitals that are not edited."""
    for template in PARAPHRASES:
        for land in CAPITALS:
            if f"The capital of {land} is" not in edited:
                yield template.format(land)


def tables(module: Any, cut: Tokenizer) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the facts to insert and the prompts to keep, each with its answer."""
    new, others = list[tuple[str, str]](), list[str]()
    for prompt, answer in facts():
        is_short = len(cut.encode(f"{prompt} {answer}").ids) == len(cut.encode(prompt).ids) + 1
        if len(new) < EDITS and is_short and asked(module, cut, prompt).answer != answer:
            new.append((prompt, answer))
        else:
            others.append(prompt)
    edited, kept = {prompt for prompt, _ in new}, list[tuple[str, str]]()
    for prompt in [*others, *paraphrases(edited)]:
        given = asked(module, cut, prompt)
        if len(kept) < KEPT and given.is_named:
            kept.append((prompt, given.answer))
    return new, kept


def write_table(path: Path, rows: list[tuple[str, str]]) -> None:
    """Write prompts and answers."""
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([("prompt", "answer"), *rows])
    write_atomically(path, table.getvalue().encode())


def main(gguf: Path, folder: Path) -> None:
    """Write the folder of the model, and the tables beside it."""
    write_host(gguf, folder / MODEL)
    module = AutoModelForCausalLM.from_pretrained(folder / MODEL, dtype=torch.float32).eval()
    new, kept = tables(module, Tokenizer.from_file(str(folder / MODEL / "tokenizer.json")))
    write_table(folder / NEW_FILE, new)
    write_table(folder / KEEP_FILE, kept)
    print(f"{len(new)} facts to insert, {len(kept)} prompts to keep, in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
