"""Plain formulas on a page: signs, letters, indices, exponents; and words stay words."""

import pytest

from byheart.report.formulas import with_formulas


@pytest.mark.parametrize(
    ("plain", "shown"),
    [
        ("a <= b >= c != d -> e - f", "a ≤ b ≥ c ≠ d → e − f"),
        ("pi, every pi; N_epsilon", "π, every π; N<sub>ε</sub>"),
        ("rank(diag(sqrt rho) L) and sqrt(2)", "rank(diag(√ρ) L) and √(2)"),
        (
            "N^S 2^-60 10^(-x) R^{d,N} G^+",
            "N<sup>S</sup> 2<sup>−60</sup> 10<sup>−x</sup> R<sup>d,N</sup> G<sup>+</sup>",
        ),
        ("R^d_out, W_Q^h", "R<sup>d<sub>out</sub></sup>, W<sub>Q</sub><sup>h</sup>"),
        ("sum_{i>d} s_i^2", "∑<sub>i&gt;d</sub> s<sub>i</sub><sup>2</sup>"),
        ("sigma_(d+1), |pi|_inf, max_t", "σ<sub>d+1</sub>, |π|<sub>∞</sub>, max<sub>t</sub>"),
        ("|<w_U(a), w_U(b)>|", "|&lt;w<sub>U</sub>(a), w<sub>U</sub>(b)&gt;|"),
        ("docs/claims/theorem_1.md, max_loss, --memory steps, multiple", None),
        ("sums of alphabets, pie, deltas", None),
    ],
)
def test_a_formula_is_set_and_a_word_is_not(plain: str, shown: str | None) -> None:
    assert with_formulas(plain) == (plain if shown is None else shown)


def test_what_is_not_ours_stays_a_text() -> None:
    assert "<script" not in with_formulas("x_<script> ^(<script>) {<b>}")
