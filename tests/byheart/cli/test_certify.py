"""`byheart certify`: which facts, or which rule, a model of somebody else's holds."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from byheart.cli.main import main
from constructions.memories.heads.adder import adder
from constructions.model.model import Model
from tests.domains import max_of_four
from tests.exports import spoiled, task_of, written_for
from verify.domains.sample import most_wrong
from verify.provers.domain import certify_domain
from verify.provers.memorization import check_memorization

NAME = "layer normalization as in GPT-2"


def test_the_command_exits_with_the_verdict(tmp_path, capsys):
    folder, good, bad = (
        written_for("transformer-lens", tmp_path / "in", NAME),
        tmp_path / "good.safetensors",
        tmp_path / "bad.safetensors",
    )
    task_of(NAME).save(good)
    spoiled(task_of(NAME), 2).save(bad)
    assert main(["certify", str(folder), "--task", str(good), "--out", str(tmp_path / "out")]) == 0
    assert "MEMORIZED, PROVED: 20 of 20 contexts" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "out"), "--fast"]) == 0
    assert main(["certify", str(folder), "--task", str(bad), "--json"]) == 1
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (shown["memorized"], shown["wrong"], len(shown["wrong_contexts"])) == (18, 2, 2)
    assert main(["certify", str(folder), "--task", str(bad), "--at-least", "18"]) == 1  # a guess holds as many
    named = [" ".join(row) for row in shown["wrong_facts"]]
    assert f"2: {'; '.join(named)}" in " ".join(capsys.readouterr().out.split())
    assert main(["certify", str(tmp_path), "--task", str(good)]) == 2
    assert main(["certify", str(folder), "--task", str(tmp_path / "x.csv")]) == 2


def test_a_rule_is_a_bad_task_where_its_options_do_not_fit(tmp_path, capsys):
    max_of_four().save(tmp_path / "model.safetensors")
    path = str(tmp_path / "model.safetensors")
    for words in (["--rule", "median"], ["--rule", "max", "--tokens", "9"], ["--rule", "max", "--modulus", "3"]):
        assert main(["certify", path, *words]) == 2
    assert main(["certify", path, "--task", "facts.csv", "--length", "3"]) == 2
    assert "--length is 3, which does not apply to --task, only to --rule" in capsys.readouterr().err
    for words, said in (
        (["--tolerance", "0.1"], "--tolerance is 0.1, which does not apply to --rule, only to --task"),
        (["--seed", "a"], "--seed is"),
    ):
        assert main(["certify", path, "--rule", "max", *words]) == 2
        assert said in capsys.readouterr().err
    out = tmp_path / "out"
    assert main(["certify", path, "--rule", "max", "--length", "2", "--out", str(out)]) == 0
    assert main(["export", str(out), "--to", "safetensors"]) == 2
    assert "holds a rule" in capsys.readouterr().err
    assert main(["ask", str(out), "0, 1"]) == 0
    assert capsys.readouterr().out.startswith("'0, 1' -> '1': FACT PROVED\n")
    assert main(["explain", str(out), "--fact", "1 0"]) == 0
    assert capsys.readouterr().out.startswith("FACT PROVED: 1, 0 -> 1;")
    for words in ("0, 9", "1", "0 1 2"):
        assert main(["ask", str(out), words]) == 2
    assert "expected 2 tokens" in capsys.readouterr().err


def test_a_rule_of_a_file_is_judged_and_what_is_wrong_stands_in_a_table(tmp_path, capsys):
    max_of_four().save(tmp_path / "model.safetensors")
    (tmp_path / "mine.py").write_text("def least(a, b):\n    return a if a < b else b\n")
    out = tmp_path / "out"
    words = ["certify", str(tmp_path / "model.safetensors"), "--rule", f"{tmp_path / 'mine.py'}:least", "--length", "2"]
    assert main([*words, "--out", str(out)]) == 1
    shown = capsys.readouterr().out
    assert "the rule is one's own function of 2 tokens below 8" in shown
    rows = [tuple(map(int, row.split(","))) for row in (out / "wrong.csv").read_text().splitlines()]
    assert sorted(rows) == [(a, b, min(a, b)) for a in range(8) for b in range(8) if a != b]
    assert main(["check", str(out)]) == main(["check", str(out), "--fast"]) == 1
    assert main([*words, "--sample", "20", "--seed", "mine", "--out", str(tmp_path / "drawn")]) == 1
    assert "NOT MEMORIZED, SAMPLED" in capsys.readouterr().out
    assert main(["check", "--fast", str(tmp_path / "drawn"), "--sample-seed", "of my own"]) == 1
    assert "drawn with the seed 'of my own'" in " ".join(capsys.readouterr().out.split())
    assert main(["check", "--fast", str(out), "--sample-seed", "x"]) == 2


def test_a_rule_is_run(tmp_path, capsys, monkeypatch):
    pytest.importorskip("torch", reason="needs torch")
    max_of_four().save(tmp_path / "model.safetensors")
    out = str(tmp_path / "out")
    assert main(["certify", str(tmp_path / "model.safetensors"), "--rule", "max", "--length", "3", "--out", out]) == 0
    assert main(["run", out]) == 0
    assert "MEMORIZED, MEASURED: 512 of 512 inputs" in capsys.readouterr().out
    monkeypatch.setattr("byheart.jobs.run._INPUTS_RUN", 100)
    assert main(["run", out, "--json"]) == 3  # a sample ends with the code of a sample
    said = json.loads(capsys.readouterr().out)
    assert said["headline"].startswith("SAMPLED, MEASURED: 100 of 100 inputs; ") and said["all_memorized"] is None
    most = most_wrong(512, 100, 0)
    assert f"drawn at random; at most {most} of all 512 are wrong in this run (" in said["headline"]


def test_an_interrupt_writes_what_was_proved_and_says_so(tmp_path, capsys, monkeypatch):
    from byheart.hosts.questions import rule as module

    def interrupted(*args, **options):
        def stop(stage, share, detail):
            if share is not None and share >= 0.5:
                raise KeyboardInterrupt

        return certify_domain(*args, **{**options, "progress": stop})

    monkeypatch.setattr(module, "certify_domain", interrupted)
    max_of_four().save(tmp_path / "model.safetensors")
    words = ["certify", str(tmp_path / "model.safetensors"), "--rule", "max", "--out", str(tmp_path / "out")]
    assert main([*words, "--json"]) == 130
    figures = json.loads(capsys.readouterr().out)
    assert figures["interrupted"] and 0 < figures["right"] < 8**4
    report = check_memorization(tmp_path / "out")
    assert report.checks[0].verdict.value == "PROVED" and report.verdict.value == "PROVED"
    assert (tmp_path / "out.pieces").is_file()
    monkeypatch.undo()
    assert main([*words, "--overwrite", "--json"]) == 0
    finished = json.loads(capsys.readouterr().out)
    assert (finished["right"], finished["earlier"], finished["interrupted"]) == (8**4, figures["right"], False)
    assert not (tmp_path / "out.pieces").exists()
    assert check_memorization(tmp_path / "out").checks[0].verdict.value == "PROVED"


def test_a_table_is_read_however_it_is_written(tmp_path, capsys):
    """As by `memorize`: delimiter, quotes and header are found out, or said."""
    facts = 'question;answer\n"Paris; France";yes\n"Lima, Peru";no\n'
    (tmp_path / "facts.txt").write_text(facts)
    out = tmp_path / "made"
    assert main(["memorize", "--table", str(tmp_path / "facts.txt"), "--out", str(out)]) == 0
    assert main(["export", str(out), "--to", "safetensors", "--out", str(tmp_path / "in")]) == 0
    words = ["certify", str(tmp_path / "in"), "--json", "--task"]
    tables = {"facts.txt": facts}
    tables["tabs.csv"] = facts.replace('";', '"\t').replace("question;", "question\t")
    tables["no header.csv"] = '"Paris; France",yes\n"Lima, Peru",no\n'
    tables["weights.csv"] = 'question,answer,weight\n"Paris; France",yes,2\n"Paris; France",no,1\n"Lima, Peru",no,1\n'
    capsys.readouterr()
    for name, text in tables.items():
        (tmp_path / name).write_text(text)
        asked = {"no header.csv": ["--no-header"], "weights.csv": ["--weights"]}.get(name, [])
        if asked:
            assert main([*words, str(tmp_path / name)]) == 2
            assert f"or {asked[0].replace('--w', '--no-w')}" in json.loads(capsys.readouterr().out)["error"]
        assert main([*words, str(tmp_path / name), *asked]) == 0
        assert json.loads(capsys.readouterr().out)["memorized"] == 2
    assert main(["certify", str(out), "--json", "--task", str(tmp_path / "facts.txt")]) == 0  # its own names
    assert json.loads(capsys.readouterr().out)["memorized"] == 2
    (tmp_path / "strange.csv").write_text('q:a\n"Paris; France":yes\n')
    assert main([*words, str(tmp_path / "strange.csv")]) == 2
    capsys.readouterr()
    assert main([*words, str(tmp_path / "strange.csv"), "--delimiter", ":", "--header"]) == 0
    assert json.loads(capsys.readouterr().out)["facts"] == 1
    assert main(["certify", str(tmp_path / "in"), "--rule", "max", "--header"]) == 2
    assert "--header is True, which does not apply to --rule, only to --task" in capsys.readouterr().err
    task = tmp_path / "made" / "task.safetensors"
    assert main([*words, str(task), "--no-header"]) == 2
    assert "--no-header is given" in capsys.readouterr().err


def test_a_domain_is_shared_out_among_workers_and_facts_are_not(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("verify.workers.processes", ThreadPoolExecutor)
    max_of_four().save(tmp_path / "model.safetensors")
    words, found = ["certify", str(tmp_path / "model.safetensors"), "--rule", "max", "--json"], []
    for more in ([], ["--workers", "1"]):
        assert main([*words, *more]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert main([*words[:2], "--task", "facts.csv", "--workers", "2"]) == 2
    assert "--workers is 2, which does not apply to --task, only to --rule" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--length", "--tokens"])
def test_a_size_of_a_rule_that_is_none_is_named_as_it_was_given(option, tmp_path, capsys):
    max_of_four().save(tmp_path / "model.safetensors")
    assert main(["certify", str(tmp_path / "model.safetensors"), "--rule", "max", option, "0"]) == 2
    assert f"byheart: {option} 0, expected at least 1" in capsys.readouterr().err


def test_a_domain_that_the_model_has_no_room_for_is_refused_by_its_option(tmp_path, capsys):
    max_of_four().save(tmp_path / "model.safetensors")
    words = ["certify", str(tmp_path / "model.safetensors"), "--rule", "max"]
    assert main([*words, "--length", "4", "--before", "0"]) == 2
    assert "--length 4, expected at most 3: the model has no more room" in capsys.readouterr().err
    assert main([*words, "--tokens", "9"]) == 2
    assert "--tokens 9, expected at most 8: the model has no more tokens" in capsys.readouterr().err
    assert main([*words, "--before", "0", "1", "--after", "0", "1"]) == 2
    assert "before and after are 4 tokens, expected fewer than n_ctx = 4" in capsys.readouterr().err


def test_a_domain_beyond_counting_is_refused_in_a_sentence(tmp_path, capsys):
    Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((64, 3))).save(tmp_path / "model.safetensors")
    assert main(["certify", str(tmp_path / "model.safetensors"), "--rule", "max"]) == 2
    assert "--rule is asked of 3^64 inputs (d_vocab^n_ctx), expected fewer than 2^63" in capsys.readouterr().err


@pytest.mark.parametrize("raising", ["7 // (a - a)", "[][a]", "__import__('sys').exit(1)", "f(a, b)", "{}[a]"])
def test_a_mistake_in_one_s_own_rule_is_bad_input(tmp_path, capsys, raising):
    folder = written_for("transformer-lens", tmp_path / "in", NAME)
    (tmp_path / "r.py").write_text(f"def f(a, b):\n    return {raising}\n")
    rule = f"{tmp_path / 'r.py'}:f"
    assert main(["certify", str(folder), "--rule", rule, "--length", "2", "--tokens", "3"]) == 2
    assert f"--rule {rule} raises " in (said := capsys.readouterr().err) and "at the input 0 0" in said
    (tmp_path / "r.py").write_text("raise SystemExit(1)\n")
    assert main(["certify", str(folder), "--rule", rule, "--length", "2", "--tokens", "3"]) == 2


def test_addition_is_proved_on_all_inputs_or_an_input_is_shown(tmp_path, capsys):
    good, bad, own = tmp_path / "good.safetensors", tmp_path / "bad.safetensors", tmp_path / "own.py"
    model = adder(40, base=2)
    model.save(good)
    b_U = model.b_U + np.array([0.0, 2.0])
    Model(model.blocks, model.W_U, b_U=b_U, W_E=model.W_E, W_pos=model.W_pos).save(bad)
    asked = ["--rule", "addition", "--digits", "40", "--base", "2"]
    out = str(tmp_path / "out")
    assert main(["certify", str(good), *asked, "--sum-digits", "1", "--out", out, "--every-run", "float32"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"MEMORIZED, PROVED: {2**80:,} of {2**80:,} inputs" in shown
    assert "Every float32 run right on all inputs, proved" in shown
    assert main(["check", out, "--fast"]) == 0
    assert main(["check", out]) == 3
    assert main(["certify", str(bad), *asked, "--json"]) == 1
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    wrong = figures["wrong_input"]
    assert figures["verdict"] == "REFUTED" and figures["right"] == 0
    a, b = (sum(bit << place for place, bit in enumerate(wrong["prompt"][at : at + 40])) for at in (0, 41))
    assert sum(bit << place for place, bit in enumerate(wrong["answer"])) == a + b
    assert wrong["said"] != wrong["answer"][wrong["place"] - 1]
    assert wrong["decoded"] == wrong["host_decoded"] != wrong["answer"] and "replica in torch" in wrong["host"]
    assert main(["certify", str(bad), *asked, "--overwrite", "--out", out]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert f"1 of {2**80:,} inputs proved wrong, 0 memorized, {2**80 - 1:,} not decided (fast prover only); " in first
    shown = "to {} it says {}, not {}".format(*(" ".join(map(str, wrong[n])) for n in ("prompt", "decoded", "answer")))
    assert f"; {shown}; so does the replica in torch" in first
    assert main(["check", out, "--fast"]) == 1
    assert f"; {shown}" in capsys.readouterr().out.splitlines()[0]
    own.write_text(
        "from constructions.folds.fold import addition\n\n\n"
        "def rule():\n    return addition(40, base=2, sum_digits=1)\n\n\n"
        "def number():\n    return 7\n"
    )
    assert main(["certify", str(good), "--rule", f"{own}:rule"]) == 0
    assert main(["certify", str(good), "--rule", f"{own}:number"]) == 2
    assert main(["certify", str(good), "--rule", "addition", "--digits", "41", "--base", "2"]) == 2
    assert main(["certify", str(good), "--rule", "addition", "--base", "3"]) == 2
    assert main(["certify", str(good), "--rule", "max", "--base", "3"]) == 2
    assert main(["certify", str(good), *asked, "--sample", "3"]) == 2


RULES = """
from constructions.folds.fold import addition, fold_of


def sums():
    return addition(1, base=2)


def fails():
    return addition(1)[0]


def number():
    return 3


def endless():
    stages = [((place,), [(0,), (1,)]) for place in range(18)]
    return fold_of(lambda seen, token: ((seen, token), token[0]), start=(), length=18, stages=stages, answer=range(18))
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [("fails", "fails: TypeError"), ("number", "gives int, expected a Fold"), ("endless", "at most 65536 states, but")],
)
def test_a_rule_with_a_state_from_a_file_is_refused_by_name(name, said, tmp_path, capsys):
    (tmp_path / "rules.py").write_text(RULES)
    adder(1, base=2).save(tmp_path / "model.safetensors")
    rule = f"{tmp_path / 'rules.py'}:{name}"
    assert main(["certify", str(tmp_path / "model.safetensors"), "--rule", rule]) == 2
    assert said in capsys.readouterr().err


def test_a_rule_with_a_state_is_read_from_a_function_or_from_a_folder(tmp_path, capsys):
    (tmp_path / "rules.py").write_text(RULES)
    adder(1, base=2).save(tmp_path / "model.safetensors")
    given = ["certify", str(tmp_path / "model.safetensors"), "--no-handshake", "--rule"]
    assert main([*given, f"{tmp_path / 'rules.py'}:sums", "--out", str(tmp_path / "made")]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert main([*given, str(tmp_path / "made" / "task.safetensors")]) == 0
    assert capsys.readouterr().out.splitlines()[0] == first and first.startswith("MEMORIZED, PROVED: 4 of 4 inputs")
