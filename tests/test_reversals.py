"""What a commit takes back of an earlier one without a word is found, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("reversals.py")
OLD = "".join(f"the old line of the number {place}\n" for place in range(9))
NEW = OLD.replace("old line of the number 3", "new line in the place of 3").replace("number 7", "new number 7 of all")
OWN = "".join(f"def something_else_{place}(): pass\n" for place in range(6))


@pytest.fixture
def commit(tmp_path, monkeypatch):
    """Commit files of these contents, none for a file that goes; returns the id."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "somebody")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "somebody@example.org")
    git(tmp_path, "init", "--quiet")

    def made(subject, **files):
        for name, content in files.items():
            path = tmp_path / f"{name}.txt"
            path.unlink() if content is None else path.write_text(content)
        git(tmp_path, "add", "--all")
        git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", subject)
        return git(tmp_path, "rev-parse", "--short=8", "HEAD").strip()

    return made


def git(folder, *words):
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def looked(folder, *words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    run = subprocess.run([sys.executable, SCRIPT, *words], cwd=folder, capture_output=True, text=True, env=environment)
    assert not run.stderr
    assert run.returncode == (0 if run.stdout.startswith(("0 times", "not looked at")) else 1)
    return run.stdout


def test_a_change_that_a_later_commit_undoes_is_found_with_what_is_missing(commit, tmp_path):
    commit("First", a=OLD)
    cure = commit("Cure", a=NEW, b=OWN)
    commit("Another", c=OWN)
    taker = commit("Something large", a=OLD, b=None, d=OWN.upper())
    said = looked(tmp_path)
    assert said.startswith("1 times") and f"\n{taker} Something large\n  of {cure} Cure\n" in said
    assert "a.txt: 2 places; 2 of 2 lines missing today" in said
    assert "b.txt: 1 places; 0 of 6 lines missing today" in said  # they stand in another file
    assert looked(tmp_path, "HEAD~1..HEAD") == looked(tmp_path, "--within", "2") == said
    assert looked(tmp_path, "HEAD~2..HEAD~1").startswith("0 times")
    assert looked(tmp_path, "--within", "1").startswith("0 times")
    assert looked(tmp_path, "--least", "11").startswith("0 times")
    commit("Cure once more", a=NEW)
    assert "a.txt: 2 places; 0 of 2 lines missing today" in looked(tmp_path)


def test_moves_and_other_white_space_hide_nothing(commit, tmp_path):
    commit("First", a=OLD)
    commit("Cure", a=NEW)
    git(tmp_path, "mv", "a.txt", "moved.txt")
    commit("Moved")
    commit("Something large", moved=OLD.replace("\n", "\n\n").replace("the ", "    the "))
    assert "a.txt: 2 places" in looked(tmp_path, "--least", "4")


@pytest.mark.parametrize("subject", ["Revert the cure", "The old lines are back", "Model: take back the cure"])
def test_who_says_it_is_not_named(commit, tmp_path, subject):
    commit("First", a=OLD)
    commit("Cure", a=NEW)
    commit(subject, a=OLD)
    assert looked(tmp_path, "--least", "1").startswith("0 times")


def test_code_that_goes_and_lines_that_say_little_are_no_finding(commit, tmp_path):
    commit("First", a=OLD, e="return 1\n" * 9)
    commit("More", b=OWN, e="return 2\n" * 9)
    commit("Less", b=None, e="return 1\n" * 9)
    assert looked(tmp_path, "--least", "1").startswith("0 times")


def test_a_merge_that_drops_a_change_is_found(commit, tmp_path):
    commit("First", a=OLD)
    git(tmp_path, "branch", "side")
    cure = commit("Cure", a=NEW)
    git(tmp_path, "checkout", "--quiet", "side")
    commit("Another", b=OWN)
    git(tmp_path, "merge", "--quiet", "--no-commit", "--no-ff", "-")
    taker = commit("Merge branch 'main'", a=OLD)
    assert f"{taker} Merge branch 'main'\n  of {cure} Cure" in looked(tmp_path, "--least", "4")


def test_a_shallow_clone_is_not_looked_at(commit, tmp_path):
    commit("First", a=OLD)
    commit("Cure", a=NEW)
    commit("Something large", a=OLD)
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{tmp_path}", "clone")
    assert looked(tmp_path / "clone").startswith("not looked at: this clone is shallow")
