"""Certificates of layers: what they claim is true, and is proved again from the files alone."""

import dataclasses
import json
import math
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verify.certificates.layer_certificate import (
    LABEL_ERROR,
    LARGEST_OUTPUT,
    LAYER_FILE,
    LAYER_TASK_FILE,
    MIXED_RANK,
    SATURATION,
    LayerCertificate,
    LayerClaim,
)
from verify.certificates.layer_memorization import DELTA, certify_layer, check_layer
from verify.independent.layer_checker import check_layer_independently

from constructions.errors import FileFormatError, InputError, ResourceError, TamperedError
from constructions.models.model import Model
from constructions.models.shapes import mahdavi_layer, mahdavi_tensors
from constructions.tasks.vectors import VectorTask
from tests.layers import (
    BITS,
    changed_layer,
    layers_and_tasks,
    memory_layer,
    random_layer,
    random_layer_task,
    truth,
    write_layer,
)
from verify.certificates import layer_memorization
from verify.verdict import Verdict

PROVED, REFUTED, UNDECIDED = Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED
BOTH = pytest.mark.parametrize("check", [check_layer, check_layer_independently])


def verdicts(report):
    return {check.id: check.verdict for check in report.checks}


def restated(folder, id, verdict=PROVED, **values):
    """Put other numbers into the certificate of a folder, with a right digest."""
    certificate = LayerCertificate.load(folder)
    claims = tuple(
        LayerClaim.of(c.id, verdict, c.method, {**c.values, **values}) if c.id == id else c for c in certificate.claims
    )
    dataclasses.replace(certificate, claims=claims).save(folder)


@pytest.fixture
def folder(tmp_path):
    task = random_layer_task(examples=5, tokens=4, d_model=4, d_out=1)
    write_layer(tmp_path, memory_layer(task, heads=3), task)
    return tmp_path


@pytest.fixture
def classes(tmp_path):
    task = random_layer_task(examples=5, tokens=4, d_model=4, d_out=3, kind="classification")
    write_layer(tmp_path, memory_layer(task, heads=3), task)
    return tmp_path


@settings(max_examples=25)
@given(layers_and_tasks())
def test_every_number_of_a_certificate_is_true_and_proved_again_by_both_checkers(case):
    layer, task = case
    exact = truth(layer, task)
    with TemporaryDirectory() as name:
        certified = write_layer(Path(name), layer, task)
        claims = {claim.id: claim for claim in certified.certificate.claims}
        reports = [check_layer(Path(name)), check_layer_independently(Path(name))]
    with mpmath.workprec(BITS):
        if task.kind == "regression":
            labels = [mpmath.mpf(float(y)) for y in task.labels.ravel()]
            outputs = [x for row in exact.outputs for x in row]
            error = max(abs(x - y) for x, y in zip(outputs, labels, strict=True))
            assert error <= claims[LABEL_ERROR].values["error_upper"]
        else:
            gaps = [
                row[c] - max(x for j, x in enumerate(row) if j != c)
                for row, c in zip(exact.outputs, task.classes.tolist(), strict=True)
            ]
            expected = PROVED if min(gaps) > 1e-9 else REFUTED if min(gaps) < -1e-9 else None
            assert expected is None or claims[LARGEST_OUTPUT].verdict is expected
            if "margin_lower" in claims[LARGEST_OUTPUT].values:
                assert min(gaps) >= claims[LARGEST_OUTPUT].values["margin_lower"]
        tops = [max(pattern) for patterns in exact.theta for pattern in patterns]
        saturated = sum(top > 1 - mpmath.mpf(DELTA.numerator) / DELTA.denominator for top in tops)
        assert claims[SATURATION].values["saturated_lower"] <= saturated
        if claims[MIXED_RANK].bounds:
            smallest = min(mpmath.svd_r(mpmath.matrix(exact.mixed), compute_uv=False))
            assert smallest >= claims[MIXED_RANK].values["smallest_singular_value_lower"] * (1 - 1e-12)
    for report in reports:
        for check in report.checks:
            stored = claims[check.id].verdict
            balls = check.id == MIXED_RANK and not claims[MIXED_RANK].bounds
            assert check.verdict is stored or (report is reports[1] and balls and check.verdict is UNDECIDED)


def test_the_default_delta_is_the_sources():
    assert Fraction(1, 100) == DELTA
    certified = certify_layer(random_layer(), random_layer_task(), delta=0.25)
    assert certified.certificate.claim(SATURATION).values["delta"] == 0.25


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_a_delta_outside_of_0_and_1_is_refused(delta):
    with pytest.raises(InputError, match="delta"):
        certify_layer(random_layer(), random_layer_task(), delta=delta)


def test_saturation_counts_pairs_above_one_minus_delta():
    layer = mahdavi_layer(
        W_Q=np.ones((1, 1, 1)), W_K=np.ones((1, 1, 1)), W_V=np.ones((1, 1, 1)), W_O=np.eye(1), W_D=np.eye(1)
    )
    contexts, queries = np.array([[[0.0], [1.0]]]), np.array([[math.log(98)], [math.log(100)], [-5.0]])
    task = VectorTask(contexts, queries, np.zeros((3, 1)))
    values = certify_layer(layer, task).certificate.claim(SATURATION).values
    assert values == {"pairs": 3, "delta": DELTA, "saturated_lower": 2}


@BOTH
def test_a_pair_at_the_very_limit_is_not_claimed_though_it_can_be_proved(tmp_path, check):
    layer = mahdavi_layer(
        W_Q=np.ones((1, 1, 1)), W_K=np.ones((1, 1, 1)), W_V=np.ones((1, 1, 1)), W_O=np.eye(1), W_D=np.eye(1)
    )
    task = VectorTask(np.array([[[0.0], [1.0]]]), np.array([[math.log(99.01)]]), np.zeros((1, 1)))  # 0.990001
    certified = write_layer(tmp_path, layer, task)
    assert certified.certificate.claim(SATURATION).values["saturated_lower"] == 0
    restated(tmp_path, SATURATION, saturated_lower=1)
    assert verdicts(check(tmp_path))[SATURATION] is PROVED


def test_outputs_that_are_equal_have_no_margin_above_or_below():
    task = random_layer_task(examples=2, kind="classification")
    equal = layer_memorization.Enclosure(np.ones((2, 2)))
    lower, upper = layer_memorization._margins(task, equal)
    assert (lower <= 0).all() and (upper == 0).all()


@BOTH
def test_a_memory_is_proved(folder, classes, check):
    report = check(folder)
    assert report.verdict is PROVED and set(verdicts(report)) == {MIXED_RANK, LARGEST_OUTPUT, SATURATION}


@BOTH
def test_a_regression_is_proved_with_a_small_error(folder, check):
    report = check(folder)
    assert report.verdict is PROVED
    assert LayerCertificate.load(folder).claim(LABEL_ERROR).values["error_upper"] < 1e-9


@BOTH
@pytest.mark.parametrize("shared", [True, False])
def test_more_examples_than_the_rank_can_be_are_refuted(tmp_path, check, shared):
    task = random_layer_task(examples=8, tokens=3, d_model=3, d_out=1, shared=shared)
    layer = memory_layer(task, heads=3 if shared else 2)  # the rank is at most 3 * 2 + 1 = 7, and 2 * 3 = 6
    certified = write_layer(tmp_path, layer, task)
    assert certified.certificate.claim(MIXED_RANK).verdict is REFUTED
    assert verdicts(check(tmp_path))[MIXED_RANK] is REFUTED


def test_a_rank_that_floats_cannot_decide_is_proved_by_balls(tmp_path):
    # Two queries that differ by 2^-50 have almost the same mixed inputs.
    task = random_layer_task(examples=3, tokens=3, d_model=3, d_out=1)
    queries = task.queries.copy()
    queries[1] = queries[0] * (1 + 2.0**-50)
    queries[2] = queries[0] * (1 - 2.0**-50)
    task = dataclasses.replace(task, queries=queries)
    certified = write_layer(tmp_path, random_layer(heads=2, d_out=1), task)
    claim = certified.certificate.claim(MIXED_RANK)
    assert claim.verdict is PROVED and claim.method.startswith("balls") and not claim.bounds
    assert verdicts(check_layer(tmp_path))[MIXED_RANK] is PROVED
    assert verdicts(check_layer_independently(tmp_path))[MIXED_RANK] is UNDECIDED


def test_equal_examples_leave_the_rank_undecided(tmp_path, monkeypatch):
    monkeypatch.setattr(layer_memorization, "_MOST_BITS", 128)
    task = random_layer_task(examples=3, d_out=1)
    task = dataclasses.replace(task, queries=np.repeat(task.queries[:1], 3, axis=0))
    certified = write_layer(tmp_path, random_layer(d_out=1), task)
    assert certified.certificate.claim(MIXED_RANK).verdict is UNDECIDED
    assert certified.certificate.verdict is UNDECIDED and verdicts(check_layer(tmp_path))[MIXED_RANK] is UNDECIDED


@BOTH
@pytest.mark.parametrize(
    ("id", "name", "factor", "expected"),
    [
        (MIXED_RANK, "smallest_singular_value_lower", 0.5, PROVED),
        (MIXED_RANK, "condition_upper", 2.0, PROVED),
        (LABEL_ERROR, "error_upper", 4.0, PROVED),
        (SATURATION, "saturated_lower", 0, PROVED),
    ],
)
def test_weaker_bounds_are_proved(folder, check, id, name, factor, expected):
    stored = LayerCertificate.load(folder).claim(id).values[name]
    restated(folder, id, **{name: stored * factor})
    assert verdicts(check(folder))[id] is expected


@BOTH
def test_a_false_bound_of_the_error_is_refuted(tmp_path, check):
    task = random_layer_task(examples=5, tokens=4, d_model=4, d_out=1)
    write_layer(tmp_path, random_layer(d_model=4, d_out=1), task)
    stored = LayerCertificate.load(tmp_path).claim(LABEL_ERROR).values["error_upper"]
    restated(tmp_path, LABEL_ERROR, error_upper=stored / 2)
    assert verdicts(check(tmp_path))[LABEL_ERROR] is REFUTED


def test_a_bound_between_the_error_and_its_enclosure_is_undecided(folder):
    restated(folder, LABEL_ERROR, error_upper=0.0)
    assert verdicts(check_layer(folder))[LABEL_ERROR] is UNDECIDED
    assert verdicts(check_layer_independently(folder))[LABEL_ERROR] is REFUTED


def test_a_rank_bound_that_a_vector_shows_false_is_refuted(folder):
    values = LayerCertificate.load(folder).claim(MIXED_RANK).values
    for change in (
        {"smallest_singular_value_lower": values["smallest_singular_value_lower"] * 2},
        {"condition_upper": values["condition_upper"] / 3},
    ):
        restated(folder, MIXED_RANK, **{**values, **change})
        assert verdicts(check_layer(folder))[MIXED_RANK] is REFUTED
        assert verdicts(check_layer_independently(folder))[MIXED_RANK] is UNDECIDED


@BOTH
def test_a_margin_that_is_too_large_is_refuted_and_a_smaller_one_proved(classes, check):
    stored = LayerCertificate.load(classes).claim(LARGEST_OUTPUT).values["margin_lower"]
    restated(classes, LARGEST_OUTPUT, margin_lower=stored / 2)
    assert verdicts(check(classes))[LARGEST_OUTPUT] is PROVED
    restated(classes, LARGEST_OUTPUT, margin_lower=stored * 2)
    assert verdicts(check(classes))[LARGEST_OUTPUT] is REFUTED


@BOTH
def test_more_saturated_pairs_than_there_are_are_refuted(folder, check):
    values = LayerCertificate.load(folder).claim(SATURATION).values
    assert values["saturated_lower"] < 15
    restated(folder, SATURATION, saturated_lower=15)
    assert verdicts(check(folder))[SATURATION] is REFUTED
    restated(folder, SATURATION, saturated_lower=0)
    assert verdicts(check(folder))[SATURATION] is PROVED


@BOTH
def test_a_claim_that_is_not_made_is_undecided(folder, check):
    certificate = LayerCertificate.load(folder)
    claims = [
        LayerClaim.of(c.id, UNDECIDED, "", {k: v for k, v in c.values.items() if k not in c.bounds})
        for c in certificate.claims
    ]
    dataclasses.replace(certificate, claims=tuple(claims)).save(folder)
    assert set(verdicts(check(folder)).values()) == {UNDECIDED}


@BOTH
def test_a_certificate_that_lacks_a_claim_is_tampered(folder, check):
    certificate = LayerCertificate.load(folder)
    dataclasses.replace(certificate, claims=certificate.claims[:2]).save(folder)
    with pytest.raises(TamperedError, match="lacks"):
        check(folder)


@BOTH
def test_other_weights_or_labels_are_tampering_and_with_new_hashes_a_false_certificate(folder, check):
    layer, task = Model.load(folder / LAYER_FILE), VectorTask.load(folder / LAYER_TASK_FILE)
    certificate = LayerCertificate.load(folder)
    other = changed_layer(layer, W_D=layer.W_U * 1.001)
    other.save(folder / LAYER_FILE)
    with pytest.raises(TamperedError, match="layer"):
        check(folder)
    dataclasses.replace(certificate, subject=dataclasses.replace(certificate.subject, layer=other.sha256())).save(
        folder
    )
    assert verdicts(check(folder))[LABEL_ERROR] is REFUTED
    layer.save(folder / LAYER_FILE)
    changed = dataclasses.replace(task, labels=task.labels + 1e-3)
    changed.save(folder / LAYER_TASK_FILE)
    certificate.save(folder)
    with pytest.raises(TamperedError, match="task"):
        check(folder)
    subject = dataclasses.replace(certificate.subject, task=changed.sha256())
    dataclasses.replace(certificate, subject=subject).save(folder)
    assert verdicts(check(folder))[LABEL_ERROR] is REFUTED


@BOTH
def test_sizes_that_are_not_those_of_the_files_are_tampering(folder, check):
    certificate = LayerCertificate.load(folder)
    sizes = {**certificate.subject.sizes, "d_head": certificate.subject.sizes["d_head"] + 1}
    dataclasses.replace(certificate, subject=dataclasses.replace(certificate.subject, sizes=sizes)).save(folder)
    with pytest.raises(TamperedError, match="sizes"):
        check(folder)


@BOTH
def test_files_that_do_not_fit_each_other_are_refused(folder, check):
    task = random_layer_task(examples=5, tokens=4, d_model=6, d_out=1)
    task.save(folder / LAYER_TASK_FILE)
    certificate = LayerCertificate.load(folder)
    sizes = {**certificate.subject.sizes}
    subject = dataclasses.replace(certificate.subject, task=task.sha256(), sizes=sizes)
    dataclasses.replace(certificate, subject=subject).save(folder)
    with pytest.raises((FileFormatError, TamperedError)):
        check(folder)


@BOTH
@pytest.mark.parametrize("name", [LAYER_FILE, LAYER_TASK_FILE, "certificate.json", "witness.npz"])
def test_a_flipped_bit_or_a_missing_byte_anywhere_is_noticed(folder, check, name):
    path = folder / name
    data = path.read_bytes()
    for position in np.random.default_rng(0).integers(0, len(data), 12).tolist():
        path.write_bytes(data[:position] + bytes([data[position] ^ 4]) + data[position + 1 :])
        try:
            report = check(folder)
        except (FileFormatError, TamperedError):
            continue
        # The times in an archive may change; then what it holds has the same hash.
        task = VectorTask.load(folder / LAYER_TASK_FILE)
        assert report.verdict is not PROVED or task.sha256() == report.certificate.subject.task
    path.write_bytes(data[:-1])
    with pytest.raises((FileFormatError, TamperedError)):
        check(folder)
    path.unlink()
    with pytest.raises(FileFormatError):
        check(folder)


def test_what_overflows_is_undecided_and_never_an_error(tmp_path):
    task, layer = random_layer_task(d_out=1), random_layer(d_out=1)
    huge = changed_layer(layer, W_V=layer.W_V * 1e150, W_O=mahdavi_tensors(layer)["W_O"] * 1e150, W_D=layer.W_U * 1e150)
    certified = write_layer(tmp_path, huge, task)
    assert certified.certificate.claim(LABEL_ERROR).verdict is UNDECIDED
    assert verdicts(check_layer(tmp_path))[LABEL_ERROR] is UNDECIDED


def test_a_witness_is_optional(tmp_path):
    task = random_layer_task(examples=3)
    certified = write_layer(tmp_path, memory_layer(task, heads=2), task, witness=False)
    assert certified.witness is None and not (tmp_path / "witness.npz").exists()
    assert check_layer(tmp_path).verdict is PROVED
    assert verdicts(check_layer_independently(tmp_path))[MIXED_RANK] is UNDECIDED


def test_progress_and_the_software_are_told():
    told = []
    task = random_layer_task(examples=3)
    layer = memory_layer(task, heads=2)
    certified = certify_layer(layer, task, progress=lambda stage, share, detail: told.append(stage))
    assert {"attention", "outputs", "rank"} <= set(told)
    assert {"byheart", "python", "flint"} <= set(certified.certificate.provenance)
    assert certified.outputs.shape == (3, 2) and certified.top.shape == (3, 2)
    assert json.loads(certified.certificate.to_json())["format"] == "byheart-layer-certificate"


def test_too_little_memory_is_said_before_the_work(monkeypatch):
    monkeypatch.setattr("verify.certificates.memory_budget.available_bytes", lambda: 1000)
    with pytest.raises(ResourceError, match="examples"):
        certify_layer(random_layer(), random_layer_task())


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=1 - Fraction(1, 10**6)))
def test_saturation_at_the_very_limit_is_neither_proved_nor_refuted(delta):
    found = layer_memorization.LayerForward(
        mixed=layer_memorization.Enclosure(np.zeros((1, 1))),
        top=layer_memorization.Enclosure(np.array([[float(1 - delta)]])),
    )
    assert layer_memorization._saturated(found, delta) == (0, 1)
    assert layer_memorization._saturated(found, delta * Fraction(11, 10))[0] == 1 or delta > Fraction(10, 11)
