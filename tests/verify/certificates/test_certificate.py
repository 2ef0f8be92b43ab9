"""The record of an answer, and its one form on disk."""

import hashlib
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import FileFormatError, InputError, TamperedError
from constructions.formats.files import canonical_json
from constructions.tasks.criterion import Criterion
from tests.sentences import sentence
from verify.certificates.certificate import (
    ANSWERS,
    DIVERGENCE,
    FEATURE_RANK,
    RANK_HEADS,
    RANK_WITH_SKIP,
    REALS,
    RUNS,
    SATURATION,
    SIZES,
    TEXT,
    TEXT_DIVERGENCE,
    Certificate,
    CheckReport,
    Statement,
    StatementCheck,
    Subject,
    Witness,
    mask_text,
    memorized_mask,
    said_of_runs,
)
from verify.certificates.headline import Outcome, answer
from verify.kernel.verdicts import BadInputError
from verify.verdict import Verdict

COUNTS = dict.fromkeys(SIZES, 4) | {"all_contexts": 9, "parameters": 77}
SUBJECT = Subject("a" * 64, "b" * 64, "distributions", "smoothed counts", COUNTS)
VALUES = {
    ANSWERS: {
        "contexts": 4,
        "memorized": 4,
        "wrong": 0,
        "margin_lower": Fraction(1, 3),
        "mean_upper": 1e-15,
        "max_upper": 2e-15,
        "guess_lower": 0.5,
    },
    RUNS: {"contexts": 4, "memorized": 4, "exp_ulps": 4.0},
    TEXT: {"texts": 2, "parts": 2, "bytes": 9, "characters": 8},
    TEXT_DIVERGENCE: {"contexts": 9, "occurrences": 100, "lower": 0.5, "upper": 0.75},
    FEATURE_RANK: {"rows": 4, "columns": 6, "smallest_singular_value_lower": 0.25, "condition_upper": 10.0},
    SATURATION: {"pairs": 12, "saturated_lower": 9, "delta": Fraction(1, 100)},
    RANK_HEADS: {"rows": 4, "columns": 6, "lower": 2, "upper": 3, "all_weights_upper": 4},
    RANK_WITH_SKIP: {"rows": 4, "columns": 9, "lower": 4, "upper": 4, "all_weights_upper": 4},
    DIVERGENCE: {
        "contexts": 4,
        "occurrences": 90,
        "max_lower": 0.5,
        "max_upper": 0.75,
        "mean_lower": 0.25,
        "mean_upper": Fraction(1, 3),
    },
}


NAMED = {
    RUNS: {"format": "float32", "hypotheses": "H1 H2 H3 H4"},
    TEXT: {
        "format": "float32",
        "texts": [
            {"title": "rose", "bytes": 4, "sha256": "c" * 64},
            {"title": "tiger", "bytes": 5, "sha256": "d" * 64},
        ],
    },
}


def statement(id, values=None, *, memorized="", **named):
    return Statement(id, "a test", VALUES[id] if values is None else values, memorized, {**NAMED.get(id, {}), **named})


def statements():
    return tuple(map(statement, VALUES))


def stated(id, values=None, **named):
    """The words of a statement in a certificate with one of each kind."""
    made = statement(id, values, **named)
    return certificate(statements=tuple(made if each.id == id else each for each in statements())).words(made)


def certificate(**changes):
    fields = {
        "subject": SUBJECT,
        "criterion": Criterion(),
        "statements": statements(),
        "provenance": {"python": "3"},
        "witness": Witness.of(b"data"),
    }
    return Certificate(**{**fields, **changes})


def rewritten(change, *, digest=True):
    """The text of a certificate after a change of its data, with the digest that belongs to it."""
    data = json.loads(certificate().to_json())
    words = [each["statement"] for each in data["statements"]]
    change(data)
    restate(data, words)
    if digest:
        data.pop("digest", None)
        data["digest"] = hashlib.sha256(canonical_json(data).encode()).hexdigest()
    return canonical_json(data) + "\n"


def restate(data, words):
    """Put the words right where the numbers were changed and the words were not."""
    for each in data["statements"] if isinstance(data["statements"], list) else []:
        try:
            if each["statement"] in words:
                each["statement"] = sentence(data, each)
        except (BadInputError, AssertionError, KeyError, TypeError, AttributeError):
            continue


finite = st.floats(min_value=0.0, allow_infinity=False, allow_nan=False)
positive = st.floats(min_value=5e-324, allow_infinity=False, allow_nan=False)
rationals = st.fractions(min_value=0)
criteria = st.one_of(
    st.builds(Criterion, tolerance=positive),
    st.builds(Criterion.at_least, st.integers(1, 9), tolerance=positive),
    st.builds(Criterion.at_most, positive),
)


@given(
    st.tuples(positive, positive),
    positive | st.integers(1, 10**6),
    st.tuples(finite, finite | rationals),
    st.tuples(rationals, finite).map(sorted),
    st.sampled_from(["distributions", "labels"]),
    criteria,
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.dictionaries(st.text(max_size=9), st.text(max_size=20), max_size=3),
)
def test_what_is_written_is_read_back_equal_and_rewritten_byte_for_byte(
    rank, margin, loss, ends, target, criterion, memorized, provenance
):
    answers = {"contexts": 4, "memorized": sum(memorized), "wrong": 0, "mean_upper": loss[0], "max_upper": loss[1]}
    if any(memorized):
        answers["margin_lower"] = margin
    if target == "labels":
        answers["guess_right"] = 4
    made = Certificate(
        subject=Subject("a" * 64, "b" * 64, target, "own", COUNTS),
        criterion=criterion,
        statements=(
            Statement(ANSWERS, "m", answers, mask_text(memorized)),
            Statement(TEXT_DIVERGENCE, "m", {"contexts": 9, "occurrences": 9, "lower": ends[0], "upper": ends[1]}),
            Statement(
                FEATURE_RANK,
                "m",
                {"rows": 4, "columns": 6, "smallest_singular_value_lower": rank[0], "condition_upper": rank[1]},
            ),
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
    margin, mean = (read.answers.values[name] for name in ("margin_lower", "mean_upper"))
    assert isinstance(margin, Fraction) and margin == Fraction(1, 3)
    assert isinstance(mean, float) and mean == 1e-15
    assert '"0x1.203af9ee75616p-50"' in certificate().to_json()


PLACES = {id: place for place, id in enumerate(VALUES)}


def of(id, **values):
    return lambda d: d["statements"][PLACES[id]]["values"].update(values)


def named(id, **names):
    return lambda d: d["statements"][PLACES[id]]["named"].update(names)


def texts(**fields):
    return lambda d: d["statements"][PLACES[TEXT]]["named"]["texts"][0].update(fields)


def twice(id, **names):
    """A second statement of a kind, behind the first."""

    def change(d):
        again = json.loads(json.dumps(d["statements"][PLACES[id]]))
        again.get("named", {}).update(names)
        d["statements"].insert(PLACES[id] + 1, again)

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(extra=1),
        lambda d: d.pop("provenance"),
        lambda d: d.update(version=1),
        lambda d: d.update(version=True),
        lambda d: d.update(format="another"),
        lambda d: d["subject"].update(extra=1),
        lambda d: d["subject"].pop("target"),
        lambda d: d["subject"].pop("origin"),
        lambda d: d["subject"].update(origin=3),
        lambda d: d["subject"].update(model="A" * 64),
        lambda d: d["subject"].update(task="b" * 63),
        lambda d: d["subject"].update(target="distribution"),
        lambda d: d["subject"].update(target="values"),
        lambda d: d["subject"]["sizes"].update(outputs=-1),
        lambda d: d["subject"]["sizes"].update(outputs=True),
        lambda d: d["subject"]["sizes"].update(outputs="3"),
        lambda d: d["subject"]["sizes"].pop("outputs"),
        lambda d: d["subject"]["sizes"].update(more=1),
        lambda d: d["subject"]["sizes"].update(contexts=5),
        lambda d: d["subject"]["sizes"].update(all_contexts=8),
        lambda d: d.update(subject=[]),
        lambda d: d.update(criterion={}),
        lambda d: d["criterion"].update(asked="somewhat"),
        lambda d: d["criterion"].update(tolerance=1),
        lambda d: d["criterion"].update(tolerance="0x0.0p+0"),
        lambda d: d["criterion"].update(contexts=2),
        lambda d: d["criterion"].update(asked="at-least"),
        lambda d: d["criterion"].update(asked="at-least", contexts=True),
        lambda d: d["criterion"].update(asked="at-most", bound="1/3"),
        lambda d: d["criterion"].update(more=1),
        lambda d: d.update(statements={}),
        lambda d: d["statements"][0].update(extra=1),
        lambda d: d["statements"][0].pop("method"),
        lambda d: d["statements"][0].update(id="unknown"),
        lambda d: d["statements"][0].update(id=["answers"]),
        lambda d: d["statements"][0].update(method=7),
        lambda d: d["statements"][0].update(method="x" * 5000),
        lambda d: d["statements"][0].update(memorized="f"),
        lambda d: d["statements"][0].update(memorized=None),
        of(ANSWERS, contexts=3),
        of(ANSWERS, contexts=3, memorized=3),
        of(ANSWERS, memorized=3),
        of(ANSWERS, memorized=5),
        of(ANSWERS, wrong=1),
        of(ANSWERS, memorized=0),
        of(ANSWERS, margin_lower="0x0.0p+0"),
        of(ANSWERS, margin_lower="-0x1.0000000000000p+0"),
        of(ANSWERS, margin_lower="nan"),
        of(ANSWERS, margin_lower="inf"),
        of(ANSWERS, margin_lower="0.1"),
        of(ANSWERS, margin_lower=True),
        of(ANSWERS, margin_lower=None),
        of(ANSWERS, margin_lower=[1]),
        of(ANSWERS, margin_lower="2/6"),
        of(ANSWERS, margin_lower="1/0"),
        of(ANSWERS, margin_lower="0x1p-2"),
        of(ANSWERS, margin_lower="0x1.0000000000000p+99999"),
        of(ANSWERS, more=1),
        lambda d: d["statements"][0]["values"].pop("mean_upper"),
        of(TEXT_DIVERGENCE, occurrences="100"),
        of(TEXT_DIVERGENCE, contexts=4),
        of(TEXT_DIVERGENCE, lower="0x1.0000000000000p+4"),
        of(FEATURE_RANK, rows=5),
        lambda d: d["statements"][PLACES[FEATURE_RANK]]["values"].pop("condition_upper"),
        of(SATURATION, saturated_lower=13),
        of(SATURATION, delta="0x1.0000000000000p+0"),
        of(RUNS, contexts=5),
        of(RUNS, memorized=5),
        of(RUNS, memorized=3),
        of(RUNS, memorized=0),
        of(RUNS, wrong=0),
        of(RUNS, exp_ulps="0x0.0p+0"),
        lambda d: d["statements"][PLACES[RUNS]]["values"].pop("exp_ulps"),
        named(RUNS, format="float8"),
        named(RUNS, format=["float32"]),
        named(RUNS, format="float16"),  # of which the text says more
        named(RUNS, hypotheses="H1 H2 H5"),  # an exponential of no hypothesis
        named(RUNS, hypotheses="H1 H2 H3"),
        named(RUNS, hypotheses="H2 H1 H3 H4"),
        named(RUNS, more="1"),
        lambda d: d["statements"][PLACES[RUNS]].update(named={}),
        lambda d: d["statements"][PLACES[RUNS]].pop("named"),
        lambda d: d["statements"].pop(PLACES[RUNS]),
        lambda d: d["statements"][PLACES[ANSWERS]].update(named={}),
        twice(RUNS),
        twice(RUNS, format="float64"),  # the finest comes first
        twice(TEXT),
        of(TEXT, texts=3),
        of(TEXT, parts=1),
        of(TEXT, parts=3),
        of(TEXT, bytes=10),
        of(TEXT, characters=10),
        of(TEXT, characters="0x1.0000000000000p+3"),
        named(TEXT, format="float16"),
        named(TEXT, format="arithmetic"),
        named(TEXT, texts={}),
        named(TEXT, texts=[]),
        texts(title="tiger"),
        texts(title=1),
        texts(bytes=5),
        texts(bytes="4"),
        texts(sha256="c" * 63),
        texts(more=1),
        of(RANK_HEADS, rows=5),
        of(RANK_HEADS, lower=4),
        of(RANK_HEADS, lower="1/2"),
        of(RANK_HEADS, upper=1),
        of(RANK_HEADS, upper=5),
        of(RANK_HEADS, all_weights_upper=2),
        of(RANK_HEADS, all_weights_upper=5),
        lambda d: d["statements"][PLACES[RANK_HEADS]]["values"].pop("all_weights_upper"),
        of(RANK_WITH_SKIP, lower=-1),
        of(DIVERGENCE, contexts=5),
        of(DIVERGENCE, occurrences=-1),
        of(DIVERGENCE, max_lower="0x1.9000000000000p-1"),
        of(DIVERGENCE, mean_lower="0x1.9000000000000p-1", mean_upper="0x1.9000000000000p-1"),
        of(DIVERGENCE, mean_lower="1/2"),
        lambda d: d["statements"][PLACES[DIVERGENCE]]["values"].pop("mean_lower"),
        lambda d: d.update(statements=d["statements"][::-1]),
        lambda d: d.update(statements=d["statements"] + d["statements"][:1]),
        lambda d: d.update(statements=d["statements"][1:]),
        lambda d: d.update(provenance=[]),
        lambda d: d["provenance"].update(python=3),
        lambda d: d.update(witness="witness.safetensors"),
        lambda d: d["witness"].update(file="../secret"),
        lambda d: d["witness"].update(sha256="0"),
        lambda d: d["witness"].update(more=1),
        lambda d: d.update(statements=d["statements"][:1]),
    ],
)
def test_a_certificate_with_anything_unknown_missing_or_impossible_is_refused_though_its_digest_is_right(change):
    with pytest.raises(FileFormatError):
        Certificate.from_json(rewritten(change))


@pytest.mark.parametrize("words", ["", "All is well.", stated(ANSWERS, {**VALUES[ANSWERS], "max_upper": 0})])
def test_words_that_the_numbers_do_not_make_are_refused(words):
    with pytest.raises(FileFormatError, match="canonical"):
        Certificate.from_json(rewritten(lambda d: d["statements"][0].update(statement=words)))


def test_any_change_without_the_digest_is_tampering():
    with pytest.raises(TamperedError, match="digest"):
        Certificate.from_json(rewritten(of(ANSWERS, max_upper="0x1.0000000000000p+10"), digest=False))


def test_a_certificate_of_an_older_version_says_what_to_do():
    with pytest.raises(FileFormatError, match="make the folder again with the command that made it"):
        Certificate.from_json(rewritten(lambda d: d.update(version=1)))


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
        " " * (2**24 + 1),
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


@given(st.sampled_from(list(VALUES)), finite.filter(bool) | rationals.filter(bool))
def test_the_decimals_of_a_statement_are_on_the_safe_side(id, value):
    names = [n for n in VALUES[id] if n.endswith(("lower", "upper")) and type(VALUES[id][n]) is not int]
    for name in names:
        enclosed = id in (TEXT_DIVERGENCE, DIVERGENCE)  # between two ends
        values = {**VALUES[id], **dict.fromkeys(names if enclosed else [name], value)}
        words = stated(id, values).replace(";", "").split()
        decimals = [
            Fraction(word.rstrip("."))
            for word in words
            if word.rstrip(".").replace("e", "").strip("+-.0123456789") == ""
        ]
        if "lower" in name:
            assert any(0 < each <= value and each >= Fraction(value) * Fraction(999, 1000) for each in decimals)
        else:
            assert any(value <= each <= Fraction(value) * Fraction(1001, 1000) for each in decimals)


def counted(memorized, wrong, **more):
    return {"contexts": 4, "memorized": memorized, "wrong": wrong, **more}


@pytest.mark.parametrize(
    ("criterion", "values", "verdict"),
    [
        (Criterion(), counted(4, 0), "PROVED"),
        (Criterion(), counted(3, 0), "UNDECIDED"),
        (Criterion(), counted(3, 1), "REFUTED"),
        (Criterion(), counted(0, 1), "REFUTED"),
        (Criterion(), counted(0, 0, mean_upper=0.0, max_upper=0.0), "UNDECIDED"),
        (Criterion.at_least(3), counted(3, 1), "PROVED"),
        (Criterion.at_least(3), counted(2, 1), "UNDECIDED"),
        (Criterion.at_least(3), counted(2, 2), "REFUTED"),
        (Criterion.at_least(5), counted(4, 0), "REFUTED"),
        (Criterion.at_most(0.5), counted(0, 4, mean_upper=0.5, max_upper=9.0), "PROVED"),
        (Criterion.at_most(0.5), counted(4, 0, mean_upper=0.6, max_upper=0.6), "UNDECIDED"),
        (Criterion.at_most(0.5), counted(4, 0, mean_lower=0.6), "REFUTED"),
        (Criterion.at_most(0.5), counted(4, 0), "UNDECIDED"),
    ],
)
def test_the_answer_is_that_of_the_numbers(criterion, values, verdict):
    assert answer(criterion, values) is Verdict[verdict]


@pytest.mark.parametrize(
    ("memorized", "wrong", "words"),
    [
        (4, 0, "MEMORIZED, PROVED: 4 of 4"),
        (3, 1, "NOT MEMORIZED: 1 of 4 contexts proved wrong, 3 memorized"),
        (3, 0, "NOT DECIDED: 3 of 4"),
    ],
)
def test_the_first_words_are_memorized_only_where_all_are(memorized, wrong, words):
    values = {
        "contexts": 4,
        "memorized": memorized,
        "wrong": wrong,
        "mean_upper": 0.1,
        "max_upper": 9.0,
        "guess_lower": 0.2,
    }
    made = certificate(
        statements=(Statement(ANSWERS, "", values, mask_text([i < memorized for i in range(4)])),), witness=None
    )
    assert made.headline().startswith(words)
    assert (made.verdict is Verdict.PROVED) == (memorized == 4)


def test_targets_of_one_s_own_are_named_in_the_first_line():
    alone = {"statements": statements()[:1], "witness": None}
    own = certificate(**alone, subject=Subject("a" * 64, "b" * 64, "distributions", "own", COUNTS))
    assert own.headline().startswith("REPRODUCES ITS TARGETS, PROVED: 4 of 4") and "MEMORIZED" not in own.headline()
    assert own.headline().endswith("custom targets, not from counts") and own.verdict is Verdict.PROVED
    assert (
        certificate(**alone).headline().startswith("MEMORIZED, PROVED") and "own" not in certificate(**alone).headline()
    )


def test_a_guess_is_stated_of_labels_and_of_nothing_else():
    def made(target, **guess):
        answers = Statement(ANSWERS, "", {"contexts": 4, "memorized": 4, "wrong": 0, **guess})
        subject = Subject("a" * 64, "b" * 64, target, "own", COUNTS)
        return certificate(subject=subject, statements=(answers,), witness=None)

    assert (
        made("labels", guess_right=3).verdict is Verdict.PROVED and made("distributions").verdict is Verdict.UNDECIDED
    )
    for target, guess in (("labels", {}), ("distributions", {"guess_right": 3}), ("labels", {"guess_right": 0})):
        with pytest.raises(InputError, match="guess"):
            made(target, **guess)
    with pytest.raises(InputError, match="guess"):
        made("labels", guess_right=5)


@given(st.lists(st.booleans(), min_size=1, max_size=70))
def test_a_mask_names_the_contexts_it_was_made_of(memorized):
    text = mask_text(memorized)
    if text:
        assert memorized_mask(text, len(memorized)) == {i for i, each in enumerate(memorized) if each}
    else:
        assert len(set(memorized)) == 1


@pytest.mark.parametrize(("text", "contexts"), [("f", 3), ("1", 3), ("F", 4), ("ff", 4), ("", 4), ("8 ", 5), ("g", 4)])
def test_a_mask_of_other_contexts_is_refused(text, contexts):
    with pytest.raises(InputError, match="memorized"):
        memorized_mask(text, contexts)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 0.0, True, "1", 2**5000, Fraction(1, 3**3000)])
def test_a_bound_that_is_no_positive_finite_number_is_refused(value):
    with pytest.raises(InputError, match="margin"):
        certificate(statements=(statement(ANSWERS, {**VALUES[ANSWERS], "margin_lower": value}),), witness=None)


def test_a_certificate_is_saved_with_its_witness_and_loaded_only_with_that_one(tmp_path):
    certificate().save(tmp_path)
    with pytest.raises(FileFormatError, match=r"witness\.safetensors"):
        Certificate.load(tmp_path)
    (tmp_path / "witness.safetensors").write_bytes(b"data")
    assert Certificate.load(tmp_path) == certificate()
    (tmp_path / "witness.safetensors").write_bytes(b"Data")
    with pytest.raises(TamperedError, match="witness"):
        Certificate.load(tmp_path)


@pytest.mark.parametrize("name", ["layer.safetensors", "layer_task.safetensors", "notes.txt", "folder"])
def test_a_folder_with_anything_that_the_certificate_does_not_name_is_refused(tmp_path, name):
    certificate(statements=statements()[:1], witness=None).save(tmp_path)
    assert Certificate.load(tmp_path).witness is None
    (tmp_path / name).mkdir() if name == "folder" else (tmp_path / name).write_bytes(b"")
    with pytest.raises(FileFormatError, match=name):
        Certificate.load(tmp_path)


def test_a_witness_that_nothing_needs_is_foreign(tmp_path):
    certificate(statements=statements()[:1], witness=None).save(tmp_path)
    (tmp_path / "witness.safetensors").write_bytes(b"data")
    with pytest.raises(FileFormatError, match="witness"):
        Certificate.load(tmp_path)
    with pytest.raises(InputError, match="witness"):
        certificate(statements=statements()[:1])


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"{" * 10, "é".encode()])
def test_a_certificate_file_that_is_missing_or_no_text_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "certificate.json").write_bytes(content)
    with pytest.raises(FileFormatError):
        Certificate.load(tmp_path)


def test_the_words_of_a_rank_say_of_which_matrix_and_of_which_weights_it_is():
    heads, with_skip = map(stated, (RANK_HEADS, RANK_WITH_SKIP))
    assert heads == (
        "With these weights the 4 x 6 matrix of what the heads alone read from the contexts, without the skip "
        "connection, has a rank of at least 2 and at most 3; no weights of a model of these sizes give it a rank "
        "above 4."
    )
    assert "with the embedded last token beside it has a rank of exactly 4; no weights" in with_skip


def test_divergences_are_those_of_distributions():
    labels = Subject("a" * 64, "b" * 64, "labels", "table", COUNTS)
    answers = Statement(ANSWERS, "", {**VALUES[ANSWERS], "guess_right": 1})
    certificate(subject=labels, statements=(answers,), witness=None)
    with pytest.raises(InputError, match="distributions"):
        certificate(subject=labels, statements=(answers, statement(DIVERGENCE)), witness=None)


@pytest.mark.parametrize("memorized", [4, 3])
@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_report_says_yes_only_if_the_answer_is_yes_and_every_statement_is_proved_again(verdict, memorized):
    values = counted(memorized, 4 - memorized, mean_upper=0.1, guess_lower=0.2)
    checks = [StatementCheck(id, Verdict.PROVED, "", values) for id in VALUES]
    checks[3] = StatementCheck(TEXT_DIVERGENCE, verdict, "because", {"upper": Fraction(1, 3)})
    report = CheckReport(certificate(), Criterion(), tuple(checks), "a path")
    assert report.verdict is Verdict.all_of([verdict, answer(Criterion(), counted(memorized, 4 - memorized))])
    assert (report.verdict is Verdict.PROVED) == (verdict is Verdict.PROVED and memorized == 4)
    summary = report.summary()
    assert summary["verdict"] == report.verdict.value
    assert summary["headline"].startswith("THE CERTIFICATE IS FALSE") == (verdict is Verdict.REFUTED)
    assert summary["headline"].startswith("MEMORIZED") == (verdict is Verdict.PROVED and memorized == 4)
    assert summary["statements"][3]["reason"] == "because"
    assert summary["statements"][3]["values"] == {"upper": 1 / 3}
    assert json.loads(json.dumps(summary)) == summary


def test_a_text_is_decoded_where_all_of_its_windows_are_memorized():
    """In real arithmetic by the answers, in a number format by the statement about every run of it."""
    answers = {**VALUES[ANSWERS], "memorized": 3}
    some = statement(RUNS, {**VALUES[RUNS], "memorized": 3}, memorized="e", format="float16")
    every, text = statement(RUNS), statement(TEXT)
    for dtype, beside, good in [
        (REALS, (statement(ANSWERS),), True),
        (REALS, (statement(ANSWERS, answers, memorized="e"), every), False),
        ("float32", (statement(ANSWERS, answers, memorized="e"), every, some), True),
        ("float16", (statement(ANSWERS), every, some), False),
        ("float64", (statement(ANSWERS), every), False),
    ]:
        given = {"statements": (*beside, statement(TEXT, format=dtype)), "witness": None}
        if good:
            assert certificate(**given).statement(TEXT).named["format"] == dtype
        else:
            with pytest.raises(InputError, match="all contexts memorized"):
                certificate(**given)
    assert text.label == "text (float32)"


def test_statements_about_several_formats_stand_side_by_side_and_are_put_in_order():
    made = certificate(statements=(statement(ANSWERS),), witness=None)
    both = made.stating(statement(TEXT), statement(RUNS)).stating(statement(RUNS, format="float64"))
    assert [each.label for each in both.statements] == ["answers", "runs (float64)", "runs (float32)", "text (float32)"]
    assert Certificate.from_json(both.to_json()) == both
    assert both.in_every_run("float64").named["format"] == "float64" and both.in_every_run("float16") is None


@pytest.mark.parametrize(
    ("id", "named", "said"),
    [
        (RUNS, {}, " 4 of 4 contexts are memorized; this rests on H1, H2, H3 and H4."),
        (
            TEXT,
            {},
            "in every float32 run, says 2 texts of 9 bytes (8 characters), byte for byte, and then that each ends.",
        ),
        (TEXT, {"format": REALS}, "Greedy decoding, in real arithmetic, says 2 texts of 9 bytes"),
    ],
)
def test_a_statement_says_its_format_and_what_it_rests_on(id, named, said):
    words = stated(id, **named)
    assert said in words
    if id == RUNS:
        assert words.startswith("In every float32 run (each operation in float32") and "at most 4 units" in words


def test_of_the_answer_to_another_question_nothing_is_said_of_runs():
    found = Outcome(Verdict.PROVED, "YES", ("a mean is small", "4 contexts"))
    made = certificate(statements=statements()[:1], witness=None)
    assert said_of_runs(found, Criterion.at_most(0.25), made, ()) == found
    assert said_of_runs(found, Criterion(), made, ()).parts[0] == "a mean is small, in real arithmetic"
