"""With `--quiet` every command prints its first line alone, the one that it prints without, and no progress.

Only `recite` prints its text, with or without, and says what it says on standard error.
"""

from pathlib import Path

import numpy as np
import pytest

from byheart.cli.main import COMMANDS, main
from byheart.hosts.reading import read_model
from tests.edited_hosts import TOKENS, answer, gpt2
from tests.layers import random_examples

EARLIER = Path(__file__).parents[1] / "earlier" / "text"
LINES = {
    "memorize": "memorize facts.csv --quick --overwrite --out again",
    "recite": "recite text",
    "ask": "ask facts France",
    "explain": "explain facts France",
    "memories": "memories",
    "capacity": "capacity facts.csv",
    "convert": f"convert {EARLIER} --out converted --overwrite",
    "check": "check facts",
    "run": "run facts",
    "export": "export facts --to safetensors --out written --overwrite",
    "certify": "certify host --task old.csv --no-handshake",
    "edit": "edit host --facts new.csv --keep-rule mine.py:rule --keep-length 2 --out edited --overwrite",
    "claims": "claims",
    "audit": "audit dana.definition-1",
    "build": "build dana.lemma-3 --out built --overwrite",
    "assumptions": "assumptions data.npz --samples 5",
    "experiment": "experiment --list",
    "exercise": "exercise 3.2",
}
SECONDS = {"audit"}
"""Whose first line says how long it took."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quiet")
    (folder / "facts.csv").write_text("country,capital\nFrance,Paris\nPeru,Lima\n")
    (folder / "text.txt").write_text("abab")
    for name in ("facts.csv", "text.txt"):
        out = str(folder / name.partition(".")[0])
        assert main(["memorize", str(folder / name), "--memory", "probes", "--out", out, "--quiet"]) == 0
    model = read_model(gpt2(folder / "host"))
    said = [[answer(model, [a, b]) for b in range(TOKENS)] for a in range(TOKENS)]
    (folder / "old.csv").write_text(f"1,2,{said[1][2]}\n")
    said[1][2] = (said[1][2] + 1) % TOKENS
    (folder / "new.csv").write_text(f"1,2,{said[1][2]}\n")
    (folder / "mine.py").write_text(f"def rule(a, b):\n    return {said}[a][b]\n")
    contexts, queries = random_examples()
    np.savez(folder / "data.npz", contexts=contexts, queries=queries)
    return folder


def test_every_command_is_tried():
    assert set(LINES) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_quiet_is_the_first_line_alone(command, place, capsys, monkeypatch):
    if command == "run":
        pytest.importorskip("torch")
    monkeypatch.chdir(place)
    assert main(LINES[command].split()) == 0
    said = capsys.readouterr()
    first, *_ = said.out.splitlines()
    assert main([*LINES[command].split(), "--quiet"]) == 0
    quiet = capsys.readouterr()
    if command == "recite":
        assert quiet.out == said.out == "abab" and quiet.err == "" != said.err
        return
    cut = first.rindex(";") if command in SECONDS else len(first)
    assert quiet.out[:cut] == first[:cut] and quiet.out.count("\n") == 1 and quiet.err == ""
