"""What a sample says of a domain: the word is never PROVED, and whoever checks draws anew."""

import dataclasses

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.tasks.rule import rule_task
from tests.by_kernel import check_by_kernel
from tests.domains import max_of_four
from tests.verify.domains.test_sample import certified
from verify.certificates.certificate import SAMPLE, Certificate
from verify.domains.sample import most_wrong
from verify.provers.domain import certify_domain
from verify.provers.memorization import check_memorization


def test_a_sample_is_never_a_proof_and_who_checks_draws_anew(tmp_path):
    certificate = certified(tmp_path, max_of_four(), sample=300, seed="né")
    most = most_wrong(8**4, 300, 0)
    assert certificate.verdict.value == "UNDECIDED"
    assert certificate.headline().startswith(
        f"SAMPLED: 300 of 300 inputs drawn from 4,096 are right; 0 proved wrong; at most {most:,} of all 4,096 are "
    )
    assert "seed 'né'" in certificate.words(certificate.statement(SAMPLE))
    for seed in (None, "of the reader"):
        report = check_memorization(tmp_path, sample_seed=seed)
        assert [each.verdict.value for each in report.checks] == ["PROVED", "PROVED"]
        assert report.headline().startswith("SAMPLED: 300 of 300")
        assert repr(seed or "né") in report.checks[1].reason
    assert [each.verdict.value for each in check_by_kernel(tmp_path).checks] == ["PROVED", "PROVED"]
    whole = certified(tmp_path, max_of_four(), sample=8**4)
    assert whole.headline().startswith("MEMORIZED, PROVED: 4,096 of 4,096 inputs")
    with pytest.raises(InputError, match="no sample"):
        check_memorization(tmp_path, sample_seed="x")


def test_wrong_inputs_that_were_drawn_are_counted_and_refute(tmp_path):
    model = max_of_four(np.random.default_rng(0))
    certificate = certified(tmp_path, model, sample=1000)
    values = certificate.statement(SAMPLE).values
    wrong = certificate.answers.values["wrong"]
    assert 0 < wrong == 1000 - values["right"] and certificate.verdict.value == "REFUTED"
    assert certificate.headline().startswith(f"NOT MEMORIZED, SAMPLED: {1000 - wrong} of 1,000 inputs drawn")
    assert values["wrong_upper"] == most_wrong(8**4, 1000, wrong)
    whole = certify_domain(model, rule_task("max", d_vocab=8, n_ctx=4)).answers
    assert whole.wrong <= values["wrong_upper"]


@pytest.mark.parametrize("check", [check_memorization, check_by_kernel])
def test_a_bound_that_the_draw_does_not_bear_out_is_not_proved(tmp_path, check):
    certificate = certified(tmp_path, max_of_four(), sample=100)
    for change in ({"wrong_upper": -1}, {"drawn": 99, "right": 99}):
        sample = certificate.statement(SAMPLE)
        values = {name: sample.values[name] + by if by < 0 else by for name, by in change.items()}
        forged = dataclasses.replace(sample, values={**sample.values, **values})
        dataclasses.replace(certificate, statements=(certificate.answers, forged)).save(tmp_path)
        verdicts = [each.verdict.value for each in check(tmp_path).checks]
        assert verdicts[1] == "UNDECIDED" or (verdicts[0] == "UNDECIDED" and "drawn" in change)


def test_an_interrupted_draw_says_less(tmp_path):
    def stop(stage, share, detail):
        raise KeyboardInterrupt

    task = rule_task("max", d_vocab=8, n_ctx=4)
    proved = certify_domain(max_of_four(), task, sample=10, progress=stop)
    values = proved.certificate.statement(SAMPLE).values
    assert proved.answers.interrupted and values["wrong_upper"] == most_wrong(8**4, 10, 10 - values["right"])
    assert Certificate.from_json(proved.certificate.to_json()) == proved.certificate
