"""Certificates of memorization: what they claim is true, and is proved again from the files alone."""

import dataclasses
import io
import math
import os
import subprocess
import sys
import zipfile
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from constructions.errors import FileFormatError, InputError, ResourceError, TamperedError
from tests.memories import changed, memory, random_task, truth, write_memory
from verify.arithmetic.enclosure import Enclosure
from verify.certificates import memorization
from verify.certificates.certificate import (
    ALL_CONTEXTS_DIVERGENCE,
    ARGMAX,
    DIVERGENCE,
    FEATURE_RANK,
    Certificate,
    Claim,
)
from verify.certificates.memorization import certify_memorization, check_memorization
from verify.linear_algebra.row_rank import RankCertificate
from verify.verdict import Verdict

PROVED, REFUTED, UNDECIDED = Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED


def values(certified, id):
    claim = certified.certificate.claim(id)
    assert claim.verdict is PROVED
    return claim.values


def restated(folder, id, **bounds):
    """Put other bounds into the certificate of a folder, with a right digest."""
    certificate = Certificate.load(folder)
    claims = tuple(
        Claim.of(c.id, certificate.subject.target, c.verdict, c.method, {**c.values, **bounds}) if c.id == id else c
        for c in certificate.claims
    )
    dataclasses.replace(certificate, claims=claims).save(folder)


def verdicts(report):
    return {check.id: check.verdict for check in report.checks}


@st.composite
def memories(draw):
    task = random_task(
        target=draw(st.sampled_from(["laws", "labels"])),
        facts=draw(st.integers(1, 12)),
        tail=draw(st.integers(0, 5)),
        length=draw(st.integers(2, 3)),
        vocabulary=draw(st.integers(5, 6)),
        seed=draw(st.integers(0, 10**6)),
    )
    seed, beta = draw(st.integers(0, 10**6)), draw(st.sampled_from([0.0, 0.3, 1.0, 10.0, 300.0]))
    network = memory(task, heads=8, d_head=2, beta=beta, seed=seed)
    noise = draw(st.sampled_from([0.0, 1e-9, 1e-3, 1.0]))
    rng = np.random.default_rng(seed)
    return task, changed(network, W_U=network.W_U + noise * rng.standard_normal(network.W_U.shape))


@settings(max_examples=25)
@given(memories())
def test_every_number_of_a_certificate_is_true(case):
    task, network = case
    certified = certify_memorization(network, task, keep_logits=True)
    exact = truth(network, task)
    claims = {claim.id: claim for claim in certified.certificate.claims}
    with mpmath.workprec(300):
        for i, (divergence, margin) in enumerate(zip(exact.divergences, exact.margins, strict=True)):
            assert divergence <= certified.divergence_upper[i]
            assert margin >= certified.margin_lower[i]
            for j, z in enumerate(exact.logits[i]):
                assert abs(z - certified.logits.midpoint[i, j]) <= certified.logits.radius[i, j]
        mean = mpmath.fsum(exact.divergences) / task.n_contexts
        assert mean <= claims[DIVERGENCE].values["mean_upper"]
        assert max(exact.divergences) <= claims[DIVERGENCE].values["max_upper"]
        ends = claims[ALL_CONTEXTS_DIVERGENCE].values
        assert ends["lower"] <= exact.mean_over_all <= ends["upper"]
        if np.max(certified.logits.radius) <= 1e-9:  # an ill-conditioned memory has wide enclosures
            assert ends["upper"] - ends["lower"] <= 1e-6 * (1 + ends["upper"])
        assert claims[ARGMAX].verdict is (PROVED if min(exact.margins) > 1e-6 else claims[ARGMAX].verdict)
        assert claims[ARGMAX].verdict is not (REFUTED if min(exact.margins) > 0 else PROVED)
        if claims[ARGMAX].verdict is PROVED:
            assert 0 < claims[ARGMAX].values["margin_lower"] <= min(exact.margins)
        if claims[FEATURE_RANK].verdict is PROVED:
            skip = claims[FEATURE_RANK].values["columns"] != 16
            rows = [(last if skip else []) + row for last, row in zip(exact.last, exact.features, strict=True)]
            singular = mpmath.svd_r(mpmath.matrix(rows), compute_uv=False)
            assert claims[FEATURE_RANK].values["smallest_singular_value_lower"] <= min(singular)
            assert max(singular) / min(singular) <= claims[FEATURE_RANK].values["condition_upper"]


@settings(max_examples=15)
@given(memories())
def test_what_is_certified_is_proved_again_with_room_to_spare(case):
    task, network = case
    with TemporaryDirectory() as name:
        folder = Path(name)
        certified = write_memory(folder, network, task)
        report = check_memorization(folder)
    for claim, check in zip(certified.certificate.claims, report.checks, strict=True):
        assert check.verdict is claim.verdict or claim.verdict is UNDECIDED
        for bound, stored in claim.bounds.items():
            if "lower" in bound and stored > 0:
                assert stored < check.values[bound]
            elif "upper" in bound and stored > 0:
                assert stored > check.values[bound]
    assert report.verdict is certified.certificate.verdict


def test_the_bounds_of_a_memory_made_by_hand_are_near_the_truth(tmp_path):
    task = random_task()
    certified = certify_memorization(memory(task), task)
    exact = truth(memory(task), task)
    assert certified.certificate.verdict is PROVED
    assert values(certified, DIVERGENCE)["max_upper"] < 1e-20
    assert values(certified, ARGMAX)["margin_lower"] > 0.99 * min(exact.margins)
    singular = mpmath.svd_r(mpmath.matrix(exact.features), compute_uv=False)
    assert values(certified, FEATURE_RANK)["smallest_singular_value_lower"] > 0.3 * min(singular)
    assert values(certified, FEATURE_RANK)["condition_upper"] < 10 * max(singular) / min(singular)
    assert values(certified, FEATURE_RANK)["columns"] == 16
    assert certified.margin_lower.shape == certified.divergence_upper.shape == (12,)
    assert certified.empirical_divergence.shape == (17,)
    assert certified.logits is None


def test_a_memory_that_needs_the_skip_connection_says_so():
    task = random_task(facts=18, vocabulary=6)
    network = memory(task, heads=8, d_head=2)  # 16 features, and 7 of the last token
    claim = certify_memorization(network, task).certificate.claim(FEATURE_RANK)
    assert claim.verdict is PROVED
    assert claim.values["columns"] == 16 + 7


def test_too_many_contexts_for_any_features_refute_the_rank(tmp_path):
    task = random_task(facts=30)
    certified = write_memory(tmp_path, memory(task, heads=4), task)
    assert certified.certificate.claim(FEATURE_RANK).verdict is REFUTED
    assert verdicts(check_memorization(tmp_path))[FEATURE_RANK] is REFUTED


def test_dependent_features_are_never_proved_independent():
    task = random_task(facts=6)
    network = memory(task, heads=8)
    twins = {name: np.repeat(getattr(network, name)[:1], 8, axis=0) for name in ("W_Q", "W_K", "W_V")}
    claim = certify_memorization(changed(network, **twins), task).certificate.claim(FEATURE_RANK)
    assert claim.verdict is PROVED and claim.values["columns"] == 16 + 6  # the skip connection helps
    task = random_task(facts=9)
    claim = certify_memorization(changed(memory(task, heads=8), **twins), task).certificate.claim(FEATURE_RANK)
    assert claim.verdict is UNDECIDED  # rank 2 + 6 at most


def test_the_rank_is_undecided_where_it_was_not_asked_for(tmp_path):
    task = random_task()
    certified = write_memory(tmp_path, memory(task), task, rank=False)
    assert certified.witness is None
    assert not (tmp_path / "witness.npz").exists()
    report = check_memorization(tmp_path)
    assert verdicts(report)[FEATURE_RANK] is UNDECIDED
    assert [verdict for id, verdict in verdicts(report).items() if id != FEATURE_RANK] == [PROVED] * 3
    assert report.verdict is UNDECIDED


def test_without_a_witness_the_same_path_proves_the_rank_all_the_same(tmp_path):
    task = random_task()
    assert write_memory(tmp_path, memory(task), task, witness=False).witness is None
    assert check_memorization(tmp_path).verdict is PROVED


@pytest.mark.parametrize("target", ["laws", "labels"])
def test_a_wrong_argmax_is_refuted_and_a_wrong_divergence_too(tmp_path, target):
    task = random_task(target=target)
    network = memory(task)
    good = write_memory(tmp_path / "good", network, task)
    spoiled = changed(network, W_U=np.roll(network.W_U, 1, axis=1))
    certified = write_memory(tmp_path / "bad", spoiled, task)
    assert certified.certificate.claim(ARGMAX).verdict is REFUTED
    assert certified.certificate.verdict is REFUTED
    assert values(certified, DIVERGENCE)["max_upper"] > 0.1
    # The good bounds about the bad weights, all hashes right.
    restated(tmp_path / "bad", DIVERGENCE, **good.certificate.claim(DIVERGENCE).bounds)
    restated(tmp_path / "bad", ALL_CONTEXTS_DIVERGENCE, **good.certificate.claim(ALL_CONTEXTS_DIVERGENCE).bounds)
    found = verdicts(check_memorization(tmp_path / "bad"))
    assert found == {FEATURE_RANK: PROVED, ARGMAX: REFUTED, DIVERGENCE: REFUTED, ALL_CONTEXTS_DIVERGENCE: REFUTED}


@pytest.mark.parametrize("target", ["laws", "labels"])
@pytest.mark.parametrize(
    ("id", "bound", "factor", "expected"),
    [
        (FEATURE_RANK, "smallest_singular_value_lower", 0.5, PROVED),
        (FEATURE_RANK, "smallest_singular_value_lower", 1.1, UNDECIDED),
        (FEATURE_RANK, "smallest_singular_value_lower", 3.0, REFUTED),
        (FEATURE_RANK, "condition_upper", 2.0, PROVED),
        (FEATURE_RANK, "condition_upper", 0.9, UNDECIDED),
        (FEATURE_RANK, "condition_upper", 0.1, REFUTED),
        (ARGMAX, "margin_lower", 0.5, PROVED),
        (ARGMAX, "margin_lower", 1.01, REFUTED),
        (DIVERGENCE, "mean_upper", 2.0, PROVED),
        (DIVERGENCE, "max_upper", 2.0, PROVED),
        (DIVERGENCE, "mean_upper", 1e-40, REFUTED),
        (DIVERGENCE, "max_upper", 1e-40, REFUTED),
        (ALL_CONTEXTS_DIVERGENCE, "lower", 0.5, PROVED),
        (ALL_CONTEXTS_DIVERGENCE, "upper", 2.0, PROVED),
        (ALL_CONTEXTS_DIVERGENCE, "lower", 1.0001, REFUTED),
        (ALL_CONTEXTS_DIVERGENCE, "upper", 0.9999, REFUTED),
    ],
)
def test_a_looser_bound_stays_proved_and_a_tighter_one_does_not(tmp_path, target, id, bound, factor, expected):
    task = random_task(target=target)
    certified = write_memory(tmp_path, memory(task), task)
    stored = certified.certificate.claim(id).values[bound]
    restated(tmp_path, id, **{bound: stored * factor})
    report = check_memorization(tmp_path)
    if (target, id, expected) == ("laws", DIVERGENCE, REFUTED):
        expected = UNDECIDED  # the true divergence is about 1e-30, which float64 enclosures cannot tell from 0
    assert verdicts(report)[id] is expected
    assert report.verdict is expected
    assert all(verdict is PROVED for other, verdict in verdicts(report).items() if other != id)


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_a_margin_or_a_bound_between_the_enclosures_is_undecided(tmp_path, scale):
    task = random_task(target="labels")
    write_memory(tmp_path, memory(task), task)
    report = check_memorization(tmp_path)
    lower = report.checks[1].values["margin_lower"]
    restated(tmp_path, ARGMAX, margin_lower=math.nextafter(lower, math.inf))
    assert verdicts(check_memorization(tmp_path))[ARGMAX] is UNDECIDED
    restated(tmp_path, ARGMAX, margin_lower=lower)
    assert verdicts(check_memorization(tmp_path))[ARGMAX] is PROVED
    mean, most = (report.checks[2].values[name] for name in ("mean_upper", "max_upper"))
    restated(tmp_path, DIVERGENCE, mean_upper=mean, max_upper=most)
    assert verdicts(check_memorization(tmp_path))[DIVERGENCE] is PROVED
    for tighter in ({"mean_upper": math.nextafter(mean, 0.0)}, {"max_upper": math.nextafter(most, 0.0)}):
        restated(tmp_path, DIVERGENCE, **{"mean_upper": mean, "max_upper": most, **tighter})
        assert verdicts(check_memorization(tmp_path))[DIVERGENCE] is UNDECIDED
    ends = report.checks[3].values
    for end, towards in (("lower", math.inf), ("upper", 0.0)):
        restated(tmp_path, ALL_CONTEXTS_DIVERGENCE, **{**ends, end: math.nextafter(ends[end], towards)})
        assert verdicts(check_memorization(tmp_path))[ALL_CONTEXTS_DIVERGENCE] is UNDECIDED
    restated(tmp_path, ALL_CONTEXTS_DIVERGENCE, **ends)
    assert verdicts(check_memorization(tmp_path))[ALL_CONTEXTS_DIVERGENCE] is PROVED


def test_another_number_of_occurrences_is_refuted(tmp_path):
    task = random_task()
    write_memory(tmp_path, memory(task), task)
    restated(tmp_path, ALL_CONTEXTS_DIVERGENCE, occurrences=7)
    assert verdicts(check_memorization(tmp_path))[ALL_CONTEXTS_DIVERGENCE] is REFUTED


@pytest.mark.parametrize("tensor", ["W_E", "W_Q", "W_V", "W_O", "W_U"])
@pytest.mark.parametrize("size", [1e150, 1e300])
def test_weights_that_overflow_are_undecided_and_never_an_error(tmp_path, tensor, size):
    task = random_task(target="labels", facts=4, tail=1)
    network = memory(task, heads=3)
    huge = changed(network, **{tensor: getattr(network, tensor) * size})
    certified = write_memory(tmp_path, huge, task)
    report = check_memorization(tmp_path)
    exact = truth(huge, task, bits=2500 if size > 1e200 else 1300)
    for claim, check in zip(certified.certificate.claims, report.checks, strict=True):
        assert check.verdict is claim.verdict
    if certified.certificate.claim(ARGMAX).verdict is PROVED:
        assert min(exact.margins) > 0
    if certified.certificate.claim(ARGMAX).verdict is REFUTED:
        assert min(exact.margins) <= 0
    if certified.certificate.claim(DIVERGENCE).verdict is PROVED:
        assert max(exact.divergences) <= certified.certificate.claim(DIVERGENCE).values["max_upper"]


def test_a_task_of_one_context_and_one_of_uniform_laws_are_certified(tmp_path):
    task = random_task(facts=1, tail=0)
    write_memory(tmp_path / "one", memory(task), task)
    assert check_memorization(tmp_path / "one").verdict is PROVED
    uniform = dataclasses.replace(task, laws=np.full((1, 5), 0.2), labels=np.zeros(1, dtype=np.int64))
    certified = write_memory(tmp_path / "uniform", memory(uniform), uniform)
    assert certified.margin_lower.tolist() == [math.inf]  # every token is a mode
    assert certified.certificate.claim(ARGMAX).verdict is PROVED
    assert check_memorization(tmp_path / "uniform").verdict is PROVED


def test_several_modes_must_all_win():
    task = random_task(facts=1, tail=0)
    law = np.array([[0.1, 0.3, 0.3, 0.2, 0.1]])
    task = dataclasses.replace(task, laws=law, labels=np.array([1]))
    network = memory(task)
    assert certify_memorization(network, task).certificate.claim(ARGMAX).verdict is PROVED
    shift = np.zeros_like(network.W_U)
    shift[:, 2] = -0.5 * network.W_U[:, 2]
    hidden = truth(changed(network, W_U=network.W_U + shift), task).margins[0]
    claim = certify_memorization(changed(network, W_U=network.W_U + shift), task).certificate.claim(ARGMAX)
    assert claim.verdict is (PROVED if hidden > 0 else REFUTED)


def test_a_network_that_does_not_fit_the_task_is_refused():
    task = random_task(length=3)
    with pytest.raises(InputError, match="tokens"):
        certify_memorization(changed(memory(task), W_pos=np.zeros((2, 6))), task)
    with pytest.raises(InputError, match="logits"):
        certify_memorization(changed(memory(task), W_U=np.zeros((6, 4))), task)
    with pytest.raises(InputError, match="token 4"):
        certify_memorization(changed(memory(task), W_E=np.zeros((4, 6))), task)


def test_progress_is_told_what_is_done(tmp_path):
    task = random_task()
    told = []
    certify_memorization(memory(task), task, progress=lambda *news: told.append(news))
    assert {"features", "feature rank", "divergence", "all contexts"} <= {stage for stage, _, _ in told}
    assert all(share is None or 0 <= share <= 1 for _, share, _ in told)


def test_a_compressed_task_or_one_that_asks_for_too_much_memory_is_refused(tmp_path, monkeypatch):
    task = random_task()
    write_memory(tmp_path, memory(task), task)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **task.arrays())
    original = (tmp_path / "task.npz").read_bytes()
    (tmp_path / "task.npz").write_bytes(buffer.getvalue())
    with pytest.raises(FileFormatError, match="compressed"):
        check_memorization(tmp_path)
    (tmp_path / "task.npz").write_bytes(original)
    with monkeypatch.context() as patch:
        patch.setattr(memorization.Task, "load", lambda path: (_ for _ in ()).throw(MemoryError()))
        with pytest.raises(FileFormatError, match="memory"):
            check_memorization(tmp_path)
    assert zipfile.is_zipfile(tmp_path / "task.npz")


def test_a_check_that_would_not_fit_into_memory_is_refused_before_it_starts(tmp_path, monkeypatch):
    task = random_task()
    write_memory(tmp_path, memory(task), task)
    monkeypatch.setattr(memorization, "_estimated_bytes", lambda *_: 2**70)
    monkeypatch.setattr(memorization, "enclose_features", lambda *_: pytest.fail("the work has started"))
    with pytest.raises(ResourceError, match="checking 12 contexts"):
        check_memorization(tmp_path)


def test_a_certificate_of_other_sizes_is_tampering_even_with_the_right_hashes(tmp_path):
    task = random_task(tail=0)
    write_memory(tmp_path, memory(task), task)
    certificate = Certificate.load(tmp_path)
    subject = dataclasses.replace(certificate.subject, sizes={**certificate.subject.sizes, "d_qk": 3})
    dataclasses.replace(certificate, subject=subject).save(tmp_path)
    with pytest.raises(TamperedError, match="sizes"):
        check_memorization(tmp_path)


@given(st.floats(min_value=0.0, max_value=1e290))
def test_a_stored_bound_gives_a_little_away_in_the_right_direction(bound):
    raised, lowered = memorization._raised(bound), memorization._lowered(bound)
    assert lowered <= bound <= raised
    if bound > 1e-300:
        assert bound * (1 + 2.0**-10) <= raised <= bound * (1 + 2.0**-8)
        assert bound * (1 - 2.0**-8) <= lowered <= bound * (1 - 2.0**-10)


@given(st.floats(0.0, 1e10), st.floats(0.0, 1e10))
def test_a_stored_interval_leaves_its_own_width_on_both_sides(a, b):
    lower, upper = min(a, b), max(a, b)
    outer = memorization._widened(lower, upper)
    width = upper - lower
    assert outer[0] <= lower <= upper <= outer[1]
    assert 0 <= outer[0]
    if width > 1e-300:
        assert outer[0] == 0.0 or lower - outer[0] >= 0.99 * width
        assert outer[1] - upper >= 0.99 * width
        assert outer[1] - outer[0] <= 4 * width


def test_an_enclosure_without_information_proves_and_refutes_nothing():
    nothing = Enclosure(np.zeros((2, 3)), np.inf)
    modes = np.eye(2, 3, dtype=bool)
    assert (memorization._margin_upper(nothing, modes) == math.inf).all()
    wide = Enclosure(np.array([[1.0, 0.0, 0.0]]), 0.5)
    assert 0 < memorization._margin_upper(wide, modes[:1])[0] <= 2.000001
    equal = Enclosure(np.array([[1.0, 1.0, 0.0]]), 0.0)
    assert memorization._margin_upper(equal, modes[:1])[0] == 0.0


@given(st.lists(st.floats(0.0, 1e10), min_size=1, max_size=40))
def test_a_lower_bound_of_a_mean_is_one(numbers):
    exact = sum(map(Fraction, numbers)) / len(numbers)
    assert Fraction(memorization._mean_lower(np.array(numbers))) <= exact
    assert memorization._mean_lower(np.array(numbers)) >= float(exact) * (1 - 1e-14) - 1e-300


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.floats(0.0, 10.0))
def test_the_condition_number_counts_the_radius_and_is_rounded_up(entry, smallest, radius):
    found = RankCertificate(PROVED, smallest, "a test")
    matrix = Enclosure(np.array([[entry, 0.0]]), radius)
    bound = memorization._rank_bounds(matrix, found)
    assert bound[0] == smallest
    # The largest singular value of the set is that of [entry + radius, radius].
    square = (Fraction(entry) + Fraction(radius)) ** 2 + Fraction(radius) ** 2
    assert Fraction(bound[1]) ** 2 * Fraction(smallest) ** 2 >= square
    assert memorization._rank_bounds(matrix, RankCertificate(UNDECIDED, smallest, "a test")) == (0.0, math.inf)
    assert memorization._rank_bounds(matrix, RankCertificate(PROVED, 0.0, "a test")) == (0.0, math.inf)


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=6),
    st.floats(0.0, 1e2) | st.just(0.0),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
@example([1.0, -(2.0**-60), -1.0], 0.0, [False] * 6)
def test_an_upper_bound_of_the_margin_is_one(logits, radius, modes):
    modes = np.array([[True, False, *modes[2 : len(logits)]]])
    bound = memorization._margin_upper(Enclosure(np.array([logits]), radius), modes)[0]
    most = min(Fraction(z) + Fraction(radius) for z, mode in zip(logits, modes[0], strict=True) if mode)
    least = max(Fraction(z) - Fraction(radius) for z, mode in zip(logits, modes[0], strict=True) if not mode)
    assert Fraction(float(bound)) >= most - least or most - least <= 0
    assert (bound <= 0) <= (most <= least)


def test_the_prover_needs_no_torch():
    code = (
        "import sys; import verify.certificates.memorization, verify.independent.checker; "
        "assert not {'torch', 'matplotlib', 'rich'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.getcwd()})
