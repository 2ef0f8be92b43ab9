"""A domain that was interrupted goes on where it stopped, and no file makes anybody believe a count."""

import json
import os
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.models.model import Model
from constructions.tasks.rule import rule_task
from tests.domains import max_of_four, one_attention, quiet
from verify.certificates.domain import certify_domain
from verify.domains import kept_pieces, rule_answers
from verify.domains.kept_pieces import KeptPieces
from verify.domains.rule_answers import judge_rule
from verify.domains.tally import Tally

ABOUT = {"program": "this one"}
TASK = rule_task("max", tokens=6, length=3)


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
    kept = KeptPieces(path, model, task, ABOUT)
    return judge_rule(model, task, kept=kept, progress=interrupted_after(pieces))


def test_a_run_that_goes_on_ends_as_one_that_was_never_interrupted(model, tmp_path):
    whole = judge_rule(model, TASK, progress=quiet)
    part = begun(tmp_path / "pieces", model)
    assert part.interrupted and 0 < part.right + part.wrong < whole.right + whole.wrong
    rest = judge_rule(model, TASK, kept=KeptPieces(tmp_path / "pieces", model, TASK, ABOUT), progress=quiet)
    assert answers(rest) == answers(whole)
    assert rest.earlier == part.right + part.wrong > 0
    assert rest.method.endswith(f"; {rest.earlier} counted by earlier runs of this machine")
    again = judge_rule(model, TASK, kept=KeptPieces(tmp_path / "pieces", model, TASK, ABOUT), progress=quiet)
    assert answers(again) == answers(whole) and again.earlier == whole.right + whole.wrong


def test_only_what_is_missing_is_judged_again(tmp_path, monkeypatch):
    model, judged = models()["one head"], []
    begun(tmp_path / "pieces", model, pieces=4)
    original = rule_answers.judge_last_token
    monkeypatch.setattr(rule_answers, "judge_last_token", lambda *given: judged.append(given[2]) or original(*given))
    judge_rule(model, TASK, kept=KeptPieces(tmp_path / "pieces", model, TASK, ABOUT), progress=quiet)
    assert judged == [4, 5]


def test_a_piece_that_is_interrupted_counts_and_is_not_kept(tmp_path, monkeypatch):
    model = models()["one head"]
    original = rule_answers.judge_last_token

    def stopped(tables, task, place, tally, budget):
        yield from original(tables, task, place, tally, budget)
        if place == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(rule_answers, "judge_last_token", stopped)
    kept = KeptPieces(tmp_path / "pieces", model, TASK, ABOUT)
    part = judge_rule(model, TASK, kept=kept, progress=quiet)
    stored = sum(tally.right + tally.wrong for place in range(6) if (tally := kept.get(place)) is not None)
    assert kept.get(2) is not None and kept.get(3) is None
    assert part.right + part.wrong > stored


def test_what_a_budget_cuts_off_is_not_kept(model, tmp_path):
    for place, (visits, climbs) in enumerate([(0, 0), (1000, 1), (1, 1000)]):
        kept = KeptPieces(tmp_path / str(place), model, TASK, ABOUT)
        few = judge_rule(model, TASK, kept=kept, progress=quiet, visits=visits, climbs=climbs)
        for piece in range(6):
            assert (tally := kept.get(piece)) is None or tally.right + tally.wrong > 0
        rest = judge_rule(model, TASK, kept=KeptPieces(tmp_path / str(place), model, TASK, ABOUT), progress=quiet)
        assert answers(rest) == answers(judge_rule(model, TASK, progress=quiet))
        assert few.undecided >= rest.undecided


def test_what_was_spent_on_kept_pieces_is_spent(model, tmp_path):
    begun(tmp_path / "pieces", model)
    for most in (110, 150):
        once = judge_rule(model, TASK, progress=quiet, visits=most, climbs=most)
        kept = KeptPieces(tmp_path / "pieces", model, TASK, ABOUT)
        rest = judge_rule(model, TASK, kept=kept, progress=quiet, visits=most, climbs=most)
        assert (rest.right, rest.wrong) == (once.right, once.wrong)


def changed(path, **values):
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        record.update(values)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize(
    "values",
    [{"right": 37}, {"wrong": 1}, {"piece": 5}, {"climbed": -100}, {"visited": -100}, {"examples": [[0, 0, 0]]},
     {"code": "0" * 64}, {"code": None}, {"code": 3}, {"code": "é"}, {"more": 1}],
)  # fmt: skip
def test_a_line_that_was_changed_is_not_believed(values, tmp_path):
    model, whole = models()["one head"], whole_answers()
    begun(tmp_path / "pieces", model)
    changed(tmp_path / "pieces", **values)
    kept = KeptPieces(tmp_path / "pieces", model, TASK, ABOUT)
    assert kept.refused == 2
    rest = judge_rule(model, TASK, kept=kept, progress=quiet)
    assert rest == whole and rest.earlier == 0


def test_counts_of_another_model_rule_program_or_user_are_not_believed(tmp_path, monkeypatch):
    model, path = models()["one head"], tmp_path / "pieces"
    begun(path, model)
    assert KeptPieces(path, model, TASK, ABOUT).refused == 0
    nearly = replace(model, W_U=np.nextafter(model.W_U, 9.0))
    masked = replace(model, blocks=(replace(model.blocks[0], score_root=4),))
    for other in (nearly, masked):
        assert KeptPieces(path, other, TASK, ABOUT).refused == 2
    assert KeptPieces(path, model, rule_task("min", tokens=6, length=3), ABOUT).refused == 2
    assert KeptPieces(path, model, rule_task("max", tokens=5, length=3), ABOUT).refused == 2
    assert KeptPieces(path, model, TASK, {"program": "another"}).refused == 2
    with monkeypatch.context() as patched:
        patched.setattr(kept_pieces, "program_sha256", lambda: "another")
        assert KeptPieces(path, model, TASK, ABOUT).refused == 2
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another user"))
    foreign = KeptPieces(path, model, TASK, ABOUT)
    assert foreign.refused == 2 and foreign.get(0) is None


@pytest.mark.parametrize(
    "junk", [b"", b"\n\n", b"[]\n", b"3\n", b"null\n", b"\xff\xfe\n", b'{"code": {}}\n', b"[" * 5000]
)
def test_junk_is_not_believed_and_what_is_believed_stays(junk, tmp_path):
    model, path = models()["one head"], tmp_path / "pieces"
    begun(path, model)
    stored = path.read_bytes()
    path.write_bytes(junk + b"\n" + stored + stored[:60])  # and the last line is torn
    kept = KeptPieces(path, model, TASK, ABOUT)
    assert kept.get(0) is not None and kept.get(1) is not None and kept.refused >= 1
    kept.add(4, Tally(right=1))
    kept.add(5, Tally(wrong=1, examples=[(0, 0, 5)]))
    again = KeptPieces(path, model, TASK, ABOUT)
    assert again.refused == 0 and (again.get(0), again.get(5)) == (kept.get(0), Tally(wrong=1, examples=[(0, 0, 5)]))


def test_a_key_that_others_can_read_or_that_is_none_signs_nothing(tmp_path, monkeypatch):
    model = models()["one head"]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    KeptPieces(tmp_path / "pieces", model, TASK, ABOUT)
    key = tmp_path / "byheart" / "key"
    assert len(key.read_bytes()) == 32 and os.listdir(key.parent) == ["key"]
    if os.name == "posix":
        assert key.stat().st_mode & 0o777 == 0o600
        key.chmod(0o640)
        with pytest.raises(InputError, match="expected 32 bytes that its owner alone can read"):
            KeptPieces(tmp_path / "pieces", model, TASK, ABOUT)
        key.chmod(0o600)
    key.write_bytes(b"short")
    with pytest.raises(InputError, match="has 5 bytes"):
        KeptPieces(tmp_path / "pieces", model, TASK, ABOUT)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(InputError, match="key of kept pieces cannot be read or written"):
        KeptPieces(tmp_path / "pieces", model, TASK, ABOUT)


def test_the_program_is_known_by_the_text_of_both_wings(tmp_path):
    found = kept_pieces.program_sha256()
    assert len(found) == 64 and found == kept_pieces.program_sha256.__wrapped__()


def test_a_certificate_says_what_earlier_runs_counted_and_leaves_no_file(tmp_path, monkeypatch):
    model, _ = one_attention(np.random.default_rng(1), heads=2, largest_tokens=5)
    task = rule_task("max", tokens=model.d_vocab, length=2)
    keep = tmp_path / "pieces"
    part = certify_domain(model, task, keep=keep, progress=interrupted_after(1))
    assert part.answers.interrupted and keep.exists()
    whole = certify_domain(model, task, keep=keep)
    assert not keep.exists() and whole.answers.earlier == part.answers.right + part.answers.wrong > 0
    assert f"{whole.answers.earlier} counted by earlier runs" in whole.certificate.statements[0].method
    assert answers(whole.answers) == answers(certify_domain(model, task).answers)


def test_nothing_is_kept_of_a_model_without_pieces(tmp_path):
    echo = Model(blocks=(), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
    task = rule_task("last", tokens=2, length=1)
    found = judge_rule(echo, task, climbs=0, kept=KeptPieces(tmp_path / "pieces", echo, task, ABOUT), progress=quiet)
    assert found.undecided == 2 and not (tmp_path / "pieces").exists()
