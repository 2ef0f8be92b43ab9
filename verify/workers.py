"""Run independent pieces of work on any executor; a worker that dies loses only its own piece.

Page: docs/commands.md
"""

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, TypeVar

from constructions.errors import InputError, WorkerError
from verify.program_text import program_sha256

Workers = Callable[[], AbstractContextManager[Executor]]
"""Makes an executor: processes of this machine, threads, or any other of the interface of `concurrent.futures`."""

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def completed(
    work: Callable[[Piece], Result], pieces: Iterable[Piece], workers: Workers | None = None
) -> Generator[tuple[Piece, Result | Exception], None, None]:
    """Process several items, and yield each result as soon as it is available.

    An executor of processes is broken as a whole when one of them dies, and does not say over which piece. The pieces
    that it had not finished are done again, each alone on an executor of its own, so that only one that kills its
    worker again is lost. What a worker found that runs another text of this program than the caller, such as one that
    began before an edit, is not believed.

    Args:
        work: A function that a worker can import.
        pieces: What it is called with, each once.
        workers: Makes the executor; by default the work is done here, one piece after the other.

    Yields:
        A piece, and what the work returned for it or the exception that it raised: `WorkerError` if its worker died, is
        out of reach or runs another program.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> sorted(completed(len, ["a", "bc"], ThreadPoolExecutor))
        [('a', 1), ('bc', 2)]
    """
    if workers is None:
        yield from ((piece, _tried(partial(work, piece))) for piece in pieces)
        return
    work, pieces, left = partial(_by_this_program, program_sha256(), work), list(pieces), list[Piece]()
    for piece, result in _on_one_executor(work, pieces, workers) if pieces else ():
        if isinstance(result, BrokenExecutor):
            left.append(piece)
        else:
            yield piece, result
    for piece in left:
        for _, result in _on_one_executor(work, [piece], workers):
            lost = isinstance(result, BrokenExecutor)
            yield piece, WorkerError(f"its worker died twice: {result}") if lost else result


def _on_one_executor(
    work: Callable[[Piece], Result], pieces: list[Piece], workers: Workers
) -> Generator[tuple[Piece, Result | Exception], None, None]:
    with workers() as executor:
        futures: dict[Future[Result], Piece] = {}
        try:
            for place, piece in enumerate(pieces):
                try:
                    futures[executor.submit(work, piece)] = piece
                except BrokenExecutor as error:
                    yield from ((unsent, error) for unsent in pieces[place:])
                    break
            for future in as_completed(futures):
                yield futures[future], _of_the_work(_tried(future.result))
        finally:
            # Where the caller was interrupted, what has not begun never begins.
            if isinstance(executor, ProcessPoolExecutor):  # it sets futures itself, if its processes have ended, too
                executor.shutdown(cancel_futures=True)
            else:
                for future in futures:
                    future.cancel()


def _by_this_program(program: str, work: Callable[[Piece], Result], piece: Piece) -> Result:
    result = work(piece)
    if program_sha256() != program:  # looked at last: what the work has loaded is of this text, too
        raise WorkerError("its worker runs another text of byheart; start the workers again, with the one that is here")
    return result


def _of_the_work(result: Result | Exception) -> Result | Exception:
    """Tell errors of the work from errors of the cluster, whose worker or scheduler is gone."""
    if isinstance(result, CancelledError) or type(result).__module__.partition(".")[0] == "distributed":
        return WorkerError(f"its worker or the scheduler went away: {result or type(result).__name__}")
    return result


def _tried(call: Callable[[], Result]) -> Result | Exception:
    try:
        return call()
    except Exception as error:
        return error


def processes(count: int) -> Executor:
    """Yield a pool of processes on this machine, each with one thread for linear algebra.

    Args:
        count: At least 1.

    Raises:
        InputError: No processes.
    """
    if count < 1:
        raise InputError("workers", f"= {count}", "at least 1")
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # read by the processes that are started now
    return _Processes(count)


class _Processes(ProcessPoolExecutor):
    """Processes that Ctrl-C, which reaches all of them, ends at once and silently."""

    def __init__(self, count: int) -> None:
        # A fresh interpreter: a copy of this one would share the locks of its threads.
        super().__init__(count, multiprocessing.get_context("spawn"), _ended_by_an_interrupt)

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> "Future[Result]":
        """Submit like the base class; new processes ignore interrupts until they are ready to end."""
        if not hasattr(signal, "pthread_sigmask"):
            return super().submit(fn, *args, **kwargs)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ended_by_an_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Yield the workers of a Dask scheduler; each piece is tried once.

    Args:
        address: Of the scheduler, e.g. ``"tcp://10.0.0.1:8786"``; byheart has to be installed where its workers are.

    Raises:
        InputError: Dask is not installed, or no scheduler answers there.
    """
    try:
        from distributed import Client
    except ImportError:
        raise InputError("a scheduler", "needs Dask: pip install 'byheart[dask]'") from None
    client, reason = None, ""
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error)
    if client is None:
        # A client that never connected stops its thread when it is collected: now, and not while Dask holds a lock.
        gc.collect()
        raise InputError("no scheduler", f"answers at {address!r}: {reason}")
    with client, client.get_executor(pure=False, retries=0) as executor:
        yield executor
