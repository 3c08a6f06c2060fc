# SPDX-License-Identifier: Apache-2.0
"""Tensors and frames in multiprocessing's pickles: by descriptor, or copied if asked."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import os
import pickle
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Frame, Region, metadata
from samebytes.errors import CopyRequiredError
from samebytes_ipc import OfferError, RingReader, RingWriter, send, set_pickle_timeout

from .both_ends import memfds, no_descriptors, value_of
from .owners import abandoned, addressed_to, fetched_with

pytestmark = [
    pytest.mark.usefixtures("nothing_stays_offered"),
    # Python's own word on threads.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

WAYS = ("spawn", "fork", "forkserver")


def wait_until(true: Any, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def picture(value: int) -> Frame:
    """A frame in memory of "dma" with all that it can have."""
    frame = samebytes.context("dma").allocate_frame("NV12", 64, 32)
    with frame.map("cpu", "w") as view:
        for number, plane in enumerate(view):
            plane.native[...] = value + number
        del plane
    frame.meta.pts = value
    frame.metadata["camera"] = "left"
    frame.regions.append(Region(1, 2, 3, 4, "cat", 0.5))
    metadata.add(frame, metadata.ObjectId(7))
    return frame


def check(frame: Frame, value: int) -> None:
    assert (str(frame.image), frame.pts) == ("NV12 64x32", value)
    assert frame.metadata["camera"] == "left"
    assert frame.regions[0].label == "cat"
    assert metadata.find(frame, metadata.ObjectId) == metadata.ObjectId(7)
    view = frame.map("cpu")
    assert [plane.native.max() for plane in view] == [value, value + 1]
    assert [plane.native.min() for plane in view] == [value, value + 1]


def test_a_result_in_other_memory_needs_permission() -> None:
    frame = picture(5)
    region = frame.regions[0]
    metadata.add(region, metadata.InferenceResult(np.ones((2, 3), np.float32), format="keypoints"))
    with pytest.raises(CopyRequiredError, match=r"holds a tensor(.|\n)*samebytes\.copied\(frame\)"):
        ForkingPickler.dumps(frame)
    got = pickle.loads(pickle.dumps(samebytes.copied(frame)))
    (result,) = metadata.all_of(got.regions[0], metadata.InferenceResult)
    assert result.array.tolist() == [[1, 1, 1]] * 2
    samebytes.reset_stats()


def seen(frame: Frame) -> tuple[str, int]:
    """In a worker."""
    check(frame, 5)
    return frame.memory_type, int(frame.map("cpu").planes[0].native.sum())


def writes(frame: Frame, value: int) -> None:
    with frame.map("cpu", "rw") as view:
        view.planes[0].native[...] = value


def answers(given: Any, answered: Any) -> None:
    for item in iter(given.get, None):
        answered.put(item if item.memory_type == "dma" and isinstance(item, Frame)
                     else samebytes.copied(item))  # fmt: skip


def made(value: int) -> Frame:
    return picture(value)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Any:
    return multiprocessing.get_context(request.param)


def test_an_argument_of_a_process(way: Any) -> None:
    """Both write to the same memory: nothing was copied."""
    frame = picture(5)
    process = way.Process(target=writes, args=(frame, 9))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert (frame.map("cpu").planes[0].native == 9).all()


def test_a_queue_there_and_back(way: Any) -> None:
    given, answered = way.Queue(), way.Queue()
    process = way.Process(target=answers, args=(given, answered))
    process.start()
    frame = picture(5)
    given.put(frame)
    again = answered.get(timeout=60)
    check(again, 5)
    with again.map("cpu", "rw") as view:
        view.planes[0].native[...] = 77
    assert (frame.map("cpu").planes[0].native == 77).all()
    given.put(frame.planes[0])  # a tensor, which comes back as a copy
    tensor = answered.get(timeout=60)
    assert tensor.memory_type == "cpu"
    assert (tensor.native == 77).all()
    given.put(None)
    process.join(60)
    assert process.exitcode == 0
    for queue in (given, answered):
        queue.close()
        queue.join_thread()


def test_a_pool(way: Any) -> None:
    with way.Pool(2) as pool:
        found = pool.map_async(seen, [picture(5) for _ in range(6)]).get(60)
        assert found == [("dma", 5 * 64 * 32)] * 6
        check(pool.apply_async(made, (8,)).get(60), 8)
        pool.close()
        pool.join()


def test_an_executor(way: Any) -> None:
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=way) as pool:
        found = list(pool.map(seen, [picture(5) for _ in range(4)], timeout=60))
        assert found == [("dma", 5 * 64 * 32)] * 4
        check(pool.submit(made, 8).result(60), 8)


def test_copies_through_a_queue_are_counted_where_they_are_made(way: Any) -> None:
    given, answered = way.Queue(), way.Queue()
    process = way.Process(target=answers, args=(given, answered))
    process.start()
    frame = samebytes.frame(np.full((48, 64), 3, np.uint8), format="GRAY8")
    given.put(samebytes.copied(frame))
    given.put(samebytes.copied(samebytes.tensor(np.arange(6, dtype=np.int16))))
    given.put(None)
    again = answered.get(timeout=60)
    assert again.format.name == "GRAY8"
    assert (again.planes[0].native == 3).all()
    assert not again.readonly
    tensor = answered.get(timeout=60)
    assert tensor.native.tolist() == [0, 1, 2, 3, 4, 5]
    process.join(60)
    assert process.exitcode == 0
    edges = samebytes.stats().by_edge
    samebytes.reset_stats()
    assert edges["cpu -> pickle"].copies == 2
    assert edges["cpu -> pickle"].nbytes == 48 * 64 + 12
    for queue in (given, answered):
        queue.close()
        queue.join_thread()


class Frames:
    """A dataset of frames."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, number: int) -> Any:
        if number % 2:
            return samebytes.copied(
                samebytes.frame(np.full((8, 8), number, np.uint8), format="GRAY8")
            )
        frame = samebytes.context("dma").allocate_frame("GRAY8", 8, 8)
        with frame.map("cpu", "w") as view:
            view.planes[0].native[...] = number
        return frame


def as_they_are(batch: list[Any]) -> list[Any]:
    return batch


@pytest.mark.together
@pytest.mark.parametrize("start", WAYS)
def test_workers_of_a_data_loader(start: str) -> None:
    data = pytest.importorskip(
        "torch.utils.data", reason="missing package torch: pip install torch"
    )
    loader = data.DataLoader(
        Frames(), batch_size=2, num_workers=2, collate_fn=as_they_are,
        multiprocessing_context=start,
    )  # fmt: skip
    found = [frame for batch in loader for frame in batch]
    assert [frame.memory_type for frame in found] == ["dma", "cpu"] * 3
    assert [int(f.map("cpu").planes[0].native[0, 0]) for f in found] == list(range(6))


PICKLERS = [pickle.dumps, copy.copy, copy.deepcopy]


@pytest.mark.parametrize("pickler", PICKLERS)
def test_other_picklers_raise(pickler: Any) -> None:
    for item in (picture(1), picture(1).planes[0]):
        with pytest.raises(TypeError, match=r"cannot be copied or pickled: .*samebytes.copied\("):
            pickler(item)


def test_cloudpickle_raises() -> None:
    cloudpickle = pytest.importorskip(
        "cloudpickle", reason="missing package cloudpickle: pip install cloudpickle"
    )
    with pytest.raises(TypeError, match=r"cannot be copied or pickled: .*samebytes.copied\("):
        cloudpickle.dumps(picture(1))


def test_other_memory_raises() -> None:
    for item in (
        samebytes.tensor(np.zeros(3)),
        samebytes.context("cpu").allocate_frame("BGR", 8, 8),
    ):
        with pytest.raises(TypeError, match=r"cannot be copied or pickled: .*samebytes.copied\("):
            ForkingPickler.dumps(item)


def test_one_pickle_is_one_receiver() -> None:
    pickled = bytes(ForkingPickler.dumps(picture(5)))
    check(pickle.loads(pickled), 5)
    with pytest.raises(OfferError, match="loaded before, or too late"):
        pickle.loads(pickled)


def test_what_nobody_opens_gives_its_descriptor_back(
    answering: Any, pickle_timeout: Callable[[float], None]
) -> None:
    before = memfds()
    pickle_timeout(0.3)
    with answering.forgetting_nothing():
        pickled = [bytes(ForkingPickler.dumps(picture(5))) for _ in range(20)]
        assert memfds() == before + 20
    assert wait_until(lambda: memfds() == before)
    with pytest.raises(OfferError):
        pickle.loads(pickled[0])
    assert wait_until(lambda: not any(t.name == "samebytes offers" for t in threading.enumerate()))
    with pytest.raises(ValueError, match="more than 0"):
        set_pickle_timeout(0)


@pytest.mark.parametrize("forever", [30 * 24 * 3600.0, float("inf")])
def test_what_is_kept_forever_can_be_loaded(
    forever: float, pickle_timeout: Callable[[float], None]
) -> None:
    pickle_timeout(forever)
    pickled = bytes(ForkingPickler.dumps(picture(5)))
    assert value_of(pickle.loads(pickled)) == 5


def test_a_wrong_key_opens_nothing_and_spends_nothing() -> None:
    pickled = bytes(ForkingPickler.dumps(picture(5)))
    address, key = fetched_with(pickled)
    for wrong in (b"", b"\0" * 16, key[:-1], key[:-1] + bytes([key[-1] ^ 1])):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(20)
            sock.connect(address)
            sock.sendall(wrong)
            sock.shutdown(socket.SHUT_WR)
            assert sock.recv(1) == b""
    check(pickle.loads(pickled), 5)


@pytest.mark.skipif(os.getuid() != 0, reason="root alone can become another user")
def test_another_user_at_the_address_of_a_sender_that_is_gone() -> None:
    address, pickled = abandoned()
    frame = picture(66)
    ready, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgid(65534)
            os.setuid(65534)
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(address)
                listener.listen()
                os.write(writing, b"x")
                sock, _ = listener.accept()
                try:
                    if not sock.recv(16):  # no key came
                        os._exit(0)
                except ConnectionResetError:
                    os._exit(0)
                send(sock, frame)
            os._exit(1)
        finally:
            os._exit(99)
    assert os.read(ready, 1) == b"x"
    os.close(ready)
    os.close(writing)
    with pytest.raises(OfferError, match="a process of user 65534 answers in place of"):
        pickle.loads(pickled)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_the_user_of_who_answers_is_asked_for(answering: Any, offered: Callable[[], int]) -> None:
    pickled = bytes(ForkingPickler.dumps(picture(5)))
    asked = []

    def another_user(sock: socket.socket) -> int:
        asked.append(sock)
        return os.getuid() + 7

    with (
        answering.among(os.getuid(), another_user),
        pytest.raises(OfferError, match=r"of root alone; samebytes\.copied"),
    ):
        pickle.loads(pickled)
    assert asked
    assert offered() == 1  # no key went there
    check(pickle.loads(pickled), 5)


@pytest.mark.parametrize("backlog", ["room", "full"])
def test_a_sender_that_does_not_answer(backlog: str, answering: Any) -> None:
    answering.be_waited_for(0.2)
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as other:
        listener.bind("")
        listener.listen(0)
        if backlog == "full":
            other.connect(listener.getsockname())
        pickled = addressed_to(listener.getsockname())
        with pytest.raises(OfferError, match=r"did not answer within 0\.2 s"):
            pickle.loads(pickled)


def test_a_full_queue_of_a_sender_is_waited_for() -> None:
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind("")
        listener.listen(0)
        first.connect(listener.getsockname())
        connected = threading.Event()

        def answer() -> None:
            with listener.accept()[0]:
                pass
            sock, _ = listener.accept()
            with sock:
                sock.recv(16)
                connected.set()

        pickled = addressed_to(listener.getsockname())
        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(OfferError, match="loaded before, or too late"):
            pickle.loads(pickled)
        thread.join(20)
        assert connected.is_set()


def test_offers_do_not_spin_without_descriptors(answering: Any) -> None:
    """accept() fails, and the one who asks stays in the queue: poll() would return at once."""
    turns = answering.turns()
    pickled = bytes(ForkingPickler.dumps(picture(5)))
    with socket.socket(socket.AF_UNIX) as sock:
        address, _ = fetched_with(pickled)
        with no_descriptors():
            began = time.monotonic()
            sock.connect(address)
            time.sleep(0.5)
        lasted = time.monotonic() - began
        assert len(turns) < 20 + 10 * lasted
    check(pickle.loads(pickled), 5)


def test_a_forked_child_offers_for_itself(offered: Callable[[], int]) -> None:
    """It has no thread of its parent's, and does not answer in its place."""
    pickled = bytes(ForkingPickler.dumps(picture(5)))
    child = os.fork()
    if not child:
        try:
            assert not offered()
            check(pickle.loads(bytes(ForkingPickler.dumps(picture(3)))), 3)
            os._exit(0)
        finally:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    check(pickle.loads(pickled), 5)


def test_a_frame_of_a_ring() -> None:
    """Its slot would be filled again while the other process reads it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with RingWriter(shape=(4,), slots=2) as writer:
        writer.add(ours)
        joined = threading.Thread(target=writer.wait_for_readers)
        joined.start()
        with RingReader(theirs) as reader:
            joined.join()
            writer.send(writer.acquire())
            tensor = reader.read()
            with pytest.raises(TypeError, match=r"cannot be pickled: its slot goes back"):
                ForkingPickler.dumps(tensor)
            twin = pickle.loads(pickle.dumps(samebytes.copied(tensor)))
            assert twin.native.tolist() == [0, 0, 0, 0]
            assert not twin.native.flags.writeable
    assert samebytes.stats().by_edge["dma -> pickle"].nbytes == 4
    samebytes.reset_stats()


@pytest.mark.parametrize("what", ["eventfd", "socket", "thread"])
def test_pickling_works_again_when_the_system_has_room(
    what: str, answering: Any, offered: Callable[[], int]
) -> None:
    refused = pytest.raises((OSError, RuntimeError), match=r"open|start")
    with answering.unable_to_make(what), refused:
        ForkingPickler.dumps(picture(5))
    assert offered() == 0
    assert value_of(pickle.loads(bytes(ForkingPickler.dumps(picture(6))))) == 6
