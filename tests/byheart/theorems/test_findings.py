"""What is proved of a construction beside its answers."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from byheart.theorems.findings import findings, rounded_up
from constructions.model.shapes import is_dana_network, is_mahdavi_layer
from constructions.named.low_coherence_unembedding import johnson_lindenstrauss_memory
from constructions.named.registry import NAMED, named
from verify.provers.memorization import certify_memorization


def found(name, **parameters):
    built = named(name).construct(**parameters).built
    return {each.what: each for each in findings(built, certified(built))}


def certified(built):
    asked = {
        "rank_of_heads": is_dana_network(built.model) or is_mahdavi_layer(built.model),
        "rank_with_skip": is_dana_network(built.model),
    }
    return certify_memorization(built.model, built.task, built.criterion, **asked)


def expected(rows, columns):
    """The values where all columns are independent."""
    bounds = dict.fromkeys(("columns", "lower", "upper", "all_weights_upper", "promised"), columns)
    return {"rows": rows, **bounds}


def test_the_rank_of_the_heads_stands_beside_that_with_the_skip_connection():
    both = found("full-rank-attention", d_vocab=5, n_ctx=3, d_model=4, d_head=4, n_heads=3)
    alone, beside = both["rank of Y, heads alone"], both["rank of [x_S | Y], heads with skip connection"]
    assert dict(alone.values) == expected(125, 12)
    assert dict(beside.values) == expected(125, 16)
    assert "exactly 12" in alone.text and "Lemma 2: min(T, H d_h) = 12" in alone.text


def test_a_rank_that_is_promised_and_not_reached_says_so(tmp_path):
    (tmp_path / "xor.csv").write_text("0 0 0\n1 1 0\n0 1 0\n1 0 0\n")
    built = named("full-rank-attention").construct(tmp_path / "xor.csv", d_head=4, n_heads=1).built
    rank, _ = findings(built, certified(built))
    assert "exactly 3" in rank.text and "= 4, which no weights reach" in rank.text


def test_a_rank_that_is_in_no_certificate_is_said_not_to_be():
    built = named("full-rank-attention").construct().built
    ranks = findings(built, certify_memorization(built.model, built.task, built.criterion))
    assert len(ranks) == 2 and all(each.text.startswith("not certified of so many contexts") for each in ranks)


def test_the_error_of_the_copy_falls_with_the_sharpness():
    table = found("skip-connection-head")
    errors = [each.values["error_upper"] for what, each in table.items() if what.startswith("error at")]
    assert len(errors) == 5 and all(after < before / 50 for before, after in pairwise(errors))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_run_of_the_copy_stays_below_the_bound(dtype):
    pytest.importorskip("torch")
    ran = found("skip-connection-head", sharpness=Fraction(12))[f"run in {dtype} on cpu"]
    assert ran.values["below"] == 1 and ran.values["largest_difference"] <= ran.values["largest_bound"]


def test_the_divergence_stands_beside_its_bound_and_the_printed_one():
    table = found("johnson-lindenstrauss-unembedding", d_vocab=5, d_model=1200, noise=100)
    row = table["KL of row 1"].values
    assert 0 < row["lower"] <= row["upper"] <= row["bound"] < row["printed"]
    assert table["coherence"].values["printed"] < 0.5
    small = found("johnson-lindenstrauss-unembedding", d_vocab=50, d_model=64)
    assert small["KL of row 1"].values["printed"] is None and "says nothing" in small["coherence"].text


@pytest.mark.parametrize("flat", [0, 1, 2])
def test_distributions_that_get_a_uniform_answer_are_counted(flat):
    near, far = [Fraction(98, 100), *[Fraction(1, 100)] * 2], [Fraction(34, 100), *[Fraction(33, 100)] * 2]
    rows = [near] * (3 - flat) + [far] * flat
    built = johnson_lindenstrauss_memory(rows, d_model=8)
    table = {each.what: each for each in findings(built, certified(built))}
    shown = np.ptp(built.encoder.stream @ built.model.W_U, axis=1) == 0
    assert shown.sum() == flat and ("uniform answers" in table) == (flat > 0)
    if flat:
        assert table["uniform answers"].values == {"uniform": flat}
        assert table["uniform answers"].text.startswith(f"{flat} of 3 distributions")
        last = table["KL of row 3"].values
        assert last["lower"] <= last["bound"] * (1 + 1e-12) and last["upper"] == pytest.approx(last["bound"], rel=1e-9)


def test_the_rank_of_what_saturated_heads_mix_is_that_of_all_examples():
    (rank,) = found("saturated-heads").values()
    assert (rank.values["lower"], rank.values["promised"]) == (29, 29)


def test_every_construction_has_findings():
    assert all(found(each.name) for each in NAMED)


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(2, 3), Fraction(1, 2), Fraction(10**20 + 1, 10**20)])
def test_a_number_is_rounded_up(value):
    above = rounded_up(value)
    assert Fraction(above) >= value and Fraction(float(np.nextafter(above, -np.inf))) < value
