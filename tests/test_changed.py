"""What `make check` runs is what changed, and nothing that is not there."""

from tests.changed import ALWAYS, BATTERY, ROOT, chosen, typed


def test_a_changed_module_brings_its_examples_and_the_tests_of_its_name() -> None:
    changed = ["verify/forward/walk.py", "docs/claims/capacity.md", "docs/conf.py", "tests/contract/test_hosts.py"]
    expected = ["verify/forward/walk.py", "tests/verify/forward/test_walk.py", *changed[1:2], *changed[3:]]
    assert list(chosen(changed)) == [*ALWAYS, *expected]
    assert all((ROOT / path).is_file() for path in [*ALWAYS, *changed])


def test_what_is_written_beside_weights_is_left_to_the_whole_suite() -> None:
    assert list(chosen(["byheart/hosts/written/load_model.py", "pyproject.toml", "README.md"])) == ALWAYS


def test_a_changed_claim_is_audited() -> None:
    path, id = "verify/theorems/claims/dana_lemma_1.py", "dana.lemma-1"
    tests = [f"tests/contract/test_claims.py::{test}[{id}]" for test in BATTERY]
    assert list(chosen([path]))[len(ALWAYS) :] == [path, "tests/verify/theorems/claims/test_dana_lemma_1.py", *tests]


def test_types_are_looked_at_in_what_changed_and_where_it_is_imported() -> None:
    found = set(typed(["verify/forward/walk.py", "docs/conf.py", "byheart/hosts/written/load_model.py"]))
    assert {"verify/forward/walk.py", "verify/forward/in_rationals.py"} <= found
    assert "byheart/cli/main.py" not in found and list(typed(["README.md"])) == []
    budget = "constructions/memory_budget.py"
    importers = [
        "constructions/memories/object_words/object_words_memory.py",
        "constructions/memories/object_words/words.py",
        "constructions/memories/object_words/words_of_three.py",
        "constructions/heads_of_theorem_1/memory.py",
        "verify/provers/memorization.py",
    ]
    assert list(typed([budget])) == sorted([*importers, budget])
