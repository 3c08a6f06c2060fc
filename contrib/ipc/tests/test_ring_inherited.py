# SPDX-License-Identifier: Apache-2.0
"""A ring in processes that inherited it: forked children, and one that keeps a reader's socket."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from os import getpid
from pathlib import Path

import pytest

from samebytes.errors import ClosedError
from samebytes_ipc import RingReader, RingWriter

from . import both_ends
from .both_ends import ring, said, sent, served, value_of, writer_at

forks = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

KEEPS_ITS_SOCKET = """
import os, subprocess, sys, samebytes_ipc
ring = samebytes_ipc.RingReader(sys.argv[1])
# Somebody else has the socket from now on, and does nothing with it.
number = os.dup(ring._connection.sock.fileno())
os.set_inheritable(number, True)
child = subprocess.Popen(["sleep", "600"], pass_fds=[number], stdout=subprocess.DEVNULL)
kept = [ring.read(60) for _ in range(2)]
print(child.pid, flush=True)
import time
time.sleep(600)
"""


PASSES_ON = """
import os, sys, warnings
from importlib import import_module
from runpy import run_path
warnings.simplefilter("ignore")
by, first, both_ends = sys.argv[1:]
others = ["samebytes_ipc._ring.writer", "samebytes_ipc._pickle.offers"]
for name in [*others, "samebytes_ipc._ring.reader"][:: 1 if first == "writer" else -1]:
    import_module(name)
from samebytes_ipc._pickle.offers import offer, opened
ends = run_path(both_ends)
ring, sent, served, value_of = map(ends.get, ("ring", "sent", "served", "value_of"))
with ring(slots=2) as (first, reader), ring(slots=2) as (second, last):
    sent(first, 5)
    way = (second.send if by == "another ring" else offer)(reader.read())
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    first.serve()
    print(first.statistics.readers[0].held)
    for number in range(4):
        sent(first, 100 + number)
        reader.read()
    kept = last.read() if by == "another ring" else opened(*way)
    print(value_of(kept))
    del kept
    second.wait_until_read()
    served(first, lambda: first.statistics.readers[0].held == 0)
    print(first.statistics.readers[0].done, len(first.departures))
"""


def test_a_reader_whose_socket_another_process_keeps(
    address: str, run: Callable[..., subprocess.Popen[str]]
) -> None:
    """Its pidfd says that it is gone; the stream does not end."""
    with writer_at(address, slots=2) as writer:
        reader = run(KEEPS_ITS_SOCKET, address)
        writer.wait_for_readers()
        for number in range(2):
            sent(writer, number)
        (child,) = map(int, said(reader, 1))
        try:
            reader.kill()
            sent(writer, 2)
            assert [d.reason for d in writer.departures] == ["ended"]
        finally:
            os.kill(child, signal.SIGKILL)


@forks
def test_fork_while_the_ring_is_open(address: str) -> None:
    """The child has no part in it, and ends nothing of it; its frames give nothing back."""
    with writer_at(address, slots=2) as writer:
        connecting = threading.Thread(target=writer.wait_for_readers)
        connecting.start()
        with RingReader(address, timeout=60) as reader:
            connecting.join()
            sent(writer, 1)
            held, ours = reader.read(), writer.acquire()
            child = os.fork()
            if not child:
                try:
                    for call in (writer.acquire, reader.read, writer.serve):
                        try:
                            call()
                        except ClosedError as error:
                            os._exit(2) if "parent" not in str(error) else None
                        else:
                            os._exit(1)
                    del held, ours
                    writer.close()
                    reader.close()
                    os._exit(0)
                finally:
                    os._exit(99)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0
            assert Path(address).exists()
            writer.serve()
            assert writer.statistics.readers[0].held == 1
            assert value_of(held) == 1
            del held, ours
            for number in range(5):
                sent(writer, number)
                assert value_of(reader.read()) == number


@pytest.mark.parametrize("by", ["another ring", "a pickle"])
@pytest.mark.parametrize("first", ["writer", "reader"])
def test_a_frame_that_is_passed_on_while_its_process_forks(
    by: str, first: str, run: Callable[..., subprocess.Popen[str]]
) -> None:
    """The child gives nothing back that its parent has on the way, in whatever order its hooks run.

    They run in the order of the imports.
    """
    process = run(PASSES_ON, by, first, both_ends.__file__)
    output, _ = process.communicate(timeout=60)
    assert output.split() == ["1", "5", "5", "0"]


def test_what_a_child_drops_before_its_hooks_run(address: str) -> None:
    """The collector may finalize a writer, a reader and frames there at any moment."""
    with writer_at(address, slots=2) as writer, ring() as (first, reader):
        sent(first, 5)
        held, connection = reader.read(), reader._connection
        before = os.getpid()
        os.getpid = lambda: before + 1  # as in a child, whose hooks have not run
        try:
            writer.__del__()
            held.close()
            reader.close()
        finally:
            os.getpid = getpid
        first.serve()
        assert first.statistics.readers[0].held == 1
        assert writer._calls.state == "open"
        assert Path(address).exists()
        connection.send_unsent()


@forks
def test_a_forked_child_makes_its_own_reader(address: str) -> None:
    with writer_at(address) as writer:
        child = os.fork()
        if not child:
            try:
                with RingReader(address, timeout=60) as reader:
                    os._exit(0 if value_of(reader.read()) == 6 else 1)
            finally:
                os._exit(99)
        writer.wait_for_readers()
        sent(writer, 6)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0


@forks
def test_a_child_that_lives_on_hides_no_end(address: str) -> None:
    """fork() in the writer's process: its sockets are closed in the child."""
    with RingWriter(address, format="GRAY8", width=64, height=16) as writer:
        connecting = threading.Thread(target=writer.wait_for_readers)
        connecting.start()
        with RingReader(address, timeout=60) as reader:
            connecting.join()
            ready, go = os.pipe()
            child = os.fork()
            if not child:
                os.close(go)
                os.read(ready, 1)
                os._exit(0)
            os.close(ready)
            sent(writer, 3)
            frame = reader.read()
            reader.close()
            del frame
            assert served(writer, lambda: not writer.statistics.readers)
            os.close(go)
            os.waitpid(child, 0)
