"""Pieces of work on processes, threads and a cluster: each is done once, and a worker that dies costs its own alone."""

import os
import pickle
import signal
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from constructions.errors import CapacityError, HypothesisError, InputError, WorkerError
from verify import workers
from verify.workers import cluster, completed, processes


def squared(number):
    """A piece of work that some pieces make impossible, as a file says."""
    if number == 13:
        raise HypothesisError("The squares", "a lucky number", "13")
    return number * number


def deadly(folder, number):
    """Leaves a mark each time that it is begun; one number kills its worker."""
    with (Path(folder) / f"{number}").open("a") as mark:
        mark.write("x")
    if number == 3:
        os._exit(9)
    return number * number


@pytest.mark.parametrize("workers", [None, partial(ThreadPoolExecutor, 2), partial(processes, 2)])
def test_every_piece_is_done_and_an_error_is_that_of_its_piece(workers):
    found = dict(completed(squared, range(10, 16), workers))
    error = found.pop(13)
    assert found == {10: 100, 11: 121, 12: 144, 14: 196, 15: 225}
    assert isinstance(error, HypothesisError) and error.value == "13"


def test_a_worker_that_dies_costs_only_the_piece_that_kills_it(tmp_path):
    found = dict(completed(partial(deadly, str(tmp_path)), range(8), partial(processes, 2)))
    lost = found.pop(3)
    assert isinstance(lost, WorkerError) and "died twice" in str(lost)
    assert found == {number: number * number for number in (0, 1, 2, 4, 5, 6, 7)}
    assert (tmp_path / "3").read_text() == "xx"


class TakesOne(ThreadPoolExecutor):
    """Broken as soon as it has one piece."""

    sent = 0

    def submit(self, *call):
        self.sent += 1
        if self.sent > 1:
            raise BrokenExecutor("a worker died")
        return super().submit(*call)


def test_what_a_broken_executor_does_not_take_is_done_alone():
    assert dict(completed(squared, range(5), TakesOne)) == {0: 0, 1: 1, 2: 4, 3: 9, 4: 16}


KilledWorker = type("KilledWorker", (Exception,), {"__module__": "distributed.scheduler"})


@pytest.mark.parametrize("lost", [CancelledError(), KilledWorker("its worker")])
def test_what_a_cluster_loses_is_lost_and_no_error_of_the_work(lost):
    def work(piece):
        raise lost

    [(_, error)] = completed(work, [1], partial(ThreadPoolExecutor, 1))
    assert isinstance(error, WorkerError) and "went away" in str(error)


def test_what_another_text_of_the_program_found_is_not_believed(monkeypatch):
    texts = iter(["here", "here", "another"])
    monkeypatch.setattr(workers, "program_sha256", lambda: next(texts))
    found = dict(completed(squared, [1, 2], partial(ThreadPoolExecutor, 1)))
    assert found.pop(1) == 1 and isinstance(found[2], WorkerError) and "another text" in str(found[2])


def test_where_nothing_is_left_to_do_no_worker_is_asked_for():
    assert list(completed(squared, [], lambda: pytest.fail("a worker was asked for"))) == []


def waiting():
    """Whether an interrupt would wait."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def on_interrupt(_):
    return signal.getsignal(signal.SIGINT), waiting()


def test_an_interrupt_ends_processes_without_a_word(monkeypatch):
    assert list(completed(on_interrupt, [0], partial(processes, 1))) == [(0, (signal.SIG_DFL, False))]
    monkeypatch.setattr(ProcessPoolExecutor, "submit", lambda *_: waiting())
    assert processes(1).submit(len) and not waiting()


def test_who_stops_listening_stops_processes(tmp_path):
    pieces = completed(partial(deadly, str(tmp_path)), range(100, 500), partial(processes, 1))
    next(pieces)
    pieces.close()
    assert len(list(tmp_path.iterdir())) < 400


class Gated(ThreadPoolExecutor):
    """Has one thread, which may begin a second piece, and ends it when the executor is left."""

    def __init__(self):
        super().__init__(1)
        self.gate, self.begun = Event(), []

    def work(self, number):
        self.begun.append(number)
        assert number == 0 or self.gate.wait(60)

    def __exit__(self, *how):
        self.gate.set()
        return super().__exit__(*how)


def test_who_stops_listening_stops_what_has_not_begun():
    pool = Gated()
    pieces = completed(pool.work, range(100), lambda: pool)
    assert next(pieces) == (0, None)
    pieces.close()
    assert pool.begun in ([0], [0, 1])


def test_errors_of_three_parts_arrive_from_another_process():
    error = CapacityError("Claim", "enough heads", "3", fewest_heads=4)
    read = pickle.loads(pickle.dumps(error))
    assert type(read) is CapacityError and str(read) == str(error) and (read.value, read.fewest_heads) == ("3", 4)


def test_no_processes_and_no_scheduler_are_refused():
    with pytest.raises(InputError, match="workers = 0, expected at least 1"):
        processes(0)
    pytest.importorskip("distributed", reason="needs Dask: pip install 'byheart[dask]'")
    with pytest.raises(InputError, match="no scheduler answers at 'nowhere'"):
        cluster("nowhere").__enter__()


def test_a_local_cluster_does_what_processes_do():
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'byheart[dask]'")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local:
        found = dict(completed(squared, range(12, 15), partial(cluster, local.scheduler_address)))
    assert isinstance(found.pop(13), HypothesisError)
    assert found == {12: 144, 14: 196}
