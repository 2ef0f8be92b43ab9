"""Whatever computes the products: each claim is judged alike, and what is proved is proved again on a CPU alone.

On tensors of the CPU every product, in blocks of some entries, goes where those of a GPU would go.
"""

import json
import runpy
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from byheart.job import build_claim
from tests.contract.test_claims import DEFAULTS, SLOW
from tests.memories import changed, memory, random_task, write_memory
from verify.arithmetic.products import multiplying
from verify.audit import audit_claims
from verify.certificates.memorization import check_memorization
from verify.claims import claim, claims
from verify.independent.checker import check_independently
from verify.replica import device_products
from verify.replica.device_products import products_on
from verify.verdict import Verdict

ROOT = Path(__file__).parents[2]
CLAIMS = [found.id for found in claims()]
EVERY_DAY = {"dana.lemma-3", "dana.theorem-3", "slides.theorem"}


def on_devices(ids, every_day=frozenset()):
    """Each on tensors of the CPU, some of them every day, and on a GPU where there is one."""
    on_cpu = [pytest.param(id, "cpu:0", id=f"{id}-cpu", marks=[pytest.mark.slow] * (id not in every_day)) for id in ids]
    return on_cpu + [pytest.param(id, "cuda", id=f"{id}-cuda", marks=pytest.mark.gpu) for id in ids]


@pytest.fixture
def every_product(monkeypatch):
    """All products go to the device, whatever their size, in blocks of at most 32 by 32 entries."""
    with products_on("cpu"):  # probed with blocks of any size
        pass
    small = partial(products_on, least=0, memory=2**15, side=32)
    monkeypatch.setattr(device_products, "products_on", small)


@pytest.mark.parametrize(("id", "device"), on_devices(CLAIMS, {"slides.quality"}))
def test_a_claim_is_judged_as_without_the_device(id: str, device: str) -> None:
    with products_on(device), products_on(device, least=0, memory=2**15):
        [audit] = audit_claims([id])
    assert audit.confirmed, audit.summary()


@pytest.mark.usefixtures("every_product")
@pytest.mark.parametrize(("id", "device"), on_devices(sorted({*DEFAULTS} - SLOW), EVERY_DAY))
def test_what_a_claim_builds_is_certified_on_the_device_and_proved_again_without_it(
    tmp_path: Path, id: str, device: str
) -> None:
    folder = tmp_path / "built"
    figures = build_claim(claim(id), out=folder, device=device)
    assert figures.verdict == "PROVED", figures.headline
    assert f"float64 on {device}" in figures.torch
    made_by = json.loads((folder / "certificate.json").read_text())["provenance"]
    assert " by torch " in made_by["arithmetic: large products"]
    for check in (check_memorization, check_independently):
        assert check(folder).verdict is Verdict.PROVED


def test_what_a_lying_device_proved_is_not_proved_again_without_it(tmp_path: Path) -> None:
    task = random_task(target="labels")
    good = memory(task)
    spoiled = changed(good, W_U=np.ascontiguousarray(good.W_U[:, ::-1]))

    class Liar:
        name, least, side, honest = "a liar", 0, 2**14, True

        def __call__(self, a, b, terms=None, /):
            lie = not self.honest and b.shape == spoiled.W_U.shape and np.array_equal(b, spoiled.W_U)
            return np.matmul(a, good.W_U if lie else b)

    liar = Liar()
    with multiplying(liar):
        liar.honest = False  # after the probes
        lied = write_memory(tmp_path / "lied", spoiled, task).certificate
    told = write_memory(tmp_path / "good", good, task).certificate
    assert (lied.verdict, told.verdict) == (Verdict.PROVED, Verdict.PROVED)
    assert lied.provenance["arithmetic: large products"] == "a liar"
    assert check_memorization(tmp_path / "good").verdict is Verdict.PROVED
    for check in (check_memorization, check_independently):
        assert check(tmp_path / "lied").verdict is not Verdict.PROVED


@pytest.mark.slow
def test_the_benchmark_runs_on_tensors_of_the_cpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--device", "cpu", "--facts", "40", "--rate", "64", "--least", "0"]
    monkeypatch.setattr(sys, "argv", ["gpu.py", *words])
    runpy.run_path(str(ROOT / "benchmarks" / "gpu.py"))["main"]()
    printed = capsys.readouterr().out
    for stage in ("weights solved for", "enclosed features", "Gram matrix", "distance", "enclosed logits", "replica"):
        [row] = [line for line in printed.splitlines() if line.startswith(f"| {stage} |")]
        assert float(row.split("|")[3]) > 0.0
    assert "full row rank of the features: PROVED" in printed
