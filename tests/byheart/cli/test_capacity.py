"""`byheart capacity`: how many heads a text or a table really needs."""

import json
import re

import numpy as np
import pytest

from byheart.cli.main import main
from constructions.attention.capacity.head_counts import fewest_heads
from tests.command_line import words, written


def test_capacity_shows_the_papers_count_beside_the_truth(novel, capsys):
    assert main(["capacity", str(novel), *words("--context 4 --facts 200 --dim 64 --head-dim 64 --json")]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["rank_lower"] == summary["rank_upper"] < summary["paper_rank"] == 200
    assert summary["paper_heads"] < summary["fewest_heads"]
    assert main(["capacity", str(novel), *words("--context 4 --facts 200 --dim 64 --head-dim 64")]) == 0
    assert "by the paper" in capsys.readouterr().out


def test_one_head_is_one_head(tmp_path, capsys):
    table = written(tmp_path / "facts.csv", b"a,b,x\nb,a,y\nb,b,x\na,a,x\n")
    assert main(["memorize", table, *words("--dim 9 --head-dim 9 --heads 1 --out"), str(tmp_path / "out")]) in (0, 2)
    assert main(["capacity", table, *words("--dim 2 --head-dim 2")]) == 0
    shown = capsys.readouterr().out
    assert "contexts that they can hold, by the paper" in shown and "1 heads" not in shown


def test_capacity_bounds_what_any_architecture_takes(novel, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["capacity", str(novel), *words("--facts 40 --vocabulary 10")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "any architecture for all distributions between 360 and 413 numbers" in shown
    assert "float64 numbers of any architecture for all labels between 2 and " in shown


@pytest.mark.parametrize("seed", range(4))
def test_each_number_of_heads_is_about_the_features_that_its_row_names(tmp_path, capsys, monkeypatch, seed):
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, 4, (14, 3)), axis=0)
    rows = "".join(f"{','.join(f'w{n}' for n in row)},{'xy'[i % 2]}\n" for i, row in enumerate(contexts))
    table = written(tmp_path / "facts.csv", rows.encode())
    d, d_h = [(4, 4), (3, 1), (2, 2), (5, 3)][seed]
    sizes = words(f"--no-header --dim {d} --head-dim {d_h}")
    assert main(["capacity", table, *sizes, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert main(["capacity", table, *sizes]) == 0
    shown = capsys.readouterr().out
    ordered = np.array([[int(cell[1:]) for cell in line.split(",")[:-1]] for line in rows.split()])
    for with_skip, names, row in (
        (True, ("fewest_heads", "necessary_heads"), "certified"),
        (False, ("heads_alone", "necessary_heads_alone"), "without the skip connection"),
    ):
        count = fewest_heads(ordered, d_model=d, d_head=d_h, with_skip=with_skip)
        assert tuple(said[name] for name in names) == (count.sufficient, count.necessary)
        for number, what in ((count.sufficient, "suffice"), (count.necessary, "are necessary")):
            label = f"heads that {what}{', ' * (row == 'certified')}{' ' * (row != 'certified')}{row}"
            assert (f"{label} {number}" in " ".join(shown.split())) == (number is not None)
    assert shown.startswith(f"{said['fewest_heads']} head")


def test_one_dimension_is_not_said_to_hold_any_labels(tmp_path, capsys):
    for answers, first in ((b"xyz", "No number of heads holds any labels"), (b"xyx", "2 heads hold any labels")):
        rows = b"".join(b"%d,%c\n" % (i, answer) for i, answer in enumerate(answers))
        table = written(tmp_path / "facts.csv", b"".join(b"q," + row for row in rows.splitlines(keepends=True)))
        assert main(["capacity", table, "--quiet", *words("--no-header --dim 1 --head-dim 1")]) == 0
        assert capsys.readouterr().out.startswith(first)


CONTEXTS = b"0,0,0\n1,1,0\n0,1,0\n1,0,0\n"


def test_contexts_alone_need_no_answers(tmp_path, capsys):
    table = written(tmp_path / "contexts.csv", CONTEXTS)
    line = ["capacity", table, *words("--contexts --no-header --dim 4 --head-dim 4 --heads 1")]
    assert main([*line, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rank_lower"], said["rank_upper"], said["paper_rank"]) == (3, 3, 4)
    assert (said["answers"], said["target"], said["profile"]) == (None, None, None)
    assert (said["any_labels"], said["any_distributions"], said["any_width_heads"]) == ([], [], None)
    assert main(line) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(
        "Independent features of these 4 contexts, proved: 2 heads with the skip connection, 2 heads"
    )
    assert "Read as contexts alone, without answers: 4 rows" in shown and "any architecture" not in shown
    everything = " ".join(shown.split())
    assert "from below by the rank at a random point modulo the prime 2147483647, which is a lower bound" in everything
    assert "from above by bound U2 of Theorem G3 on 4 of the contexts, for all weights" in everything


def test_contexts_of_one_token_are_made_independent_by_no_heads(tmp_path, capsys):
    table = written(tmp_path / "contexts.txt", b"a\nb\n")
    assert main(["capacity", table, "--contexts", "--quiet", "--dim", "1"]) == 0
    assert "no number of heads with the skip connection" in capsys.readouterr().out


def test_a_profile_has_one_form_on_the_screen_and_three_as_files(tmp_path, capsys):
    table = written(tmp_path / "contexts.csv", CONTEXTS)
    files = [tmp_path / f"profile{suffix}" for suffix in (".svg", ".csv", ".json")]
    named = [word for file in files for word in ("--profile-to", str(file))]
    line = ["capacity", table, *words("--contexts --no-header --dim 4 --heads 2 --profile"), *named]
    assert main(line) == 0
    alone, beside = re.findall(r"(?m)^  4 +0 .*|^  4 +1 .*", capsys.readouterr().out)
    assert alone.split() == ["4", "0", "(0)", "3", "(4)*", "4", "(4)"]
    assert beside.split() == ["4", "1", "(4)*", "3", "(4)*", "4", "(4)"]
    assert main([*line, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["profile"] == json.loads(files[2].read_text())
    assert len(said["profile"]) == len(files[1].read_text().splitlines()) - 1 == 2 * 3 * 3
    assert files[0].read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("FILE --contexts --facts 3", "--facts is given beside --contexts"),
        ("FILE --contexts --skip-empty", "--skip-empty is given beside --contexts"),
        ("--contexts", "--contexts is given without a file of contexts"),
        ("FILE --contexts --table FILE", "--contexts is given without a file of contexts, or with two"),
        (
            "FILE --profile-to profile.png",
            "--profile-to is profile.png, expected a file that ends in .svg, .csv, .json",
        ),
        ("FILE --no-header", "--contexts reads a table whose last column is not an answer"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, capsys, line, said):
    table = written(tmp_path / "contexts.csv", b"0,0,1\n0,0,2\n")
    assert main(["capacity", *words(line.replace("FILE", table))]) == 2
    assert said in capsys.readouterr().err
