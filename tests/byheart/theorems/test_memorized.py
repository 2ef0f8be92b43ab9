"""Tests of what the theorems say beside a memory."""

import numpy as np

from byheart.jobs.memorize import hold
from constructions.heads_of_theorem_1 import memory as heads
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Counts, make_task
from tests.small_texts import memorize_into, small_text
from verify.certificates.certificate import Certificate
from verify.provers.memorization import check_memorization
from verify.verdict import Verdict


def test_heads_whose_rank_is_proved_suffice_without_an_elimination(monkeypatch):
    task = small_text(facts=40)
    exact = hold(task, d_model=11, d_head=4).figures
    monkeypatch.setattr(heads, "QUICK_ELIMINATION", 0)
    quick = hold(task, d_model=11, d_head=4).figures
    assert quick.rank_proved and quick.rank_lower == exact.rank_lower == 40
    assert quick.fewest_heads == quick.heads_alone == quick.heads == exact.heads > exact.fewest_heads
    assert quick.necessary_heads == exact.necessary_heads == exact.fewest_heads


def test_where_distributions_do_not_fit_it_is_said_how_much_is_unavoidable(tmp_path):
    figures = memorize_into(tmp_path / "out", small_text(), d_model=5, d_head=2)
    (lower, upper), (_, reached) = figures.unavoidable_kl, figures.encoder_kl
    assert 1e-4 < lower < upper == reached < 0.1
    page = (tmp_path / "out" / "report.html").read_text()
    assert "A stream of 5 dimensions cannot hold every distribution over 12 tokens" in page
    certificate = Certificate.load(tmp_path / "out")
    assert certificate.answers.values["memorized"] == figures.memorized < 60
    assert figures.headline.startswith("NOT MEMORIZED") and f"{figures.memorized} of 60" in figures.headline
    assert check_memorization(tmp_path / "out", Criterion.at_most(figures.mean_loss_upper)).verdict is Verdict.PROVED
    # The weighted divergence lies below the largest one, by the bounds of the certificate too.
    assert reached <= figures.max_loss_upper
    assert figures.verdict == "REFUTED"


def test_distributions_that_fit_have_nothing_unavoidable_and_labels_have_no_distributions(tmp_path):
    distributions = memorize_into(tmp_path / "distributions", small_text(), d_model=11)
    assert (
        distributions.unavoidable_kl == [0.0, 0.0]
        and 0 <= distributions.encoder_kl[0] <= distributions.encoder_kl[1] < 1e-18
    )
    assert "cannot hold every distribution" not in (tmp_path / "distributions" / "report.html").read_text()
    labels = memorize_into(tmp_path / "labels", small_text(target="labels"), memory="knots")
    assert labels.unavoidable_kl is None and labels.encoder_kl is None


def test_what_distributions_leave_unavoidable_depends_on_the_number_of_answers():
    rng = np.random.default_rng(0)
    contexts = np.array([[i, j] for i in range(2) for j in range(2)])
    rows = [{k: int(rng.integers(1, 40)) for k in range(7)} for _ in contexts]
    few = make_task(contexts, Counts.from_rows(rows), vocabulary=("a", "b"), answers=tuple("tuvwxyz"))
    lower, upper = hold(few, d_model=2).figures.unavoidable_kl
    assert 0.0 < lower <= upper
    rows = [{k: int(rng.integers(1, 40)) for k in range(3)} for _ in range(9)]
    contexts = np.arange(9)[:, None]
    many = make_task(contexts, Counts.from_rows(rows), vocabulary=tuple("abcdefghi"), answers=tuple("xyz"))
    assert hold(many, d_model=2).figures.unavoidable_kl == [0.0, 0.0]
