"""What every command prints for a person and as JSON, on small inputs: `python -m tests.contract.transcribe` writes it.

Seconds, hashes, versions, errors of rounding and places of this machine are replaced, and numbers in JSON have three
digits.
"""

import contextlib
import io
import json
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from byheart.cli.main import main
from constructions.memories.heads.adder import adder
from tests.domains import max_of_four
from tests.edited_hosts import gpt2
from tests.layers import random_examples

TRANSCRIPTS = Path(__file__).parent / "transcripts"

COMMANDS: dict[str, list[str]] = {
    "memorize": ["memorize", "facts.csv", "--memory", "knots", "--out", "facts"],
    "memorize-verbose": ["memorize", "facts.csv", "--dim", "4", "--out", "heads", "--verbose"],
    "memorize-text": ["memorize", "poem.txt", "--memory", "probes", "--out", "poem"],
    "build-claim": ["build", "dana.lemma-3", "--out", "claim"],
    "build-theorem": ["build", "skip-connection-head", "--out", "named"],
    "build-fold": ["build", "parity", "--param", "bits=4", "--out", "parity"],
    "recite": ["recite", "poem"],
    "ask": ["ask", "facts", "Peru, capital"],
    "ask-fold": ["ask", "parity", "1 1 0 1"],
    "explain": ["explain", "facts", "Peru, capital"],
    "capacity": ["capacity", "facts.csv"],
    "capacity-profile": ["capacity", "facts.csv", "--contexts", "--profile", "--heads", "1", "--head-dim", "1"],
    "check": ["check", "facts"],
    "check-fast": ["check", "facts", "--fast"],
    "check-several": ["check", "facts", "poem"],
    "run": ["run", "facts"],
    "export": ["export", "facts", "--to", "safetensors", "--out", "tensors"],
    "check-export": ["check", "tensors", "--fast"],
    "convert": ["convert", "facts", "--out", "converted"],
    "certify": ["certify", "tensors", "--task", "facts.csv", "--every-run", "float32", "--out", "theirs"],
    "certify-rule": ["certify", "max.safetensors", "--rule", "max", "--length", "2"],
    "certify-fold": ["certify", "adder.safetensors", "--rule", "addition", "--digits", "1", "--base", "2"],
    "edit": ["edit", "host", "--facts", "new.csv", "--keep-domain", "2", "--out", "edited"],
    "check-edit": ["check", "edited", "--fast"],
    "assumptions": ["assumptions", "data.npz"],
    "claims": ["claims", "dana.definition-1"],
    "audit": ["audit", "dana.definition-1"],
    "experiment": ["experiment", "--list"],
    "exercise": ["exercise", "3.2", "2"],
    "missing": ["check", "nothing"],
}
"""The command lines in the order in which they run; each may read what an earlier one wrote."""

_STAGES = "task|weights|search|capacity|certificate|every run|encoder|torch|files"
_CHANGING = [
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"\b\d+\.\d s\b"), "TIME s"),
    (re.compile(rf"(?m)^(  (?:{_STAGES}) +)\d+(\.\d+)?$"), r"\1TIME"),
    (re.compile(r"(?m)^(  theorem-1 .*  )\d+(\.\d+)?$"), r"\1TIME"),
    (re.compile(r"\b\d(\.\d+)?e-\d+\b"), "TINY"),  # an error of rounding, of another size on another machine
    (re.compile(r"\b(safetensors|torch|numpy|transformers) \d+\.\d+[\w.+]*"), r"\1 VERSION"),
]
_TIMES = {"seconds"}


def transcripts() -> dict[str, str]:
    """Run every command twice, for a person and with `--json`, and return what each printed."""
    before = Path.cwd()
    with TemporaryDirectory() as folder, patch.dict(os.environ, {"COLUMNS": "80"}):
        os.chdir(folder)
        try:
            _write_inputs()
            return {name: _transcript(words) for name, words in COMMANDS.items()}
        finally:
            os.chdir(before)


def _write_inputs() -> None:
    Path("facts.csv").write_text("France,capital,Paris\nFrance,river,Seine\nPeru,capital,Lima\n")
    Path("poem.txt").write_text("so much depends upon a red wheel barrow")
    Path("new.csv").write_text("1,2,3\n")
    max_of_four(tokens=3).save(Path("max.safetensors"))
    adder(1, base=2).save(Path("adder.safetensors"))
    contexts, queries = random_examples()
    np.savez("data.npz", contexts=contexts, queries=queries)
    gpt2(Path("host"))


def _transcript(words: list[str]) -> str:
    written = ["--overwrite"] if "--out" in words else []
    code, screen = _printed([*words, *written])
    same_code, data = _printed([*(word for word in words if word != "--verbose"), *written, "--json"])
    assert code == same_code, f"{words} ends with {code}, and with --json with {same_code}"
    lines = [json.dumps(_rounded(json.loads(line)), indent=1, ensure_ascii=False) for line in data.splitlines()]
    parts = [f"$ byheart {' '.join(words)}", screen.rstrip("\n"), f"[exit {code}]", "", "With --json:", *lines]
    return _same_everywhere("\n".join(parts) + "\n")


def _printed(words: list[str]) -> tuple[int, str]:
    """Return the exit code, and what a command prints, with the first line of `recite`, which is on standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    beside = [line for line in err.getvalue().splitlines() if words[0] == "recite" and "PROVED" in line]
    return code, "".join(f"{line}\n" for line in beside if "--json" not in words) + out.getvalue()


def _rounded(value: Any, name: str = "") -> Any:
    if name in _TIMES:
        return "TIME"
    if isinstance(value, dict):
        return {key: _rounded(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each, name) for each in value]
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _same_everywhere(text: str) -> str:
    text = text.replace(str(Path(__file__).parents[2]), "PROJECT")
    for changing, instead in _CHANGING:
        text = changing.sub(instead, text)
    return text


if __name__ == "__main__":
    TRANSCRIPTS.mkdir(exist_ok=True)
    for earlier in TRANSCRIPTS.glob("*.txt"):
        earlier.unlink()
    for name, text in transcripts().items():
        (TRANSCRIPTS / f"{name}.txt").write_text(text, encoding="utf-8")
