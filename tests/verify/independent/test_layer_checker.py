"""The independent checker of layers; what both checkers must do alike is in test_layer_memorization."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from verify.certificates.layer_certificate import MIXED_RANK, LayerCertificate
from verify.independent.layer_checker import check_layer_independently

from constructions.errors import FileFormatError
from tests.layers import memory_layer, random_layer_task, write_layer
from verify.certificates.certificate import Witness
from verify.independent import layer_checker
from verify.independent.integer_forward import NoInformationError
from verify.verdict import Verdict

PROVED, UNDECIDED = Verdict.PROVED, Verdict.UNDECIDED


@pytest.fixture
def folder(tmp_path):
    task = random_layer_task(examples=6, tokens=4, d_model=4, d_out=1, shared=False)
    write_layer(tmp_path, memory_layer(task, heads=3), task)
    return tmp_path


def with_witness(folder, arrays):
    """Another witness file, with its hash and the digest put right."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    (folder / "witness.npz").write_bytes(buffer.getvalue())
    data = json.loads((folder / "certificate.json").read_text())
    certificate = LayerCertificate.from_json(json.dumps(data, sort_keys=True, separators=(",", ":")) + "\n")
    LayerCertificate(
        certificate.subject, certificate.claims, certificate.provenance, Witness.of(buffer.getvalue())
    ).save(folder)


def test_it_shares_no_numerical_code_with_the_prover():
    code = (
        "import sys; import verify.independent.layer_checker; names = set(sys.modules); "
        "banned = {'verify.' + n for n in ('arithmetic.enclosure', 'arithmetic.blas', 'linear_algebra', 'forward', "
        "'divergence', 'certificates.memorization', 'certificates.layer_memorization')} | {'numpy', 'scipy', 'torch', "
        "'mpmath', 'constructions.models', 'constructions.tasks'}; "
        "assert not banned & names, banned & names"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.getcwd()})


def test_a_bad_witness_proves_nothing_and_breaks_nothing(folder):
    arrays = dict(np.load(folder / "witness.npz"))
    for name, array in arrays.items():
        for bad in (np.zeros_like(array), array.reshape(-1)[:0], array + np.ones((), array.dtype)):
            with_witness(folder, {**arrays, name: bad})
            try:
                checks = {check.id: check.verdict for check in check_layer_independently(folder).checks}
            except FileFormatError:
                continue
            # Adding 1 to a factor may leave a good one.
            assert checks[MIXED_RANK] is UNDECIDED or (bad.shape == array.shape and bad.any())
    with_witness(folder, arrays)
    assert check_layer_independently(folder).verdict is PROVED


def test_exponentials_without_information_leave_everything_undecided(folder, monkeypatch):
    def fails(*_, **__):
        raise NoInformationError("nothing is known")

    monkeypatch.setattr(layer_checker, "integer_layer", fails)
    report = check_layer_independently(folder)
    assert {check.verdict for check in report.checks} == {UNDECIDED} and len(report.checks) == 3


def test_progress_is_told(folder):
    told = []
    check_layer_independently(folder, progress=lambda stage, share, detail: told.append(stage))
    assert set(told) == {"attention", "rank"}
