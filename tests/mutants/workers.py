"""Mutants of pieces of work on executors: pieces that vanish, errors of one that are those of all."""

from tests.mutants import of

workers = of("verify/workers.py", "tests/verify/test_workers.py")

MUTANTS = [
    workers("            left.append(piece)\n", "            pass\n", "what a dead worker had not finished vanishes"),
    workers(
        "if isinstance(result, BrokenExecutor):\n            left",
        "if False:\n            left",
        "one dead worker costs all pieces",
    ),
    workers("if lost else result", "if False else result", "who died twice is an executor, and no piece"),
    workers("yield from ((unsent, error) for unsent in pieces[place:])", "pass", "what was not sent vanishes"),
    workers(
        "                for future in futures:\n                    future.cancel()\n",
        "                pass\n",
        "nobody stops",
    ),
    workers(
        "    except Exception as error:\n        return error",
        "    except OSError as error:\n        return error",
        "one error ends all",
    ),
    workers("if program_sha256() != program:", "if False:", "a worker judges by a text that is gone"),
    workers(
        'or type(result).__module__.partition(".")[0] == "distributed"',
        "",
        "what a cluster loses is an error of the work",
    ),
    workers("shutdown(cancel_futures=True)", "shutdown()", "no process stops"),
    workers(
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})",
        "signal.pthread_sigmask(signal.SIG_BLOCK, set())",
        "an interrupt finds processes that are not ready for it",
    ),
    workers(
        "        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})\n",
        "        pass\n",
        "no interrupt ends a process",
    ),
    workers(", _ended_by_an_interrupt)", ")", "an interrupt has every worker write where it was"),
    workers("if count < 1:", "if count < 0:", "no processes are some"),
]
