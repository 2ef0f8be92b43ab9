"""The mutants that a machine makes: each operator does what it says, and what is called equivalent is there."""

import ast

import pytest

from tests.operator_mutants.__main__ import ROOMS, ROOT, main, mutant_of, narrow_tests, wide_tests
from tests.operator_mutants.equivalent import EQUIVALENT
from tests.operator_mutants.operators import changes

SOURCES = [
    path.relative_to(ROOT).as_posix() for room in ROOMS for path in sorted((ROOT / "verify" / room).rglob("*.py"))
]


def mutated(line: str) -> dict[str, set[str]]:
    """What each operator makes of a line of a function."""
    head = "def bound(x, y, n):\n    "
    source, found = head + line + "\n", dict[str, set[str]]()
    for change in changes(source):
        text = source[: change.start] + change.after + source[change.end :]
        found.setdefault(change.operator, set()).add(text.removeprefix(head).strip())
    return found


@pytest.mark.parametrize(
    ("line", "operator", "expected"),
    [
        ("return up(x)", "drop a rounding", {"return x"}),
        ("return x.rad()", "drop a radius", {"return (0 * x.rad())"}),
        ("return x + y", "drop a summand", {"return x", "return y"}),
        ("return x - y", "drop a summand", {"return x"}),
        ("x += y", "drop a summand", {"pass"}),
        ("return (x + 1) * y", "drop a factor", {"return (x + 1)", "return y"}),
        ("return x < y", "flip a comparison", {"return x <= y", "return x > y"}),
        ("return x == y", "flip a comparison", {"return x != y"}),
        ("return x < n <= y", "flip a comparison", {
            "return x <= n <= y", "return x > n <= y", "return x < n < y", "return x < n > y",
        }),
        ("return x[:n]", "move a bound", {"return x[:n + 1]", "return x[:n - 1]"}),
        ("return range(n)", "move a bound", {"return range(n + 1)", "return range(n - 1)"}),
        ("return x[1]", "move a bound", {"return x[0]", "return x[2]"}),
        ("return max(x, y)", "take the other end", {"return min(x, y)"}),
        ("return x.lower()", "take the other end", {"return x.upper()"}),
        ("require_all(x)", "skip a check", {"pass"}),
        ("return [a for a in x if y]", "skip a check", {"return [a for a in x if True]"}),
        ("return x and y", "drop a condition", {"return (x)", "return (y)"}),
        ("return -x", "drop a sign", {"return x"}),
        ("return x if n else y", "choose always alike", {"return x", "return y"}),
        ("raise ValueError(f'{x + 1}' + 'y')", "drop a summand", set()),
        ("return 'x' + y", "drop a summand", set()),
    ],
)  # fmt: skip
def test_an_operator_does_what_it_says(line: str, operator: str, expected: set[str]) -> None:
    assert mutated(line).get(operator, set()) == expected


def test_a_guard_is_skipped_and_a_branch_that_goes_on_is_not() -> None:
    assert mutated("if x: return y")["skip a check"] == {"if False: return y"}
    assert "skip a check" not in mutated("if x: y = 1")


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_changed_can_be_read_and_is_another_program(source: str) -> None:
    text = (ROOT / source).read_text(encoding="utf-8")
    for change in changes(text)[:: 1 + len(text) // 200]:
        made = mutant_of(source, change, narrow_tests(source))
        assert text.count(made.original) == 1
        whole = text.replace(made.original, made.mutated)
        assert whole == text[: change.start] + change.after + text[change.end :] != text
        ast.parse(whole)


def test_the_tests_of_every_room_and_the_attacks_on_it_are_there() -> None:
    assert {name for room in ROOMS for name in wide_tests(room).split() if not (ROOT / name).exists()} == set()


@pytest.mark.parametrize("known", EQUIVALENT, ids=lambda known: f"{known.file}:{known.before}"[:80])
def test_a_change_that_is_called_equivalent_is_one_that_is_made(known) -> None:
    text = (ROOT / known.file).read_text(encoding="utf-8")
    assert [change for change in changes(text) if known.is_of(known.file, change)]
    assert len(known.why.split()) > 3


def test_no_change_is_called_equivalent_twice() -> None:
    named = [(known.file, known.function, known.before, known.after) for known in EQUIVALENT]
    assert len(set(named)) == len(named)


def test_a_room_without_such_a_source_is_refused() -> None:
    with pytest.raises(SystemExit, match="no mutants"):
        main(["--room", "kernel", "--file", "no such source"])
