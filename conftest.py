"""The examples in README.md and docs/ run as tests; those in docstrings run by pytest's own --doctest-modules."""

import doctest
import os
import tempfile
from typing import Any

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

# One BLAS thread per process: the tests are spread over processes. It has to be said before numpy is imported.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# Programs with their own entry points, the settings of Sphinx, and what runs in other programs hold no tests.
collect_ignore_glob = ["benchmarks/*", "byheart/hosts/written/*", "docs/*.py", "tests/mutants/*"]


def enter_empty_folder(namespace: dict[str, Any]) -> None:
    """Let the examples of one page write where they like."""
    namespace["folder"] = tempfile.TemporaryDirectory()
    namespace["origin"] = os.getcwd()
    os.chdir(namespace["folder"].name)


def leave_empty_folder(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["origin"])
    namespace["folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS)],
    patterns=["*.md"],
    setup=enter_empty_folder,
    teardown=leave_empty_folder,
).pytest()
