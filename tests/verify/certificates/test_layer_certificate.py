"""Certificates of layers as data: one text each, and nothing that cannot be."""

import dataclasses
import hashlib
import json
from fractions import Fraction

import pytest
from verify.certificates.layer_certificate import (
    LABEL_ERROR,
    LARGEST_OUTPUT,
    MIXED_RANK,
    SATURATION,
    SIZE_NAMES,
    LayerCertificate,
    LayerCheckReport,
    LayerClaim,
    LayerSubject,
    layer_statement,
    plain_number,
)

from constructions.errors import FileFormatError, InputError, TamperedError
from tests.layers import memory_layer, random_layer_task, write_layer
from verify.certificates.certificate import ClaimCheck, Witness
from verify.verdict import Verdict

PROVED, REFUTED, UNDECIDED = Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED
SIZES = dict(zip(SIZE_NAMES, (5, 1, 4, 3, 2, 2, 1, 1, 1), strict=True))
SUBJECT = LayerSubject("0" * 64, "1" * 64, "regression", SIZES)
RANK = {"rows": 5, "columns": 6}
BOUNDS = {"smallest_singular_value_lower": 0.5, "condition_upper": 7.0}
ERROR = {"examples": 5, "outputs": 1, "error_upper": 1e-12}
SATURATED = {"pairs": 10, "delta": Fraction(1, 100), "saturated_lower": 7}


def certificate(**changes):
    claims = (
        LayerClaim.of(MIXED_RANK, PROVED, "gram", {**RANK, **BOUNDS}),
        LayerClaim.of(LABEL_ERROR, PROVED, "enclosure", ERROR),
        LayerClaim.of(SATURATION, PROVED, "enclosure", SATURATED),
    )
    return LayerCertificate(**{"subject": SUBJECT, "claims": claims, "provenance": {"a": "b"}, **changes})


def rehashed(data):
    data.pop("digest", None)
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    data["digest"] = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps(data, sort_keys=True, separators=(",", ":")) + "\n"


def test_a_certificate_comes_back_from_its_text():
    made = certificate(witness=Witness.of(b"data"))
    again = LayerCertificate.from_json(made.to_json())
    assert again == made and again.digest == made.digest and again.to_json() == made.to_json()
    assert made.verdict is PROVED


def test_the_verdict_is_that_of_all_claims_and_a_missing_one_is_undecided():
    rank, error, saturation = certificate().claims
    assert certificate(claims=(rank, error)).verdict is UNDECIDED
    refuted = LayerClaim.of(MIXED_RANK, REFUTED, "", RANK)
    assert certificate(claims=(refuted, error, saturation)).verdict is REFUTED
    with pytest.raises(TamperedError, match="lacks"):
        certificate(claims=(rank,)).claim(SATURATION)


def test_the_rank_has_both_bounds_or_none():
    assert LayerClaim.of(MIXED_RANK, PROVED, "balls", RANK).bounds == {}
    for name in BOUNDS:
        with pytest.raises(InputError):
            LayerClaim.of(MIXED_RANK, PROVED, "", {**RANK, name: BOUNDS[name]})
    with pytest.raises(InputError):
        LayerClaim.of(MIXED_RANK, UNDECIDED, "", {**RANK, **BOUNDS})


@pytest.mark.parametrize(
    ("id", "values"),
    [
        (MIXED_RANK, {**RANK, **BOUNDS, "smallest_singular_value_lower": 0.0}),
        (MIXED_RANK, {**RANK, **BOUNDS, "condition_upper": float("inf")}),
        (LABEL_ERROR, {**ERROR, "error_upper": float("nan")}),
        (LABEL_ERROR, {**ERROR, "error_upper": -1.0}),
        (LABEL_ERROR, {**ERROR, "error_upper": True}),
        (LABEL_ERROR, {**ERROR, "examples": 5.0}),
        (LABEL_ERROR, {"examples": 5, "outputs": 1}),
        (LARGEST_OUTPUT, {"examples": 5, "proved": 4, "margin_lower": 0.5}),
        (LARGEST_OUTPUT, {"examples": 5, "proved": 6, "margin_lower": 0.5}),
        (LARGEST_OUTPUT, {"examples": 5, "proved": 5, "margin_lower": 0}),
        (SATURATION, {**SATURATED, "delta": 1}),
        (SATURATION, {**SATURATED, "delta": 0}),
        (SATURATION, {**SATURATED, "saturated_lower": 11}),
        (SATURATION, {**SATURATED, "saturated_lower": 7.0}),
        (SATURATION, {**SATURATED, "delta": Fraction(1, 2**5000)}),
        ("rank", RANK),
    ],
)
def test_numbers_that_no_claim_can_have_are_refused(id, values):
    with pytest.raises(InputError):
        LayerClaim.of(id, PROVED, "", values)


def test_claims_that_do_not_fit_the_subject_are_refused():
    rank, error, saturation = certificate().claims
    others = [
        (LayerClaim.of(MIXED_RANK, PROVED, "", {**RANK, "rows": 4}), error, saturation),
        (LayerClaim.of(MIXED_RANK, PROVED, "", {**RANK, "columns": 7}), error, saturation),
        (rank, LayerClaim.of(LABEL_ERROR, PROVED, "", {**ERROR, "outputs": 2}), saturation),
        (rank, error, LayerClaim.of(SATURATION, PROVED, "", {**SATURATED, "pairs": 9})),
        (rank, LayerClaim.of(LARGEST_OUTPUT, UNDECIDED, "", {"examples": 5, "proved": 0}), saturation),
        (error, rank, saturation),
        (rank, rank, error),
        (dataclasses.replace(rank, statement="Z is fine."), error, saturation),
    ]
    for claims in others:
        with pytest.raises(InputError):
            certificate(claims=claims)


def test_subjects_that_make_no_sense_are_refused():
    for change in ({"layer": "0"}, {"task": None}, {"kind": "laws"}, {"sizes": {}}, {"sizes": {**SIZES, "d_head": 0}}):
        with pytest.raises(InputError):
            dataclasses.replace(SUBJECT, **change)


def test_the_largest_rank_is_that_of_shared_or_own_contexts():
    assert SUBJECT.columns == 6 and SUBJECT.largest_rank == 6
    assert dataclasses.replace(SUBJECT, sizes={**SIZES, "n_tokens": 2}).largest_rank == 3
    assert dataclasses.replace(SUBJECT, sizes={**SIZES, "n_tokens": 1}).largest_rank == 1
    assert dataclasses.replace(SUBJECT, sizes={**SIZES, "n_tokens": 1, "n_contexts": 5}).largest_rank == 6


def test_every_changed_text_is_refused():
    text = certificate().to_json()
    for i in range(len(text) - 1):
        changed = text[:i] + chr(ord(text[i]) ^ 1) + text[i + 1 :]
        with pytest.raises((FileFormatError, TamperedError)):
            LayerCertificate.from_json(changed)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(version=2),
        lambda data: data.update(format="byheart-certificate"),
        lambda data: data.update(more=1),
        lambda data: data.pop("witness"),
        lambda data: data["claims"][1]["values"].update(error_upper="0x1.0p-50"),
        lambda data: data["claims"][1]["values"].update(error_upper="2/4"),
        lambda data: data["claims"][1].update(verdict="CERTAIN"),
        lambda data: data["claims"][1].update(statement="All is well."),
        lambda data: data["subject"].update(kind=["regression"]),
        lambda data: data["subject"]["sizes"].update(n_examples=True),
        lambda data: data.update(witness={"file": "other.npz", "sha256": "0" * 64}),
        lambda data: data.update(provenance={"a": 1}),
    ],
)
def test_a_right_digest_does_not_excuse_wrong_contents(change):
    data = json.loads(certificate().to_json())
    change(data)
    with pytest.raises(FileFormatError):
        LayerCertificate.from_json(rehashed(data))


def test_a_text_that_is_not_canonical_is_refused():
    data = json.loads(certificate().to_json())
    with pytest.raises(FileFormatError, match="canonical"):
        LayerCertificate.from_json(json.dumps(data, sort_keys=True))
    with pytest.raises(FileFormatError, match="longer"):
        LayerCertificate.from_json(" " * 2**21)


def test_statements_are_rounded_to_the_side_that_keeps_them_true():
    assert "0.5 and its condition number at most 7." in layer_statement(MIXED_RANK, {**RANK, **BOUNDS})
    assert layer_statement(MIXED_RANK, RANK).endswith("has full row rank.")
    assert "within 1.001e-12 of" in layer_statement(LABEL_ERROR, {**ERROR, "error_upper": 1.0000001e-12})
    assert "not established" in layer_statement(LABEL_ERROR, {"examples": 5, "outputs": 1})
    largest = {"examples": 5, "proved": 5, "margin_lower": Fraction(2, 3)}
    assert layer_statement(LARGEST_OUTPUT, largest).endswith("by at least 0.6666.")
    assert layer_statement(LARGEST_OUTPUT, {"examples": 5, "proved": 4}).endswith("every other output.")
    assert "at least 7 have an attention weight above 1 - 0.01." in layer_statement(SATURATION, SATURATED)
    assert "at least some" in layer_statement(SATURATION, {"pairs": 10, "delta": 0.5})


def test_a_report_is_the_conjunction_of_its_checks_and_plain_data():
    made = certificate()
    checks = tuple(ClaimCheck(claim.id, PROVED, "", {"x": Fraction(1, 3), "n": 3}) for claim in made.claims)
    report = LayerCheckReport(made, checks, "a test")
    assert report.verdict is PROVED
    assert json.loads(json.dumps(report.summary()))["claims"][0]["values"] == {"x": 1 / 3, "n": 3}
    worse = dataclasses.replace(report, checks=(*checks[:2], ClaimCheck(SATURATION, REFUTED, "", {})))
    assert worse.verdict is REFUTED
    assert [plain_number(x) for x in (float("inf"), Fraction(10) ** 400, 2)] == [None, None, 2]


def test_a_witness_that_is_missing_or_another_one_is_noticed(tmp_path):
    task = random_layer_task(examples=3)
    write_layer(tmp_path, memory_layer(task, heads=2), task)
    assert LayerCertificate.load(tmp_path).witness is not None
    (tmp_path / "witness.npz").write_bytes(b"other")
    with pytest.raises(TamperedError, match="witness"):
        LayerCertificate.load(tmp_path)
    (tmp_path / "witness.npz").unlink()
    with pytest.raises(FileFormatError):
        LayerCertificate.load(tmp_path)
    (tmp_path / "certificate.json").write_bytes(b"\xff")
    with pytest.raises(FileFormatError):
        LayerCertificate.load(tmp_path)
