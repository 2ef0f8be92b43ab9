"""The page needs nothing but itself, escapes what it is given, and says nothing that is not so, for every task."""

import math
import re
import tracemalloc
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.figures import Figures
from byheart.report.page import Details, report_html, write_report
from constructions.model.model import Model
from constructions.model.shapes import dana_network, dana_tensors
from constructions.tasks.task import Counts, Task, make_task
from verify.runs.formats import every_run_is
from verify.torch.run import RunResult

VOID = {"meta", "path", "circle", "rect", "line", "br"}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=y>',
    "'&amp;",
    "\n",
    " ",
    "\t",
    "\u202egnp.exe",
    "\x00\x1bz",
)


class Page(HTMLParser):
    """The elements of a page and its visible text; refuses tags that do not match."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def names(self) -> set[str]:
        return {tag for tag, _ in self.tags}

    def texts(self, name: str) -> int:
        return sum(tag == name for tag, _ in self.tags)


def random_network(task: Task, *, n_heads: int = 3, d_model: int = 4, seed: int = 0) -> Model:
    normal = np.random.default_rng(seed).standard_normal
    return dana_network(
        W_E=normal((task.d_vocab, d_model)),
        W_pos=normal((task.n_ctx, d_model)),
        W_Q=normal((n_heads, d_model, 2)),
        W_K=normal((n_heads, d_model, 2)),
        W_V=normal((n_heads, d_model, 2)),
        W_O=normal((n_heads, 2, d_model)),
        W_U=normal((d_model, task.n_answers)),
    )


def small_task(
    target: str = "distributions", *, size: int = 5, n_ctx: int = 2, d_vocab: int = 4, facts: int | None = None
) -> Task:
    contexts = np.array(list(np.ndindex(*(d_vocab,) * n_ctx)))[:size]
    counts = Counts.from_rows([{i % d_vocab: 5, (i + 1) % d_vocab: 2 + i % 3} for i in range(len(contexts))])
    names = tuple(f"tok{i}" for i in range(d_vocab))
    return make_task(contexts, counts, vocabulary=names, target=target, facts=facts)


def a_run(dtype: str, **figures: Any) -> RunResult:
    whole: dict[str, Any] = dict(
        device="cpu", accuracy=1.0, mean_kl=1e-23, max_kl=1e-22, mean_label_error=None, max_label_error=None,
        memorized=3,
        memorized_proved=None, least_margin=0.1, max_output_error=0.5, largest_bound=None, within_bound=None, note="",
        seconds=0.1, right=np.ones(3, bool), proved=None,
    )  # fmt: skip
    return RunResult(dtype=dtype, **{**whole, **figures})


FIGURES = Figures(
    verdict="PROVED",
    memorized=3,
    mean_loss_upper=1.2341e-13,
    max_loss_upper=9.871e-13,
    rank_heads=3,
    paper_rank=4,
    rank_lower=2,
    rank_upper=3,
    paper_heads=1,
    necessary_heads=2,
    fewest_heads=3,
    condition=713.02,
    headline="NOT MEMORIZED: 3 of 4 contexts",
    text_kl=[0.148797123, 0.148797456],
    torch={
        "float64": a_run("float64", max_output_error=1e-13, largest_bound=2.505e-10, within_bound=True),
        "float32": a_run("float32", accuracy=0.99999, mean_kl=None, largest_bound=0.1, within_bound=False),
        "bfloat16": a_run("bfloat16", accuracy=0.98, mean_kl=1e-3, note="bfloat16 is reported, not judged"),
    },
    seconds={"capacity": 1.25, "weights": 0.5},
)


def full_details(task: Task) -> Details:
    size = task.n_contexts
    return Details(
        source="a <novel>",
        statements=["The rank is <full>.", "The margin is positive."],
        divergence_upper=np.geomspace(1e-15, 1e-13, size),
        margin_lower=np.geomspace(1e-3, 10.0, size),
        ranks_lower=np.array([1, 2, 3]),
        ranks_upper=np.array([1, 3, 3]),
        singular_values=np.geomspace(10.0, 1.0, size),
        digests={"model.safetensors": "ab" * 32},
        provenance={"numpy": "2.4.6"},
    )


def section(page: str, title: str) -> str:
    found = re.search(rf"<section><h2>{title}</h2>(.*?)</section>", page, re.DOTALL)
    return found.group(1) if found else ""


@pytest.mark.parametrize("target", ["distributions", "labels"])
@pytest.mark.parametrize("facts", [None, 3])
def test_the_page_is_well_formed_and_needs_no_other_file(target: str, facts: int | None) -> None:
    task = small_task(target, facts=facts)
    page = report_html(FIGURES, random_network(task), task, full_details(task))
    parsed = Page(page)
    assert page.startswith("<!doctype html>")
    assert parsed.names().isdisjoint(
        {"script", "link", "img", "iframe", "object", "embed", "image", "use", "a", "base"}
    )
    assert all(
        not {"src", "href", "srcset", "xlink:href", "action"} & attributes.keys() for _, attributes in parsed.tags
    )
    assert all(not name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    assert not re.search(r"url\(|@import|https?:|//[a-z]", page)
    assert {"viewport"} <= {attributes.get("name") for _, attributes in parsed.tags}
    assert "@media print" in page


@pytest.mark.parametrize("target", ["distributions", "labels"])
def test_hostile_tokens_are_shown_and_not_obeyed(target: str) -> None:
    contexts = np.array([[i, (i + 1) % len(HOSTILE)] for i in range(len(HOSTILE))])
    counts = Counts.from_rows([{(i + 2) % len(HOSTILE): 3, i: 1} for i in range(len(HOSTILE))])
    task = make_task(contexts, counts, vocabulary=HOSTILE, target=target)
    page = report_html(FIGURES, random_network(task), task, full_details(task))
    parsed = Page(page)
    assert parsed.names().isdisjoint({"script", "img"})
    assert "<script" not in page
    for shown in ("<script>alert(1)</scrip", "'&amp;", "⏎", "␣", "⇥", "\\u202egnp.exe", "\\x00\\x1bz", "a <novel>"):
        assert shown in parsed.text
    assert not any(ord(character) < 32 and character != "\n" for character in page)
    assert "\u202e" not in page


@given(
    text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).filter(lambda t: not t.endswith("\0")),
    source=st.text(st.characters(codec=None), max_size=40),
)
def test_any_token_and_source_give_a_page_that_can_be_written_and_parsed(text: str, source: str) -> None:
    counts = Counts.from_rows([{0: 2}, {0: 1, 1: 1}])
    task = make_task(np.array([[0], [1]]), counts, vocabulary=(text, text + "~"), target="distributions")
    page = report_html(Figures(), random_network(task), task, Details(source=source, statements=[text]))
    plain = report_html(Figures(), random_network(task), make_task(task.contexts, task.counts, vocabulary=("x", "y")))
    page.encode("utf-8")
    assert Page(page).names() - {"tbody", "tr", "td", "table", "strong", "span"} <= Page(plain).names() | {
        "thead",
        "th",
    }


def test_the_same_input_gives_the_same_text() -> None:
    task = small_task(facts=3)
    pages = {report_html(FIGURES, random_network(task), task, full_details(task)) for _ in range(2)}
    assert len(pages) == 1


def test_a_page_with_nothing_but_weights_and_task_leaves_out_what_it_does_not_know() -> None:
    task = small_task()
    page = report_html(Figures(), random_network(task), task)
    Page(page)
    for title in ("What is proved", "Heads for every labelling of these contexts", "Divergence and margins"):
        assert section(page, title) == ""
    for title in ("Where the heads look", "Predicted beside true", "Singular values of the memorized features"):
        assert section(page, title) != ""
    assert "PROVED" not in page
    assert "≤" not in page and "at most" not in page


def test_that_nothing_ran_is_said() -> None:
    task = small_task()
    assert "were not run" in section(report_html(Figures(), random_network(task), task), "In PyTorch")


def test_runs_are_judged_as_the_summary_says() -> None:
    task = small_task()
    rows = section(report_html(FIGURES, random_network(task), task), "In PyTorch").split("<tr>")[2:]
    assert [("yes" in row, "NO" in row, "not judged" in row) for row in rows] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
    assert "99.99 %" in rows[1]
    assert "2.51 × 10⁻¹⁰" in rows[0]
    assert "reported, not judged" in rows[2]


@pytest.mark.parametrize("proved", [None, 0, 2])
def test_what_every_run_is_stands_below_what_is_guaranteed_in_it(proved: int | None) -> None:
    task = small_task()
    runs = {"float32 on cuda": a_run("float32", memorized_proved=proved)}
    shown = section(report_html(Figures(torch=runs), random_network(task), task), "In PyTorch")
    assert (f"Every run: {every_run_is('float32')}" in shown) == bool(proved)


def test_runs_on_several_devices_are_all_shown() -> None:
    task = small_task()
    runs = {**(FIGURES.torch or {}), "float32 on cuda": a_run("float32", device="H <200>")}
    shown = section(report_html(Figures(torch=runs), random_network(task), task), "In PyTorch")
    assert shown.count("<tr>") == 1 + 4
    assert "H &lt;200&gt;" in shown


@pytest.mark.parametrize(
    ("verdict", "style"), [("PROVED", "proved"), ("REFUTED", "refuted"), ("UNDECIDED", "undecided"), ("?", "undecided")]
)
def test_only_a_proved_verdict_is_shown_as_proved(verdict: str, style: str) -> None:
    task = small_task()
    page = report_html(Figures(verdict=verdict), random_network(task), task)
    header = page[page.index("<header>") : page.index("</header>")]
    assert f'class="verdict {style}">{verdict}<' in header
    assert ('class="verdict proved"' in header) == (verdict == "PROVED")


def test_proved_bounds_are_rounded_so_that_they_stay_true() -> None:
    task = small_task()
    page = report_html(FIGURES, random_network(task), task, full_details(task))
    for shown in ("≤ 1.24 × 10⁻¹³", "≤ 9.88 × 10⁻¹³", "≤ 713.1", "0.148797 and", "0.148798 nats"):
        assert shown in page


@pytest.mark.parametrize("missing", sorted(vars(FIGURES)))
def test_any_figure_may_be_missing_or_undecided(missing: str) -> None:
    task = small_task(facts=3)
    nothing = getattr(Figures(), missing)
    Page(report_html(replace(FIGURES, **{missing: nothing}), random_network(task), task, full_details(task)))


def test_an_interval_without_ends_claims_nothing() -> None:
    task = small_task(facts=3)
    page = report_html(Figures(text_kl=[None, None]), random_network(task), task)
    assert "lies between" not in page


def test_attention_weights_are_those_of_the_network() -> None:
    task = small_task(size=3)
    network = random_network(task, n_heads=2)
    shown = section(report_html(Figures(), network, task), "Where the heads look")
    cells = np.array([float(cell) for cell in re.findall(r"--w:([0-9.]+)", shown)]).reshape(3, 2, 2)
    x = network.W_E[task.contexts] + network.W_pos
    scores = np.einsum("hte,htse->ths", np.einsum("td,hde->hte", x[:, -1], network.W_Q),
                       np.einsum("tsd,hde->htse", x, network.W_K))  # fmt: skip
    expected = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    np.testing.assert_allclose(cells, expected, atol=6e-4)


def test_predictions_stand_beside_the_distributions() -> None:
    task = small_task(size=3)
    network = random_network(task)
    shown = section(report_html(Figures(), network, task), "Predicted beside true")
    cards = shown.split("<div class='prediction'>")[1:]
    assert len(cards) == 3
    assert task.distributions is not None
    for card, distribution in zip(cards, task.distributions, strict=True):
        bars = [float(value) for value in re.findall(r"fill true' style='width:([0-9.]+)%", card)]
        assert bars[:2] == pytest.approx((70 * np.sort(distribution)[::-1][:2] / distribution.sum()).tolist(), abs=0.01)
        assert sum(bars) == pytest.approx(70, abs=0.05)
        predicted = [float(value) for value in re.findall(r"fill first' style='width:([0-9.]+)%", card)]
        assert sum(predicted) == pytest.approx(70, abs=0.05)
        assert len(predicted) == len(bars)


def test_the_label_to_be_memorized_is_marked_even_if_the_weights_predict_another() -> None:
    task = small_task("labels", size=2, d_vocab=12, n_ctx=1)
    network = random_network(task)
    wrong = np.array(network.W_U)
    wrong[:, task.labels] = 0.0
    wrong[:, task.labels] -= 100.0 * np.sign(network.W_E[task.contexts[:, 0]].mean(axis=0))[:, np.newaxis]
    shown = section(
        report_html(Figures(), dana_network(**{**dana_tensors(network), "W_U": wrong}), task), "Predicted beside true"
    )
    cards = shown.split("<div class='prediction'>")[1:]
    for card, label in zip(cards, task.labels.tolist(), strict=True):
        marked = re.findall(r">([^<>]+)</bdi> <span class='mark'>", card)
        assert marked == [f"tok{label}"]


@pytest.mark.parametrize("target", ["distributions", "labels"])
def test_answers_that_are_no_tokens_are_shown_by_their_own_names(target: str) -> None:
    contexts, counts = np.array([[0], [1], [2]]), Counts.from_rows([{3: 2}, {0: 2, 4: 1}, {3: 1}])
    names = tuple(f"out{i}" for i in range(5))
    task = make_task(contexts, counts, vocabulary=("in0", "in1", "in2"), answers=names, target=target)
    cards = section(report_html(Figures(), random_network(task), task), "Predicted beside true").split(
        "<div class='prediction'>"
    )
    for card, token, label in zip(cards[1:], task.contexts[:, 0].tolist(), task.labels.tolist(), strict=True):
        heading, rows = card.split("<div class='distribution'>")
        assert f"in{token}" in heading and f"out{label}" in rows
        assert not re.search(r"\bin\d", rows)


@pytest.mark.parametrize(("dim", "shown"), [(3, True), (4, False)])
def test_what_a_stream_cannot_avoid_depends_on_the_number_of_answers(dim: int, shown: bool) -> None:
    counts = Counts.from_rows([{3: 2}, {0: 2, 4: 1}])
    task = make_task(np.array([[0], [1]]), counts, vocabulary=("a", "b"), answers=tuple("vwxyz"))
    figures = replace(FIGURES, dim=dim, unavoidable_kl=[0.1, 0.2])
    page = report_html(figures, random_network(task), task, full_details(task))
    assert ("every distribution over 5 tokens" in page) == shown


def test_probabilities_that_are_not_zero_or_one_are_not_shown_as_such() -> None:
    counts = Counts.from_rows([{0: 10**6}])
    task = make_task(np.array([[0]]), counts, vocabulary=("a", "b"), target="distributions")
    shown = section(report_html(Figures(), random_network(task), task), "Predicted beside true")
    assert "&gt; 99.99 %" in shown
    assert "&lt; 0.01 %" in shown
    assert "100.00 %" not in shown


@pytest.mark.parametrize("size", [1, 2, 5, 9, 16])
def test_a_few_different_contexts_are_shown_the_most_frequent_first(size: int) -> None:
    task = small_task(size=size)
    shown = section(report_html(Figures(), random_network(task), task), "Predicted beside true")
    assert shown.count("class='prediction'") == min(size, 8)
    first = "".join(f"tok{token}" for token in task.contexts[0])
    assert first in re.sub(r"<[^>]+>", "", shown.split("<div class='prediction'>")[1])


def test_one_context_of_one_token_has_a_page() -> None:
    task = make_task(np.array([[0]]), Counts.from_rows([{0: 1}]), vocabulary=("a",), target="labels")
    details = Details(divergence_upper=np.zeros(1), margin_lower=np.array([math.inf]), ranks_lower=np.array([1]))
    page = report_html(FIGURES, random_network(task, n_heads=1), task, details)
    assert "1 of them" not in page or "0 and not drawn" in page
    assert "nothing to draw" in page
    assert "every token is a mode" in page
    Page(page)


def test_long_contexts_show_their_end() -> None:
    length = 100
    task = make_task(
        np.arange(length).reshape(1, -1), Counts.from_rows([{0: 1}]), vocabulary=tuple(f"w{i}" for i in range(length))
    )
    text = Page(report_html(Figures(), random_network(task), task)).text
    assert "w99" in text
    assert "w60" not in text


def test_a_large_vocabulary_costs_little_memory() -> None:
    d_vocab, size = 50_000, 300
    contexts = np.arange(size).reshape(-1, 1)
    counts = Counts.from_rows([{i: 3, i + 1: 1} for i in range(size)])
    task = make_task(contexts, counts, vocabulary=tuple(map(str, range(d_vocab))), target="labels")
    network = random_network(task)
    tracemalloc.start()
    page = report_html(FIGURES, network, task)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(page) < 200_000
    assert peak < 100 * 2**20


def test_singular_values_are_left_out_where_they_would_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("byheart.report.page._LARGEST_DECOMPOSITION", 4)
    task = small_task(size=5)
    shown = section(report_html(FIGURES, random_network(task), task), "Singular values of the memorized features")
    assert "<svg" not in shown
    assert "≤ 713.1" in shown


def test_the_page_is_written_as_utf8(tmp_path: Path) -> None:
    task = small_task()
    network = random_network(task)
    write_report(tmp_path / "report.html", FIGURES, network, task, full_details(task))
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report_html(
        FIGURES, network, task, full_details(task)
    )
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_what_was_searched_is_not_said_to_be_untrained():
    task = small_task()
    assert "nothing was trained" in report_html(Figures(memory="knots"), random_network(task), task)
    found = report_html(Figures(memory="newton"), random_network(task), task)
    assert "found by numerical search, then certified" in found and "nothing was trained" not in found


def test_counts_of_heads_say_that_they_are_for_every_labelling():
    task = small_task()
    page = report_html(replace(FIGURES, paper_heads=9), random_network(task), task, full_details(task))
    assert "3 certified to suffice for every labelling of these contexts" in page
