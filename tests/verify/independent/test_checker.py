"""The independent checker: its own reading, its own forward pass in integers, and what it can be made to believe."""

import dataclasses
import hashlib
import json
import math
import os
import shutil
import struct
import subprocess
import sys
from array import array
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from flint import arb, ctx, fmpz
from hypothesis import example, given
from hypothesis import strategies as st

from constructions.errors import FileFormatError, InputError
from constructions.features.full_rank_attention import table_attention
from constructions.memories.theorem_1 import build_memory
from constructions.models.blocks import FeedForward
from constructions.models.model import Model
from constructions.models.shapes import dana_network, dana_tensors
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Counts, Task, make_task
from constructions.tasks.vectors import VectorTask
from tests import task_files
from tests.layers import layers_and_tasks, memory_layer, random_layer_task, write_layer
from tests.memories import changed, hidden, memory, random_task, truth, write_memory
from tests.verify.independent.test_ball_forward import draw_model
from verify.arithmetic.integers import Integers, rows_of
from verify.certificates.certificate import (
    ANSWERS,
    FEATURE_RANK,
    SATURATION,
    TEXT_DIVERGENCE,
    Certificate,
    Statement,
    Witness,
    mask_text,
)
from verify.divergence.kullback_leibler import divergence
from verify.forward.logits import enclose_logits
from verify.independent import checker, evaluation, integer_forward, integer_rank
from verify.independent.ball_answers import Answer, Targets
from verify.independent.ball_divergence import LogSoftmax
from verify.independent.ball_ends import outward
from verify.independent.ball_forward import PRECISIONS, BallForward, NoInformationError
from verify.independent.checker import check_independently, recheck_nonsingular
from verify.independent.integer_forward import IntegerForward
from verify.independent.plain.plain_arrays import PlainArray
from verify.independent.plain.plain_model import PlainModel
from verify.independent.plain.plain_task import PlainTask
from verify.linear_algebra import approximate_inverse, gram, row_rank
from verify.linear_algebra.nonsingularity import certify_nonsingular
from verify.provers.memorization import certify_memorization, check_memorization
from verify.verdict import Verdict

PROVED, REFUTED, UNDECIDED = Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED


def verdicts(report):
    return {check.id: check.verdict for check in report.checks}


def restated(folder, id, **bounds):
    """Put other numbers into the certificate of a folder, with a right digest."""
    certificate = Certificate.load(folder)
    statements = tuple(
        dataclasses.replace(each, values={**each.values, **bounds}) if each.id == id else each
        for each in certificate.statements
    )
    dataclasses.replace(certificate, statements=statements).save(folder)


def rank_check(folder, **options):
    """What the independent reader says about the rank."""
    return next(check for check in check_independently(folder, **options).checks if check.id == FEATURE_RANK)


def least_singular_value(exact):
    with mpmath.workprec(300):
        return min(mpmath.svd_r(mpmath.matrix(exact.features), compute_uv=False))


def with_witness(folder, arrays):
    """Another witness file, with its hash and the digest put right."""
    task_files.write(folder / "witness.safetensors", arrays)
    data = json.loads((folder / "certificate.json").read_text())
    data["witness"]["sha256"] = hashlib.sha256((folder / "witness.safetensors").read_bytes()).hexdigest()
    rehashed(folder, data)


def rehashed(folder, data):
    data.pop("digest", None)
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    data["digest"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "certificate.json").write_text(json.dumps(data, sort_keys=True, separators=(",", ":")) + "\n")


@st.composite
def memories(draw):
    task = random_task(
        target=draw(st.sampled_from(["laws", "labels"])),
        facts=draw(st.integers(1, 12)),
        tail=draw(st.integers(0, 5)),
        n_ctx=draw(st.integers(2, 3)),
        seed=draw(st.integers(0, 10**6)),
    )
    seed, beta = draw(st.integers(0, 10**6)), draw(st.sampled_from([0.0, 0.3, 1.0, 10.0, 300.0]))
    network = memory(task, n_heads=7, d_head=2, beta=beta, seed=seed)
    noise = draw(st.sampled_from([0.0, 1e-9, 1e-3, 1.0]))
    rng = np.random.default_rng(seed)
    return task, changed(network, W_U=network.W_U + noise * rng.standard_normal(network.W_U.shape))


# Reading.


def read_again(network, task):
    """What the independent reader makes of their files."""
    with TemporaryDirectory() as name:
        model, facts = Path(name) / "model.safetensors", Path(name) / "task.safetensors"
        network.save(model)
        task.save(facts)
        return PlainModel.read(model), PlainTask.read(facts)


@given(memories())
def test_it_reads_the_files_as_the_prover_does_and_finds_the_same_hashes(case):
    task, network = case
    plain, read = read_again(network, task)
    assert plain.sha256 == network.sha256()
    assert read.sha256 == task.sha256()
    by_field = {name.rpartition(".")[2]: tensor for name, tensor in plain.tensors.items()}
    for name, tensor in dana_tensors(network).items():
        assert by_field[name].shape == tensor.shape
        assert list(by_field[name].values) == tensor.ravel().tolist()
    assert [list(context) for context in read.contexts] == task.contexts.tolist()
    assert [list(context) for context in read.tail_contexts] == task.tail_contexts.tolist()
    dense = task.counts.dense(0, task.n_contexts, 5)
    assert [{int(j): int(row[j]) for j in np.flatnonzero(row)} for row in dense] == read.counts
    assert [read.modes(i) for i in range(task.n_contexts)] == [set(np.flatnonzero(row)) for row in task.modes()]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_floats_become_exactly_those_integers_over_a_power_of_two(floats):
    exact = Integers.exact(floats)
    assert [Fraction(n, 2**exact.scale) for n in exact.values] == list(map(Fraction, floats))


def safetensors(entries, data, *, header=None):
    text = json.dumps(entries if header is None else header).encode() if not isinstance(header, bytes) else header
    return struct.pack("<Q", len(text)) + text + data


def test_every_malformed_model_is_refused(tmp_path):
    task = random_task()
    network = memory(task)
    path = tmp_path / "model.safetensors"
    network.save(path)
    good = path.read_bytes()
    size = int.from_bytes(good[:8], "little")
    header, data = json.loads(good[8 : 8 + size]), good[8 + size :]
    tensor = header["unembed.W_U"]
    start, stop = tensor["data_offsets"]

    def with_tensor(**changes):
        return safetensors({**header, "unembed.W_U": {**tensor, **changes}}, data)

    bad = {
        "empty": b"",
        "short": good[:7],
        "header beyond the end": struct.pack("<Q", 2**62) + good[8:],
        "truncated": good[:-8],
        "longer": good + bytes(8),
        "no JSON": safetensors(None, data, header=b"{" * 40),
        "no object": safetensors(None, data, header=b"[]"),
        "a tensor twice": safetensors(
            None,
            data,
            header=json.dumps(header).encode()[:-1] + b', "unembed.W_U": ' + json.dumps(tensor).encode() + b"}",
        ),
        "a name twice": safetensors(None, data, header=b'{"unembed.W_U":{},"unembed.W_U":{}}'),
        "deep": safetensors(None, data, header=b"[" * 100000),
        "one missing": safetensors({k: v for k, v in header.items() if k != "unembed.W_U"}, data),
        "one more": safetensors({**header, "W_X": tensor}, data),
        "float32": with_tensor(dtype="F32"),
        "no shape": safetensors({**header, "unembed.W_U": {"dtype": "F64", "data_offsets": [start, stop]}}, data),
        "negative": with_tensor(shape=[-6, -5]),
        "huge": with_tensor(shape=[2**40, 2**40]),
        "boolean": with_tensor(shape=[True, 30]),
        "wider": with_tensor(shape=[tensor["shape"][0], 10 * tensor["shape"][1]]),
        "transposed": with_tensor(shape=tensor["shape"][::-1]),
        "flat": with_tensor(shape=[30]),
        "overlap": with_tensor(data_offsets=[0, stop - start]),
        "text": with_tensor(shape="6,5"),
        "no entry": safetensors({**header, "unembed.W_U": 3}, data),
        "nan": safetensors(header, data[:start] + struct.pack("<d", math.nan) + data[start + 8 :]),
        "infinite": safetensors(header, data[:start] + struct.pack("<d", -math.inf) + data[start + 8 :]),
    }
    PlainModel.read(path)
    for name, content in bad.items():
        path.write_bytes(content)
        with pytest.raises(FileFormatError):
            print(name)
            PlainModel.read(path)
    with pytest.raises(FileFormatError):
        PlainModel.read(tmp_path / "absent")


@pytest.mark.parametrize(
    ("name", "spoiled"),
    [
        ("contexts", lambda a: a.astype(np.int32)),
        ("contexts", lambda a: a.astype(np.float64)),
        ("contexts", lambda a: a - 1),
        ("contexts", lambda a: a + 1),
        ("contexts", lambda a: a.ravel()),
        ("contexts", lambda a: a[:-1]),
        ("contexts", lambda a: np.concatenate([a[:1], a[:-1]])),
        ("contexts", lambda a: a[:, :0]),
        ("tail_contexts", lambda a: a[:, :-1]),
        ("tail_contexts", lambda a: a[:-1]),
        ("counts_data", lambda a: a * 0),
        ("counts_data", lambda a: a[:-1]),
        ("counts_indices", lambda a: a + 1),
        ("counts_indices", lambda a: a * 0),
        ("counts_indptr", lambda a: a[::-1]),
        ("counts_indptr", lambda a: a * 0),
        ("counts_indptr", lambda a: a[1:]),
        ("laws", lambda a: a * 0),
        ("laws", lambda a: a * np.nan),
        ("laws", lambda a: a[:-1]),
        ("laws", lambda a: a.astype(np.float32)),
        ("laws", None),
        ("target", lambda a: "labels"),
        ("target", lambda a: "other"),
        ("target", lambda a: ["laws"]),
        ("target", lambda a: 1),
        ("vocabulary", lambda a: a[:-1]),
        ("vocabulary", lambda a: [*range(5)]),
        ("labels", lambda _: np.zeros(12, np.int64)),
        ("prior", lambda _: np.full(12, 1 / 12)),
        ("more", lambda _: np.arange(5)),
    ],
)
def test_every_malformed_task_is_refused(tmp_path, name, spoiled):
    given = task_files.own(random_task())
    if spoiled is None:
        given.pop(name)
    else:
        given[name] = spoiled(given.get(name))
    task_files.write(tmp_path / "task.safetensors", given)
    with pytest.raises(FileFormatError):
        PlainTask.read(tmp_path / "task.safetensors")


# The forward pass.


def condition(network):
    """The sizes that errors are relative to: of the terms of a logit, times those of a score, which moves the terms."""
    W_Q, W_K, W_V, W_O = (np.abs(tensor) for tensor in (network.W_Q, network.W_K, network.W_V, network.W_O))
    x = np.abs(network.W_E).max(axis=0) + np.abs(network.W_pos).max(axis=0)
    scores = ((x @ W_Q) * (x @ W_K)).sum(axis=1).max(initial=0.0)
    written = np.einsum("hn,hnd->d", x @ W_V, W_O)
    return (1.0 + scores) * (1.0 + ((x + written) @ np.abs(network.W_U)).max())


@given(memories(), st.sampled_from([(60, 60), (128, 60), (128, 120)]))
def test_the_integers_enclose_what_the_network_computes(case, precision):
    task, network = case
    exact = truth(network, task)
    plain, read = read_again(network, task)
    with ctx.workprec(128):
        outputs = IntegerForward(plain).run(
            [*read.contexts, *read.tail_contexts],
            label="",
            progress=lambda *_: None,
            bits=precision[0],
            feature_bits=precision[1],
        )
        judged = answers_of(read, outputs_of(outputs, task.n_contexts))
    enclose(outputs, judged, exact)
    with mpmath.workprec(300):
        assert mpmath.ldexp(outputs.logit_error, precision[0] - outputs.logit_scale) < 2.0**45 * condition(network)
        wanted_rows = [last + features for last, features in zip(exact.last, exact.features, strict=True)]
        for got, wanted in zip(outputs.feature_rows(True), wanted_rows, strict=False):
            for n, y in zip(got, wanted, strict=True):
                assert abs(mpmath.ldexp(n, -outputs.features_scale) - y) <= mpmath.ldexp(
                    outputs.features_error, -outputs.features_scale
                )


def enclose(outputs, judged, exact):
    """The true logits, divergences and margins are where integers and answers say."""
    with mpmath.workprec(300):
        for got, wanted in zip(logits_of(outputs), exact.logits, strict=True):
            for n, z in zip(got, wanted, strict=True):
                assert abs(mpmath.ldexp(int(n), -outputs.logit_scale) - z) <= mpmath.ldexp(
                    outputs.logit_error, -outputs.logit_scale
                )
        for answer, wanted in zip(judged, exact.divergences, strict=True):
            assert contains(answer.loss, wanted)
        for answer, wanted in zip(judged, exact.margins, strict=True):
            if answer.margin is not None:
                assert contains(answer.margin, wanted)


def answers_of(task, outputs):
    """What the checker concludes about the contexts of a task from these outputs."""
    targets, logarithms = Targets(task), {}
    balls = evaluation._in_balls(outputs)
    return [targets.answers([i], row, error, logarithms)[0] for i, (row, error) in enumerate(balls)]


def logits_of(outputs):
    return [row for block in outputs.logits() for row in rows_of(block)]


def outputs_of(outputs, size):
    return dataclasses.replace(outputs, hidden=outputs.hidden[:size], last=outputs.last[:size])


def contains(ball, value):
    lower, upper = (
        mpmath.mpf(int(m)) * mpmath.mpf(2) ** int(e) for m, e in (ball.lower().man_exp(), ball.upper().man_exp())
    )
    return lower <= value <= upper


@given(
    st.lists(st.integers(-(2**400), 2**400) | st.integers(-(2**3000), 2**3000), min_size=1, max_size=6),
    st.integers(0, 300),
)
@example([0, -(2**3000)], 0)
@example([0, 1 - 2**332], 300)  # of so many digits that they are rounded before the exponential is taken
def test_exponentials_and_attention_are_within_their_stated_errors(scores, scale):
    try:
        weights = integer_forward._exponentials(dict(enumerate(map(fmpz, scores))), scale)
    except NoInformationError:
        assert max(scores) - min(scores) >= 2.0**30 * 2.0**scale
        return
    common = integer_forward._Exponentials.of(dict(enumerate(map(fmpz, scores))), scale, 128)
    attention = common.attention(list(range(len(scores))))
    with mpmath.workprec(4000):
        true = [mpmath.exp(mpmath.ldexp(n - max(scores), -scale)) for n in scores]
        for i, (m, x) in weights.items():
            assert m.bit_length() == 128
            assert abs(mpmath.ldexp(true[i], -x) - m) <= 2
        total = mpmath.fsum(true)
        for a, e in zip(attention, true, strict=True):
            assert abs(a - mpmath.ldexp(e / total, 128)) <= 1 + 7 * (len(scores) + 1)


@given(st.lists(st.floats(-3000, 0), min_size=2, max_size=8), st.sampled_from([60, 128]), st.integers(1, 7), st.data())
@example([0.0, -44.0, -45.0], 60, 2, None)
def test_attention_far_below_the_best_score_of_the_last_token_keeps_its_digits(scores, bits, size, data):
    """A context may see only rows whose exponentials vanish beside the largest that its last token sees."""
    exact = {i: fmpz(int(math.ldexp(score, 20))) for i, score in enumerate(scores)}
    indices = st.lists(st.sampled_from(range(len(scores))), min_size=1, max_size=size)
    cell = data.draw(indices) if data is not None else [1, 2]
    attention = integer_forward._Exponentials.of(exact, 20, bits).attention(cell)
    with mpmath.workprec(5000):
        true = [mpmath.exp(mpmath.ldexp(int(exact[i]), -20)) for i in cell]
        for a, e in zip(attention, true, strict=True):
            assert abs(a - mpmath.ldexp(e / mpmath.fsum(true), bits)) <= 1 + 7 * (len(cell) + 1)


@given(st.integers(1, 2**300), st.integers(2, 200))
def test_a_ball_made_of_a_midpoint_and_a_radius_holds_both_ends(error, bits):
    with ctx.workprec(bits), mpmath.workprec(1000):
        ball = arb(1) + arb(0, 2 * arb((error, -150)))
        assert contains(ball, 1 + mpmath.ldexp(2 * error, -150))
        assert contains(ball, 1 - mpmath.ldexp(2 * error, -150))


@pytest.mark.parametrize("length", [2, 3, 7, 11, 100])
def test_where_the_bounds_of_the_error_are_reached_they_still_hold(tmp_path, length):
    """One head that attends equally to equal values of many bits and to 0 at last: every rounding goes the same way."""
    weight = 2.0 - 2.0**-52
    network = dana_network(
        W_E=np.array([[weight], [0.0]]),
        W_pos=np.zeros((length, 1)),
        W_Q=np.ones((1, 1, 1)),
        W_K=np.zeros((1, 1, 1)),
        W_V=np.full((1, 1, 1), weight),
        W_O=np.full((1, 1, 1), weight),
        W_U=np.ones((1, 1)),
    )
    network.save(tmp_path / "model.safetensors")
    with ctx.workprec(128):
        forward = IntegerForward(PlainModel.read(tmp_path / "model.safetensors"))
        outputs = forward.run([(*(0,) * (length - 1), 1)], label="", progress=lambda *_: None, feature_bits=60)
    ((logit,),) = logits_of(outputs)
    share = Fraction(length - 1, length)
    defect = share * Fraction(weight) ** 3 * 2**outputs.logit_scale - int(logit)
    assert 0 <= defect <= outputs.logit_error
    # What the rounding of equal quotients alone amounts to.
    assert defect * 2**128 >= 2**outputs.logit_scale * share * (2**128 % length)
    (feature,) = next(outputs.feature_rows(False))
    assert 0 <= share * Fraction(weight) ** 2 * 2**outputs.features_scale - feature <= outputs.features_error


@given(memories(), st.integers(0, 10**6), st.integers(10, 60))
def test_an_error_of_the_hidden_vectors_is_carried_to_every_answer(case, seed, bits):
    """Hidden vectors that are off by as much as they may be: the truth is still inside of every bound."""
    task, network = case
    exact = truth(network, task)
    rng = np.random.default_rng(seed)
    plain, read = read_again(network, task)
    with ctx.workprec(128):
        outputs = IntegerForward(plain).run([*read.contexts, *read.tail_contexts], label="", progress=lambda *_: None)
        error = 1 << outputs.scale - bits
        signs = rng.choice([-1, 1], (len(outputs.hidden), len(outputs.hidden[0]))).tolist()
        moved = [
            [h + s * error for h, s in zip(*rows, strict=True)] for rows in zip(outputs.hidden, signs, strict=True)
        ]
        outputs = dataclasses.replace(outputs, hidden=moved, error=outputs.error + error)
        judged = answers_of(read, outputs_of(outputs, task.n_contexts))
    enclose(outputs, judged, exact)


@given(st.integers(-40, 40), st.integers(0, 1 << 20), st.sampled_from([1, -1]))
def test_a_divergence_holds_for_all_logits_within_their_error(gap, error, sign):
    """Two tokens: the logit of the first, which has all the mass, goes one way and the other the other way."""
    with ctx.workprec(128):
        row = LogSoftmax.of([arb(gap), arb(0)], arb((error, -20)))
        balls = [row.divergence({0: 3}, {}), row.label_divergence(0), row.divergence({0: 5, 1: 1}, {})]
    with mpmath.workprec(300):
        z = [gap + sign * mpmath.ldexp(error, -20), -sign * mpmath.ldexp(error, -20)]
        true = mpmath.log1p(mpmath.exp(z[1] - z[0]))
        law = [mpmath.mpf(5) / 6, mpmath.mpf(1) / 6]
        mixed = mpmath.fsum(p * (mpmath.log(p) - x) for p, x in zip(law, z, strict=True))
        mixed += mpmath.log(mpmath.fsum(map(mpmath.exp, z)))
        assert all(contains(ball, value) for ball, value in zip(balls, [true, true, mixed], strict=True))


# The statements.


@given(memories())
def test_it_agrees_with_the_prover_about_honest_certificates(case):
    task, network = case
    with TemporaryDirectory() as name:
        certified = write_memory(Path(name), network, task)
        precision = ctx.prec
        report = check_independently(Path(name))
        assert ctx.prec == precision
    for stated, check in zip(certified.certificate.statements, report.checks, strict=True):
        if stated.id == FEATURE_RANK and certified.witness is None:
            assert check.verdict is UNDECIDED  # nothing is factored on this path
            continue
        assert check.verdict is PROVED
        for bound, stored in stated.values.items():
            if bound.endswith(("lower", "upper")):
                assert check.values[bound] >= stored if "lower" in bound else check.values[bound] <= stored
    values, own = certified.certificate.answers.values, report.checks[0].values
    assert values["held"] <= own["held"] and values["wrong"] <= own["wrong"]
    if certified.certificate.verdict is not UNDECIDED and certified.certificate.statement(FEATURE_RANK) is None:
        assert report.verdict is certified.certificate.verdict


@given(layers_and_tasks())
def test_it_agrees_with_the_prover_about_honest_layers(case):
    layer, task = case
    with TemporaryDirectory() as name:
        certified = write_layer(Path(name), layer, task)
        report = check_independently(Path(name))
    for stated, check in zip(certified.certificate.statements, report.checks, strict=True):
        if stated.id == FEATURE_RANK and certified.witness is None:
            assert check.verdict is UNDECIDED
            continue
        assert check.verdict is PROVED, (stated, check)
        for bound, stored in stated.values.items():
            if bound.endswith(("lower", "upper")):
                assert check.values[bound] >= stored if "lower" in bound else check.values[bound] <= stored
    values, own = certified.certificate.answers.values, report.checks[0].values
    assert values["held"] <= own["held"] and values["wrong"] <= own["wrong"]


@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["labels", "laws", "values", "classes"]))
def test_it_agrees_with_the_prover_about_models_of_any_blocks(seed, kind):
    rng = np.random.default_rng(seed)
    of_tokens = kind in ("labels", "laws")
    model, d_model = draw_model(rng, tokens=of_tokens)
    if of_tokens:
        rows = np.array(list(product(range(2), repeat=int(rng.integers(1, 4)))))[: int(rng.integers(1, 5))]
        counts = Counts.from_rows([{int(rng.integers(2)): int(rng.integers(1, 4))} for _ in rows])
        facts = int(rng.integers(1, len(rows) + 1))
        task = make_task(rows, counts, vocabulary=("a", "b"), target=kind, facts=facts)
    else:
        size = int(rng.integers(1, 4))
        task = VectorTask(
            contexts=rng.standard_normal((int(rng.choice([1, size])), int(rng.integers(1, 4)), d_model)),
            queries=rng.standard_normal((size, d_model)),
            labels=rng.standard_normal((size, 2)),
            kind="regression" if kind == "values" else "classification",
        )
    criterion = Criterion(tolerance=float(rng.choice([1e-3, 1.0])))
    with TemporaryDirectory() as name:
        folder = Path(name)
        model.save(folder / "model.safetensors")
        task.save(folder / "task.safetensors")
        certificate = certify_memorization(model, task, criterion).certificate
        certificate.save(folder)
        first, second = check_memorization(folder), check_independently(folder)
        forged = Statement(FEATURE_RANK, "forged", {"rows": certificate.subject.sizes["contexts"], "columns": 1})
        dataclasses.replace(certificate, statements=(*certificate.statements, forged)).save(folder)
        if len(model.blocks) > 1:
            assert rank_check(folder).verdict is REFUTED
    assert set(verdicts(second).values()) == {PROVED}, second.checks
    assert second.verdict is first.verdict is certificate.verdict
    for name in ("contexts", "held", "wrong"):
        assert first.checks[0].values[name] == second.checks[0].values[name]


def test_logits_that_differ_in_the_two_hundredth_bit_are_told_apart_and_ties_are_not(tmp_path):
    """Two columns of the readout that differ by the smallest numbers; a third one tells how large all of them are."""
    neurons = FeedForward(np.eye(2), np.eye(2), activation="gelu")
    task = make_task(np.array([[0]]), Counts.from_rows([{1: 1}]), vocabulary=("a", "b", "c"), target="labels")
    for number, (distance, expected) in enumerate(((2.0**-700, PROVED), (-(2.0**-700), REFUTED), (0.0, UNDECIDED))):
        W_U = np.array([[1.0, 1.0, 0.0], [0.0, distance, 0.0]])
        model = Model((neurons,), W_U=W_U, W_E=np.ones((3, 2)), W_pos=np.zeros((1, 2)))
        folder = tmp_path / str(number)
        folder.mkdir()
        model.save(folder / "model.safetensors")
        task.save(folder / "task.safetensors")
        certify_memorization(model, task).certificate.save(folder)
        assert check_independently(folder).verdict is expected


@pytest.mark.parametrize("target", ["laws", "labels"])
@pytest.mark.parametrize(
    ("id", "bound", "factor", "expected"),
    [
        (FEATURE_RANK, "smallest_singular_value_lower", 0.5, PROVED),
        (FEATURE_RANK, "smallest_singular_value_lower", 1.1, UNDECIDED),
        (FEATURE_RANK, "condition_upper", 2.0, PROVED),
        (FEATURE_RANK, "condition_upper", 0.9, UNDECIDED),
        (ANSWERS, "margin_lower", 0.5, PROVED),
        (ANSWERS, "margin_lower", 1.01, REFUTED),
        (ANSWERS, "guess_lower", 0.5, PROVED),
        (ANSWERS, "guess_lower", 1.01, UNDECIDED),
        (ANSWERS, "mean_upper", 2.0, PROVED),
        (ANSWERS, "max_upper", 2.0, PROVED),
        (ANSWERS, "mean_upper", 1e-40, REFUTED),
        (ANSWERS, "max_upper", 1e-40, REFUTED),
        (TEXT_DIVERGENCE, "lower", 0.5, PROVED),
        (TEXT_DIVERGENCE, "upper", 2.0, PROVED),
        (TEXT_DIVERGENCE, "lower", 1.0001, REFUTED),
        (TEXT_DIVERGENCE, "upper", 0.9999, REFUTED),
        (TEXT_DIVERGENCE, "occurrences", 2, REFUTED),
    ],
)
def test_a_looser_bound_stays_proved_and_a_tighter_one_does_not(tmp_path, target, id, bound, factor, expected):
    task = random_task(target=target)
    certified = write_memory(tmp_path, memory(task), task)
    values = {bound: certified.certificate.statement(id).values[bound] * factor}
    if (id, expected) == (TEXT_DIVERGENCE, REFUTED) and bound != "occurrences":  # an interval beside the true one
        values = {"lower": values[bound], "upper": values[bound]}
    restated(tmp_path, id, **values)
    report = check_independently(tmp_path)
    assert verdicts(report)[id] is expected
    assert report.verdict is expected
    assert all(verdict is PROVED for other, verdict in verdicts(report).items() if other != id)


@pytest.mark.parametrize("target", ["laws", "labels"])
def test_wrong_weights_are_refuted_whatever_the_certificate_says(tmp_path, target):
    task = random_task(target=target)
    network = memory(task)
    good = write_memory(tmp_path / "good", network, task).certificate
    bad = write_memory(tmp_path / "bad", changed(network, W_U=np.roll(network.W_U, 1, axis=1)), task).certificate
    dataclasses.replace(bad, statements=good.statements).save(tmp_path / "bad")  # forged: the numbers of the good one
    for check in (check_memorization, check_independently):
        report = check(tmp_path / "bad")
        assert verdicts(report) == {ANSWERS: REFUTED, TEXT_DIVERGENCE: REFUTED, FEATURE_RANK: PROVED}
        assert report.verdict is REFUTED and report.headline().startswith("THE CERTIFICATE IS FALSE")


def test_a_bound_exactly_at_the_truth_is_not_refuted(tmp_path):
    task = random_task(target="labels", facts=3, tail=0)
    network = memory(task)
    write_memory(tmp_path, network, task)
    with mpmath.workprec(300):
        numerator = int(mpmath.floor(mpmath.ldexp(min(truth(network, task).margins), 140)))
    restated(tmp_path, ANSWERS, margin_lower=Fraction(numerator, 2**140))
    assert verdicts(check_independently(tmp_path))[ANSWERS] is not REFUTED
    restated(tmp_path, ANSWERS, margin_lower=Fraction(numerator, 2**140) + Fraction(1, 2**60))
    assert verdicts(check_independently(tmp_path))[ANSWERS] is REFUTED
    restated(tmp_path, ANSWERS, margin_lower=Fraction(numerator, 2**140) - Fraction(1, 2**60))
    assert verdicts(check_independently(tmp_path))[ANSWERS] is PROVED


@pytest.mark.parametrize("tail", [0, 3])
def test_a_mean_over_the_text_is_known_to_as_many_bits_as_it_takes(tmp_path, tail):
    task = random_task(facts=4, tail=tail)
    network = memory(task, n_heads=3)
    certificate = write_memory(tmp_path, network, task).certificate
    with mpmath.workprec(500):
        below = int(mpmath.floor(mpmath.ldexp(truth(network, task, bits=500).mean_over_all, 160)))
    numbers = {"contexts": 4 + tail, "occurrences": int(task.counts.totals().sum() + task.tail_counts.totals().sum())}
    for shift, expected in ((0, PROVED), (1, REFUTED), (-1, REFUTED)):
        ends = {"lower": Fraction(below + shift, 2**160), "upper": Fraction(below + shift + 1, 2**160)}
        stated = Statement(TEXT_DIVERGENCE, "tight", {**numbers, **ends})
        dataclasses.replace(certificate, statements=(certificate.answers, stated), witness=None).save(tmp_path)
        (tmp_path / "witness.safetensors").unlink(missing_ok=True)
        check = check_independently(tmp_path).checks[1]
        assert check.verdict is expected and (expected is REFUTED or "256 bits" in check.reason)


def test_it_says_what_it_did_not_prove_and_proves_it_on_request(tmp_path, monkeypatch):
    task = random_task()
    write_memory(tmp_path, memory(task), task)
    monkeypatch.setattr(checker, "_AFFORDABLE", 0.0)
    report = check_independently(tmp_path)
    assert verdicts(report) == {ANSWERS: PROVED, TEXT_DIVERGENCE: UNDECIDED, FEATURE_RANK: PROVED}
    assert "5 more contexts" in report.checks[1].reason
    assert report.verdict is UNDECIDED
    assert check_independently(tmp_path, full=True).verdict is PROVED


def test_another_question_than_the_stored_one_is_answered(tmp_path):
    task = random_task()
    network = changed(memory(task), W_U=1.001 * memory(task).W_U)
    losses = truth(network, task).divergences
    write_memory(tmp_path, network, task)
    mean = float(mpmath.fsum(losses) / 12)
    second = float(sorted(losses)[1] + sorted(losses)[2]) / 2  # two contexts are below
    for criterion, expected in (
        (Criterion(tolerance=float(max(losses)) * 1.01), PROVED),
        (Criterion(tolerance=float(max(losses)) * 0.99), REFUTED),
        (Criterion.at_least(2, tolerance=second), PROVED),
        (Criterion.at_least(3, tolerance=second), REFUTED),
        (Criterion.at_most(mean * 1.01), PROVED),
        (Criterion.at_most(mean * 0.99), REFUTED),
    ):
        report = check_independently(tmp_path, criterion)
        assert report.verdict is expected and report.criterion is criterion
        assert all(verdict is PROVED for verdict in verdicts(report).values())  # what is stored stays true


class Mortal(ThreadPoolExecutor):
    """A worker that dies over the second piece of two contexts, whenever it is asked."""

    def submit(self, work, piece):
        if piece == range(2, 4):
            raise BrokenExecutor("died")
        return super().submit(work, piece)


@pytest.mark.parametrize("executor", [ThreadPoolExecutor, Mortal])
def test_pieces_of_the_tail_say_the_same_on_any_executor_and_refute_what_is_forged(executor, tmp_path, monkeypatch):
    task = random_task(tail=5)
    certified = write_memory(tmp_path, memory(task), task).certificate
    here = check_independently(tmp_path)
    values = []
    for piece in (2, 2, 100):
        monkeypatch.setattr(checker, "_PIECE", piece)
        there = check_independently(tmp_path, workers=partial(executor, 1))
        assert verdicts(there) == verdicts(here) and there.verdict is PROVED
        values.append(there.checks[1].values)
    alone = here.checks[1].values
    assert values[0] == values[1] and all(v["lower"] <= alone["upper"] and alone["lower"] <= v["upper"] for v in values)
    stated = certified.statement(TEXT_DIVERGENCE)
    assert stated is not None
    monkeypatch.setattr(checker, "_PIECE", 2)
    for lower, upper in ((0.0, alone["lower"] / 2), (2 * alone["upper"], 3 * alone["upper"])):
        forged = dataclasses.replace(stated, values={**stated.values, "lower": lower, "upper": upper})
        statements = tuple(forged if each is stated else each for each in certified.statements)
        dataclasses.replace(certified, statements=statements).save(tmp_path)
        report = check_independently(tmp_path, workers=partial(executor, 1))
        assert verdicts(report)[TEXT_DIVERGENCE] is REFUTED


def test_what_a_worker_does_not_know_stays_unknown(tmp_path, monkeypatch):
    task = random_task(tail=5)
    write_memory(tmp_path, memory(task), task)
    known, divergences = check_independently(tmp_path).checks[1].values, checker._divergences
    monkeypatch.setattr(checker, "_PIECE", 2)
    monkeypatch.setattr(checker, "_divergences", lambda *given: divergences(*given) + arb(0, 1))
    check = check_independently(tmp_path, workers=partial(ThreadPoolExecutor, 1)).checks[1]
    assert check.verdict is UNDECIDED
    assert check.values["upper"] >= known["lower"] + 3 / (task.counts.totals().sum() + task.tail_counts.totals().sum())


def test_a_piece_in_which_nothing_is_known_is_asked_again_with_more_bits(tmp_path, monkeypatch):
    def knows_nothing(evaluation, examples, bits):
        return arb("nan") if bits < 256 and len(examples) == 2 else divergences(evaluation, examples, bits)

    divergences = checker._divergences
    task = random_task(tail=5)
    write_memory(tmp_path, memory(task), task)
    monkeypatch.setattr(checker, "_PIECE", 2)
    monkeypatch.setattr(checker, "_divergences", knows_nothing)
    report = check_independently(tmp_path, workers=partial(ThreadPoolExecutor, 1))
    assert report.verdict is PROVED and "256 bits" in report.checks[1].reason


def test_a_forged_rank_of_more_contexts_than_features_is_refuted(tmp_path):
    task = random_task(facts=30)
    certified = write_memory(tmp_path, memory(task, n_heads=4), task).certificate
    assert certified.statement(FEATURE_RANK) is None
    for columns in (8, 14, 40):  # of the features, of those with the embedded last token, of neither
        forged = Statement(FEATURE_RANK, "forged", {"rows": 30, "columns": columns})
        dataclasses.replace(certified, statements=(*certified.statements, forged)).save(tmp_path)
        assert rank_check(tmp_path).verdict is REFUTED


@given(st.fractions(), st.sampled_from([-1, 1]))
@example(Fraction(10**400), 1)
@example(Fraction(-(10**400)), -1)
@example(Fraction(10**400), -1)
@example(Fraction(1, 3), 1)
@example(Fraction(1, 3), -1)
@example(Fraction(2, 3), 1)
def test_a_reported_bound_is_rounded_outward_to_the_next_float(value, direction):
    def beyond(x):
        return x == direction * math.inf or (math.isfinite(x) and (Fraction(x) - value) * direction >= 0)

    bound = outward(value, direction)
    assert beyond(bound)
    inward = math.nextafter(bound, -direction * math.inf)
    assert not beyond(inward) or (math.isfinite(bound) and Fraction(bound) == value) or abs(value) > 10**308


def test_without_a_witness_the_rank_is_undecided(tmp_path):
    task = random_task()
    write_memory(tmp_path, memory(task), task, witness=False)
    expected = {ANSWERS: PROVED, TEXT_DIVERGENCE: PROVED, FEATURE_RANK: UNDECIDED}
    assert verdicts(check_independently(tmp_path)) == expected


def test_an_inverse_is_as_good_a_witness_as_a_factor(tmp_path):
    task = random_task()
    network = memory(task)
    rows = np.ldexp(1.0, -40 * (np.arange(8) % 2))  # half of the heads write 2^-40 of the others
    network = changed(network, W_V=network.W_V * rows[:, None, None], W_O=network.W_O / rows[:, None, None])
    write_memory(tmp_path, network, random_task(facts=14))
    witness = task_files.read(tmp_path / "witness.safetensors")
    assert "column_exponents" in witness and np.ptp(witness["column_exponents"]) >= 30
    assert verdicts(check_independently(tmp_path))[FEATURE_RANK] is PROVED
    stated = Certificate.load(tmp_path).statement(FEATURE_RANK)
    exact = truth(network, random_task(facts=14))
    least = least_singular_value(exact)
    assert stated.values["smallest_singular_value_lower"] <= least
    for name in witness:
        for spoiled in spoilt(witness[name]):
            with_witness(tmp_path, {**witness, name: spoiled})
            check = rank_check(tmp_path)
            assert check.values.get("smallest_singular_value_lower", 0.0) <= least
            assert check.verdict in (PROVED, UNDECIDED)


@pytest.mark.parametrize("step", [2, 10])
def test_features_of_very_different_sizes_get_more_digits(tmp_path, step):
    task = random_task(facts=8, tail=0)
    network = memory(task)
    sizes = np.ldexp(1.0, -step * np.arange(5))
    network = changed(network, W_E=network.W_E * sizes[:, None], W_pos=0 * network.W_pos)
    certified = write_memory(tmp_path, network, task)
    stated = certified.certificate.statement(FEATURE_RANK)
    assert stated is not None and certified.witness is not None
    check = rank_check(tmp_path)
    assert check.verdict is PROVED
    least = least_singular_value(truth(network, task))
    assert stated.values["smallest_singular_value_lower"] <= check.values["smallest_singular_value_lower"] <= least
    witness = task_files.read(tmp_path / "witness.safetensors")
    for name in witness:
        for spoiled in spoilt(witness[name]):
            with_witness(tmp_path, {**witness, name: spoiled})
            assert rank_check(tmp_path).values.get("smallest_singular_value_lower", 0.0) <= least


def test_features_that_are_not_known_are_asked_for_with_more_bits_and_more_digits(tmp_path, monkeypatch):
    task = random_task(facts=8, tail=0)
    write_memory(tmp_path, memory(task), task)
    asked = []

    def unknown(_, *, bits, feature_bits):
        asked.append((bits, feature_bits))
        raise NoInformationError("nothing is known")

    monkeypatch.setattr(evaluation.Evaluation, "features", unknown)
    check = rank_check(tmp_path)
    assert (check.verdict, check.reason) == (UNDECIDED, "nothing is known")
    (bits, digits), *more = asked
    assert bits == PRECISIONS[0] and [each for each, _ in more] == list(PRECISIONS)
    assert all(each > digits for _, each in more)


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_stretched_columns_cost_the_others_no_digits(tmp_path, seed):
    task = random_task(facts=16, seed=seed)
    network = memory(task, seed=seed)
    rows = np.ldexp(1.0, -40 * (np.arange(8) % 2))
    network = changed(network, W_V=network.W_V * rows[:, None, None], W_O=network.W_O / rows[:, None, None])
    certified = write_memory(tmp_path, network, task)
    assert certified.certificate.statement(FEATURE_RANK).method == "inverse"
    assert verdicts(check_independently(tmp_path))[FEATURE_RANK] is PROVED


def test_an_inverse_that_proves_in_a_weighted_norm_proves_in_integers(tmp_path, monkeypatch):
    """An inverse so bad that no norm of the residual without weights is below 1, but its spectral radius is."""
    task = random_task(tail=0)
    network = memory(task)
    worse = np.eye(12) + 0.05
    worse[0, 1] += 1.5
    monkeypatch.setattr(gram, "smallest_eigenvalue_estimate", lambda _: 0.0)
    monkeypatch.setattr(row_rank, "right_inverse", lambda b: approximate_inverse.right_inverse(b) @ worse)
    write_memory(tmp_path, network, task)
    witness = task_files.read(tmp_path / "witness.safetensors")
    assert np.ptp(witness["weights"]) > 0
    assert verdicts(check_independently(tmp_path))[FEATURE_RANK] is PROVED
    least = least_singular_value(truth(network, task))
    decided = []
    even = np.ones_like(witness["weights"])
    for weights in (even, even * 0, -even, even * 2**53, even * 2**60, witness["weights"][:-1], *spoilt(even)):
        with_witness(tmp_path, {**witness, "weights": weights})
        check = rank_check(tmp_path)
        assert check.values.get("smallest_singular_value_lower", 0.0) <= least
        decided.append(check.verdict)
    assert set(decided) == {UNDECIDED}
    with_witness(tmp_path, {**witness, "weights": 2 * witness["weights"]})
    assert verdicts(check_independently(tmp_path))[FEATURE_RANK] is PROVED
    with_witness(tmp_path, {name: array for name, array in witness.items() if name != "weights"})
    assert verdicts(check_independently(tmp_path))[FEATURE_RANK] is UNDECIDED


def spoilt(array):
    """Other arrays of the same name: shifted, scaled, zero, reversed, cut, retyped."""
    yield array + 1
    yield array - 1
    yield array * 2
    yield array * 0
    yield -array
    yield array[::-1] if array.ndim else array
    yield array[:-1] if array.ndim else array.reshape(1)
    yield array.astype(np.float64) if array.dtype.kind == "i" else array.astype(np.float64) * 1e300
    yield np.zeros_like(array) + (2000 if array.dtype == np.int32 else 2**53 - 1)
    yield np.zeros_like(array) + (-2000 if array.dtype == np.int32 else -(2**53) + 1)
    yield np.zeros_like(array) + (2**31 - 1 if array.dtype == np.int32 else 2**60)


def test_no_spoilt_witness_makes_a_false_bound(tmp_path):
    task = random_task()
    network = memory(task)
    write_memory(tmp_path, network, task)
    least = least_singular_value(truth(network, task))
    witness = task_files.read(tmp_path / "witness.safetensors")
    assert set(witness) == {"row_exponents", "shift", "mantissas", "mantissa_exponents"}
    decided = []
    for name in witness:
        for spoiled in spoilt(witness[name]):
            with_witness(tmp_path, {**witness, name: spoiled})
            check = rank_check(tmp_path)
            assert check.values.get("smallest_singular_value_lower", 0.0) <= least
            decided.append(check.verdict)
        with_witness(tmp_path, {other: array for other, array in witness.items() if other != name})
        assert rank_check(tmp_path).verdict is UNDECIDED
    assert set(decided) == {PROVED, UNDECIDED}
    with_witness(tmp_path, {**witness, "more": np.arange(3)})
    assert check_independently(tmp_path).verdict is PROVED  # what is not needed is not looked at
    for nonsense in (np.nan, np.inf):
        with_witness(tmp_path, {**witness, "shift": np.array(nonsense)})
        with pytest.raises(FileFormatError, match="NaN or an infinity"):
            check_independently(tmp_path)


def test_a_factor_of_stretched_features_proves_nothing_about_the_features(tmp_path):
    task = random_task()
    certified = write_memory(tmp_path, memory(task), task)
    witness = task_files.read(tmp_path / "witness.safetensors")
    stretched = {
        "column_exponents": np.full(16, 5, dtype=np.int32),
        "mantissa_exponents": witness["mantissa_exponents"] + 5,
        "shift": witness["shift"] * 2.0**10,
    }
    with_witness(tmp_path, {**witness, **stretched})
    bound = certified.certificate.statement(FEATURE_RANK).values["smallest_singular_value_lower"]
    restated(tmp_path, FEATURE_RANK, smallest_singular_value_lower=16 * bound)
    assert rank_check(tmp_path).verdict is UNDECIDED


@given(st.integers(0, 10**6), st.sampled_from(["gram", "inverse"]), st.sampled_from([0, 20, 50, 60, 100]))
def test_no_witness_proves_dependent_features_independent(seed, kind, bits):
    """Features of rank 2 in exact arithmetic: whatever comes along as a witness, no full rank is proved."""
    task = random_task(facts=4, tail=0, seed=seed % 50)
    network = memory(task, n_heads=3, seed=seed)
    twins = {name: np.repeat(getattr(network, name)[:1], 3, axis=0) for name in ("W_Q", "W_K", "W_V")}
    network = changed(network, **twins)
    rng = np.random.default_rng(seed)
    with TemporaryDirectory() as name:
        folder = Path(name)
        certificate = write_memory(folder, network, task, rank=False).certificate
        forged = Statement(
            FEATURE_RANK,
            "forged",
            {"rows": 4, "columns": 6, "smallest_singular_value_lower": 2.0**-900, "condition_upper": 2.0**900},
        )
        statements = (*certificate.statements, forged)
        dataclasses.replace(certificate, statements=statements, witness=Witness.of(b"")).save(folder)
        _, features = hidden(network, task.contexts)
        noisy = features + rng.standard_normal(features.shape) * 2.0**-bits
        if kind == "gram":
            shift = max(np.linalg.eigvalsh(noisy @ noisy.T)[0] / 2, 2.0**-200)
            root = np.linalg.cholesky(noisy @ noisy.T + 2.0**-30 * np.eye(4))
            exponents = np.full(4, 8 - 52)
            lower = np.rint(np.ldexp(root, -exponents[:, None])).astype(np.int64)[np.tri(4, dtype=bool)]
            arrays = {"shift": np.array(shift), "mantissas": lower}
        else:
            inverse = np.linalg.pinv(noisy).T
            exponents = np.frexp(np.abs(inverse).max(axis=1))[1] - 53
            mantissas = np.rint(np.ldexp(inverse, -exponents[:, None])).astype(np.int64)
            arrays = {"column_exponents": np.zeros(6, dtype=np.int32), "mantissas": np.ascontiguousarray(mantissas)}
            arrays["weights"] = rng.integers(1, 2**40, 4)
        arrays |= {"row_exponents": np.zeros(4, dtype=np.int32), "mantissa_exponents": exponents.astype(np.int32)}
        with_witness(folder, arrays)
        assert rank_check(folder).verdict is UNDECIDED


def test_scores_that_no_float64_holds_are_decided_by_more_bits(tmp_path):
    task = random_task(target="labels", facts=4)
    network = memory(task)
    huge = changed(network, W_Q=network.W_Q * 1e300, W_K=network.W_K * 1e300)
    write_memory(tmp_path, huge, task)
    report = check_independently(tmp_path)
    right = sum(margin > 0 for margin in truth(huge, task, bits=2500).margins)
    assert report.verdict is (PROVED if right == 4 else REFUTED)
    assert "balls of 1024 bits" in report.checks[0].reason  # of 128 bits, and of 512, no ball is of any use


@pytest.mark.parametrize("tensor", ["W_E", "W_V", "W_O", "W_U"])
@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_weights_of_any_size_are_judged_exactly(tmp_path, tensor, size):
    task = random_task(target="labels", facts=4, tail=1)
    network = memory(task, n_heads=3)
    huge = changed(network, **{tensor: getattr(network, tensor) * size})
    write_memory(tmp_path, huge, task)
    exact = truth(huge, task, bits=2500)
    report = check_independently(tmp_path)
    right = sum(margin > 0 for margin in exact.margins)
    values = report.checks[0].values
    assert report.verdict is (PROVED if right == 4 else REFUTED)
    assert (values["held"], values["wrong"]) == (right, 4 - right)
    assert values["mean_lower"] <= mpmath.fsum(exact.divergences) / 4 <= values["mean_upper"]


def test_it_shares_no_numerical_code_with_the_prover():
    code = (
        "import sys; import verify.independent.checker; names = set(sys.modules); "
        "banned = {'verify.' + n for n in ('arithmetic.enclosure', 'arithmetic.blas', 'linear_algebra', 'forward', "
        "'divergence', 'provers.memorization', 'provers.answer_bounds')} | {'numpy', 'scipy', 'torch', 'mpmath', "
        "'constructions.models', 'constructions.tasks.task', 'constructions.tasks.vectors'}; "
        "assert not banned & names, banned & names"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.getcwd()})


# The exact-integer check of nonsingularity.


@given(st.integers(1, 12), st.integers(0, 10**6), st.sampled_from([0, 8, 16, 30]), st.booleans())
def test_what_floats_certify_integers_prove_again_with_a_true_bound(size, seed, grading, matrix_radius):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((size, size)) * 2.0 ** rng.integers(-grading, grading + 1, (size, 1))
    a *= 2.0 ** rng.integers(-grading, grading + 1, size)
    radius = np.abs(a) * 2.0**-40 if matrix_radius else 0.0
    certified = certify_nonsingular(a, radius, witness=True)
    if certified.witness is None:
        return
    check = recheck_nonsingular(a, radius, certified.witness)
    assert check.verdict is PROVED
    assert 0 <= check.residual_upper < 1
    with mpmath.workprec(400):
        corner = mpmath.matrix((a + radius * np.sign(rng.standard_normal(a.shape)) * 0.999).tolist())
        least = min(mpmath.svd_r(corner, compute_uv=False))
        bound = check.smallest_singular_value_lower
        assert 0 < mpmath.mpf(bound.numerator) / bound.denominator <= least


@given(
    st.integers(2, 10), st.integers(0, 10**6), st.sampled_from(["exact", "inside", "boundary"]), st.integers(-60, 60)
)
def test_a_set_with_a_singular_matrix_is_never_proved_nonsingular(size, seed, kind, exponent):
    rng = np.random.default_rng(seed)
    singular = rng.integers(-9, 10, (size, size - 1)) @ rng.integers(-9, 10, (size - 1, size))
    singular = singular * 2.0**exponent
    step = rng.choice([-1.0, 1.0], (size, size)) * 2.0 ** (exponent - int(rng.integers(0, 30)))
    midpoint = singular + (0 if kind == "exact" else step)
    radius = 0.0 if kind == "exact" else np.abs(midpoint - singular) * (1.0 if kind == "boundary" else 1.5)
    noisy = midpoint + rng.standard_normal(midpoint.shape) * 2.0**exponent * 1e-13
    for witness in (np.linalg.pinv(midpoint), np.linalg.pinv(noisy, rcond=1e-300), rng.standard_normal((size, size))):
        assert recheck_nonsingular(midpoint, radius, witness).verdict is UNDECIDED


@pytest.mark.parametrize(
    ("midpoint", "radius", "witness"),
    [
        ([[math.nan]], 0.0, [[1.0]]),
        ([[1.0]], math.nan, [[1.0]]),
        ([[1.0]], -1.0, [[1.0]]),
        ([[1.0]], math.inf, [[1.0]]),
        ([[1.0]], 0.0, [[math.inf]]),
        ([[1.0]], 0.0, [[0.0]]),
        ([[1.0]], 0.0, [[1e308]]),
        ([[1.0]], 0.0, [[-1.0]]),
        ([[1e-300]], 1e300, [[1e300]]),
        ([[0.0]], 0.0, [[1.0]]),
        ([[5e-324]], 5e-324, [[1e308]]),
        ([[1.0]], 1.0, [[1.0]]),
        ([[1.0, 2.0], [2.0, 4.0]], 0.0, [[1.0, 0.0], [0.0, 1.0]]),
        ([[1.0, 0.0], [0.0, 0.0]], 0.0, [[1.0, 0.0], [0.0, 1e308]]),
    ],
)
def test_nonsense_is_undecided(midpoint, radius, witness):
    check = recheck_nonsingular(midpoint, radius, witness)
    assert check.verdict is UNDECIDED
    assert check.smallest_singular_value_lower == 0


@pytest.mark.parametrize(
    ("midpoint", "radius", "witness"),
    [
        ([[5e-324]], 0.0, [[1.7e308]]),
        ([[1.7e308]], 0.0, [[5.9e-309]]),
        ([[1.0]], 0.5, [[1.0]]),
        ([[1.0, 0.0], [0.0, 2.0**-900]], 0.0, [[1.0, 0.0], [0.0, 2.0**900]]),
        ([[2**60, 1], [1, 1]], 0, [[2.0**-60, -(2.0**-60)], [-(2.0**-60), 1.0]]),
    ],
)
def test_extremes_are_proved_where_they_can_be(midpoint, radius, witness):
    assert recheck_nonsingular(midpoint, radius, witness).verdict is PROVED


@pytest.mark.parametrize(
    ("midpoint", "radius", "witness"),
    [
        ([], 0.0, []),
        ([[1.0, 2.0]], 0.0, [[1.0]]),
        ([[1.0]], [[1.0, 1.0]], [[1.0]]),
        ([[1.0]], 0.0, [[1.0], [1.0]]),
        ([["a"]], 0.0, [[1.0]]),
        (3.0, 0.0, [[1.0]]),
    ],
)
def test_what_is_not_square_or_no_matrix_is_an_error(midpoint, radius, witness):
    with pytest.raises(InputError):
        recheck_nonsingular(midpoint, radius, witness)


def test_the_radius_counts_to_the_last_unit():
    # [[1, 0], [0, 1]] with the identity as witness: proved exactly while the sum of a row's radii is below 1.
    for radius, expected in ((0.5 - 2.0**-50, PROVED), (0.5, UNDECIDED)):
        assert recheck_nonsingular(np.eye(2), radius, np.eye(2)).verdict is expected
    row = [[0.25, 0.75 - 2.0**-50], [0.0, 0.0]]
    assert recheck_nonsingular(np.eye(2), row, np.eye(2)).verdict is PROVED
    row = [[0.25, 0.75], [0.0, 0.0]]
    assert recheck_nonsingular(np.eye(2), row, np.eye(2)).verdict is UNDECIDED


def test_what_is_rounded_off_the_midpoints_counts():
    """A singular matrix that is regular, with exactly this inverse, once its entries are rounded to integers."""
    unit = 2.0**-59
    rows = [[1.0, 0.75 * unit, 1.125 * unit], [1.0, 0.0, 0.0], [0.0, 1.0, 1.5]]
    assert rows[0] == [b + 0.75 * unit * c for b, c in zip(rows[1], rows[2], strict=True)]
    rounded = [[math.trunc(x / unit) * unit for x in row] for row in rows]
    witness = [[0.0, 1.0, 0.0], [-1.5 / unit, 1.5 / unit, 1.0], [1 / unit, -1 / unit, 0.0]]
    assert (np.array(rounded) @ np.array(witness) == np.eye(3)).all()
    for radius in (0.0, 5e-324):
        assert recheck_nonsingular(rows, radius, witness).verdict is UNDECIDED


@pytest.mark.parametrize("size", [2, 5, 20])
def test_the_bound_is_in_the_spectral_norm(size):
    inverse = np.eye(size)
    inverse[:, 0] = 1.0
    check = recheck_nonsingular(np.linalg.inv(inverse), 0.0, inverse)
    assert check.verdict is PROVED
    assert check.smallest_singular_value_lower <= 1 / np.linalg.norm(inverse, 2)


@given(st.integers(0, 2**51), st.sampled_from(["gram", "inverse"]), st.sampled_from([[1, 1], [2, 2], [1, 8]]))
@example(2**49 + 2**48, "inverse", [2, 2])
def test_the_error_of_the_features_lowers_the_bound_of_the_rank(error, kind, weights):
    """All 2 x 2 matrices within `error` of 2^50 times the identity; the worst has the least value 2^50 - 2 error."""
    rows = integer_rank._ScaledRows(
        rows=[array("q", [2**50, 0]), array("q", [0, 2**50])],
        errors=[[error, error], [error, error]],
        scale=50,
        row_exponents=[0, 0],
        column_exponents=[0, 0],
    )

    def plain(shape, typecode, values):
        return PlainArray(shape, array(typecode, values))

    if kind == "gram":
        witness = {
            "shift": plain((), "d", [1.0]),
            "mantissas": plain((3,), "i", [0, 0, 0]),
            "mantissa_exponents": plain((2,), "i", [0, 0]),
        }
        bound = integer_rank._smallest_by_gram(rows, witness)
    else:
        witness = {"mantissas": plain((2, 2), "q", [1, 0, 0, 1]), "mantissa_exponents": plain((2,), "i", [0, 0])}
        witness["weights"] = plain((2,), "q", weights)
        bound = integer_rank._smallest_by_inverse(rows, witness)
    worst = 1 - 2 * Fraction(error, 2**50)
    assert bound is None or 0 < bound <= worst
    if error < 2**40:
        assert bound is not None and bound > Fraction(1, 4)


def bound_by_inverse(matrix, inverse, row_exponents, column_exponents, weights=None):
    """The bound of the rank that the checker gets from an approximate right inverse of the scaled matrix."""
    size, columns = matrix.shape
    scaled = np.ldexp(matrix, np.add.outer(row_exponents, column_exponents))
    rows = integer_rank._ScaledRows(
        rows=[array("q", [round(math.ldexp(x, 42)) for x in row]) for row in scaled.tolist()],
        errors=[[1] * columns] * size,
        scale=42,
        row_exponents=list(map(int, row_exponents)),
        column_exponents=list(map(int, column_exponents)),
    )
    exponents = [math.frexp(max(map(abs, row)))[1] - 53 for row in inverse.T.tolist()]
    mantissas = [int(math.ldexp(x, -f)) for row, f in zip(inverse.T.tolist(), exponents, strict=True) for x in row]
    witness = {
        "mantissas": PlainArray((size, columns), array("q", mantissas)),
        "mantissa_exponents": PlainArray((size,), array("i", exponents)),
    }
    if weights is not None:
        witness["weights"] = PlainArray((size,), array("q", weights))
    return integer_rank._smallest_by_inverse(rows, witness)


@given(st.integers(1, 6), st.integers(0, 3), st.integers(0, 10**6), st.integers(0, 8))
def test_the_bound_by_an_inverse_is_one_however_rows_and_columns_are_scaled(size, more, seed, spread):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((size, size + more))
    rows, columns = rng.integers(-spread, spread + 1, size), rng.integers(-spread, spread + 1, size + more)
    inverse = np.linalg.pinv(np.ldexp(matrix, np.add.outer(rows, columns)))
    bound = bound_by_inverse(matrix, inverse, rows, columns)
    least = np.linalg.svd(matrix, compute_uv=False)[-1]
    assert bound is None or 0 < bound <= least * (1 + 1e-9)
    if spread == 0 and least > 1e-3:
        assert bound >= least / math.sqrt(size) * (1 - 1e-6)


def test_the_maximum_norm_of_the_residual_is_not_taken_for_the_spectral_one():
    """$B W = I + F$ with small rows of F, but an inverse of $I + F$ that is large in the spectral norm."""
    size = 20
    product = np.eye(size)
    product[:, 0] -= 0.9
    direction = np.linalg.inv(product)[:, 0]
    witness = 0.1 * np.eye(size)
    witness[0] += direction / np.linalg.norm(direction)
    matrix = product @ np.linalg.inv(witness)
    unscaled = np.zeros(size, dtype=int)
    bound = bound_by_inverse(matrix, witness, unscaled, unscaled)
    assert bound is not None and 0 < bound <= np.linalg.svd(matrix, compute_uv=False)[-1]


@pytest.mark.parametrize("weights", [None, [1, 1], [4, 2], [1, 4], [0, 1], [-1, -1], [2**54, 2**53]])
def test_weights_of_a_norm_are_divided_by_and_paid_for(weights):
    """$B W = I + F$ with $F = (0, 1.5; 0, 0)$: the norm is $1.5 v_2 / v_1$, and the bound pays $\\max v / \\min v$."""
    product = np.array([[1.0, 1.5], [0.0, 1.0]])
    unscaled = np.zeros(2, dtype=int)
    bound = bound_by_inverse(np.eye(2), product, unscaled, unscaled, weights)
    if weights == [4, 2]:
        expected = (1 - 0.75) / (2 * math.sqrt(2) * math.sqrt(2 + 1.5**2))
        assert bound is not None and expected * (1 - 1e-6) <= bound <= expected
    else:
        assert bound is None


@given(st.integers(2, 6), st.integers(0, 10**6))
def test_no_weights_make_a_false_bound(size, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((size, size + 1)) * np.geomspace(1.0, 10.0 ** -rng.integers(0, 4), size)[:, None]
    inverse = np.linalg.pinv(matrix) @ (np.eye(size) + np.triu(rng.standard_normal((size, size)), 1))
    weights = [int(4.0 ** (size - i)) for i in range(size)] if seed % 2 else rng.integers(1, 100, size).tolist()
    unscaled = np.zeros(size, dtype=int)
    bound = bound_by_inverse(matrix, inverse, unscaled, np.zeros(size + 1, dtype=int), weights)
    assert bound is None or 0 < bound <= np.linalg.svd(matrix, compute_uv=False)[-1] * (1 + 1e-9)


def test_a_residual_of_scaled_rows_is_not_taken_for_one_of_the_rows():
    """With rows scaled by 1 and 2^10 the residual has one entry of 1/2; unscaled, that entry is 512."""
    matrix = np.array([[1.0, 512.0], [0.0, 1.0]])
    bound = bound_by_inverse(matrix, np.diag([1.0, 2.0**-10]), np.array([0, 10]), np.array([0, 0]))
    assert bound is not None and 0 < bound <= np.linalg.svd(matrix, compute_uv=False)[-1]


def test_the_bound_of_a_diagonal_matrix_is_near_its_least_entry():
    check = recheck_nonsingular(np.diag([4.0, 0.25]), 0.0, np.diag([0.25, 4.0]))
    assert Fraction(1, 16) <= check.smallest_singular_value_lower <= Fraction(1, 4)


@pytest.mark.slow
def test_ten_thousand_singular_sets_are_never_proved():
    rng = np.random.default_rng(5)
    for _ in range(10000):
        size = int(rng.integers(2, 9))
        a = rng.integers(-5, 6, (size, size - 1)) @ rng.integers(-5, 6, (size - 1, size)).astype(float)
        a *= 2.0 ** rng.integers(-30, 30, (size, 1))
        witness = np.linalg.pinv(a + rng.standard_normal(a.shape) * np.abs(a).max() * 1e-14, rcond=1e-300)
        assert recheck_nonsingular(a, 0.0, witness).verdict is UNDECIDED
    assert integer_rank._BLOCK == 1024


def test_one_hot_embeddings_lose_no_digits_on_the_independent_path(tmp_path: Path) -> None:
    """Short values are brought to full length: the logits are known to far below the square root of a stored bound."""
    task = random_task(facts=20, tail=5, vocabulary=6)
    network = build_memory(task, d_model=9, d_head=3, n_heads=12, front_end=table_attention).model
    write_memory(tmp_path / "out", network, task)
    assert check_memorization(tmp_path / "out").verdict is Verdict.PROVED
    assert check_independently(tmp_path / "out").verdict is Verdict.PROVED


def test_endpoints_of_any_size_become_floats_on_their_side() -> None:
    huge, tiny = arb(2) ** 10**9, arb(2) ** -(10**9)
    assert outward(huge, 1) == math.inf and outward(huge, -1) == sys.float_info.max
    assert outward(-huge, -1) == -math.inf and outward(-huge, 1) == -sys.float_info.max
    assert outward(tiny, 1) == 5e-324 and outward(tiny, -1) == 0.0
    assert outward(-tiny, -1) == -5e-324 and outward(-tiny, 1) == 0.0
    assert outward(arb(0), 1) == 0.0 and outward(arb(3), -1) == 3.0


def test_margins_of_any_size_are_refuted_or_proved_without_huge_numbers(tmp_path: Path) -> None:
    task = random_task(target="labels")
    network = memory(task)
    for power in (30, 200):
        large = changed(network, W_U=network.W_U * 2.0**power)
        folder = write_memory(tmp_path / str(power), large, task)
        assert check_independently(tmp_path / str(power)).verdict in (Verdict.PROVED, Verdict.UNDECIDED), folder


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    """Laws over six tokens in two dimensions: most modes win, not all; held is what is within 0.3 nats."""
    folder = tmp_path_factory.mktemp("narrow")
    task = random_task(target="laws", facts=12, vocabulary=6, seed=3)
    built = build_memory(task, d_model=2, d_head=2, n_heads=9)
    return folder, write_memory(folder, built.model, task, criterion=Criterion(tolerance=0.3))


@pytest.mark.parametrize("check", [check_memorization, check_independently])
def test_which_contexts_are_held_is_part_of_what_is_proved(narrow, tmp_path, check):
    shutil.copytree(narrow[0], tmp_path, dirs_exist_ok=True)
    certificate, answers = narrow[1].certificate, narrow[1].answers
    values = certificate.answers.values
    held = answers.held("laws", 0.3)
    assert 0 < held.sum() < 12 and values["held"] == held.sum() and values["held"] + values["wrong"] == 12
    assert certificate.answers.held == mask_text(held.tolist())
    report = check(tmp_path)
    assert report.verdict is REFUTED and verdicts(report)[ANSWERS] is PROVED
    assert check(tmp_path, Criterion.at_least(int(held.sum()), tolerance=0.3)).verdict is PROVED
    assert check(tmp_path, Criterion.at_least(int(held.sum()) + 1, tolerance=0.3)).verdict is REFUTED

    def named(mask, **numbers):
        numbers = {**values, "held": int(mask.sum()), "wrong": 0, **numbers}
        forged = dataclasses.replace(certificate.answers, values=numbers, held=mask_text(mask.tolist()))
        dataclasses.replace(certificate, statements=(forged, *certificate.statements[1:])).save(tmp_path)
        return verdicts(check(tmp_path))[ANSWERS]

    fewer, more, other = held.copy(), held.copy(), np.roll(held, 1)
    fewer[np.flatnonzero(held)[0]] = False
    more[np.flatnonzero(~held)[0]] = True
    assert named(fewer) is PROVED
    assert named(more) is REFUTED
    assert named(other) is REFUTED  # as many, but not these
    assert named(np.ones(12, dtype=bool)) is REFUTED
    assert named(held, wrong=12 - int(held.sum())) is PROVED
    margins = answers.margin_lower[held]
    assert named(held, margin_lower=1.01 * float(margins.min())) is REFUTED
    if margins.argmin() == 0:
        assert named(fewer, margin_lower=1.01 * float(margins.min())) is PROVED
    with pytest.raises(InputError, match="more contexts than there are"):
        named(held, wrong=13 - int(held.sum()))
    named(fewer, wrong=13 - int(held.sum()))
    assert verdicts(check(tmp_path))[ANSWERS] is REFUTED  # one that is held is counted as not held


def test_the_divergence_of_laws_beyond_the_dimensions_is_enclosed_and_not_bounded_by_the_range(narrow):
    upper = narrow[1].answers.loss_upper
    network, task = Model.load(narrow[0] / "model.safetensors"), Task.load(narrow[0] / "task.safetensors")
    enclosed = divergence(enclose_logits(network, task.contexts), task.laws)
    exact = truth(network, task).divergences
    assert all(exact[t] <= upper[t] <= enclosed.upper()[t] for t in range(12))


def answers_statement(values, held=""):
    return Statement(ANSWERS, "a test", values, held)


def certified_question(target, contexts, criterion=None):
    """A stand-in for a certificate: what the check of the answers looks at."""
    return SimpleNamespace(subject=SimpleNamespace(target=target), criterion=criterion or Criterion())


def test_a_margin_that_only_may_be_there_proves_nothing():
    margins = [arb(0.5, 0.2), arb(5.5, 0.5), arb(-1.5, 0.5), None]
    answers = [Answer(margin, arb(0)) for margin in margins]
    certificate = certified_question("labels", 4)
    found = []
    for mask, held, margin in (("d", 3, Fraction(1, 4)), ("d", 3, Fraction(1, 2)), ("d", 3, Fraction(1)),
                               ("5", 2, Fraction(1)), ("f", 4, Fraction(1, 4)), ("7", 3, Fraction(1, 4))):  # fmt: skip
        values = {"contexts": 4, "held": held, "wrong": 0, "margin_lower": margin, "guess_held": 2}
        stated = answers_statement(values, mask if held < 4 else "")
        found.append(checker._check_answers(stated, certificate, Criterion(), answers, (arb(0), 2)).verdict)
    assert found == [PROVED, UNDECIDED, REFUTED, PROVED, REFUTED, REFUTED]


def test_an_answer_that_is_not_decided_is_neither_held_nor_wrong():
    straddling = Answer(arb(0, 1), arb(0))
    certificate = certified_question("labels", 2)
    answers = [Answer(arb(1.5, 0.25), arb(0)), straddling]
    found = []
    for values, mask in (
        ({"held": 1, "wrong": 0}, "8"),
        ({"held": 2, "wrong": 0}, ""),
        ({"held": 1, "wrong": 1}, "8"),
        ({"held": 0, "wrong": 2}, ""),
        ({"held": 0, "wrong": 0}, ""),
    ):
        stated = answers_statement({"contexts": 2, "guess_held": 1, **values}, mask)
        check = checker._check_answers(stated, certificate, Criterion(), answers, (arb(0), 1))
        assert (check.values["held"], check.values["wrong"]) == (1, 0)
        found.append(check.verdict)
    assert found == [PROVED, UNDECIDED, UNDECIDED, REFUTED, PROVED]


@pytest.mark.parametrize("target", ["laws", "values"])
def test_a_divergence_on_both_sides_of_the_tolerance_is_neither_held_nor_wrong(target):
    margin = arb(1) if target == "laws" else None
    for loss, expected in ((arb(0.25), (True, False)), (arb(0.5, 1e-9), (False, False)), (arb(0.75), (False, True))):
        answer = Answer(margin, loss)
        assert (answer.held(target, arb(0.5)), answer.wrong(target, arb(0.5))) == expected


# Layers.


@pytest.fixture
def layer_folder(tmp_path):
    task = random_layer_task(examples=6, tokens=4, d_model=4, d_out=1, shared=False)
    write_layer(tmp_path, memory_layer(task, n_heads=3), task)
    return tmp_path


def test_forged_numbers_about_a_layer_are_not_proved(layer_folder):
    honest = Certificate.load(layer_folder)
    assert check_independently(layer_folder).verdict is PROVED
    for id, values, expected in (
        (ANSWERS, {"max_upper": 1e-60, "mean_upper": 1e-60}, REFUTED),
        (ANSWERS, {"held": 0}, PROVED),
        (ANSWERS, {"held": 0, "wrong": 1}, REFUTED),
        (SATURATION, {"saturated_lower": 0}, PROVED),
        (SATURATION, {"saturated_lower": 18}, REFUTED),
        (SATURATION, {"pairs": 19}, REFUTED),
        (FEATURE_RANK, {"columns": 15}, REFUTED),
        (FEATURE_RANK, {"smallest_singular_value_lower": 1e9}, UNDECIDED),
        (FEATURE_RANK, {"smallest_singular_value_lower": 1e-9, "condition_upper": 1e12}, PROVED),
    ):
        restated(layer_folder, id, **values)
        assert verdicts(check_independently(layer_folder))[id] is expected, (id, values)
        honest.save(layer_folder)


def test_a_forged_rank_of_more_examples_than_a_layer_has_features_is_refuted(tmp_path):
    task = random_layer_task(examples=6, tokens=4, d_model=4, d_out=1, shared=False)
    layer = memory_layer(task, n_heads=3)
    block = layer.attention
    one = dataclasses.replace(block, **{name: getattr(block, name)[:1] for name in ("W_Q", "W_K", "W_V", "W_O")})
    certified = write_layer(tmp_path, dataclasses.replace(layer, blocks=(one,)), task, rank=False).certificate
    forged = Statement(FEATURE_RANK, "forged", {"rows": 6, "columns": 4})
    dataclasses.replace(certified, statements=(certified.answers, forged)).save(tmp_path)
    check = rank_check(tmp_path)
    assert check.verdict is REFUTED and "at most 4" in check.reason


def test_shares_and_losses_that_may_be_on_either_side_prove_nothing():
    values = {"pairs": 2, "saturated_lower": 2, "delta": Fraction(1, 4)}
    statement = SimpleNamespace(values=values)
    open_share = [arb(0.9), arb(0.75, 1e-9)]
    assert checker._check_shares(statement, open_share).verdict is UNDECIDED
    assert checker._check_shares(statement, [arb(0.9), arb(0.8, 1e-9)]).verdict is PROVED
    assert checker._check_shares(statement, [arb(0.9), arb(0.7, 1e-9)]).verdict is REFUTED
    values = {"contexts": 2, "held": 0, "wrong": 0, "max_upper": Fraction(1, 2), "mean_upper": Fraction(1, 2)}
    for second, expected in ((0.25, PROVED), (0.5, UNDECIDED), (0.75, REFUTED)):
        answers = [Answer(None, arb(0.25)), Answer(None, arb(second, 1e-9))]
        stated = answers_statement(values, "")
        check = checker._check_answers(stated, certified_question("values", 2), Criterion(), answers, (arb(0), None))
        assert check.verdict is expected, (second, check.reason)
    values |= {"max_upper": Fraction(1), "mean_upper": Fraction(1, 4)}  # the largest is far from its bound
    for second, expected in ((0.125, PROVED), (0.25, UNDECIDED), (0.5, REFUTED)):
        answers = [Answer(None, arb(0.25)), Answer(None, arb(second, 1e-9))]
        stated = answers_statement(values, "")
        check = checker._check_answers(stated, certified_question("values", 2), Criterion(), answers, (arb(0), None))
        assert check.verdict is expected, (second, check.reason)


def test_statements_that_the_kind_of_task_cannot_have_are_refuted(layer_folder, tmp_path):
    honest = Certificate.load(layer_folder)
    with pytest.raises(InputError, match="values have not"):
        text = Statement(TEXT_DIVERGENCE, "", {"contexts": 6, "occurrences": 6, "lower": 0.0, "upper": 9.0})
        dataclasses.replace(honest, statements=(honest.answers, text))
    task = random_layer_task(examples=3, tokens=4, d_model=4, kind="classification")
    certified = write_layer(tmp_path / "classes", memory_layer(task, n_heads=3), task, rank=False).certificate
    text = Statement(TEXT_DIVERGENCE, "", {"contexts": 3, "occurrences": 3, "lower": 0.0, "upper": 9.0})
    dataclasses.replace(certified, statements=(certified.answers, text)).save(tmp_path / "classes")
    words = random_task()
    model = memory(words)
    tokens = write_memory(tmp_path / "tokens", model, words, rank=False).certificate
    pairs = words.n_contexts * model.attention.n_heads
    saturated = Statement(SATURATION, "", {"pairs": pairs, "saturated_lower": 0, "delta": 0.5})
    dataclasses.replace(tokens, statements=(*tokens.statements, saturated)).save(tmp_path / "tokens")
    for check in (check_memorization, check_independently):
        assert verdicts(check(tmp_path / "classes"))[TEXT_DIVERGENCE] is REFUTED
        assert verdicts(check(tmp_path / "tokens"))[SATURATION] is REFUTED


def test_a_bad_witness_of_a_layer_proves_nothing_and_breaks_nothing(layer_folder):
    arrays = task_files.read(layer_folder / "witness.safetensors")
    for name, honest in arrays.items():
        for bad in (np.zeros_like(honest), honest.reshape(-1)[:0], honest + np.ones((), honest.dtype)):
            with_witness(layer_folder, {**arrays, name: bad})
            try:
                check = rank_check(layer_folder)
            except FileFormatError:
                continue
            # Adding 1 to a factor may leave a good one.
            assert check.verdict is UNDECIDED or (bad.shape == honest.shape and bad.any())
    with_witness(layer_folder, arrays)
    assert check_independently(layer_folder).verdict is PROVED


def fails(*_, **__):
    raise NoInformationError("nothing is known")


def test_where_integers_say_nothing_balls_are_asked(tmp_path, monkeypatch):
    task = random_task()
    write_memory(tmp_path, memory(task), task)
    monkeypatch.setattr(IntegerForward, "run", fails)
    report = check_independently(tmp_path)
    assert report.verdict is PROVED and "balls of 256 bits" in report.checks[0].reason
    monkeypatch.setattr(BallForward, "run", fails)
    report = check_independently(tmp_path)
    assert {check.verdict for check in report.checks} == {UNDECIDED} and len(report.checks) == 3
    assert report.verdict is UNDECIDED and {check.reason for check in report.checks} == {"nothing is known"}


def test_a_layer_without_information_leaves_everything_undecided(layer_folder, monkeypatch):
    monkeypatch.setattr(BallForward, "run", fails)
    report = check_independently(layer_folder)
    assert {check.verdict for check in report.checks} == {UNDECIDED} and len(report.checks) == 3


def test_progress_is_told(layer_folder, tmp_path):
    told = []
    check_independently(layer_folder, progress=lambda stage, share, detail: told.append(stage))
    assert set(told) == {"features", "feature rank"}
    task = random_task(facts=70, vocabulary=6)
    write_memory(tmp_path / "tokens", memory(task, n_heads=40), task)
    check_independently(tmp_path / "tokens", progress=lambda stage, share, detail: told.append(stage))
    assert {"feature rank", "answers", "all contexts"} <= set(told)
