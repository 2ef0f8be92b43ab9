"""`byheart assumptions`: the assumptions of memorization on data of your own."""

import json

import numpy as np
import pytest

from byheart.cli.main import main
from tests.layers import random_examples


@pytest.fixture
def data(tmp_path):
    def write(**arrays):
        path = tmp_path / "data.npz"
        np.savez(path, **arrays)
        return str(path)

    return write


def test_the_command_prints_one_json_object(data, capsys):
    contexts, queries = random_examples()
    assert main(["assumptions", data(contexts=contexts.astype(np.float32), queries=queries), "--json"]) == 0
    printed = capsys.readouterr()
    summary = json.loads(printed.out)
    assert printed.out.count("\n") == 1
    assert [summary[f"assumption_{i}"]["verdict"] for i in (1, 2, 3)] == ["PROVED"] * 3
    assert summary["headline"].startswith("PROVED: assumptions 1, 2 and 3 hold for these 12 examples; ")
    assert summary["headline"].endswith("can hold any labels of the first 12, proved")
    assert summary["verdict"] == "PROVED"
    assert summary["block_condition"]["verdict"] == "PROVED" and summary["shared"] is False
    assert summary["promised"] == {"mahdavi": 12, "sharp": 12, "shared_limit": 12, "generic": 12, "dana": 12}


def test_the_command_prints_tables_for_a_shared_context(data, capsys):
    contexts, queries = random_examples()
    queries[1] = queries[0]
    path = data(contexts=contexts[0], queries=queries)
    assert main(["assumptions", path, "--heads", "4", "--head-dim", "1", "--samples", "20"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("REFUTED: assumption 1 fails, 2 holds, 3 ") and "can hold is not proved" in text
    assert "12 examples with one shared context of 3 tokens, d = 5" in text
    assert "exact relation between 2 vectors: 0, 1" in text and "REFUTED" in text
    assert "1, under 1 and 2" in text and "9, under 2 and the block condition" in text


def test_the_command_tells_the_share_that_random_subsets_bound(data, capsys):
    contexts, queries = random_examples(60, 8, 12)
    assert main(["assumptions", data(contexts=contexts, queries=queries), "--samples", "50"]) == 3
    assert "0 of 50 random subsets are dependent" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"queries": np.full((12, 5), np.nan)}, "queries has the entry nan at [0, 0]"),
        ({"queries": np.ones((11, 5))}, "contexts has shape (12, 3, 5)"),
        ({"contexts": np.ones((12, 3, 4))}, "expected [12, n, 5]"),
        ({"contexts": np.ones(3)}, "contexts has shape (3,)"),
        ({"queries": np.ones((12, 5), dtype=bool)}, "queries has dtype bool"),
        ({"labels": np.ones(12)}, "expected contexts and queries"),
    ],
)
def test_bad_data_are_refused_in_one_sentence(data, capsys, change, message):
    contexts, queries = random_examples()
    assert main(["assumptions", data(**{"contexts": contexts, "queries": queries, **change})]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and message in printed.err and "Traceback" not in printed.err


def test_a_file_that_is_no_archive_is_bad_input(tmp_path, capsys):
    path = tmp_path / "data.npz"
    assert main(["assumptions", str(path), "--json"]) == 2
    path.write_bytes(b"PK\x03\x04 no archive")
    assert main(["assumptions", str(path)]) == 2
    assert "is not a readable .npz file" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--heads", "--head-dim", "--samples"])
def test_options_out_of_range_are_refused(data, option):
    contexts, queries = random_examples(60, 8, 12)
    assert main(["assumptions", data(contexts=contexts, queries=queries), option, "0"]) == 2
