"""The record of what was proved, and its one form on disk."""

import hashlib
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import FileFormatError, InputError, TamperedError
from constructions.files import canonical_json
from verify.certificates.certificate import (
    ALL_CONTEXTS_DIVERGENCE,
    ARGMAX,
    DIVERGENCE,
    FEATURE_RANK,
    MEMORIZATION_CLAIMS,
    SIZE_NAMES,
    Certificate,
    CheckReport,
    Claim,
    ClaimCheck,
    Subject,
    Witness,
    _decode,
    statement,
)
from verify.verdict import Verdict

SIZES = dict.fromkeys(SIZE_NAMES, 4) | {"n_all": 9, "d_head": 2, "n_heads": 3, "d_model": 5}
SUBJECT = Subject("a" * 64, "b" * 64, "laws", SIZES)
BOUNDS = {
    FEATURE_RANK: {"rows": 4, "columns": 6, "smallest_singular_value_lower": 0.25, "condition_upper": 10.0},
    ARGMAX: {"contexts": 4, "proved": 4, "margin_lower": Fraction(1, 3)},
    DIVERGENCE: {"contexts": 4, "mean_upper": 1e-15, "max_upper": 2e-15},
    ALL_CONTEXTS_DIVERGENCE: {"contexts": 9, "occurrences": 100, "lower": 0.5, "upper": 0.75},
}


def claims(target="laws"):
    return tuple(Claim.of(id, target, Verdict.PROVED, "a test", values) for id, values in BOUNDS.items())


def certificate(**changes):
    fields = {"subject": SUBJECT, "claims": claims(), "provenance": {"python": "3"}, "witness": Witness.of(b"data")}
    return Certificate(**{**fields, **changes})


def rewritten(change, *, digest=True):
    """The text of a certificate after a change of its data, with the digest that belongs to it."""
    data = json.loads(certificate().to_json())
    words = [claim["statement"] for claim in data["claims"]]
    change(data)
    restate(data, words)
    if digest:
        data.pop("digest", None)
        data["digest"] = hashlib.sha256(canonical_json(data).encode()).hexdigest()
    return canonical_json(data) + "\n"


def restate(data, words):
    """Put the statements right where the numbers were changed and the words were not."""
    for claim in data["claims"] if isinstance(data["claims"], list) else []:
        try:
            numbers = {name: _decode(name, value) for name, value in claim["values"].items()}
            if claim["statement"] in words:
                claim["statement"] = statement(claim["id"], data["subject"]["target"], numbers)
        except (FileFormatError, KeyError, TypeError, AttributeError, ZeroDivisionError):
            continue


finite = st.floats(min_value=0.0, allow_infinity=False, allow_nan=False)
positive = st.floats(min_value=5e-324, allow_infinity=False, allow_nan=False)
rationals = st.fractions(min_value=0)


@given(
    st.tuples(positive, finite),
    positive | st.integers(1, 10**6),
    st.tuples(finite, finite | rationals),
    st.tuples(rationals, finite),
    st.sampled_from(["laws", "labels"]),
    st.dictionaries(st.text(max_size=9), st.text(max_size=20), max_size=3),
)
def test_what_is_written_is_read_back_equal_and_rewritten_byte_for_byte(rank, margin, mean, ends, target, provenance):
    values = [
        {"rows": 4, "columns": 6, "smallest_singular_value_lower": rank[0], "condition_upper": rank[1]},
        {"contexts": 4, "proved": 4, "margin_lower": margin},
        {"contexts": 4, "mean_upper": mean[0], "max_upper": mean[1]},
        {"contexts": 9, "occurrences": 9, "lower": ends[0], "upper": ends[1]},
    ]
    made = Certificate(
        subject=Subject("a" * 64, "b" * 64, target, SIZES),
        claims=tuple(
            Claim.of(id, target, Verdict.PROVED, "m", v) for id, v in zip(MEMORIZATION_CLAIMS, values, strict=True)
        ),
        provenance=provenance,
    )
    read = Certificate.from_json(made.to_json())
    assert read == made
    assert read.to_json() == made.to_json()
    assert read.digest == made.digest
    assert made.to_json().isascii()


def test_numbers_keep_their_kind_and_their_last_bit():
    read = Certificate.from_json(certificate().to_json())
    margin = read.claim(ARGMAX).values["margin_lower"]
    mean = read.claim(DIVERGENCE).values["mean_upper"]
    assert isinstance(margin, Fraction) and margin == Fraction(1, 3)
    assert isinstance(mean, float) and mean == 1e-15
    assert '"0x1.203af9ee75616p-50"' in certificate().to_json()


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(extra=1),
        lambda d: d.pop("provenance"),
        lambda d: d.update(version=2),
        lambda d: d.update(version=True),
        lambda d: d.update(format="another"),
        lambda d: d["subject"].update(extra=1),
        lambda d: d["subject"].pop("target"),
        lambda d: d["subject"].update(network="A" * 64),
        lambda d: d["subject"].update(task="b" * 63),
        lambda d: d["subject"].update(target="law"),
        lambda d: d["subject"]["sizes"].update(n_heads=-1),
        lambda d: d["subject"]["sizes"].update(n_heads=True),
        lambda d: d["subject"]["sizes"].update(n_heads="3"),
        lambda d: d["subject"]["sizes"].pop("n_ctx"),
        lambda d: d["subject"]["sizes"].update(more=1),
        lambda d: d.update(subject=[]),
        lambda d: d.update(claims={}),
        lambda d: d["claims"][0].update(extra=1),
        lambda d: d["claims"][0].pop("method"),
        lambda d: d["claims"][0].update(id="unknown"),
        lambda d: d["claims"][0].update(id=["feature-rank"]),
        lambda d: d["claims"][0].update(verdict="proved"),
        lambda d: d["claims"][0].update(verdict=None),
        lambda d: d["claims"][0].update(method=7),
        lambda d: d["claims"][0].update(method="x" * 5000),
        lambda d: d["claims"][0]["values"].update(rows=5),
        lambda d: d["claims"][0]["values"].update(columns=7),
        lambda d: d["claims"][1]["values"].update(proved=3),
        lambda d: d["claims"][1]["values"].update(proved=5),
        lambda d: d["claims"][1]["values"].update(margin_lower="0x0.0p+0"),
        lambda d: d["claims"][1]["values"].update(margin_lower="-0x1.0000000000000p+0"),
        lambda d: d["claims"][1]["values"].update(margin_lower="nan"),
        lambda d: d["claims"][1]["values"].update(margin_lower="inf"),
        lambda d: d["claims"][1]["values"].update(margin_lower="0.1"),
        lambda d: d["claims"][1]["values"].update(margin_lower=True),
        lambda d: d["claims"][1]["values"].update(margin_lower=None),
        lambda d: d["claims"][1]["values"].update(margin_lower=[1]),
        lambda d: d["claims"][1]["values"].update(margin_lower="2/6"),
        lambda d: d["claims"][1]["values"].update(margin_lower="1/0"),
        lambda d: d["claims"][1]["values"].update(margin_lower="0x1p-2"),
        lambda d: d["claims"][1]["values"].update(margin_lower="0x1.0000000000000p+99999"),
        lambda d: d["claims"][1]["values"].update(contexts=3),
        lambda d: d["claims"][1]["values"].update(contexts=3, proved=3),
        lambda d: d["claims"][2]["values"].update(contexts=3),
        lambda d: d["claims"][2]["values"].pop("mean_upper"),
        lambda d: d["claims"][2]["values"].update(more=1),
        lambda d: d["claims"][3]["values"].update(occurrences="100"),
        lambda d: d["claims"][3]["values"].update(contexts=4),
        lambda d: d.update(claims=d["claims"][::-1]),
        lambda d: d.update(claims=d["claims"] + d["claims"][:1]),
        lambda d: d.update(provenance=[]),
        lambda d: d["provenance"].update(python=3),
        lambda d: d.update(witness="witness.npz"),
        lambda d: d["witness"].update(file="../secret"),
        lambda d: d["witness"].update(sha256="0"),
        lambda d: d["witness"].update(more=1),
    ],
)
def test_a_certificate_with_anything_unknown_missing_or_impossible_is_refused_though_its_digest_is_right(change):
    with pytest.raises(FileFormatError):
        Certificate.from_json(rewritten(change))


@pytest.mark.parametrize(
    "words", ["", "The rank is full.", statement(DIVERGENCE, "laws", {"contexts": 4, "mean_upper": 0, "max_upper": 0})]
)
def test_a_statement_that_its_numbers_do_not_make_is_refused(words):
    with pytest.raises(FileFormatError, match="statement"):
        Certificate.from_json(rewritten(lambda d: d["claims"][2].update(statement=words)))


def test_a_statement_about_the_other_target_is_refused():
    with pytest.raises(InputError, match="target"):
        certificate(claims=claims("labels"))


def test_any_change_without_the_digest_is_tampering():
    def loosened(data):
        data["claims"][2]["values"]["max_upper"] = "0x1.0000000000000p+10"

    with pytest.raises(TamperedError, match="digest"):
        Certificate.from_json(rewritten(loosened, digest=False))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "7",
        "{",
        "null",
        '{"a":NaN}',
        '{"a":1.5}',
        '{"a":Infinity}',
        '{"a":' + "[" * 100000 + "]" * 100000 + "}",
        '{"a":' + "9" * 5000 + "}",
        " " * (2**20 + 1),
    ],
)
def test_what_is_not_a_certificate_at_all_is_refused(text):
    with pytest.raises(FileFormatError):
        Certificate.from_json(text)


@pytest.mark.parametrize(
    "spoiled",
    [
        lambda t: t + "\n",
        lambda t: t.rstrip("\n"),
        lambda t: t.replace('":', '": ', 1),
        lambda t: '{"version":1,' + t[1:],
        lambda t: json.dumps(json.loads(t), indent=1) + "\n",
    ],
)
def test_another_text_of_the_same_data_is_refused(spoiled):
    with pytest.raises(FileFormatError, match="canonical"):
        Certificate.from_json(spoiled(certificate().to_json()))


@given(st.integers(0, 10**6), st.integers(0, 7))
def test_no_flipped_bit_of_the_text_goes_unnoticed(position, bit):
    data = bytearray(certificate().to_json().encode())
    data[position % len(data)] ^= 1 << bit
    with pytest.raises((FileFormatError, TamperedError)):
        Certificate.from_json(data.decode("latin-1"))


@given(st.sampled_from(list(BOUNDS)), finite.filter(bool) | rationals.filter(bool))
def test_the_decimals_of_a_statement_are_on_the_safe_side(id, value):
    for name in [n for n in BOUNDS[id] if n.endswith(("lower", "upper"))]:
        with_value = statement(id, "laws", {**BOUNDS[id], name: value})
        words = with_value.replace(" nats", "").replace(";", "").rstrip(".").split()
        decimals = [
            Fraction(word.rstrip("."))
            for word in words
            if word.rstrip(".").replace("e", "").strip("+-.0123456789") == ""
        ]
        if "lower" in name:
            assert any(
                0 < decimal <= value and decimal >= Fraction(value) * Fraction(999, 1000) for decimal in decimals
            )
        else:
            assert any(value <= decimal <= Fraction(value) * Fraction(1001, 1000) for decimal in decimals)


def test_the_verdict_needs_all_four_claims():
    assert certificate().verdict is Verdict.PROVED
    for missing in range(4):
        kept = tuple(claim for i, claim in enumerate(claims()) if i != missing)
        partial = certificate(claims=kept)
        assert partial.verdict is Verdict.UNDECIDED
        with pytest.raises(TamperedError, match=MEMORIZATION_CLAIMS[missing]):
            partial.claim(MEMORIZATION_CLAIMS[missing])


@pytest.mark.parametrize("verdict", [Verdict.REFUTED, Verdict.UNDECIDED])
def test_a_claim_that_is_not_proved_states_no_bound_and_decides_the_whole(verdict):
    counts = {"contexts": 4, "proved": 3}
    weaker = Claim.of(ARGMAX, "laws", verdict, "a test", counts)
    assert weaker.bounds == {}
    assert certificate(claims=(claims()[0], weaker, *claims()[2:])).verdict is verdict
    with pytest.raises(InputError, match="expected"):
        Claim.of(ARGMAX, "laws", verdict, "a test", {**counts, "margin_lower": 0.5})
    with pytest.raises(InputError, match="expected"):
        Claim.of(ARGMAX, "laws", Verdict.PROVED, "a test", counts)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 0.0, True, "1", 2**5000, Fraction(1, 3**3000)])
def test_a_bound_that_is_no_positive_finite_number_is_refused(value):
    with pytest.raises(InputError):
        Claim.of(ARGMAX, "laws", Verdict.PROVED, "a test", {"contexts": 1, "proved": 1, "margin_lower": value})


def test_a_certificate_is_saved_with_its_witness_and_loaded_only_with_that_one(tmp_path):
    certificate().save(tmp_path)
    with pytest.raises(FileFormatError, match=r"witness\.npz"):
        Certificate.load(tmp_path)
    (tmp_path / "witness.npz").write_bytes(b"data")
    assert Certificate.load(tmp_path) == certificate()
    (tmp_path / "witness.npz").write_bytes(b"Data")
    with pytest.raises(TamperedError, match="witness"):
        Certificate.load(tmp_path)


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"{" * 10, "é".encode()])
def test_a_certificate_file_that_is_missing_or_no_text_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "certificate.json").write_bytes(content)
    with pytest.raises(FileFormatError):
        Certificate.load(tmp_path)


def test_a_report_is_proved_only_if_every_claim_is():
    for verdict, whole in [(Verdict.PROVED,) * 2, (Verdict.REFUTED,) * 2, (Verdict.UNDECIDED,) * 2]:
        checks = [ClaimCheck(id, Verdict.PROVED, "", {"proved": 4}) for id in MEMORIZATION_CLAIMS]
        checks[2] = ClaimCheck(DIVERGENCE, verdict, "because", {"max_upper": Fraction(1, 3)})
        report = CheckReport(certificate(), tuple(checks), "a path")
        assert report.verdict is whole
        summary = report.summary()
        assert summary["verdict"] == whole.value
        assert summary["claims"][2]["reason"] == "because"
        assert summary["claims"][2]["values"] == {"max_upper": 1 / 3}
        assert json.loads(json.dumps(summary)) == summary
