# SPDX-License-Identifier: Apache-2.0
"""set_callback on every device: restarts, lifetimes, errors, threads, exits."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import openvino
import pytest

from samebytes.errors import BusyError, ClosedError, LayoutError, UnsupportedObjectError
from samebytes_openvino import InferQueue, InferRequest, compile_model

from .models import DEVICES, LONG, adding_one, first_of, full, until


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


def test_an_error_that_somebody_keeps_does_not_keep_the_callback(
    reported: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request waits at its end until OpenVINO has dropped the callback."""
    request = InferRequest(compile_model(adding_one(), "CPU"))
    own, set_callback, given = request.native, openvino.InferRequest.set_callback, []

    def noted(native: Any, callback: Any, userdata: Any) -> None:
        if native is own:  # requests of earlier tests may still be ended by threads
            given.append(weakref.ref(callback))
        set_callback(native, callback, userdata)

    def failing(_: Any) -> None:
        raise ValueError("mine")

    monkeypatch.setattr(openvino.InferRequest, "set_callback", noted)
    request.set_callback(failing)
    request.start_async(full(1), copy=True)
    assert request.wait()
    called = given[0]
    assert called() is not None
    request.close()
    assert called() is None, reported
    assert [str(error) for error in reported] == ["mine"]


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
