"""The audit of the simpler bound below Theorem 2 certifies what it says, and nothing that is not so."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.encoders.low_entropy_instances import two_distributions
from verify.arithmetic.enclosure import Enclosure
from verify.theorems.claims import dana_theorem_2_simple as audit
from verify.theorems.claims.dana_theorem_2 import Judged
from verify.verdict import Verdict


def test_a_larger_constant_is_not_exceeded_and_one_of_a_half_is_no_counterexample() -> None:
    judged = Judged.of(two_distributions())
    assert audit.encoder_is_beyond(judged, Enclosure(0.0), "").verdict is Verdict.PROVED
    assert audit.encoder_is_beyond(judged, Enclosure(0.1), "").verdict is not Verdict.PROVED
    assert audit.encoder_is_beyond(judged, Enclosure(0.6), "").verdict is not Verdict.PROVED


def test_strengths_of_each_context_are_not_certified_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(Judged.of(two_distributions()), Enclosure(0.0))]
    assert audit.one_strength("", found).verdict is Verdict.PROVED
    assert audit.one_strength("", []).verdict is not Verdict.PROVED
    monkeypatch.setattr(Judged, "strengths", lambda self, common: np.array([np.log(2.0), 0.2316]))
    assert audit.one_strength("", found).verdict is not Verdict.PROVED


def test_vectors_that_are_not_orthonormal_refute_nothing() -> None:
    instance = two_distributions()
    for vectors in (2 * instance.vectors, np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1]])):
        changed = replace(instance, vectors=vectors, encoders=vectors[instance.tokens])
        assert not audit.is_identity(changed)
        assert audit.encoder_is_beyond(Judged.of(changed), Enclosure(0.0), "").verdict is not Verdict.PROVED
    assert not audit.is_identity(replace(instance, encoders=instance.vectors[[1, 0]]))
    assert not audit.is_identity(replace(instance, scale=2.0))
