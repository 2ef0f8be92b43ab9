"""Work that was interrupted goes on where it stopped, and no file makes anybody believe a result."""

import errno
import io
import json
import os
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, replace
from functools import cache
from unittest.mock import ANY

import numpy as np
import pytest

from constructions.errors import InputError, WorkerError
from constructions.model.model import Model
from constructions.tasks.rule import rule_task
from tests.domains import max_of_four, one_attention, quiet
from verify import journal
from verify.domains import rule_answers
from verify.domains.rule_answers import judge_rule
from verify.domains.tally import Tally
from verify.journal import Journal, cached_map, is_kept_file
from verify.program_text import files_sha256
from verify.provers import domain
from verify.provers.domain import certify_domain, domain_journal

TASK = rule_task("max", d_vocab=6, n_ctx=3)


def kept_in(path, model, task=TASK):
    return Journal(path, lambda: [model.sha256(), task.sha256()])


def models():
    """A model of each of the three ways of judging, with some inputs that it answers wrong."""
    rng = np.random.default_rng(3)
    one = max_of_four(rng, tokens=6)
    block = one.blocks[0]
    heads = {name: np.concatenate([getattr(block, name)] * 2) for name in ("W_Q", "W_K", "W_V", "W_O")}
    two = replace(one, blocks=(replace(block, **heads),))
    return {"one head": one, "two heads": two, "two blocks": replace(one, blocks=(block, block))}


@pytest.fixture(params=["one head", "two heads", "two blocks"])
def model(request, monkeypatch):
    monkeypatch.setattr(rule_answers, "_TOGETHER", 50)  # for several pieces of the model of two blocks
    return models()[request.param]


def interrupted_after(pieces):
    shown = []

    def show(stage, share, detail):
        shown.append(share)
        if len(shown) == pieces:
            raise KeyboardInterrupt

    return show


def answers(found):
    return replace(found, earlier=0, method="")


@cache
def whole_answers():
    """What is true of the model of one head."""
    return judge_rule(models()["one head"], TASK, progress=quiet)


def begun(path, model, pieces=2, task=TASK):
    """What a run that was interrupted after some pieces leaves."""
    kept = kept_in(path, model, task)
    return judge_rule(model, task, journal=kept, progress=interrupted_after(pieces))


def test_a_run_that_goes_on_ends_as_one_that_was_never_interrupted(model, tmp_path):
    whole = judge_rule(model, TASK, progress=quiet)
    part = begun(tmp_path / "pieces", model)
    assert part.interrupted and 0 < part.right + part.wrong < whole.right + whole.wrong
    rest = judge_rule(model, TASK, journal=kept_in(tmp_path / "pieces", model), progress=quiet)
    assert answers(rest) == answers(whole)
    assert rest.earlier == part.right + part.wrong > 0
    assert rest.method.endswith(f"; {rest.earlier} counted by earlier runs of this machine")
    again = judge_rule(model, TASK, journal=kept_in(tmp_path / "pieces", model), progress=quiet)
    assert answers(again) == answers(whole) and again.earlier == whole.right + whole.wrong


def test_only_what_is_missing_is_judged_again(tmp_path, monkeypatch):
    model, judged = models()["one head"], []
    begun(tmp_path / "pieces", model, pieces=4)
    original = rule_answers.judge_last_token
    monkeypatch.setattr(rule_answers, "judge_last_token", lambda *given: judged.append(given[2]) or original(*given))
    judge_rule(model, TASK, journal=kept_in(tmp_path / "pieces", model), progress=quiet)
    assert judged == [4, 5]


def test_a_piece_that_is_interrupted_counts_and_is_not_kept(tmp_path, monkeypatch):
    model = models()["one head"]
    original = rule_answers.judge_last_token

    def stopped(tables, task, place, tally, budget):
        yield from original(tables, task, place, tally, budget)
        if place == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(rule_answers, "judge_last_token", stopped)
    kept = kept_in(tmp_path / "pieces", model)
    part = judge_rule(model, TASK, journal=kept, progress=quiet)
    stored = sum(tally["right"] + tally["wrong"] for place in range(6) if (tally := kept.get(place)) is not None)
    assert kept.get(2) is not None and kept.get(3) is None
    assert part.right + part.wrong > stored


def test_what_a_budget_cuts_off_is_not_kept(model, tmp_path):
    for place, (visits, one_by_one) in enumerate([(0, 0), (1000, 1), (1, 1000)]):
        kept = kept_in(tmp_path / str(place), model)
        few = judge_rule(model, TASK, journal=kept, progress=quiet, visits=visits, one_by_one=one_by_one)
        for piece in range(6):
            assert (tally := kept.get(piece)) is None or tally["right"] + tally["wrong"] > 0
        rest = judge_rule(model, TASK, journal=kept_in(tmp_path / str(place), model), progress=quiet)
        assert answers(rest) == answers(judge_rule(model, TASK, progress=quiet))
        assert few.undecided >= rest.undecided


def test_what_was_spent_on_kept_pieces_is_spent(model, tmp_path):
    begun(tmp_path / "pieces", model)
    for most in (110, 150):
        once = judge_rule(model, TASK, progress=quiet, visits=most, one_by_one=most)
        kept = kept_in(tmp_path / "pieces", model)
        rest = judge_rule(model, TASK, journal=kept, progress=quiet, visits=most, one_by_one=most)
        assert (rest.right, rest.wrong) == (once.right, once.wrong)


def changed(path, **values):
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        for name, value in values.items():
            (record["found"] if name in record["found"] else record)[name] = value
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize(
    "values",
    [{"right": 37}, {"wrong": 1}, {"piece": "5"}, {"one_by_one": -100}, {"visited": -100}, {"examples": [[0, 0, 0]]},
     {"code": "0" * 64}, {"code": None}, {"code": 3}, {"code": "é"}, {"more": 1}],
)  # fmt: skip
def test_a_line_that_was_changed_is_not_believed(values, tmp_path):
    model, whole = models()["one head"], whole_answers()
    begun(tmp_path / "pieces", model)
    changed(tmp_path / "pieces", **values)
    kept = kept_in(tmp_path / "pieces", model)
    assert kept.refused == 2
    rest = judge_rule(model, TASK, journal=kept, progress=quiet)
    assert rest == whole and rest.earlier == 0


def test_counts_of_another_model_rule_program_or_user_are_not_believed(tmp_path, monkeypatch):
    model, path, judge = models()["one head"], tmp_path / "pieces", {"program": "this one"}
    monkeypatch.setattr(domain, "all_that_judges", lambda: judge)
    judge_rule(model, TASK, journal=domain_journal(path, model, TASK), progress=interrupted_after(2))
    assert domain_journal(path, model, TASK).refused == 0
    nearly = replace(model, W_U=np.nextafter(model.W_U, 9.0))
    masked = replace(model, blocks=(replace(model.blocks[0], score_root=4),))
    for other in (nearly, masked):
        assert domain_journal(path, other, TASK).refused == 2
    assert domain_journal(path, model, rule_task("min", d_vocab=6, n_ctx=3)).refused == 2
    assert domain_journal(path, model, rule_task("max", d_vocab=5, n_ctx=3)).refused == 2
    judge["program"] = "another"
    assert domain_journal(path, model, TASK).refused == 2
    judge["program"] = "this one"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another user"))
    foreign = domain_journal(path, model, TASK)
    assert foreign.refused == 2 and foreign.get(0) is None


@pytest.mark.parametrize(
    "junk", [b"", b"\n\n", b"[]\n", b"3\n", b"null\n", b"\xff\xfe\n", b'{"code": {}}\n', b"[" * 5000]
)
def test_junk_is_not_believed_and_what_is_believed_stays(junk, tmp_path):
    model, path = models()["one head"], tmp_path / "pieces"
    begun(path, model)
    stored = path.read_bytes()
    path.write_bytes(junk + b"\n" + stored + stored[:60])  # and the last line is torn
    kept = kept_in(path, model)
    assert kept.get(0) is not None and kept.get(1) is not None and kept.refused >= 1
    kept.add(4, asdict(Tally(right=1)))
    kept.add(5, asdict(Tally(wrong=1, examples=[(0, 0, 5)])))
    again = kept_in(path, model)
    assert again.refused == 0 and again.get(0) == kept.get(0)
    assert Tally.of(again.get(5)) == Tally(wrong=1, examples=[(0, 0, 5)])


def test_a_key_that_others_can_read_or_that_is_none_signs_nothing(tmp_path, monkeypatch):
    model = models()["one head"]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    kept_in(tmp_path / "pieces", model)
    key = tmp_path / "byheart" / "key"
    assert len(key.read_bytes()) == 32 and os.listdir(key.parent) == ["key"]
    if os.name == "posix":
        assert key.stat().st_mode & 0o777 == 0o600
        key.chmod(0o640)
        with pytest.raises(InputError, match="expected 32 bytes that its owner alone can read"):
            kept_in(tmp_path / "pieces", model)
        key.chmod(0o600)
    key.write_bytes(b"short")
    with pytest.raises(InputError, match="has 5 bytes"):
        kept_in(tmp_path / "pieces", model)
    if os.name == "posix":
        key.unlink()
        os.mkfifo(key, 0o600)  # reading it would never end
        with pytest.raises(InputError, match="not a regular file"):
            kept_in(tmp_path / "pieces", model)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(InputError, match="key of kept pieces cannot be read or written"):
        kept_in(tmp_path / "pieces", model)


class Once:
    """Pieces of work that are done once, and a file that what they find depends on."""

    def __init__(self, folder):
        self.file, self.calls, self.text = folder / "kept", folder / "calls", folder / "text"
        self.text.write_text("a")

    def work(self, piece):
        with self.calls.open("a") as file:
            file.write(f"{piece} ")
        if piece == "broken":
            raise ValueError(piece)
        if piece == "stop":
            raise KeyboardInterrupt
        return {"length": len(piece)}

    def __call__(self, *pieces, look=lambda: "this program", work=None, workers=None, keep_if=lambda _: True):
        """Which pieces were worked on, and what came of each: its length, and whether an earlier run has found it."""
        self.calls.write_text("")
        kept, found = Journal(self.file, look), {}
        try:
            for piece, result, earlier in cached_map(
                work or self.work,
                pieces,
                workers,
                journal=kept,
                named=lambda x: [x, files_sha256(self.text)],
                keep_if=keep_if,
            ):
                found[piece] = (result["length"] if isinstance(result, dict) else result, earlier)
        except KeyboardInterrupt:
            found["interrupted"] = True
        return self.calls.read_text().split(), found


@pytest.fixture
def once(tmp_path):
    return Once(tmp_path)


@pytest.mark.parametrize("workers", [None, lambda: ThreadPoolExecutor(2)])
def test_only_pieces_that_nobody_has_finished_are_worked_on(once, workers):
    assert once("a", "bb", workers=workers) == (ANY, {"a": (1, False), "bb": (2, False)})
    done, found = once("a", "ccc", "bb", workers=workers)
    assert done == ["ccc"] and found == {"a": (1, True), "bb": (2, True), "ccc": (3, False)}
    assert once("a", "bb", "ccc", workers=workers) == ([], {"a": (1, True), "bb": (2, True), "ccc": (3, True)})


def test_an_interrupt_loses_only_the_piece_that_was_worked_on(once):
    assert once("a", "stop", "bb") == (["a", "stop"], {"a": (1, False), "interrupted": True})
    assert once("a", "bb") == (["bb"], {"a": (1, True), "bb": (2, False)})


@pytest.mark.parametrize("workers", [None, lambda: ThreadPoolExecutor(2)])
def test_a_piece_that_raised_or_does_not_last_is_worked_on_again(once, workers):
    for _ in range(2):
        done, found = once("broken", workers=workers)
        assert done == ["broken"] and isinstance(found["broken"][0], ValueError)
        assert once("a", keep_if=lambda found: found["length"] > 1, workers=workers)[0] == ["a"]


def test_what_no_file_can_hold_is_worked_out_again_and_harms_nothing(once):
    def work(piece):
        return {"length": len(piece), "bound": float("nan") if piece == "a" else 1.0}

    assert once("a", "bb", work=work)[1] == {"a": (1, False), "bb": (2, False)}
    assert once("a", "bb", work=work)[1] == {"a": (1, False), "bb": (2, True)}


def test_a_worker_that_dies_leaves_no_line(once):
    class Dead(ThreadPoolExecutor):
        def submit(self, *_, **__):
            raise BrokenProcessPool("it died")

    assert isinstance(once("a", workers=lambda: Dead(1))[1]["a"][0], WorkerError) and not once.file.exists()
    assert once("a")[0] == ["a"]


def test_a_full_disk_costs_only_what_is_written_on_it(once, monkeypatch):
    kept = Journal(once.file, dict)
    kept.add("a", 1)

    class Full(io.BufferedWriter):
        def write(self, data):
            super().write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(journal, "open", lambda path, mode: Full(io.FileIO(path, mode)), raising=False)
    kept.add("b", 2)
    assert kept.lost.errno == errno.ENOSPC and Journal(once.file, dict).refused == 1
    kept.add("c", 3)
    again = Journal(once.file, dict)
    assert [again.get(name) for name in "abc"] == [1, 2, 3] and again.refused == 0


def test_two_runs_with_one_file_lose_nothing(once):
    first, second = Journal(once.file, dict), Journal(once.file, dict)
    for kept, piece in ((first, "a"), (second, "b"), (first, "c"), (second, "d")):
        kept.add(piece, 1)
    again = Journal(once.file, dict)
    assert all(again.get(piece) == 1 for piece in "abcd") and again.refused == 0


def test_another_program_or_another_file_takes_nothing_over(once):
    once("a")
    once.text.write_text("b")
    assert once("a")[0] == ["a"] and once("a")[0] == []
    once.text.write_text("a")
    assert once("a")[0] == []
    assert once("a", look=lambda: "another program")[0] == ["a"]


def test_what_a_worker_finds_of_other_files_is_not_given(once):
    def elsewhere(piece):
        once.text.write_text("what lies where the worker is")
        return {"length": 1}

    [(error, earlier)] = once("a", work=elsewhere, workers=lambda: ThreadPoolExecutor(1))[1].values()
    assert isinstance(error, WorkerError) and "other files" in str(error) and not earlier and not once.file.exists()
    named = iter(["here", "elsewhere"])
    [(_, error, _)] = cached_map(len, ["a"], lambda: ThreadPoolExecutor(1), journal=None, named=lambda _: next(named))
    assert isinstance(error, WorkerError)


def test_what_cannot_be_named_is_an_error_of_its_piece(once):
    def named(piece):
        if piece == "a":
            raise PermissionError("no")
        return piece

    kept = Journal(once.file, dict)
    found = {piece: result for piece, result, _ in cached_map(len, ["a", "bb"], journal=kept, named=named)}
    assert isinstance(found.pop("a"), PermissionError) and found == {"bb": 2}


def test_what_was_changed_while_it_was_worked_on_is_not_kept(once):
    def edits(piece):
        once.text.write_text("edited meanwhile")
        return {"length": 1}

    assert once("a", work=edits)[1] == {"a": (1, False)} and not once.file.exists()
    states = iter(["this program", "another", "another"])
    assert once("a", look=lambda: next(states))[1] == {"a": (1, False)} and not once.file.exists()


@pytest.mark.parametrize(
    "edit",
    [
        lambda line: line.replace(b'"length":1', b'"length":7'),
        lambda line: line[: len(line) // 2],
        lambda line: line.replace(b'[\\"a\\"', b'[\\"b\\"'),
        lambda line: b'{"code":"0","found":{"length":7},"piece":"[]"}\n' + line[:-2],
    ],
)
def test_a_line_that_was_torn_or_forged_is_worked_out_again(edit, once):
    once("a")
    line = once.file.read_bytes()
    edited = edit(line)
    assert edited != line
    once.file.write_bytes(edited)
    assert Journal(once.file, lambda: "this program").refused == len(edited.splitlines())
    assert once("a", "b") == (["a", "b"], {"a": (1, False), "b": (1, False)})
    assert once("a", "b")[0] == []


def test_without_a_file_everything_is_worked_on(once):
    found = list(cached_map(len, ["a"], journal=None, named=str))
    assert found == [("a", 1, False)]


def test_a_file_that_holds_something_else_is_told_from_one_that_was_kept(once, tmp_path):
    once("a")
    assert is_kept_file(once.file) and is_kept_file(tmp_path / "new")
    for name, text in (("empty", ""), ("text", "my notes\n"), ("json", "{}\n")):
        (tmp_path / name).write_text(text)
        assert is_kept_file(tmp_path / name) is (name == "empty")
    assert not is_kept_file(tmp_path)
    with (tmp_path / "of 16 GiB").open("wb") as file:
        file.truncate(2**34 + 1)
    assert not is_kept_file(tmp_path / "of 16 GiB")  # it cannot be read, so nobody knows what it holds


def test_a_certificate_says_what_earlier_runs_counted_and_leaves_no_file(tmp_path, monkeypatch):
    model, _ = one_attention(np.random.default_rng(1), n_heads=2, largest_tokens=5)
    task = rule_task("max", d_vocab=model.d_vocab, n_ctx=2)
    keep = tmp_path / "pieces"
    part = certify_domain(model, task, keep=keep, progress=interrupted_after(1))
    assert part.answers.interrupted and keep.exists()
    whole = certify_domain(model, task, keep=keep)
    assert not keep.exists() and whole.answers.earlier == part.answers.right + part.answers.wrong > 0
    assert f"{whole.answers.earlier} counted by earlier runs" in whole.certificate.statements[0].method
    assert answers(whole.answers) == answers(certify_domain(model, task).answers)


def test_nothing_is_kept_of_a_model_without_pieces(tmp_path):
    echo = Model(blocks=(), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
    task = rule_task("last", d_vocab=2, n_ctx=1)
    found = judge_rule(echo, task, one_by_one=0, journal=kept_in(tmp_path / "pieces", echo, task), progress=quiet)
    assert found.undecided == 2 and not (tmp_path / "pieces").exists()
