# SPDX-License-Identifier: Apache-2.0
"""set_callback and InferQueue on every device: restarts, lifetimes, errors, threads, exits."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

from samebytes.errors import BusyError, ClosedError, LayoutError, UnsupportedObjectError
from samebytes_openvino import InferQueue, InferRequest, compile_model

from .models import adding_one, first_of, full

DEVICES = ["CPU", "GPU", "NPU"]
LONG = 60
"""Seconds: what is waited for comes at once, or never."""


@pytest.fixture(params=DEVICES)
def model(request: pytest.FixtureRequest) -> Any:
    """`adding_one`, compiled for each device; numbers up to 100 come out exact on all of them."""
    if request.param != "CPU":
        request.getfixturevalue(request.param.lower())
    return compile_model(adding_one(), request.param)


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """The errors that went to sys.unraisablehook."""
    found: list[BaseException] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: found.append(args.exc_value))
    return found


def until(condition: Any) -> bool:
    end = time.monotonic() + LONG
    while not condition() and time.monotonic() < end:
        gc.collect()
        time.sleep(0.005)
    return bool(condition())


def test_a_callback_is_called_with_its_userdata_when_the_outputs_are_there(model: Any) -> None:
    request, seen = InferRequest(model), []
    request.set_callback(lambda userdata: seen.append((userdata, first_of(request))), "mine")
    for value in (1, 2):
        request.start_async(full(value), copy=True)
        assert request.wait()
    assert seen == [("mine", 2.0), ("mine", 3.0)]
    request.set_callback(None)
    request.infer(full(3), copy=True)
    assert len(seen) == 2


def test_a_request_starts_again_inside_of_its_callback(model: Any) -> None:
    request, seen, done = InferRequest(model), [], threading.Event()

    def again(_: Any) -> None:
        seen.append(first_of(request))
        if len(seen) < 50:
            request.start_async(full(len(seen)), copy=True)
        else:
            done.set()

    request.set_callback(again)
    request.start_async(full(0), copy=True)
    assert done.wait(LONG)
    assert request.wait()
    assert seen == [float(n + 1) for n in range(50)]


def test_it_starts_again_at_once_when_the_callback_has_notified_another_thread(model: Any) -> None:
    """The callback has not returned yet, and OpenVINO's wait_for(0) is False until then."""
    request, reported = InferRequest(model), threading.Event()
    request.set_callback(lambda _: reported.set())
    for _ in range(100):
        reported.clear()
        request.start_async()
        assert reported.wait(LONG)
    request.wait()


def test_neither_does_a_callback_on_the_native_request_keep_it_busy(model: Any) -> None:
    request, reported = InferRequest(model), threading.Event()
    request.native.set_callback(lambda _: reported.set(), None)
    for _ in range(100):
        reported.clear()
        request.start_async()
        assert reported.wait(LONG)
    request.wait()
    # OpenVINO's thread holds the function a moment longer, and takes the GIL to release it: to
    # destroy the model now, with the GIL held, could wait for it forever.
    time.sleep(0.2)


def test_a_request_starts_again_inside_of_a_callback_on_the_native_request(model: Any) -> None:
    """OpenVINO's own wait_for(0) is still False there."""
    request, done = InferRequest(model), threading.Event()
    calls, refused = [0], []

    def again(_: Any) -> None:
        calls[0] += 1
        try:
            if calls[0] < 50:
                request.start_async(full(calls[0]), copy=True)
                return
        except BusyError as error:
            refused.append(error)
        done.set()

    request.native.set_callback(again, None)
    request.start_async(full(0), copy=True)
    assert done.wait(LONG)
    assert not refused
    assert request.wait(LONG)
    assert calls == [50]
    assert first_of(request) == 50
    time.sleep(0.2)  # for the reason above


def test_wait_returns_when_the_callback_has_returned(model: Any) -> None:
    request, steps, go_on = InferRequest(model), [], threading.Event()

    def slowly(_: Any) -> None:
        go_on.wait(LONG)
        time.sleep(0.05)
        steps.append("called")

    request.set_callback(slowly)
    request.start_async()
    try:
        assert not request.wait(0)
    finally:
        go_on.set()
    assert request.wait(LONG)
    assert steps == ["called"]


def test_what_waits_inside_of_a_callback_is_refused(model: Any) -> None:
    request, other, errors = InferRequest(model), InferRequest(model), []
    queue, asked = InferQueue(model, 1), threading.Event()
    # Its one request stays busy until all have been asked, however fast its inference ends.
    queue.set_callback(lambda *_: asked.wait(LONG))

    def waiting(_: Any) -> None:
        assert request.wait()  # this one has ended
        request.start_async()
        other.start_async()
        queue.start_async()
        for call in (request.wait, request.infer, other.wait, queue.wait_all, queue.start_async):
            try:
                call()
            except BusyError as error:
                errors.append(str(error))

    calls: list[int] = []

    def once(_: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            try:
                waiting(None)
            finally:
                asked.set()

    request.set_callback(once)
    request.start_async()
    assert until(lambda: len(calls) == 2)
    request.wait()
    other.wait()
    queue.wait_all()
    assert len(errors) == 5
    assert all("callback" in error for error in errors)


@pytest.mark.together
def test_errors_of_a_callback_are_reported(model: Any, reported: list[BaseException]) -> None:
    request = InferRequest(model)

    def failing(_: Any) -> None:
        raise ValueError("mine")

    request.set_callback(failing)
    for _ in range(2):
        request.start_async(full(1), copy=True)
        assert request.wait()
    assert [str(error) for error in reported] == ["mine", "mine"]
    assert first_of(request) == 2


def test_inputs_and_outputs_live_until_the_callback_has_returned(model: Any) -> None:
    """A pattern that reads freed memory with OpenVINO alone: nothing but the request holds it."""
    seen: list[Any] = []
    done = threading.Event()

    def go() -> list[weakref.ref[Any]]:
        request = InferRequest(model)
        x, y = full(7), full(0)
        request.set_input_tensor(0, x)
        request.set_output_tensor(0, y, copy=True)

        def end(_: Any) -> None:
            gc.collect()
            seen.append([ref() is not None for ref in alive])
            seen.append(first_of(request))
            done.set()

        alive = [weakref.ref(x.storage), weakref.ref(y.storage)]
        request.set_callback(end)
        request.start_async()
        return alive

    alive = go()
    gc.collect()
    assert done.wait(LONG)
    assert seen == [[True, True], 8.0]
    assert until(lambda: not any(ref() for ref in alive))


def test_a_request_that_is_dropped_inside_of_its_callback(model: Any) -> None:
    held = [InferRequest(model)]
    alive = weakref.ref(held[0])
    held[0].set_callback(lambda box: box.clear(), held)
    held[0].start_async()
    assert until(lambda: alive() is None)
    assert held == []


def test_a_request_that_is_closed_inside_of_its_callback(
    model: Any, reported: list[BaseException]
) -> None:
    request, done = InferRequest(model), threading.Event()

    def closing(_: Any) -> None:
        request.start_async()
        request.close()
        done.set()

    request.set_callback(closing)
    request.start_async(full(1), copy=True)
    assert done.wait(LONG)
    with pytest.raises(ClosedError):
        request.start_async()
    assert not reported


def test_what_is_not_a_callback(model: Any) -> None:
    request, queue = InferRequest(model), InferQueue(model, 1)
    for set_callback in (request.set_callback, queue.set_callback):
        with pytest.raises(UnsupportedObjectError, match="callable"):
            set_callback(3)  # type: ignore[arg-type]
    for jobs in (-1, 2.5, "x", None, True):
        with pytest.raises(LayoutError, match=rf"jobs must be .* not {jobs!r}"):
            InferQueue(model, jobs)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedObjectError, match="compile_model"):
        InferQueue(openvino.Core())


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
    """Whether OpenVINO would let its inputs be set: its callback may still be to come."""
    try:
        request.native.get_input_tensor(0)
    except RuntimeError as error:
        return "busy" not in str(error)
    return True


@pytest.mark.parametrize("kind", ["request", "queue"])
def test_a_restarted_inference_is_awaited_until_its_own_callback(
    npu: Any, kind: str, reported: list[BaseException]
) -> None:
    """The NPU's ends while the callback that started it is running, and its callback waits."""
    model = compile_model(adding_one(), "NPU")
    seen: list[Any] = []
    request: Any = None

    def again(userdata: Any) -> None:
        seen.append((userdata, first_of(request), queue.is_ready() if queue else request.pending))
        if len(seen) == 1:
            request.start_async(full(5), copy=True)
            assert until(lambda: has_ended(request))
            assert not request.idle
            with pytest.raises(BusyError):
                request.start_async(full(6), copy=True)

    queue = InferQueue(model, 1) if kind == "queue" else None
    if queue is not None:
        request = queue[0]
        queue.set_callback(lambda _request, userdata: again(userdata))
        queue.start_async(full(1), "mine", copy=True)
        queue.start_async(full(7), "the next", copy=True)
        queue.wait_all()
        assert seen == [("mine", 2.0, False), ("mine", 6.0, False), ("the next", 8.0, False)]
    else:
        request = InferRequest(model)
        request.set_callback(again, "mine")
        request.start_async(full(1), copy=True)
        assert until(lambda: len(seen) == 2)
        request.wait()
        assert seen == [("mine", 2.0, True), ("mine", 6.0, True)]
    assert not reported


def test_each_callback_of_a_queue_sees_its_own_inference(model: Any) -> None:
    """Each starts its request once more, as soon as it can."""
    seen: list[tuple[int, float]] = []
    for jobs in (1, 3):
        queue, again = InferQueue(model, jobs), set()

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


_EXIT = """
import sys, time, threading
import numpy as np
import samebytes
from samebytes_openvino import InferQueue, InferRequest, compile_model
from remote.models import adding_one
model = compile_model(adding_one(), {device!r})
request = InferRequest(model)
request.set_callback(lambda _: request.start_async())
request.start_async()
queue = InferQueue(model, 2)
queue.set_callback(lambda request, _: request.start_async())
for _ in range(2):
    queue.start_async()
box = [InferRequest(model)]
box[0].set_callback(lambda box: box.clear(), box)
box[0].start_async()
time.sleep(0.1)
print("end")
"""


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.together
def test_a_process_ends_well_while_callbacks_start_inferences(
    device: str, request: pytest.FixtureRequest
) -> None:
    if device != "CPU":
        request.getfixturevalue(device.lower())
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", _EXIT.format(device=device)],
            cwd=request.path.parent.parent, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["end"]
        assert "Error" not in done.stderr
