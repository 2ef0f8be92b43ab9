"""Draws from a domain: both readers draw alike, the bound is that of exact fractions, and the word is never PROVED."""

from fractions import Fraction
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.tasks.rule import rule_task
from verify.domains.sample import drawn, most_wrong, rejected
from verify.kernel import sample
from verify.kernel.verdicts import BadInputError
from verify.provers.domain import certify_domain

ALPHA = Fraction(1, 2**128)


def probability(size, count, missed, wrong):
    ways = sum(comb(wrong, i) * comb(size - wrong, count - i) for i in range(missed + 1))
    return Fraction(ways, comb(size, count))


@given(st.integers(1, 600), st.data())
def test_the_bound_is_the_least_that_the_exact_probability_allows(size, data):
    count = data.draw(st.integers(1, size))
    missed = data.draw(st.one_of(st.just(0), st.integers(0, count)))
    most = most_wrong(size, count, missed)
    assert missed <= most <= size - count + missed
    assert most == size - count + missed or probability(size, count, missed, most + 1) <= ALPHA
    assert most == missed or probability(size, count, missed, most) > ALPHA
    wrong = data.draw(st.integers(missed, size))
    assert rejected(size, count, missed, wrong) == (probability(size, count, missed, wrong) <= ALPHA)


def test_floats_only_say_where_to_look(monkeypatch):
    expected = most_wrong(500, 100, 3)
    monkeypatch.setattr("verify.domains.sample._tail", lambda *args: -np.inf)
    assert most_wrong(500, 100, 3) == expected


def test_every_number_is_as_likely_and_other_weights_and_seeds_draw_others():
    counts = np.zeros(5)
    for i in range(2000):
        counts[drawn("a" * 64, "b" * 64, 5, 1, str(i))] += 1
    assert (np.abs(counts - 400) < 100).all()  # 5 standard deviations and more
    one = drawn("a" * 64, "b" * 64, 10**6, 20, "")
    assert not set(one) & set(drawn("c" * 64, "b" * 64, 10**6, 20, ""))
    assert not set(one) & set(drawn("a" * 64, "b" * 64, 10**6, 20, "mine"))
    for seed in ("a" * 300, "\0", "\n"):
        with pytest.raises(InputError, match="seed"):
            drawn("a" * 64, "b" * 64, 10, 2, seed)
    with pytest.raises(InputError, match="sample = 0"):
        drawn("a" * 64, "b" * 64, 10, 0, "")


def certified(folder, model, *, sample, seed=""):
    task = rule_task("max", d_vocab=8, n_ctx=4)
    folder.mkdir(exist_ok=True)
    model.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    proved = certify_domain(model, task, sample=sample, seed=seed)
    proved.save(folder)
    return proved.certificate


@given(st.binary(max_size=300), st.integers(0, 2**21))
@example(b"a", 2**20)
@example(b"\0a", 1)
@example("é".encode(), 0)
@example(b"\xff", 5)
@example(b"a" * 256, 5)
def test_a_certificate_names_no_seed_and_no_number_that_cannot_be_drawn_with(seed: bytes, count: int) -> None:
    """So that whoever reads it refuses it there, before anything is drawn."""
    values = {"contexts": 2**40, "drawn": count, "right": count, "wrong_upper": 0, "seed": int.from_bytes(seed, "big")}
    try:
        drawn("a" * 64, "b" * 64, 1, count, seed.lstrip(b"\0").decode())  # of a domain of one input all are drawn
        can_be = True
    except (InputError, UnicodeDecodeError):
        can_be = False
    try:
        record = {"values": values, "memorized": ""}
        sample.read("a sample", record, SimpleNamespace(sizes=values, origin="rule: max"))  # pyright: ignore
        is_read = True
    except BadInputError:
        is_read = False
    assert is_read == can_be
