"""Steps of the proofs of the book, checked by computer algebra: a test names its page, and the page names the test."""

import ast
import re
from collections.abc import Mapping
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pytest
import sympy
from flint import nmod_mat
from sympy.polys.matrices import DomainMatrix

from constructions.encoders.approximating_sequences import FIRST, SECOND
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import all_contexts

ROOT = Path(__file__).parents[1]
TESTS = {
    node.name: re.findall(r"Page: (docs/[\w/]+\.md)", ast.get_docstring(node) or "")
    for node in ast.parse(Path(__file__).read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and "page" not in node.name
}


@pytest.mark.parametrize("name", TESTS)
def test_a_checked_step_is_named_by_its_page(name: str) -> None:
    [page] = TESTS[name]
    assert f"`tests/test_derivations.py:{name}`" in (ROOT / page).read_text(encoding="utf-8")


def matrix(name: str, rows: int, columns: int) -> sympy.Matrix:
    return sympy.Matrix(rows, columns, lambda i, j: sympy.Symbol(f"{name}{i}{j}"))


def entropy(*distribution: sympy.Expr) -> sympy.Expr:
    return -sum(p * sympy.log(p) for p in distribution)


def zero(expression: sympy.Expr) -> bool:
    return sympy.simplify(expression) == 0


@pytest.mark.parametrize(
    "relation",
    [
        {(0, 0, 0): 1, (1, 1, 0): 1, (0, 1, 0): -1, (1, 0, 0): -1},
        {(0, 0, 3): 1, (1, 1, 3): 1, (2, 2, 3): 1, (0, 1, 3): -1, (1, 2, 3): -1, (2, 0, 3): -1},
        {(0, 0, 1, 0): 2, (0, 1, 1, 0): -1, (1, 0, 1, 0): -2, (1, 1, 1, 0): 1, (0, 1, 0, 0): -1, (1, 1, 0, 0): 1},
    ],
    ids=["XOR", "six contexts", "weights"],
)
def test_a_relation_of_indicators_is_one_of_the_logits(relation: Mapping[tuple[int, ...], int]) -> None:
    """Lemma O3 for one coordinate, all scores and vectors, any skip connection. Page: docs/claims/theorem_1.md"""
    pairs = {pair for context in relation for pair in enumerate(context)}
    assert all(sum(k for context, k in relation.items() if context[s] == n) == 0 for s, n in pairs)
    y = {pair: sympy.Symbol(f"y{pair}", positive=True) for pair in pairs}
    x = {pair: sympy.Symbol(f"x{pair}", real=True) for pair in pairs}
    skip = sympy.Symbol("skip")
    D = {t: sum(y[pair] for pair in enumerate(t)) for t in relation}
    z = {t: skip + sum(y[pair] * x[pair] for pair in enumerate(t)) / D[t] for t in relation}
    assert sympy.expand(sum(k * D[t] for t, k in relation.items())) == 0
    assert sympy.expand(sum(k * sympy.cancel(D[t] * z[t]) for t, k in relation.items())) == 0


def test_the_floor_of_xor_is_where_both_distributions_become_uniform() -> None:
    """(4) at the best mu is (2); it is concave in mu with its maximum there. Page: docs/claims/theorem_1.md"""
    p, mu = sympy.symbols("p mu", positive=True)
    rho = sympy.Rational(1, 4)
    q_i, q_j = p - mu / rho, 1 - p + mu / rho
    bound = rho * (entropy(q_i, 1 - q_i) - entropy(p, 1 - p)) + rho * (entropy(q_j, 1 - q_j) - entropy(p, 1 - p))
    best = (p - sympy.Rational(1, 2)) * rho
    assert zero(sympy.diff(bound, mu).subs(mu, best))
    assert zero(sympy.diff(bound, mu, 2) + 2 / rho * (1 / q_i + 1 / (1 - q_i)))
    assert zero(bound.subs(mu, best) - (sympy.log(2) - entropy(p, 1 - p)) / 2)
    assert (
        str(sympy.N((sympy.log(2) - entropy(sympy.Rational(99, 100), sympy.Rational(1, 100))) / 2, 10))
        == "0.3185728231"
    )


@pytest.mark.parametrize("tokens", [2, 3])
def test_the_determinant_of_the_look_up_table_has_no_factors_but_those_of_the_theorem(tokens: int) -> None:
    """Theorem K3: b, sigma and Delta, and eta, which is positive for 0 < a < 1. Page: docs/claims/look_up_table.md"""
    a, sigma = sympy.symbols("a sigma")
    unit = sympy.eye(tokens)
    position = sympy.ones(1, tokens) * sigma / tokens

    def features(n: int, c: int) -> list[sympy.Expr]:
        first, last = unit.row(n) + position, unit.row(c)
        shares = [a if n == head else 1 - a for head in range(tokens)]
        return [entry for share in shares for entry in share * first + (1 - share) * last]

    rows = [features(n, c) for n, c in product(range(tokens), repeat=2)]
    table = DomainMatrix.from_Matrix(sympy.Matrix(rows).expand()).convert_to(sympy.QQ[a, sigma])
    determinant = table.domain.to_sympy(table.charpoly()[-1])
    Delta = tokens + sigma * (tokens - 1 - a * (tokens - 2))
    named = [2 * a - 1, sigma, Delta, *([1 + a * (tokens - 2)] if tokens > 2 else [])]
    factors = {sympy.factor_list(factor)[1][0][0] for factor in named}
    assert {factor for factor, _ in sympy.factor_list(determinant)[1]} == factors


def test_one_head_reads_its_point_off_the_attention() -> None:
    """Theorem K4: what W_O and W_U make of the attention is the point of the label. Page: docs/claims/corollary_1.md"""
    i, N, first = sympy.symbols("i N first")
    a = sympy.Rational(1, 2) + (i - first / 4) / (N + 1)
    stream = (1, first + 4 * (N + 1) * (a - 1))  # what x_S and the head write
    assert zero(stream[1] / 4 + (N + 1) / 2 * stream[0] - i)


def test_a_label_of_at_most_one_half_costs_a_divergence() -> None:
    """(1): what falls in the probability of the label up to a, at one half. Page: docs/claims/corollary_1.md"""
    a, q = sympy.symbols("a q", positive=True)
    cost = a * sympy.log(a / q) + (1 - a) * sympy.log((1 - a) / (1 - q))
    assert zero(sympy.diff(cost, q) - (q - a) / (q * (1 - q)))
    at_half = sympy.expand_log(cost.subs(q, sympy.Rational(1, 2)), force=True)
    assert zero(at_half - (sympy.log(2) + a * sympy.log(a) + (1 - a) * sympy.log(1 - a)))


def test_the_leads_of_the_scalar_label_code() -> None:
    """1, for all labels, numbers of labels and streams. Page: docs/claims/newton_memory.md"""
    y, label, k, K = sympy.symbols("y l k K")

    def point(number: sympy.Expr) -> sympy.Expr:
        return number - (K - 1) / 2

    def logit(number: sympy.Expr) -> sympy.Expr:
        return point(number) * y - point(number) ** 2 / 2

    assert zero(logit(label) - logit(label + k) - k * (k / 2 - (y - point(label))))


def test_the_leads_on_the_circle_and_on_the_parabola() -> None:
    """1, 2 and 3. Page: docs/claims/lookup_in_two_dimensions.md"""
    g, j, k, a, y, eta, m = sympy.symbols("g j k a y eta m", positive=True)
    assert zero((2 * g * g - g**2) - (2 * g * j - j**2) - (g - j) ** 2)
    assert zero(1 - sympy.cos(2 * k * a) - 2 * sympy.sin(k * a) ** 2)
    slope = sympy.diff(sympy.sin(y) ** 2 / y, y)
    assert zero(slope - sympy.sin(y) * sympy.cos(y) * (2 * y - sympy.tan(y)) / y**2)
    x = sympy.exp(-sympy.log(1 + 2 / eta) / m * m)
    assert zero(2 * x / (1 - x) - eta)
    assert zero(k**2 - (3 * k - 2) - (k - 1) * (k - 2))
    q = sympy.Symbol("q", positive=True)
    assert zero(q / (1 - q**3) - (q + q**4 / (1 - q**3)))  # the sum of q^(3k - 2) less its first term


def test_what_two_distributions_force_on_the_range_of_logits() -> None:
    """4: the identity, the numbers of the example, and the limits of the ratios. Page: docs/claims/logit_range.md"""
    e_1, e_2, w_1, w_2, w_3 = sympy.symbols("e1 e2 w1 w2 w3")
    assert sympy.expand(e_1 * (w_1 - w_3) * e_2 * (w_1 - w_2) - e_1 * (w_1 - w_2) * e_2 * (w_1 - w_3)) == 0
    r, s = (
        sympy.log(sympy.Rational(str(distribution[0] / distribution[at])))
        for distribution, at in ((FIRST, 1), (SECOND, 2))
    )
    delta = sympy.Rational(1, 1000)
    floor, reached = (r - 2 * delta) * (s - 2 * delta) / (2 * delta), 4 * r * s / delta
    assert (round(floor), round(reached)) == (379, 3046)
    for distribution, moves, ratios in (
        (FIRST[:2], ("0", "-1/2"), ("-1/8", "3/8")),
        (SECOND, ("0", "-1/4", "-1/3"), ("-1/6", "1/12", "1/6")),
    ):
        zeta = [sympy.Rational(move) for move in moves]
        mean = sum(sympy.Rational(str(p)) * move for p, move in zip(distribution, zeta, strict=True))
        assert [mean - move for move in zeta] == [sympy.Rational(ratio) for ratio in ratios]


def test_the_determinant_of_the_change_of_basis() -> None:
    """Proposition E4 for d = 1 and 2 and one column of features. Page: docs/claims/skip_connection.md"""
    for width in (1, 2):
        X, Y = matrix("x", width + 1, width), matrix("y", width + 1, 1)
        M, B = matrix("m", width, width), matrix("b", 1, width)
        reached = X * M + Y * B
        assert sympy.expand(reached.row_join(Y).det() - X.row_join(Y).det() * M.det()) == 0


def test_neurons_at_the_knots_meet_all_values() -> None:
    """2, for four knots from the second one on. Page: docs/claims/knots.md"""
    gaps, values = sympy.symbols("g1:4", positive=True), sympy.symbols("v1:5")
    knots = [sum(gaps[:place], sympy.Integer(0)) for place in range(4)]
    f = [values[1]] * 4  # at the four knots
    for place, side in ((1, 1), (2, 1), (1, -1)):
        goal = place + side
        distance = [side * (knot - knots[place]) for knot in knots]
        on = [d if d.is_positive else sympy.Integer(0) for d in distance]
        jump = (values[goal] - f[goal]) / on[goal]
        before = [at for at in range(4) if on[at] == 0]
        kept = [f[at] for at in before]
        f = [sympy.simplify(old + jump * d) for old, d in zip(f, on, strict=True)]
        assert [f[at] for at in before] == kept
    assert f == list(values)


def test_the_leads_of_the_grid_code() -> None:
    """3, in two digits. Page: docs/claims/knots.md"""
    y, c, k = (sympy.Matrix(sympy.symbols(f"{name}1:3")) for name in "yck")

    def logit(point: sympy.Matrix) -> sympy.Expr:
        return point.dot(y) - point.dot(point) / 2

    assert sympy.expand(logit(c) - logit(c + k) - sum(k[r] ** 2 / 2 - k[r] * (y - c)[r] for r in (0, 1))) == 0


@pytest.mark.parametrize("before", [True, False])
def test_two_neurons_make_a_slab(before: bool) -> None:
    """4: 0 in front of the cut and the affine function behind it, if h is small. Page: docs/claims/relu_barrier.md"""
    distance, ratio, h = sympy.symbols("distance ratio h", positive=True)
    cut = -distance if before else distance
    for share in (ratio / (1 + ratio), -ratio / (1 + ratio)):  # h |<v, x> - beta| is less than the distance
        change = share * distance / h
        neurons = (sympy.Max(0, sympy.factor(cut + h * change)) - sympy.Max(0, cut)) / h
        assert zero(neurons - (0 if before else change))


def test_the_bounds_by_moments() -> None:
    """Lemma P1, and the completed square of Lemma P4. Page: docs/claims/least_squares.md"""
    M, V, tau, psi, p = sympy.symbols("M V tau psi p", positive=True)

    def phi(x: sympy.Expr) -> sympy.Expr:
        return (sympy.exp(x) - 1 - x) / x**2

    weights, points = (M**2 / (M**2 + V), V / (M**2 + V)), (-V / M, M)
    for power, moment in enumerate((1, 0, V)):
        assert zero(sum(w * point**power for w, point in zip(weights, points, strict=True)) - moment)
    inner = sum(w * sympy.exp(point) for w, point in zip(weights, points, strict=True))
    assert zero(inner - (M**2 * sympy.exp(-V / M) + V * sympy.exp(M)) / (M**2 + V))
    assert zero(inner - 1 - V * (V * phi(-V / M) + M**2 * phi(M)) / (M**2 + V))
    move = tau * p / (2 * psi)
    assert zero(move - psi / p * move**2 - (2 * tau - tau**2) * p / (4 * psi))


def test_least_squares_miss_by_the_counterexamples() -> None:
    """Pairs of tokens beside (7), and Hadamard distributions beside (7) and (8). Page: docs/claims/least_squares.md"""
    a, N = sympy.symbols("a N", positive=True)
    distribution = [sympy.exp(sign * a) / (2 * sympy.cosh(a)) for sign in (1, -1)]
    cost = sympy.expand_log(sum(p * sympy.log(2 * p) for p in distribution), force=True)
    shown = a * sympy.tanh(a) - sympy.log(sympy.cosh(a))
    assert zero((cost - shown).rewrite(sympy.exp))
    assert sympy.series(shown, a, 0, 6).removeO() == a**2 / 2 - a**4 / 4
    allowed = N * (2 * a) ** 2 / N**2 + (2 * a) ** 3  # (7) with 1 / N for the largest probability
    assert sympy.limit(allowed / (a**2 / 2), a, 0) == 8 / N
    floor = (N - 2) / (N - 1) * (a**2 * N) * (1 / N) / (4 * sympy.Rational(1, 2))  # (9): T = N - 1, d = 1, tau = 1
    assert zero(floor - (N - 2) / (N - 1) * a**2 / 2)
    for tokens, bounds in ((4, [1 / (N - 1) ** 2]), (8, [1 / (N - 1), N / (N - 1) ** 2])):
        assert all((floor / a**2 - bound).subs(N, tokens) > 0 for bound in bounds)


def test_the_sharpness_that_saturation_needs_is_that_of_the_bound() -> None:
    """Theorem Z2: (2) is an equality at (1); Lemmas 4 and 2 of its chapter. Page: docs/claims/steep_heads.md"""
    M, n, T, C, mu, s, g, G, x, rho = sympy.symbols("M n T C mu s g G x rho", positive=True)
    kappa = (G + sympy.log(2 * M * (n - 1) * sympy.sqrt(T) * C / (mu * s))) / g
    assert zero(C * M * sympy.sqrt(T) * 2 * (n - 1) * sympy.exp(-(kappa * g - G)) - mu * s)
    missing = 2 * sympy.exp(-x) - 2 * (1 - sympy.exp(x) / (1 + sympy.exp(x)))
    assert zero(missing - 2 * sympy.exp(-x) / (1 + sympy.exp(x)))
    for count in (2, 3, 4):
        one, J = sympy.eye(count), sympy.ones(count)
        assert (one + J / count).det() == 2
        assert ((1 - rho) * one + rho * J / count).eigenvals() == {1 - rho: count - 1, sympy.Integer(1): 1}


def test_the_cost_of_a_move_of_a_distribution() -> None:
    """(4): h as an integral, and the terms of psi. Page: docs/claims/sequence_encoder.md"""
    x, r = sympy.symbols("x r", positive=True)
    h = (1 + x) * sympy.log(1 + x) - x
    assert zero(h - x**2 * sympy.integrate((1 - r) / (1 + r * x), (r, 0, 1)))
    m = sympy.Symbol("m", integer=True, nonnegative=True)
    term = sympy.integrate(sympy.expand((1 - r) * r**m), (r, 0, 1))  # of the series of 1 / (1 - theta r)
    assert zero(term - 1 / ((m + 1) * (m + 2)))


def test_an_output_bias_reaches_distributions_that_are_out_of_reach_without() -> None:
    """Proposition 1: the logits b + w x are the logs of the distributions. Page: docs/claims/sequence_encoder.md"""
    ten = sympy.Rational(1, 10)
    bias = (sympy.log(6 * ten), sympy.log(3 * ten**2) / 2, sympy.log(3 * ten**2) / 2)
    for sign, distribution in ((1, (6, 3, 1)), (-1, (6, 1, 3))):
        logits = [b + w * sign * sympy.log(3) / 2 for b, w in zip(bias, (0, 1, -1), strict=True)]
        assert [sympy.simplify(sympy.exp(logit)) for logit in logits] == [p * ten for p in distribution]


def test_the_strength_for_a_distribution_of_low_entropy() -> None:
    """(N1): leads that are all a leave s to the other tokens. Page: docs/claims/theorem_2.md"""
    a, s, N = sympy.symbols("a s N", positive=True)
    strength = sympy.log((N - 1) * (1 - s) / s) / a
    assert zero(1 / (1 + (N - 1) * sympy.exp(-a * strength)) - (1 - s))


def test_the_counts_of_parameters() -> None:
    """1, 2 and 3, and what section 6 of the paper counts 16 too many of. Page: docs/claims/parameters.md"""
    d, S, N, T, H, d_h = sympy.symbols("d S N T H d_h")
    entries = 2 * N * d + S * d + 4 * H * d * d_h
    assert sympy.expand(entries - d * (S + 2 * N + 4 * d_h * H)) == 0
    assert sympy.expand(entries.subs(H, (T - d) / d_h) - d * (S + 2 * N + 4 * (T - d))) == 0
    assert sympy.expand((d * (S + 2 * N + 4 * (T - d))).subs(d, 2) - (2 * S + 4 * N + 8 * T - 16)) == 0


def test_the_errors_of_cauchy_heads_add_up() -> None:
    """Theorem H3: every second binomial, both forms of E, degrees. Page: docs/claims/heads_of_any_width.md"""

    def up_to(m: int, k: int) -> int:
        return sum(comb(m, i) for i in range(k + 1))

    for n, H in product(range(1, 24), range(24)):
        E = up_to(n - 1, (n - H - 1) // 2) + up_to(n - 1, (n - H - 2) // 2)
        first = (n - min(H, n)) // 2
        wrong = [*range(first - 1, -1, -2), *range(first + H + 1, n + 1, 2)]
        assert sum(comb(n, m) for m in wrong) == E
        if H < n:
            half, rest = divmod(n - H, 2)
            assert E == (up_to(n, half) if rest else 2 * up_to(n - 1, half - 1))
            assert H + 2 * ((n - H - 1) // 2) < n


def test_the_norm_of_the_majority_of_exclusive_ors() -> None:
    """The largest Fourier coefficient of majority, and the ranks of (1). Page: docs/claims/threshold_degree.md"""
    for m in (1, 3, 5, 7):
        points = list(product((0, 1), repeat=m))
        signs = [1 if 2 * sum(z) > m else -1 for z in points]
        characters = [[(-1) ** sum(a * b for a, b in zip(z, U, strict=True)) for z in points] for U in points]
        norm = max(abs(sum(a * b for a, b in zip(signs, character, strict=True))) for character in characters)
        assert norm == 2 * comb(m - 1, (m - 1) // 2)
    assert 2**24 / comb(24, 12) > 6 and 2**22 / comb(22, 11) < 6  # more than 2 (2^2 - 1), from m = 25 on
    for H in (1, 2, 3):
        parts = {letter: sympy.symbols(f"{letter}1:{H + 1}") for letter in "abmn"}  # alpha, beta, mu, nu
        whole = sum(
            (parts["n"][h] + parts["m"][h]) * sympy.prod(parts["a"][g] + parts["b"][g] for g in range(H) if g != h)
            for h in range(H)
        )
        by_columns = sympy.Poly(sympy.expand(whole), *parts["b"], *parts["m"])
        alone = [powers for powers in by_columns.monoms() if not any(powers[H:])]
        assert len(alone) == 2**H - 1  # what has a nu, by the products of the beta


def _rank_of_coincident_heads(N: int, S: int, d: int, r: int, k: int, B: int) -> int:
    """Of the derivative at residues modulo a prime, with free exponentials of the scores."""
    prime, rng = 33554393, np.random.default_rng(0)
    contexts = all_contexts(N, S)
    last = contexts[:, -1]

    def residues(*shape: int) -> Int64Array:
        return rng.integers(1, prime, shape)

    x = (residues(N, d)[contexts] + residues(S, d)) % prime
    columns = [x[:, -1]]
    for _ in range(B):
        y = residues(N, N)[last[:, None], contexts] * residues(N, S)[last] % prime
        a = y * np.array([pow(int(total), -1, prime) for total in y.sum(axis=1) % prime])[:, None] % prime
        mean = (a[..., None] * x % prime).sum(axis=1) % prime
        squares = (a[..., None, None] * (x[..., None] * x[:, :, None] % prime) % prime).sum(axis=1)
        covariance = (squares - mean[..., None] * mean[:, None]) % prime
        U, V, values = residues(d, r), residues(d, r), residues(k, d)
        values[-1] = -values[:-1].sum(axis=0) % prime
        columns.append(mean)
        for value in values:
            moved = (covariance * value % prime).sum(axis=2) % prime
            queries = (x[:, -1, :, None] * U % prime).sum(axis=1) % prime
            keys = (moved[..., None] * V % prime).sum(axis=1) % prime
            columns += [
                (queries[..., None] * moved[:, None] % prime).reshape(len(x), -1),
                (x[:, -1, :, None] * keys[:, None] % prime).reshape(len(x), -1),
            ]
    matrix = np.concatenate(columns, axis=1)
    return int(nmod_mat(len(matrix), matrix.shape[1], matrix.ravel().tolist(), prime).rank())


@pytest.mark.parametrize(
    ("shape", "rank"),
    [((4, 3, 3, 2, 4, 1), 23), ((5, 2, 4, 3, 3, 1), 25), ((4, 3, 3, 1, 3, 2), 27), ((11, 2, 6, 4, 6, 1), 108)],
)
def test_coincident_heads_have_at_most_the_rank_of_the_formula(
    shape: tuple[int, int, int, int, int, int], rank: int
) -> None:
    """Both bounds, and a shape below the first. Page: docs/claims/newton_memory.md"""
    N, S, d, r, k, B = shape
    m = max(0, k - 1 + r - d)
    in_general = d + B * (d + (k - 1) * (2 * d * r - r * r) - r * comb(k - 1, 2) - (d - r) * comb(m, 2))
    of_bigrams = d + B * (d + N * N - (N - d) * (N - d - 1)) if S == 2 and d < N else in_general
    found = _rank_of_coincident_heads(*shape)
    assert found == rank <= min(in_general, of_bigrams, N**S)
    assert (found == min(in_general, N**S)) == (N < 11)
