"""What a person may type next, a shell and the command itself take."""

import shlex
from pathlib import Path

from byheart.cli.main import COMMANDS, _parser
from byheart.terminal.next_steps import next_commands
from constructions.folds.fold import addition, modular_sum
from constructions.tasks.table import facts_task


def parsed(commands):
    assert all(command.startswith("byheart ") for command in commands)
    return [_parser(COMMANDS).parse_args(shlex.split(command)[1:]) for command in commands]


def test_every_step_is_a_command_whatever_the_folder_and_the_context_are_called():
    task = facts_task([("--", "x", "y"), ("it's $5", "a b", "y")])
    check, ask, run = parsed(next_commands(Path("out/my 'facts'"), "MEMORIZED, PROVED", task=task))
    assert check.folder == [Path("out/my 'facts'")] and run.folder == ask.folder == Path("out/my 'facts'")
    assert ask.contexts == ["it's $5, a b"] and run.record is None


def test_where_no_context_can_be_typed_none_is_asked():
    assert len(parsed(next_commands(Path("out"), "", task=facts_task([("--", "x", "y")])))) == 2
    assert (
        len(parsed(next_commands(Path("out"), "", task=facts_task([("x" * 1_000_000, "y")])))) == 2
    )  # no line of a shell
    assert len(parsed(next_commands(Path("out"), ""))) == 2


def test_an_input_of_a_rule_with_a_state_is_asked_if_a_person_would_type_it():
    _, ask = parsed(next_commands(Path("out"), "", fold=addition(2), runs=False))
    assert ask.contexts == ["99 + 99"]
    assert len(parsed(next_commands(Path("out"), "", fold=modular_sum(101, below=2, modulus=2), runs=False))) == 1


def test_no_run_is_proposed_where_torch_is_missing(monkeypatch):
    monkeypatch.setattr("byheart.terminal.next_steps.find_spec", lambda name: None)
    assert next_commands(Path("out"), "") == ["byheart check out"]


def test_what_the_kernel_cannot_check_is_left_to_the_fast_prover():
    task = facts_task([("a", "b", "y")])
    for headline, fast in (
        ("MEMORIZED, PROVED: 1 of 1 fact, in every float32 run (fast prover only); 9 parameters", True),
        ("MEMORIZED, PROVED", False),
    ):
        assert parsed(next_commands(Path("out"), headline, task=task))[0].fast is fast
