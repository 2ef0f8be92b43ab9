"""The main job, from a task to a folder that can be checked, run and looked at."""

import json
from dataclasses import replace

import numpy as np
import pytest

from byheart.choice import trial
from byheart.figures import Tried
from byheart.jobs import certified
from byheart.jobs import memorize as job
from byheart.jobs.memorize import ever_smaller, hold
from byheart.jobs.run import run_summary
from byheart.memory import load
from byheart.report import pages
from byheart.theorems import memorized
from constructions.errors import ByheartError, CapacityError, HypothesisError, InputError, ResourceError
from constructions.heads_of_theorem_1 import memory as heads
from constructions.model.model import Model
from constructions.tasks.table import table_task
from constructions.tasks.task import Counts, Task, make_task
from tests.small_texts import memorize_into, small_text
from verify.provers.memorization import check_memorization
from verify.verdict import Verdict

FIELDS = {
    "target", "vocabulary", "answers", "contexts", "facts", "paper_rank", "rank_lower", "rank_upper", "paper_heads",
    "fewest_heads", "heads", "parameters", "condition", "verdict", "mean_loss_upper", "max_loss_upper",
    "memorized", "wrong", "headline", "asked", "origin", "guess_kl_lower",
    "encoder_kl", "unavoidable_kl", "torch", "seconds", "files",
}  # fmt: skip


def test_the_folder_holds_what_the_figures_say(tmp_path):
    task = small_text()
    figures = memorize_into(tmp_path / "out", task, d_model=16, d_head=4)
    assert set(figures.json()) >= FIELDS
    assert figures.verdict == "PROVED"
    assert figures.wrong == 0 and figures.memorized == figures.facts == 60
    assert figures.headline.startswith("MEMORIZED, PROVED: 60 of 60")
    assert figures.mean_loss_upper <= figures.max_loss_upper <= 1e-13 < figures.guess_kl_lower
    assert figures.text_kl == [None, None]  # what is left out is for who asks for it
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "model.safetensors", "task.safetensors", "certificate.json",
        "report.html", "summary.json", "measured.json",
    }  # fmt: skip
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["verdict"] == "PROVED"
    network = Model.load(tmp_path / "out" / "model.safetensors")
    assert network.parameters == figures.parameters and network.n_heads == figures.heads
    assert Task.load(tmp_path / "out" / "task.safetensors").sha256() == task.sha256()
    assert check_memorization(tmp_path / "out").verdict is Verdict.PROVED


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        memorize_into(tmp_path / name, small_text(), d_model=11, seed=seed)
    model = {name: (tmp_path / name / "model.safetensors").read_bytes() for name in "abc"}
    assert model["a"] == model["b"] != model["c"]
    assert (tmp_path / "a" / "task.safetensors").read_bytes() == (tmp_path / "c" / "task.safetensors").read_bytes()


@pytest.mark.parametrize("front_end", ["table", "random", "base2", "rank-one"])
def test_every_front_end_reaches_a_proof(tmp_path, front_end):
    figures = memorize_into(tmp_path / "out", small_text(), d_model=16, d_head=4, front_end=front_end)
    assert figures.verdict == "PROVED" and figures.front_end == front_end


@pytest.mark.parametrize("d_model", [2, 5, 40])
def test_labels_of_a_table_are_memorized_in_any_dimension(tmp_path, d_model):
    rng = np.random.default_rng(0)
    rows = {tuple(rng.integers(0, 15, 2)): int(rng.integers(0, 30)) for _ in range(80)}
    table = "".join(f"s{a},r{b},o{c}\n" for (a, b), c in rows.items())
    figures = memorize_into(tmp_path / "out", table_task(table), d_model=d_model)
    assert figures.verdict == "PROVED" and figures.memorized == len(rows)
    assert figures.torch["float32"].accuracy == 1.0
    assert figures.torch["float64"].within_bound is figures.torch["float32"].within_bound is True
    assert figures.torch["bfloat16"].within_bound is None


def test_one_context_of_one_token_is_a_task(tmp_path):
    counts = Counts.from_rows([{0: 2, 1: 1}])
    for target in ("distributions", "labels"):
        task = make_task(np.array([[1]]), counts, vocabulary=("a", "b"), target=target)
        made = memorize_into(tmp_path / target, task)
        assert made.memorized == 1  # of one distribution a guess knows as much
        assert made.headline.startswith("MEMORIZED, PROVED" if target == "labels" else "NO BETTER THAN A GUESS")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(d_model=0), InputError, "d_model = 0"),
        (dict(d_model=16, d_head=17), InputError, "d_head = 17"),
        (dict(d_head=0), InputError, "d_head = 0"),
        (dict(n_heads=0), InputError, "n_heads = 0"),
        (dict(n_heads=1), CapacityError, "heads suffice"),
        (dict(seed=-1), InputError, "seed = -1"),
        (dict(front_end="magic"), InputError, "front_end"),
        (dict(device="gpu"), ByheartError, "gpu"),
        (dict(memory="knots", n_heads=3), InputError, "n_heads = 3 is given, but only the memory 'theorem-1' has such"),
        (dict(memory="knots", front_end="table"), InputError, "front_end = 'table' is given, but only"),
        (dict(memory="knot"), InputError, "memory is 'knot', expected one of 'smallest', 'affine', "),
        (dict(dtype="half"), InputError, "dtype = 'half'"),
        (dict(layers=0), InputError, "layers = 0"),
    ],
)
def test_a_bad_option_is_named_and_nothing_is_written(tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        memorize_into(tmp_path / "out", small_text(), **options)
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory_is_said_before_the_weights_are_built(tmp_path, monkeypatch):
    monkeypatch.setattr("constructions.memory_budget.available_bytes", lambda: 1000)
    monkeypatch.setattr(heads, "build_memory", lambda *_, **__: pytest.fail("the work has started"))
    with pytest.raises(ResourceError, match=r"60 facts with .* GiB of memory"):
        memorize_into(tmp_path / "out", small_text(), memory="theorem-1")


def test_an_interruption_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(pages, "page", interrupted)
    with pytest.raises(KeyboardInterrupt):
        memorize_into(tmp_path / "out", small_text(), d_model=11)
    assert list(tmp_path.iterdir()) == []


def test_progress_tells_every_stage_in_order(tmp_path):
    seen = []
    memorize_into(tmp_path / "out", small_text(), d_model=11, progress=lambda stage, *_: seen.append(stage))
    assert list(dict.fromkeys(seen)) == ["weights", "certificate", "every run", "encoder", "torch"]


def facts_of_three_columns() -> Task:
    rows = [f"{a},{b},{'xyz'[(a * b + a) % 3]}" for a in range(5) for b in range(5)]
    return table_task("\n".join(rows) + "\n", target="labels")


def run_instead(monkeypatch, runs) -> None:
    """Let runs in torch show something else."""
    for module in (certified, trial):
        monkeypatch.setattr(module, "runs_in_torch", runs)


def test_the_rank_of_very_many_contexts_is_stated_only_where_a_memory_rests_on_it(monkeypatch):
    monkeypatch.setattr(memorized, "_LARGEST_RANK", 8)
    run_instead(monkeypatch, lambda *_, **__: None)
    for name, stated in (("last-token-heads", False), ("theorem-1", True)):
        figures = hold(facts_of_three_columns(), memory=name).figures
        assert (figures.verdict, figures.rank_proved) == ("PROVED", stated)


ONE_ATTENTION = (
    "newton", "one-head", "rank-one-heads", "theorem-1", "last-token-heads",
)  # fmt: skip


@pytest.mark.parametrize("memory", ["knots", "packed-words", *ONE_ATTENTION])
def test_each_memory_is_built_by_its_name_and_its_folder_is_proved_again(memory, tmp_path):
    figures = hold(facts_of_three_columns(), memory=memory).save(tmp_path / "out")
    assert figures.memory == memory and figures.dtype == "float32"
    assert [offer.memory for offer in figures.memories] == [memory]
    assert figures.headline.startswith("MEMORIZED, PROVED: 25 of 25")
    assert figures.parameters == figures.memories[0].parameters
    assert check_memorization(tmp_path / "out").verdict is Verdict.PROVED
    assert (figures.blocks is not None) == (memory not in ONE_ATTENTION)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Memories tried" in page and f"<th>{memory}</th>" in page and "float32" in page
    assert ("Where the heads look" in page) == (memory in ONE_ATTENTION)
    for dtype in ("float32", "float64"):
        run = run_summary(tmp_path / "out", device="cpu", dtype=dtype)
        assert run["memorized"] == 25 and run["all_memorized"] and run["within_bound"]
    assert load(tmp_path / "out").ask(("1", "1")).token == "z"


def test_the_smallest_memory_is_kept_and_the_others_are_listed(tmp_path):
    figures = hold(facts_of_three_columns(), attention_only=True).save(tmp_path / "out")
    built = [offer for offer in figures.memories if offer.refused is None]
    sizes = [offer.parameters for offer in built]
    assert len(sizes) == 2 and sizes == sorted(sizes) and figures.parameters == sizes[0]
    for name in ("knots", "packed-words"):
        assert Tried(memory=name, refused="it has neurons") in figures.memories
    for offer in built:
        assert offer.nonzero <= offer.parameters and offer.seconds >= 0.0
        if offer.smallest_dtype is None:  # what is larger than one that every run holds is not run
            assert offer.parameters > sizes[0] and not offer.every_run
        else:
            assert offer.smallest_dtype in ("bfloat16", "float32") and offer.least_margin > 0.0
    assert built[0].every_run
    assert figures.information_limit == 2  # 25 labels of 3 take 40 bits
    model = Model.load(tmp_path / "out" / "model.safetensors")
    assert all((x.astype(np.float32) == x).all() for x in model.tensors().values())


def test_a_smaller_memory_that_one_run_alone_holds_is_listed_and_not_taken(monkeypatch):
    asked = trial.memorized_without_rounding
    monkeypatch.setattr(
        trial, "memorized_without_rounding", lambda model, *rest: asked(model, *rest) & (len(model.blocks) > 4)
    )
    honest = trial.runs_in_torch

    def other(*rest, **options):
        return {name: replace(run, memorized=25, memorized_proved=0) for name, run in honest(*rest, **options).items()}

    run_instead(monkeypatch, other)
    figures = hold(facts_of_three_columns()).figures
    listed = {offer.memory: offer for offer in figures.memories if offer.refused is None}
    assert figures.memory in ("object-words", "packed-words", "probes") and listed[figures.memory].every_run
    assert any(offer.parameters < figures.parameters and not offer.every_run for offer in listed.values())


def test_where_every_run_is_proved_without_one_none_is_made():
    figures = hold(facts_of_three_columns(), quick=True).figures
    assert figures.memories[0].every_run and figures.torch is None
    assert hold(facts_of_three_columns(), memory="knots").figures.torch is not None


def test_quick_stops_at_the_first_memory_that_every_run_holds():
    figures = hold(facts_of_three_columns(), quick=True).figures
    assert [offer.memory for offer in figures.memories if not offer.refused] == ["object-words"]


def test_no_memory_leaves_no_folder(tmp_path):
    with pytest.raises(HypothesisError, match="The memory of heads of rank one needs"):
        memorize_into(tmp_path / "out", small_text(), memory="rank-one-heads")
    with pytest.raises(CapacityError, match=r"none of those that were tried does\. .*knots: it has 2 layers"):
        memorize_into(tmp_path / "out", small_text(), memory="smallest", layers=1, d_model=1)
    assert not (tmp_path / "out").exists()


def test_distributions_of_a_text_are_memorized_in_every_run_unless_attention_alone_is_asked_for():
    exact, heads = hold(small_text()), hold(small_text(), attention_only=True)
    assert exact.figures.memory == "one-hot-distributions" and heads.figures.memory == "theorem-1"
    assert exact.figures.verdict == heads.figures.verdict == "PROVED"
    assert exact.figures.torch is None and heads.figures.torch["float32"].memorized == 60
    assert exact.figures.information_limit == 60 * 11
    listed = {offer.memory: offer for offer in exact.figures.memories}
    assert listed["knots"].parameters < exact.model.parameters < heads.model.parameters
    assert listed["one-hot-distributions"].every_run and not listed["knots"].every_run
    assert "parameters at least, and is not built" in listed["theorem-1"].refused
    double = hold(small_text(), dtype="float64")
    assert double.figures.max_loss_upper < 1e-12 and double.figures.memories[0].every_run


def test_a_size_asks_for_the_heads_of_theorem_1_in_float64():
    for options in (dict(d_model=16), dict(d_head=3), dict(n_heads=40), dict(front_end="random")):
        figures = hold(small_text(), **options).figures
        assert (figures.memory, figures.dtype, figures.verdict) == ("theorem-1", "float64", "PROVED")
    assert hold(small_text(), memory="smallest", d_model=16).figures.memory == "one-hot-distributions"
    assert hold(small_text(), d_model=16, dtype="float32").figures.dtype == "float32"


def test_what_does_not_hold_its_facts_when_it_is_run_is_not_taken_by_itself(monkeypatch):
    honest = trial.runs_in_torch

    def forgetful(*rest, **options):
        runs = honest(*rest, **options)
        return {
            dtype: replace(run, memorized=run.memorized - (len(rest[0].blocks) == 2)) for dtype, run in runs.items()
        }

    run_instead(monkeypatch, forgetful)
    figures = hold(small_text()).figures
    assert figures.memory == "one-hot-distributions"
    refused = {offer.memory: offer.refused for offer in figures.memories}
    assert refused["knots"] == "run in float32 it holds 59 of 60 contexts, measured"
    named = hold(small_text(), memory="knots").figures
    assert named.memory == "knots" and named.memories[0].smallest_dtype is None
    assert named.torch["float32"].memorized == 59


def test_the_first_memory_is_kept_before_the_search_and_an_interrupt_of_it_returns_it(monkeypatch):
    first, best = ever_smaller(facts_of_three_columns())
    assert first.certificate.verdict is Verdict.PROVED and first.figures.memory == "object-words"
    assert [each.memory for each in first.figures.memories if not each.refused] == ["object-words"]
    assert best.figures.parameters <= first.figures.parameters

    honest = job.offers

    def interrupted(*rest, earlier=(), **options):
        if earlier:
            raise KeyboardInterrupt
        return honest(*rest, earlier=earlier, **options)

    monkeypatch.setattr(job, "offers", interrupted)
    left = hold(facts_of_three_columns())
    assert left.model.sha256() == first.model.sha256() and left.figures.memory == "object-words"


def test_what_is_asked_for_is_not_searched_on():
    for options in (dict(quick=True), dict(memory="knots"), dict(n_heads=20)):
        assert len(list(ever_smaller(small_text(), **options))) == 1


def test_without_torch_the_smallest_is_taken_and_nothing_is_said_of_runs(monkeypatch):
    run_instead(monkeypatch, lambda *_, **__: None)
    figures = hold(small_text()).figures
    assert figures.memory == "one-hot-distributions" and figures.torch is None
    assert figures.memories[0].smallest_dtype is None and figures.memories[0].least_margin is None
