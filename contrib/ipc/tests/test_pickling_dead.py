# SPDX-License-Identifier: Apache-2.0
"""Pickles whose owner ends before they are opened, or while they are.

SAMEBYTES_KILLED_OWNERS sets how many owners are killed.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pickle
import random
import signal
import socket
import struct
import threading
import time
from collections import Counter
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest

from samebytes import Frame
from samebytes_ipc import MessageError, OfferError, send
from samebytes_ipc._pickle import offers

from .both_ends import memfds, same_descriptors, value_of, wait_until
from .forged_messages import message
from .owners import abandoned, pickled, picture

# Python's own word on threads.
pytestmark = [
    pytest.mark.together,
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

HEADER_SIZE = len(message(b""))
KILLED = int(os.environ.get("SAMEBYTES_KILLED_OWNERS", "20"))
LENGTH = struct.Struct("<I")
GONE = "the process that made it has ended"
WAYS = ("spawn", "fork", "forkserver")


@pytest.fixture(autouse=True)
def all_is_imported(answering: Any) -> None:
    """A child that is forked while another thread imports cannot import, and each needs time."""
    assert value_of(pickle.loads(pickled(1))) == 1
    assert wait_until(answering.has_ended)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Any:
    return multiprocessing.get_context(request.param)


def test_an_owner_that_is_gone() -> None:
    _, made = abandoned()
    with same_descriptors(), pytest.raises(OfferError, match=GONE):
        pickle.loads(made)


def test_an_owner_that_ends_before_it_is_asked(
    sigpipe: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing ends a process that has the system's SIGPIPE."""
    address, made = abandoned()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        monkeypatch.setattr(offers, "_check_user", lambda _: listener.close())
        with pytest.raises(OfferError, match=GONE):
            pickle.loads(made)
    assert not sigpipe


def message_of(value: int) -> bytes:
    """The answer of an owner, without its descriptor."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        send(ours, picture(value))
        return theirs.recv(1 << 16)


@pytest.mark.parametrize("sent", [0, 1, HEADER_SIZE - 1, HEADER_SIZE, HEADER_SIZE + 5, -1])
@pytest.mark.parametrize("descriptor", [True, False])
def test_an_owner_that_ends_while_it_answers(sent: int, descriptor: bool) -> None:
    address, made = abandoned()
    answer = message_of(5)[:sent]
    before = memfds()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()

        def end_early() -> None:
            sock, _ = listener.accept()
            memory = os.memfd_create("samebytes of the test")
            with sock:
                sock.recv(16)
                if answer:
                    socket.send_fds(sock, [answer], [memory] if descriptor else [])
            os.close(memory)

        owner = threading.Thread(target=end_early)
        owner.start()
        with pytest.raises(OfferError, match=GONE):
            pickle.loads(made)
        owner.join()
    assert memfds() == before


def test_an_owner_that_answers_something_else() -> None:
    """The answer came whole: no other time would have been better."""
    address, made = abandoned()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()

        def answer() -> None:
            sock, _ = listener.accept()
            with sock:
                sock.recv(16)
                socket.send_fds(sock, [message(b"{}")], [listener.fileno()])

        owner = threading.Thread(target=answer)
        owner.start()
        with pytest.raises(MessageError) as caught:
            pickle.loads(made)
        owner.join()
    assert caught.value.field in ("description", "descriptors[0]")


def made_in_a_worker(value: int) -> Frame:
    return picture(value)


def dies(value: int) -> Any:
    """Make a result that nobody can fetch: its process is killed as soon as it is pickled."""

    class Killer:
        def __reduce__(self) -> Any:
            os.kill(os.getpid(), signal.SIGKILL)

    return picture(value), Killer()


def put_and_end(queue: Any, values: list[int]) -> None:
    for value in values:
        queue.put(picture(value))


def test_a_pool_whose_workers_end_after_each_result(way: Any) -> None:
    """They wait until it was fetched: a pool whose thread meets an error answers nobody again."""
    with way.Pool(2, maxtasksperchild=1) as pool:
        results = [pool.apply_async(made_in_a_worker, (value,)) for value in range(6)]
        assert [value_of(result.get(60)) for result in results] == list(range(6))


def test_a_queue_of_a_process_that_ends_at_once(way: Any) -> None:
    """It pickles what was put into it when the process ends."""
    queue = way.Queue()
    process = way.Process(target=put_and_end, args=(queue, [3, 4, 5]))
    process.start()
    assert [value_of(queue.get(timeout=60)) for _ in range(3)] == [3, 4, 5]
    process.join(60)
    assert process.exitcode == 0
    queue.close()
    queue.join_thread()


def test_a_worker_that_ends_does_not_wait_forever(way: Any) -> None:
    queue = way.SimpleQueue()
    process = way.Process(target=put_and_end, args=(queue, [3]))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    with pytest.raises(OfferError, match=GONE):
        queue.get()
    queue.close()


def test_an_executor_whose_worker_is_killed() -> None:
    way = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=way) as pool:
        assert value_of(pool.submit(made_in_a_worker, 7).result(60)) == 7
        with pytest.raises(BrokenProcessPool):
            pool.submit(dies, 7).result(60)


def owner(writing: int) -> None:
    """Offers frame after frame, and says so."""
    for value in range(256):
        made = pickled(value)
        os.write(writing, LENGTH.pack(len(made)) + made)


def kill_an_owner(chance: random.Random, ends: Counter[str], *, after_one: bool) -> None:
    """Take what an owner offers until it is killed, and count what became of that.

    Args:
        chance: when it is killed.
        ends: the counts.
        after_one: it lives until its first offer was taken, however slow the machine is.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            owner(writing)
            time.sleep(60)
        finally:
            os._exit(99)
    os.close(writing)
    killer = threading.Timer(chance.uniform(0, 0.05), os.kill, (child, signal.SIGKILL))
    if not after_one:
        killer.start()
    with os.fdopen(reading, "rb") as file:
        value = 0
        while len(head := file.read(LENGTH.size)) == LENGTH.size:
            (length,) = LENGTH.unpack(head)
            made = file.read(length)
            if len(made) < length:
                break
            try:
                assert value_of(pickle.loads(made)) == value
                ends["came"] += 1
            except OfferError as error:
                ends["gone" if GONE in str(error) else str(error)] += 1
            if after_one and value == 0:
                killer.start()
            value += 1
    killer.join()
    os.waitpid(child, 0)


def test_owners_that_are_killed_at_any_moment(answering: Any) -> None:
    """Each frame comes whole or not at all, at once, and leaves nothing."""
    answering.be_waited_for(60.0)
    chance = random.Random(5)
    before, ends = memfds(), Counter[str]()
    for number in range(KILLED):
        kill_an_owner(chance, ends, after_one=number % 2 == 0)
    assert memfds() == before
    assert ends.keys() == {"came", "gone"}
