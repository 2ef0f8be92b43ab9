"""Folders that say what every run holds, or which text it says, where some run does not: hashes and forms are right."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from constructions.tasks.task import Task
from constructions.tasks.vectors import load_task
from tests.corpus import detectors
from tests.corpus.false_claims import Bad, Forge, of_another_model, other_text, with_block, with_task
from tests.corpus.forging import edited
from tests.sentences import sentence
from verify.certificates.certificate import REALS, RUNS, TEXT, Certificate, Statement, mask_text
from verify.provers.text import state_text
from verify.runs.hypotheses import ALL, OF_BOUNDS, OF_EXACT_SUMS

EXP_ULPS = 4.0


def with_statement(folder: Path, *statements: Statement) -> None:
    """Put statements about runs or texts into a certificate, in the place of those of their kind and format."""
    found = Certificate.load(folder)
    said = {each.label for each in statements}
    answers, *others = [each for each in found.statements if each.label not in said]
    kinds = (RUNS, TEXT)
    ordered = [*(each for each in others if each.id in kinds), *statements]
    ordered.sort(key=lambda each: (kinds.index(each.id), FORMATS.index(each.named["format"])))
    replace(found, statements=(answers, *ordered, *(each for each in others if each.id not in kinds))).save(folder)


FORMATS = (REALS, "float64", "float32", "bfloat16", "float16")


def runs(
    dtype: str = "float32", *, lost: tuple[int, ...] = (), hypotheses: str = OF_EXACT_SUMS, exp_ulps: float = EXP_ULPS
) -> Forge:
    """State that every run in a format holds all contexts except these."""

    def forge(folder: Path) -> None:
        total = Certificate.load(folder).subject.sizes["contexts"]
        memorized = [place not in lost for place in range(total)]
        values: dict[str, Any] = {"contexts": total, "memorized": sum(memorized)}
        if hypotheses != OF_EXACT_SUMS:
            values["exp_ulps"] = exp_ulps
        named = {"format": dtype, "hypotheses": hypotheses}
        with_statement(folder, Statement(RUNS, "", values, mask_text(memorized), named))

    return forge


def in_another_format(dtype: str) -> Forge:
    """Write the statement about float32 runs with the name of another format."""

    def forge(folder: Path) -> None:
        found = Certificate.load(folder)
        statements = [
            replace(each, named={**each.named, "format": dtype}) if each.id == RUNS else each
            for each in found.statements
        ]
        replace(found, statements=tuple(statements)).save(folder)

    return forge


def texts(dtype: str = "float32", **values: Any) -> Forge:
    """State that the texts of the task are said, with other numbers if they are given."""

    def forge(folder: Path) -> None:
        task = load_task(folder / "task.safetensors")
        assert isinstance(task, Task)
        own = [each for each in Certificate.load(folder).statements if each.named.get("format", REALS) == dtype]
        found = state_text(task, own)
        assert found is not None
        with_statement(folder, replace(found, values={**found.values, **values}))

    return forge


def of_texts(*contents: bytes, **values: Any) -> Forge:
    """State that other texts are said, under the same titles."""

    def forge(folder: Path) -> None:
        [stated] = [each for each in Certificate.load(folder).statements if each.id == TEXT]
        named = [
            {"title": own["title"], "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for own, data in zip(stated.named["texts"], contents, strict=False)
        ]
        total = sum(map(len, contents))
        numbers = {**stated.values, "texts": len(named), "bytes": total, **values}
        numbers = {name: number for name, number in numbers.items() if number is not None}
        with_statement(folder, replace(stated, values=numbers, named={**stated.named, "texts": named}))

    return forge


def forking(folder: Path) -> None:
    """State that a text is said one window of which goes on in two ways."""
    task = load_task(folder / "task.safetensors")
    assert isinstance(task, Task) and task.contradicted
    data = b"aab"
    named = {"format": REALS, "texts": [{"title": "", "bytes": 3, "sha256": hashlib.sha256(data).hexdigest()}]}
    with_statement(folder, Statement(TEXT, "", {"texts": 1, "parts": 1, "bytes": 3, "characters": 3}, named=named))


def every_detector() -> list[Bad]:
    """Return folders about runs of each detector, in formats that round its sum."""
    rows = []
    for place in detectors.DETECTORS:
        rounded = place in detectors.ROUNDED
        hypotheses = OF_BOUNDS if rounded else OF_EXACT_SUMS
        what = (
            "both contexts are said to be memorized in every float32 run, one hangs on the order of (2^24 + 1) - 2^24"
        )
        rows.append(Bad(f"detector-{place}", "every-run", RUNS, what, runs(hypotheses=hypotheses)))
        if not rounded:
            what = "what every float32 run memorizes is said of every bfloat16 run, which rounds 2^20 + 1"
            rows.append(Bad(f"sums-{place}", "bfloat16", RUNS, what, in_another_format("bfloat16")))
    for place in ("readout", "neurons-shift", "heads", "scores"):
        what = "what every float32 run memorizes is said of every float16 run, where 2^20 is infinite"
        rows.append(Bad(f"sums-{place}", "float16", RUNS, what, in_another_format("float16")))
    for name in detectors.RANGES:
        what = f"both contexts are said to be memorized in every float32 run, one hangs on an {name.replace('-', ' ')}"
        rows.append(Bad(f"detector-{name}", "every-run", RUNS, what, runs()))
    for hypotheses in (OF_BOUNDS, ALL):
        what = f"both contexts are said to be memorized in every float32 run, which is said to rest on {hypotheses}"
        slug = f"every-run-by-{hypotheses.replace(' ', '').lower()}"
        rows.append(Bad("detector-readout", slug, RUNS, what, runs(hypotheses=hypotheses)))
    return rows


def of_runs() -> list[Bad]:
    """Return folders with other statements about runs."""
    return [
        Bad("runs-at-the-limit", "without-h5", RUNS,
            "sums that are exact only where no run rounds what it need not are said to rest on H1 to H4",
            runs(hypotheses=OF_BOUNDS)),
        Bad("runs-in-part", "all",
            RUNS, "all eight contexts are said to be memorized in every float32 run, two are not at all",
            runs(hypotheses=OF_BOUNDS)),
        Bad("runs-in-part", "mask-of-others", RUNS, "the mask names as many contexts, one of them lost",
            runs(hypotheses=OF_BOUNDS, lost=(0, 5))),
        Bad("labels-not-memorized", "every-run",
            RUNS, "a context that is lost in real arithmetic is said to be memorized in every run",
            runs(lost=(2,), hypotheses=OF_BOUNDS)),
        Bad("runs-near-tie", "float32", RUNS, "a lead of 2^-40 beside 3 is said to be memorized in every float32 run",
            runs()),
        Bad("runs-near-tie", "bfloat16", RUNS, "a lead of 2^-40 beside 3 is said to be memorized in every bfloat16 run",
            runs("bfloat16")),
        Bad("labels-huge", "float32", RUNS, "products of 2^200, which float32 has not", runs()),
        Bad("labels-huge", "float64", RUNS, "a sum of 2^200, 3 and -2^200 in every float64 run", runs("float64")),
        Bad("labels-subnormal", "float32", RUNS, "weights that float32 takes for 0", runs()),
        Bad("labels-subnormal", "float64", RUNS, "subnormal weights, which a float64 run may take for 0",
            runs("float64")),
        Bad("labels-subnormal-lead", "float64", RUNS, "a lead of 2^-1074, which a float64 run may take for 0",
            runs("float64")),
        Bad("labels-tie", "every-run", RUNS, "a tie is said to be memorized in every float32 run", runs()),
        Bad("runs-of-soft-heads", "any-exponential", RUNS, "exponentials may be off by all of their value",
            runs(hypotheses=OF_BOUNDS, exp_ulps=2.0**23)),
        Bad("rule-detector", "every-run", RUNS, "both inputs are said to be memorized in every float32 run", runs()),
        Bad("prompts-detector", "every-run", RUNS, "both prompts are said to be answered so in every float32 run",
            runs()),
        Bad("runs-of-a-rule", "blunt", RUNS, "the statement is that of a model that attends more sharply",
            of_another_model(with_block(0, W_Q=lambda W: W / 16.0))),
        Bad("runs-of-all-formats", "other-model", RUNS, "the statement is that of a model with other logits",
            of_another_model(lambda m: replace(m, W_U=m.W_U[:, ::-1].copy()))),
        Bad("runs-of-all-formats", "twice", RUNS, "the same format twice, once with fewer contexts",
            runs_twice, "refused"),
        Bad("runs-of-all-formats", "order", RUNS, "the formats in another order", reordered, "refused"),
        Bad("runs-of-all-formats", "unknown-format", RUNS, "a format that there is not",
            renamed(format="float8"), "refused"),
        Bad("runs-of-all-formats", "real-arithmetic", RUNS, "real arithmetic is no format of runs",
            renamed(format=REALS), "refused"),
        Bad("runs-of-all-formats", "unknown-hypotheses", RUNS, "hypotheses that there are not",
            renamed(hypotheses="H1 H2"), "refused"),
        Bad("runs-of-all-formats", "no-hypotheses", RUNS, "nothing is said to be assumed",
            renamed(hypotheses=""), "refused"),
        Bad("values-regression", "runs", RUNS, "runs of values, of which there is no statement",
            runs_of_values, "refused"),
    ]  # fmt: skip


def renamed(**names: str) -> Forge:
    """Write other names in the last statement."""

    def forge(folder: Path) -> None:
        edited(folder, lambda data: data["statements"][-1]["named"].update(names))

    return forge


def runs_twice(folder: Path) -> None:
    """Write the last statement about runs twice, once about fewer contexts."""

    def doubled(data: dict[str, Any]) -> None:
        last = data["statements"][-1]
        fewer = {**last, "values": {**last["values"], "memorized": 3}, "memorized": "e"}
        data["statements"].append({**fewer, "statement": last["statement"].replace(" 4 of", " 3 of")})

    edited(folder, doubled)


def reordered(folder: Path) -> None:
    """Exchange the last two statements."""
    edited(folder, lambda data: data["statements"].append(data["statements"].pop(-2)))


def runs_of_values(folder: Path) -> None:
    """Write a statement about runs that a certificate about labels may have."""
    record = {"id": RUNS, "method": "", "memorized": "", "values": {"contexts": 5, "memorized": 5}}
    record["named"] = {"format": "float32", "hypotheses": OF_EXACT_SUMS}

    def insert(data: dict[str, Any]) -> None:
        of_labels = {**data, "subject": {**data["subject"], "target": "labels"}}
        data["statements"].insert(1, {**record, "statement": sentence(of_labels, record)})

    edited(folder, insert)


def of_recitation() -> list[Bad]:
    """Return folders with false statements about texts."""
    return [
        Bad("text-whole", "other-text", TEXT, "the hash is that of another text", of_texts(b"abbab")),
        Bad("text-whole", "longer", TEXT, "a longer text is said to be said", of_texts(b"abbaca", characters=6)),
        Bad("text-whole", "characters", TEXT, "the text is said to have fewer characters", texts(characters=4)),
        Bad("text-whole", "bytes", TEXT, "the text is said to have more bytes than its parts",
            texts_of_more, "refused"),
        Bad("text-whole", "titled", TEXT, "the text is said to have a title", retitled),
        Bad("text-titles", "exchanged", TEXT, "the two texts are exchanged", of_texts(b"abab", b"abba")),
        Bad("text-titles", "one-alone", TEXT, "one of the two texts is said to be all",
            of_texts(b"abba", characters=4, parts=1)),
        Bad("text-bytes", "characters", TEXT, "bytes are said to be characters", texts(characters=4)),
        Bad("text-whole", "text-changed", TEXT, "the text is another, the statement and the model are as they were",
            with_task(other_text)),
        Bad("text-whole", "other-model", TEXT, "the statement is that of a model with another readout",
            of_another_model(lambda m: replace(m, W_U=-m.W_U))),
        Bad("text-in-reals", "float32",
            TEXT, "a text is said to be said in every float32 run, of which nothing is stated",
            said_without_runs, "refused"),
        Bad("text-detector", "every-run",
            TEXT, "a text of one character, which hangs on the order of (2^24 + 1) - 2^24",
            lambda folder: [runs()(folder), texts()(folder)]),
        Bad("text-forking", "said", TEXT, "a text that goes on in two ways behind the same window", forking),
        Bad("labels-lookup", "text", TEXT, "a text is said to be said by a model of a table", said_of_a_table),
    ]  # fmt: skip


def texts_of_more(folder: Path) -> None:
    """State more bytes than the texts have together."""

    def changed(data: dict[str, Any]) -> None:
        stated = data["statements"][-1]
        stated["values"]["bytes"] += 1
        stated["statement"] = stated["statement"].replace("of 5 bytes", "of 6 bytes")

    edited(folder, changed)


def retitled(folder: Path) -> None:
    """Name a title where there is none."""
    edited(folder, lambda data: data["statements"][-1]["named"]["texts"][0].update(title="one"))


def said_without_runs(folder: Path) -> None:
    """Write the statement about real arithmetic as one about runs."""

    def changed(data: dict[str, Any]) -> None:
        stated = data["statements"][-1]
        stated["named"]["format"] = "float32"
        stated["statement"] = stated["statement"].replace("in real arithmetic", "in every float32 run")

    edited(folder, changed)


def said_of_a_table(folder: Path) -> None:
    """State in a folder about a table that a text is said."""
    sha256 = hashlib.sha256(b"abcd").hexdigest()
    named = {"format": REALS, "texts": [{"title": "", "bytes": 4, "sha256": sha256}]}
    with_statement(folder, Statement(TEXT, "", {"texts": 1, "parts": 1, "bytes": 4, "characters": 4}, named=named))


def false_runs() -> list[Bad]:
    """Return all of them."""
    return [*every_detector(), *of_runs(), *of_recitation()]
