"""Options that several commands take: JSON, and where the work is done."""

import argparse

import pytest

from byheart.terminal.options import add_json_option, add_worker_options, workers
from verify.workers import cluster, processes


def read(words):
    parser = argparse.ArgumentParser()
    add_json_option(parser)
    add_worker_options(parser)
    return parser.parse_args(words)


def test_work_is_done_here_unless_workers_are_asked_for():
    assert workers(read([])) is None and read([]).json is False
    here, there = workers(read(["--workers", "2"])), workers(read(["--scheduler", "tcp://a:1"]))
    assert (here.func, here.args) == (processes, (2,))
    assert (there.func, there.args) == (cluster, ("tcp://a:1",))


def test_work_is_done_in_one_place(capsys):
    with pytest.raises(SystemExit):
        read(["--workers", "2", "--scheduler", "tcp://a:1"])
    assert "not allowed with" in capsys.readouterr().err
