"""The first line: what it says, and that nothing vacuous is called memorized."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.tasks.criterion import Criterion
from verify.certificates.headline import VACUOUS, answer, outcome
from verify.verdict import Verdict

LABELS = {"contexts": 9, "memorized": 9, "wrong": 0, "guess_right": 4, "guess_lower": 0.5}
DISTRIBUTIONS = {"contexts": 9, "memorized": 9, "wrong": 0, "mean_upper": 0.1, "max_upper": 0.2, "guess_lower": 0.5}

criteria = st.one_of(
    st.builds(Criterion, tolerance=st.sampled_from([1e-3, 10.0, 1e300])),
    st.builds(Criterion.at_least, st.integers(1, 9)),
    st.builds(Criterion.at_most, st.sampled_from([0.3, 1e300])),
)


def line(values, criterion=None, target="labels", origin="table", **options):
    return outcome(values, criterion or Criterion(), target=target, origin=origin, **options)


@given(
    st.integers(0, 9), st.integers(0, 9), st.integers(1, 9), st.integers(0, 4), st.integers(0, 4), criteria,
    st.sampled_from(["labels", "distributions", "values"]), st.sampled_from(["table", "own", "rule: max of 2 tokens"]),
)  # fmt: skip
def test_yes_is_said_only_of_what_is_answered_yes_and_beats_a_guess(
    memorized, wrong, guess, mean, least, criterion, target, origin
):
    values = {
        "contexts": 9,
        "memorized": memorized,
        "wrong": min(wrong, 9 - memorized),
        "guess_lower": Fraction(least, 8),
    }
    values |= {"mean_upper": mean / 8, "max_upper": 1.0, **({"guess_right": guess} if target == "labels" else {})}
    found = line(values, criterion, target, origin)
    by_count = target == "labels" and criterion.asked != "at-most"
    better = memorized > guess or memorized == guess == 9 if by_count else mean < least
    yes = answer(criterion, values) is Verdict.PROVED
    assert (found.verdict is Verdict.PROVED) == (yes and better)
    assert found.verdict is Verdict.REFUTED or found.word != VACUOUS
    assert found.word.startswith("MEMORIZED") == (yes and better and criterion.asked == "memorized" and origin != "own")
    own = yes and better and origin == "own"
    assert found.word.startswith("REPRODUCES ITS TARGETS") == (own and criterion.asked != "at-most")
    assert found.word.startswith("NEAR ITS TARGETS AS ASKED") == (own and criterion.asked == "at-most")
    assert (found.verdict is Verdict.UNDECIDED) == (found.word == "NOT DECIDED")


@given(st.integers(1, 6), st.data())
def test_a_count_is_refuted_only_where_no_completion_of_what_is_open_would_do(contexts, data):
    memorized = data.draw(st.integers(0, contexts))
    wrong = data.draw(st.integers(0, contexts - memorized))
    guess = data.draw(st.integers(1, contexts))
    drawn = data.draw(
        st.sampled_from([{}, {"drawn": memorized + wrong, "right": memorized, "wrong_upper": contexts - memorized}])
    )
    asked = data.draw(st.one_of(st.just(Criterion()), st.builds(Criterion.at_least, st.integers(1, contexts))))
    least = contexts if asked.contexts is None else asked.contexts
    possible = {
        right >= least and (right > guess or right == guess == contexts)
        for right in range(memorized, contexts - wrong + 1)
    }
    values = {"contexts": contexts, "memorized": memorized, "wrong": wrong, "guess_right": guess, **drawn}
    found = line(values, asked)
    assert found.verdict is {(True,): Verdict.PROVED, (False,): Verdict.REFUTED}.get(tuple(possible), Verdict.UNDECIDED)
    assert found.word.startswith("NO") == (found.verdict is not Verdict.PROVED) or found.word == "SAMPLED"


@given(*[st.tuples(st.integers(0, 6), st.integers(0, 6)).map(sorted)] * 2, st.integers(1, 6), st.booleans())
def test_a_mean_is_refuted_only_where_no_value_between_its_bounds_would_do(mean, guess, bound, whole):
    values = {"contexts": 9, "memorized": 9, "wrong": 0, "max_upper": 6.0, "mean_lower": mean[0], "mean_upper": mean[1]}
    values |= {"guess_lower": guess[0], "guess_upper": guess[1]}
    asked = Criterion(tolerance=9.0) if whole else Criterion.at_most(float(bound))
    possible = {m < g and (whole or m <= bound) for m in mean for g in guess}
    found = line(values, asked, target="distributions")
    assert found.verdict is {(True,): Verdict.PROVED, (False,): Verdict.REFUTED}.get(tuple(possible), Verdict.UNDECIDED)


def test_a_model_that_may_beat_a_guess_is_not_said_to_lose_to_it():
    drawn = {
        "contexts": 2809,
        "memorized": 50,
        "wrong": 0,
        "drawn": 50,
        "right": 50,
        "wrong_upper": 2300,
        "guess_right": 53,
    }
    found = line(drawn, Criterion.at_least(1), origin="rule: sum of 2 tokens")
    assert found.verdict is Verdict.UNDECIDED and found.word == "SAMPLED"
    assert "not that a guess does less" in str(found)
    assert line(drawn | {"wrong": 2756}, Criterion.at_least(1)).word == f"{VACUOUS}, SAMPLED"


@pytest.mark.parametrize("missing", ["guess_right", "mean_upper", "guess_lower"])
def test_what_is_not_known_to_beat_a_guess_is_not_memorized(missing):
    values, target = (LABELS, "labels") if missing == "guess_right" else (DISTRIBUTIONS, "distributions")
    assert line(values, target=target).word == "MEMORIZED, PROVED"
    assert line({k: v for k, v in values.items() if k != missing}, target=target).word == "NOT DECIDED"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (line(LABELS), "MEMORIZED, PROVED: 9 of 9 facts"),
        (line(LABELS | {"contexts": 10**6, "memorized": 10**6}), "MEMORIZED, PROVED: 1,000,000 of 1,000,000 facts"),
        (line(LABELS | {"memorized": 5, "wrong": 4}), "NOT MEMORIZED: 4 of 9 facts proved wrong, 5 memorized"),
        (
            line(LABELS | {"memorized": 2, "wrong": 1}),
            "NOT MEMORIZED: 1 of 9 facts proved wrong, 2 memorized, 6 not decided",
        ),
        (line(LABELS | {"memorized": 5}), "NOT DECIDED: 5 of 9 facts memorized, 0 proved wrong"),
        (line(LABELS | {"guess_right": 9}), "MEMORIZED, PROVED: 9 of 9 facts"),
        (
            line(LABELS | {"memorized": 4}, Criterion.at_least(4)),
            "NOT DECIDED: 4 of 9 facts memorized, 0 proved wrong; asked: at least 4 argmaxes are right; what is "
            "asked is proved, but not that a guess does less; a guess that ignores the context gets 4",
        ),
        (
            line(LABELS | {"memorized": 4, "wrong": 5}, Criterion.at_least(4)),
            "NO BETTER THAN A GUESS: 4 of 9 facts memorized, 5 proved wrong; asked: at least 4 argmaxes are right; "
            "a guess that ignores the context gets 4",
        ),
        (
            line(DISTRIBUTIONS, Criterion(tolerance=10.0), "distributions"),
            "MEMORIZED, PROVED: 9 of 9 facts, within 10 nats",
        ),
        (
            line(
                DISTRIBUTIONS | {"mean_upper": 0.5, "mean_lower": 0.5, "guess_upper": 0.5},
                Criterion(tolerance=10.0),
                "distributions",
            ),
            "NO BETTER THAN A GUESS: 9 of 9 facts, within 10 nats; mean KL at least 0.5 nats; a guess that ignores the "
            "context has at most 0.5 nats",
        ),
        (
            line(DISTRIBUTIONS, target="distributions", origin="own"),
            "REPRODUCES ITS TARGETS, PROVED: 9 of 9 contexts; custom targets, not from counts",
        ),
        (
            line(DISTRIBUTIONS, Criterion.at_most(1e300), "distributions"),
            "AS ASKED, PROVED: mean KL at most 0.1001 nats over 9 facts; asked: the mean divergence is at most 1e+300 "
            "nats",
        ),
        (
            line(
                DISTRIBUTIONS | {"mean_upper": 9.0, "mean_lower": 8.5, "guess_upper": 0.75},
                Criterion.at_most(1e300),
                "distributions",
            ),
            "NO BETTER THAN A GUESS: mean KL at least 8.5 nats over 9 facts; asked: the mean divergence is at most "
            "1e+300 nats; a guess that ignores the context has at most 0.75 nats",
        ),
        (line(LABELS, by="MEASURED"), "MEMORIZED, MEASURED: 9 of 9 facts"),
        (
            line(LABELS, origin="rule: max of 2 tokens"),
            "MEMORIZED, PROVED: 9 of 9 inputs; the rule is max of 2 tokens",
        ),
        (
            line(LABELS, origin="rule: token by token, sum of 3 tokens"),
            "MEMORIZED, PROVED: 9 of 9 inputs; the rule is sum of 3 tokens, said token by token",
        ),
        (line(LABELS).adding("not run"), "MEMORIZED, PROVED: 9 of 9 facts; not run"),
    ],
)
def test_the_first_line_is_the_word_the_count_and_what_the_answer_hangs_on(found, said):
    assert str(found) == said


@pytest.mark.parametrize("values", [{}, {"memorized": 0, "wrong": 9}, {"memorized": 4}])
@pytest.mark.parametrize(
    ("bound", "verdict"), [(0.1, Verdict.PROVED), (0.04, Verdict.REFUTED), (0.07, Verdict.UNDECIDED)]
)
@pytest.mark.parametrize("origin", ["own", "table"])
def test_of_a_mean_nothing_is_said_of_contexts_that_nobody_asked_about(values, bound, verdict, origin):
    found = line(
        DISTRIBUTIONS | {"mean_lower": 0.05} | values, Criterion.at_most(bound), "distributions", origin=origin
    )
    said = str(found)
    assert found.verdict is verdict and "memorized" not in said and "wrong" not in said and "REPRODUCES" not in said
    assert ("mean KL at least 0.05000 nats" in said) == (verdict is Verdict.REFUTED) and f"at most {bound} nats" in said


def test_what_one_run_measured_is_no_bound():
    asked = Criterion.at_most(1.0)
    measured, proved = (str(line(DISTRIBUTIONS, asked, target="distributions", by=by)) for by in ("MEASURED", "PROVED"))
    assert measured.startswith("AS ASKED, MEASURED: mean KL 0.1 nats over 9 facts;")
    assert proved.startswith("AS ASKED, PROVED: mean KL at most 0.1001 nats over 9 facts;")
