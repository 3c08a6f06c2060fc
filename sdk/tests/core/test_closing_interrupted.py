# SPDX-License-Identifier: Apache-2.0
"""close() and the end of a block, interrupted at every line and met by other threads."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes as sb
from samebytes._core import closed, closing, frame, holder, storage, tensor
from samebytes.errors import BusyError
from samebytes.plugins import CpuTensor, Storage, returns_memory

if TYPE_CHECKING:
    from sdk.tests.core.conftest import Pages

CPU = sb.context("cpu")
FILES = {module.__file__ for module in (closed, closing, frame, holder, storage, tensor)}
Kind = Callable[[Any], Any]


class Interrupt:
    """Raises KeyboardInterrupt at one of the lines that run, counted from 0.

    Not in finalisers: the interpreter drops what is raised there.
    """

    def __init__(self, line: int) -> None:
        self.left = line
        self.raised = False

    def __call__(self, frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in FILES or frame.f_code.co_name == "__del__":
            return None
        if event == "line":
            if not self.left:
                sys.settrace(None)
                self.raised = True
                raise KeyboardInterrupt
            self.left -= 1
        return self


@returns_memory
def frame_over(pages: Pages) -> sb.Frame:
    """A frame of two planes."""
    storage = pages.storage()
    array = np.asarray(storage)
    image = sb.ImageInfo.of("NV12", 8, 8)
    native = array[:64].reshape(8, 8), array[64:96].reshape(4, 4, 2)
    return sb.Frame.owned(native, CPU, sb.FrameMeta(image), storage)


def leave(item: Any) -> None:
    """What the end of a block does."""
    item.__exit__(None, None, None)


@pytest.mark.parametrize("end", [lambda item: item.close(), leave], ids=["close", "block"])
@pytest.mark.parametrize(
    "make", [lambda pages: pages.tensor(), frame_over], ids=["tensor", "frame"]
)
def test_an_interrupt_leaves_it_whole_or_closed(end: Kind, make: Kind, pages: Pages) -> None:
    lines = 0
    while True:
        released, item = pages.released, make(pages)
        planes = item.planes if isinstance(item, sb.Frame) else ()
        interrupt = Interrupt(lines)
        sys.settrace(interrupt)
        try:
            end(item)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        if item.closed:
            assert all(plane.closed for plane in planes)
        else:
            assert pages.released == released
            assert item.native is not None
            assert item.storage.nbytes
            assert not any(plane.closed for plane in planes)
            held = np.asarray(planes[0] if planes else item)[1:]
            with pytest.raises(BusyError):
                item.close()
            del held
            item.close()
        assert pages.released == released + 1
        if not interrupt.raised:
            break
        lines += 1
    assert lines > 20, "the lines of close() were not found"


def test_a_refused_close_that_is_interrupted_changes_nothing(pages: Pages) -> None:
    lines = 0
    item = pages.tensor()
    held = item.native[1:]
    while True:
        interrupt = Interrupt(lines)
        sys.settrace(interrupt)
        try:
            item.close()
        except (KeyboardInterrupt, BusyError):
            pass
        finally:
            sys.settrace(None)
        assert not item.closed
        assert item.native.base is held.base
        if not interrupt.raised:
            break
        lines += 1
    del held
    item.close()
    assert pages.released == 1


def test_the_last_drop_while_another_thread_leaves_the_block(pages: Pages) -> None:
    """A stops between dropping and closing, B drops the last array there and releases."""
    threads: list[int] = []
    dropped, closing_now = threading.Event(), threading.Event()

    @returns_memory
    def make() -> CpuTensor:
        address = pages.array.__array_interface__["data"][0]
        storage = Storage(lambda: threads.append(threading.get_ident()), address=address, nbytes=64)
        return CpuTensor.owned(np.asarray(storage), CPU, storage)

    tensor = make()
    held = [tensor.native[1:]]

    def stop(frame: Any, event: str, _: object) -> Any:
        if frame.f_code is closed.make_closed.__code__ and event == "return":
            closing_now.set()
            assert dropped.wait(10)
        return stop

    def drop() -> None:
        assert closing_now.wait(10)
        held.clear()
        dropped.set()

    other = threading.Thread(target=drop)
    other.start()
    sys.settrace(stop)
    try:
        leave(tensor)
    finally:
        sys.settrace(None)
    other.join()
    assert threads == [other.ident]
    assert tensor.closed


def test_close_while_the_last_holder_is_in_its_finaliser(pages: Pages) -> None:
    """B runs the release, and stops there; A closes another tensor over the same storage."""
    inside, go_on = threading.Event(), threading.Event()
    tensor = pages.tensor()
    held = [tensor.native[1:]]

    def stop(frame: Any, *_: object) -> None:
        if frame.f_code is Storage.__del__.__code__:
            inside.set()
            assert go_on.wait(10)

    def drop() -> None:
        sys.settrace(stop)
        held.clear()
        sys.settrace(None)

    with pytest.raises(BusyError):
        tensor.close()
    view = tensor.map("cpu")
    leave(tensor)
    view.close()
    other = threading.Thread(target=drop)
    other.start()
    assert inside.wait(10)
    assert tensor.closed
    tensor.close()
    view.close()
    assert pages.released == 0
    go_on.set()
    other.join()
    assert pages.released == 1


def test_the_last_array_is_dropped_at_each_line_of_close(pages: Pages) -> None:
    """A stops at a line of close(), B drops there; if B releases, it stops until A is done."""
    lines, released = 0, 0
    while _dropped_at(lines, pages):
        lines += 1
        released += 1
        assert pages.released == released, lines
    assert lines > 10


def _dropped_at(line: int, pages: Pages) -> bool:
    """Whether close() ran so many lines; it raised BusyError or closed, and either is whole."""
    tensor = pages.tensor()
    tensor.native[...] = 7
    held = [tensor.native[1:]]
    stopped, dropping, closed_now = threading.Event(), threading.Event(), threading.Event()
    left, reached = line, False

    def stop_a(frame: Any, event: str, _: object) -> Any:
        nonlocal left, reached
        if frame.f_code.co_filename not in FILES or frame.f_code.co_name == "__del__":
            return None
        if event == "line" and not reached:
            reached = not left
            left -= 1
            if reached:
                stopped.set()
                assert dropping.wait(10)
        return stop_a

    def stop_b(frame: Any, *_: object) -> None:
        if frame.f_code is Storage.__del__.__code__:
            dropping.set()
            assert closed_now.wait(10)

    def drop() -> None:
        assert stopped.wait(10)
        sys.settrace(stop_b)
        held.clear()
        sys.settrace(None)
        dropping.set()

    other = threading.Thread(target=drop)
    other.start()
    sys.settrace(stop_a)
    try:
        tensor.close()
    except BusyError:
        pass
    finally:
        sys.settrace(None)
        stopped.set()
        closed_now.set()
    other.join()
    if not tensor.closed:
        assert tensor.native.tobytes() == bytes([7]) * tensor.native.nbytes
        tensor.close()
    return reached


def test_many_threads_drop_while_one_closes() -> None:
    """Whoever comes last releases, once; nobody crashes, and close() succeeds in the end."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(200):
            released: list[int] = []
            memory = np.zeros(64, np.uint8)

            @returns_memory
            def make(memory: Any = memory, released: list[int] = released) -> CpuTensor:
                address = memory.__array_interface__["data"][0]
                storage = Storage(lambda: released.append(1), address=address, nbytes=64)
                return CpuTensor.owned(np.asarray(storage), CPU, storage)

            tensor = make()
            holders = [[tensor.native[n:]] for n in range(3)]
            threads = [threading.Thread(target=held.clear) for held in holders]
            for thread in threads:
                thread.start()
            while not tensor.closed:
                try:
                    tensor.close()
                except BusyError:
                    assert not released
            for thread in threads:
                thread.join()
            assert released == [1]
    finally:
        sys.setswitchinterval(interval)
        gc.collect()
