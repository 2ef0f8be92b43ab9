"""What `make check` runs is what changed, and nothing that is not there."""

from tests.changed import ALWAYS, ROOT, chosen


def test_a_changed_module_brings_its_examples_and_the_tests_of_its_name() -> None:
    changed = ["verify/forward/walk.py", "docs/claims/capacity.md", "docs/conf.py", "tests/contract/test_hosts.py"]
    expected = ["verify/forward/walk.py", "tests/verify/forward/test_walk.py", *changed[1:2], *changed[3:]]
    assert list(chosen(changed)) == [*ALWAYS, *expected]
    assert all((ROOT / path).is_file() for path in [*ALWAYS, *changed])


def test_what_is_written_beside_weights_is_left_to_the_whole_suite() -> None:
    assert list(chosen(["byheart/hosts/written/load_model.py", "pyproject.toml", "README.md"])) == ALWAYS
