# SPDX-License-Identifier: Apache-2.0
"""InferQueue on every device: restarts, lifetimes, errors, threads."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

from samebytes.errors import BusyError, ClosedError, LayoutError
from samebytes_openvino import InferQueue, InferRequest, compile_model

from .models import LONG, adding_one, first_of, full, until


def test_a_queue_runs_every_inference_once(model: Any) -> None:
    results: dict[int, float] = {}
    with InferQueue(model, 3) as queue:
        assert len(queue) == 3
        assert all(isinstance(request, InferRequest) for request in queue)
        assert queue[2] is list(queue)[2]
        assert queue.is_ready()

        def store(request: InferRequest, userdata: int) -> None:
            results[userdata] = first_of(request)

        queue.set_callback(store)
        for number in range(60):
            queue.start_async(full(number), number, copy=True)
            gc.collect(0)  # nobody but the queue holds the inputs
        queue.wait_all()
        assert results == {number: number + 1.0 for number in range(60)}
        assert set(queue.userdata) <= set(range(60))
        assert queue.is_ready()
    with pytest.raises(ClosedError):
        queue.start_async()


def test_threads_share_a_queue(model: Any) -> None:
    results: dict[int, float] = {}
    queue = InferQueue(model, 2)

    def store(request: InferRequest, userdata: int) -> None:
        results[userdata] = first_of(request)

    def feed(first: int) -> None:
        for number in range(first, first + 20):
            queue.start_async(full(number), number, copy=True)

    queue.set_callback(store)
    threads = [threading.Thread(target=feed, args=(first,)) for first in (0, 20, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    queue.wait_all()
    assert results == {number: number + 1.0 for number in range(60)}


def test_a_queues_request_starts_again_inside_of_the_callback(model: Any) -> None:
    queue, calls, lock = InferQueue(model, 2), [0], threading.Lock()

    def again(request: InferRequest, _: Any) -> None:
        with lock:
            calls[0] += 1
            go_on = calls[0] < 40
        if go_on:
            request.start_async()

    queue.set_callback(again)
    queue.start_async(full(1), copy=True)
    queue.start_async(full(2), copy=True)
    assert until(lambda: queue.is_ready() and calls[0] >= 40)
    queue.wait_all()
    assert calls[0] in (40, 41)


def has_ended(request: InferRequest) -> bool:
    """True if OpenVINO would let the request's inputs be set: its callback may still be to come."""
    try:
        request.native.get_input_tensor(0)
    except RuntimeError as error:
        return "busy" not in str(error)
    return True


@pytest.mark.parametrize("kind", ["request", "queue"])
def test_a_restarted_inference_is_awaited_until_its_own_callback(
    request: pytest.FixtureRequest, kind: str, reported: list[BaseException]
) -> None:
    """The NPU's ends while the callback that started it is running, and its callback waits."""
    request.getfixturevalue("npu")
    model = compile_model(adding_one(), "NPU")
    seen: list[Any] = []

    def again(userdata: Any) -> None:
        seen.append((userdata, first_of(mine), queue.is_ready() if queue else mine.pending))
        if len(seen) == 1:
            mine.start_async(full(5), copy=True)
            assert until(lambda: has_ended(mine))
            assert not mine.idle
            with pytest.raises(BusyError):
                mine.start_async(full(6), copy=True)

    queue = InferQueue(model, 1) if kind == "queue" else None
    if queue is not None:
        mine = queue[0]
        queue.set_callback(lambda _request, userdata: again(userdata))
        queue.start_async(full(1), "mine", copy=True)
        queue.start_async(full(7), "the next", copy=True)
        queue.wait_all()
        assert seen == [("mine", 2.0, False), ("mine", 6.0, False), ("the next", 8.0, False)]
    else:
        mine = InferRequest(model)
        mine.set_callback(again, "mine")
        mine.start_async(full(1), copy=True)
        assert until(lambda: len(seen) == 2)
        mine.wait()
        assert seen == [("mine", 2.0, True), ("mine", 6.0, True)]
    assert not reported


def test_each_callback_of_a_queue_sees_its_own_inference(model: Any) -> None:
    """Each starts its request once more, as soon as it can."""
    seen: list[tuple[int, float]] = []
    for jobs in (1, 3):
        queue = InferQueue(model, jobs)
        again: set[int] = set()

        def once_more(request: InferRequest, value: int, again: set[int] = again) -> None:
            seen.append((value, first_of(request)))
            if value not in again:
                again.add(value)
                request.start_async()

        queue.set_callback(once_more)
        for value in range(40):
            queue.start_async(full(value), value, copy=True)
        queue.wait_all()
    assert sorted(seen) == sorted((value, value + 1.0) for value in [*range(40)] * 4)


def test_errors_of_a_queues_callback_are_reported(
    model: Any, reported: list[BaseException]
) -> None:
    queue = InferQueue(model, 2)

    def failing(_request: InferRequest, userdata: int) -> None:
        raise ValueError(str(userdata))

    queue.set_callback(failing)
    for number in range(6):
        queue.start_async(None, number)
    queue.wait_all()
    assert sorted(map(str, reported)) == [str(number) for number in range(6)]
    assert queue.is_ready()


def test_errors_of_callbacks_keep_no_queue(model: Any, reported: list[BaseException]) -> None:
    def failing(_request: InferRequest, userdata: int) -> None:
        raise ValueError(userdata)

    gc.collect()
    gc.disable()
    try:
        queue = InferQueue(model, 2)
        queue.set_callback(failing)
        for number in range(3):
            queue.start_async(None, number)
        queue.wait_all()
        assert len(reported) == 3
        reported.clear()
        gone = weakref.ref(queue[0])
        del queue
        end = time.monotonic() + LONG
        while gone() is not None and time.monotonic() < end:
            time.sleep(0.005)
        assert gone() is None
    finally:
        gc.enable()


def test_a_refused_start_gives_the_request_back(model: Any) -> None:
    queue = InferQueue(model, 1)
    for _ in range(3):
        with pytest.raises(LayoutError):
            queue.start_async(np.zeros((1, 3), np.float32))
    queue.start_async(full(1), copy=True)
    queue.wait_all()
    assert first_of(queue[0]) == 2


def test_a_queue_that_is_dropped_while_it_runs(model: Any) -> None:
    """OpenVINO's own deadlocks then, where the GIL is held."""
    seen: list[int] = []

    def go() -> weakref.ref[Any]:
        queue = InferQueue(model, 3)
        queue.set_callback(lambda _request, userdata: seen.append(userdata))
        for number in range(3):
            queue.start_async(full(number), number, copy=True)
        return weakref.ref(queue)

    alive = go()
    gc.collect()
    assert until(lambda: len(seen) == 3)
    assert sorted(seen) == [0, 1, 2]
    assert until(lambda: alive() is None)


@pytest.mark.parametrize("waits", [True, False])
def test_a_dropped_queue_needs_no_collector(model: Any, waits: bool) -> None:
    """It would keep the inputs of its inferences, of which the collector does not know the size."""
    seen: list[int] = []

    def go() -> list[weakref.ref[Any]]:
        queue = InferQueue(model, 2)
        queue.set_callback(lambda _request, userdata: seen.append(userdata))
        arrays = [full(number) for number in range(4)]
        for number, array in enumerate(arrays):
            queue.start_async(array, number, copy=True)
        if waits:
            queue.wait_all()
        return [weakref.ref(held) for held in (queue, *queue, *arrays)]

    gc.collect()
    gc.disable()
    try:
        left = go()
        end = time.monotonic() + LONG
        while any(one() is not None for one in left) and time.monotonic() < end:
            time.sleep(0.005)  # in the callback that drops it, a thread of its own waits
        assert [one() for one in left] == [None] * len(left)
    finally:
        gc.enable()
    assert sorted(seen) == [0, 1, 2, 3]


def test_a_request_of_a_queue_that_is_started_by_itself_calls_back(model: Any) -> None:
    seen: list[Any] = []
    with InferQueue(model, 1) as queue:
        queue.set_callback(lambda request, userdata: seen.append((request, userdata)))
        queue.start_async(full(1), "first", copy=True)
        queue.wait_all()
        for _ in range(2):
            queue[0].start_async()
            queue[0].wait()
            assert until(queue.is_ready)
        assert seen == [(queue[0], "first")] * 3


def test_close_waits_for_the_callbacks(model: Any) -> None:
    """Also for those of the last inferences and of what they start. Closing twice is harmless."""
    for _ in range(10):
        queue, seen, again = InferQueue(model, 2), list[int](), list[int]()

        def store(request: InferRequest, number: int, seen: Any = seen, again: Any = again) -> None:
            time.sleep(0.001)  # as one that works
            if number % 2 or number in again:
                seen.append(number)
                return
            again.append(number)
            request.start_async(full(number), copy=True)

        queue.set_callback(store)
        for number in range(8):
            queue.start_async(full(number), number, copy=True)
        queue.close()
        assert sorted(seen) == list(range(8))
        queue.close()
        assert sorted(seen) == list(range(8))


def test_an_inference_that_fails_frees_its_request_and_is_raised_by_wait_all() -> None:
    """OpenVINO does not call back for it."""
    x = ops.parameter(openvino.PartialShape([-1]), np.float32, name="x")
    s = ops.parameter([2], np.int64, name="s")
    model = openvino.Model([ops.result(ops.reshape(x, s, False))], [x, s])
    queue, seen = InferQueue(compile_model(model, "CPU"), 1), []
    queue.set_callback(lambda _request, userdata: seen.append(userdata))
    x8 = np.zeros(8, np.float32)
    queue.start_async([x8, np.array([3, 5])], "fails")
    queue.start_async([x8, np.array([4, 5])], "fails too")
    queue.start_async([x8, np.array([2, 4])], "goes well")
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(RuntimeError) as caught:
            queue.wait_all()
        assert len(caught.value.__notes__) == 1
        del caught  # and nothing else holds it: not even its own traceback
        assert not [error for error in gc.get_objects() if isinstance(error, RuntimeError)]
    finally:
        gc.enable()
    assert seen == ["goes well"]
    queue.wait_all()
    request = InferRequest(compile_model(model, "CPU"))
    request.set_callback(seen.append)
    request.start_async([x8, np.array([3, 5])])
    with pytest.raises(RuntimeError):
        request.wait(LONG)
    request.start_async([x8, np.array([2, 4])])
    request.wait()
    assert seen == ["goes well", None]


@pytest.mark.together
def test_two_threads_start_and_wait(model: Any) -> None:
    """One waits for an inference while the other starts the next one on the same request."""
    queue = InferQueue(model, 2)
    raised: list[BaseException] = []
    over = time.monotonic() + 3

    def work() -> None:
        try:
            while time.monotonic() < over and not raised:
                queue.start_async(full(1))
                queue.start_async(full(1))
                queue.wait_all()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not raised, raised
    queue.wait_all()
    assert first_of(queue[0]) == first_of(queue[1]) == 2
