"""First line against exit code against truth, over the commands: none says more than is so, and no two disagree.

The models have integer logits, so that numpy knows without a rounding what each of them answers.
"""

import re

import numpy as np
import pytest

from byheart.cli.main import main
from constructions.model.model import Model
from tests.command_line import written

CODES = {
    "yes": (
        0,
        r"(MEMORIZED|AS ASKED|REPRODUCES ITS TARGETS( AS ASKED)?|NEAR ITS TARGETS AS ASKED|BY HEART), "
        r"(PROVED|MEASURED)",
    ),
    "no": (1, r"(NOT MEMORIZED|NOT AS ASKED|NO BETTER THAN A GUESS)(, SAMPLED)?"),
    "open": (3, r"NOT DECIDED|SAMPLED|NOT JUDGED"),
}
"""The words of each answer, whole, and the only exit code that goes with them."""


def answered(words, capsys):
    """The answer of a command, after its words and its code were compared; its figures, and the line."""
    capsys.readouterr()
    code = main([*map(str, words), "--quiet"])
    line = capsys.readouterr().out
    assert line.count("\n") == 1, (words, line)
    word = line.partition(":")[0]
    [answer] = [name for name, (own, pattern) in CODES.items() if re.fullmatch(pattern, word)]
    assert CODES[answer][0] == code, (words, code, line)
    return answer, line


def drawn_model(rng, tokens, answers, length):
    """Integers, and ties among the logits as often as not."""
    d = int(rng.integers(1, 4))
    shapes = [(tokens, d), (length, d), (d, answers)]
    W_E, W_pos, W_U = (rng.integers(-2, 3, shape).astype(float) for shape in shapes)
    return Model(blocks=(), W_E=W_E, W_pos=W_pos, W_U=W_U)


def right(model, contexts, labels):
    """Whether the label of each context has the one largest logit."""
    logits = (model.W_E[contexts[:, -1]] + model.W_pos[contexts.shape[1] - 1]) @ model.W_U
    own = logits[np.arange(len(labels)), labels]
    logits[np.arange(len(labels)), labels] = -np.inf
    return own > logits.max(axis=1)


def truth(found, labels, least):
    """Whether so many are right, and more than a guess has, or all where there is one answer only."""
    count, guess = int(found.sum()), int(np.bincount(labels).max())
    return count >= least and (count > guess or count == guess == len(labels))


@pytest.mark.parametrize("seed", range(12))
def test_facts_and_every_way_to_judge_them(tmp_path, capsys, seed):
    rng = np.random.default_rng(seed)
    model = drawn_model(rng, tokens=5, answers=5, length=2)
    model.save(tmp_path / "model.safetensors")
    contexts = np.array([[a, b] for a in range(5) for b in range(5)])[rng.permutation(25)[: int(rng.integers(1, 9))]]
    logits = (model.W_E[contexts[:, -1]] + model.W_pos[1]) @ model.W_U
    labels = np.where(rng.random(len(contexts)) < 0.7, logits.argmax(axis=1), rng.integers(0, 5, len(contexts)))
    rows = "".join(f"#{a},#{b},#{label}\n" for (a, b), label in zip(contexts, labels, strict=True))
    table = written(tmp_path / "facts.csv", rows.encode())
    found = right(model, contexts, labels)
    certify = ["certify", tmp_path, "--task", table, "--no-header"]
    for least in (len(labels), 1, max(1, int(found.sum()))):
        asked = [] if least == len(labels) else ["--at-least", least]
        out = tmp_path / f"out{least}"
        answers = [answered([*certify, *asked, "--out", out, "--overwrite"], capsys)]
        answers += [answered(["check", out, "--fast"], capsys)]
        answers += [answered(["check", tmp_path / f"out{len(labels)}", "--fast", "--at-least", least], capsys)]
        for answer, line in answers:  # integers leave nothing open, not even a tie
            assert answer == ("yes" if truth(found, labels, least) else "no"), (line, found, labels)


@pytest.mark.parametrize("seed", range(12))
def test_rules_and_samples_of_them(tmp_path, capsys, seed):
    rng = np.random.default_rng(seed)
    model = drawn_model(rng, tokens=4, answers=4, length=3)
    model.save(tmp_path / "model.safetensors")
    inputs = np.array(list(np.ndindex(4, 4, 4)))
    if seed % 3 == 0:  # the model's own answers, where each is the one largest
        labels = ((model.W_E[inputs[:, -1]] + model.W_pos[2]) @ model.W_U).argmax(axis=1)
        table = [int(labels[(inputs[:, -1] == token).argmax()]) for token in range(4)]
        (tmp_path / "r.py").write_text(f"def rule(a, b, c):\n    return {table}[c]\n")
        rule = f"{tmp_path / 'r.py'}:rule"
    else:
        rule = ["last", "max"][seed % 2]
        labels = inputs[:, -1] if rule == "last" else inputs.max(axis=1)
    found = right(model, inputs, labels)
    for least in (64, 1, int(rng.integers(1, 65))):
        asked = [] if least == 64 else ["--at-least", least]
        for how in ([], ["--sample", 5], ["--sample", int(rng.integers(6, 64))], ["--sample", 64]):
            out = tmp_path / f"out{least}-{len(how) and how[1]}"
            answers = [answered(["certify", tmp_path, "--rule", rule, *asked, *how, "--out", out], capsys)]
            answers += [answered(["check", out, "--fast"], capsys)]
            for answer, line in answers:
                assert answer in (("yes" if truth(found, labels, least) else "no"), *["open"] * ("drawn from" in line))
                assert "drawn from 64" not in line or not line.startswith("MEMORIZED")


def test_what_every_other_command_says_first_goes_with_its_exit_code(tmp_path, capsys):
    tables = {
        "labels": b"a,x\nb,x\nc,y\n", "distributions": b"a,x\na,y\nb,x\nc,y\n", "equal": b"a,x\na,y\nb,x\nb,y\n",
        "one": b"a,x\n", "same": b"a,x\nb,x\n",
    }  # fmt: skip
    seen = {}
    for name, rows in tables.items():
        table, out = written(tmp_path / f"{name}.csv", rows), tmp_path / name
        for target in (
            ("labels", "distributions") if name != "distributions" and name != "equal" else ("distributions",)
        ):
            build = ["memorize", table, "--no-header", "--quick", "--target", target, "--out", out, "--overwrite"]
            seen[name, target] = answered(build, capsys)[0]
            assert answered(["check", out, "--fast"], capsys)[0] == seen[name, target]
            exported = tmp_path / f"{name}-{target}"
            for loss in ([], ["--allow-loss"]):
                export = ["export", out, "--to", "safetensors", "--out", exported, "--overwrite", *loss]
                assert answered(export, capsys)[0] == seen[name, target]
    assert seen == {
        ("labels", "labels"): "yes", ("labels", "distributions"): "yes", ("distributions", "distributions"): "yes",
        ("equal", "distributions"): "open",
        ("one", "labels"): "yes", ("one", "distributions"): "no", ("same", "labels"): "yes",
        ("same", "distributions"): "open",
    }  # fmt: skip
    text = written(tmp_path / "text.txt", b"to be or not to be")
    assert answered(["memorize", text, "--quick", "--out", tmp_path / "text"], capsys)[0] == "yes"
    assert answered(["check", "--fast", tmp_path / "text"], capsys)[0] == "yes"
    claim = ["build", "dana.theorem-2", "--param", "d_vocab=30", "d_model=9", "--out", tmp_path / "claim"]
    answer, line = answered(claim, capsys)
    assert answer == "yes" and "proved wrong" not in line and " memorized" not in line
    assert answered(["check", "--fast", tmp_path / "claim", "--at-most", "1e-9"], capsys)[0] == "no"
