# SPDX-License-Identifier: Apache-2.0
"""Tests of close(): what it ends, in which order, and whose errors it raises if a release fails."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import CpuTensor, Storage

if TYPE_CHECKING:
    from sdk.tests.core.conftest import Pages

CPU = sb.context("cpu")


def owned(*made: Storage) -> CpuTensor:
    """A tensor over the last one, which the others were made for."""
    native = np.asarray(made[-1])
    return CpuTensor(native, CPU, made[-1], None, readonly=False, info=None, made=made)


def test_chained_storages_end_last_first() -> None:
    order: list[str] = []
    bytes_ = np.zeros(64, np.uint8)
    address = bytes_.__array_interface__["data"][0]
    outer = Storage(lambda: order.append("outer"), address=address, nbytes=64)
    inner = Storage(lambda: order.append("inner"), address=address, nbytes=64, keep=outer)
    made = [outer, inner]
    del inner, outer
    tensor = owned(made.pop(0), made.pop())
    held = np.asarray(tensor._made[0])  # the outer one only
    assert tensor.close() is False
    assert order == ["inner"]
    held[1] = 4
    assert bytes_[1] == 4
    del held
    assert order == ["inner", "outer"]


def test_a_release_that_raises_does_not_keep_the_others() -> None:
    order: list[str] = []

    def bad() -> None:
        order.append("inner")
        raise OSError("unmapping failed")

    tensor = nested(lambda: order.append("outer"), bad)
    with pytest.raises(OSError, match="unmapping failed"):
        tensor.close()
    assert tensor.closed
    assert order == ["inner", "outer"]


def nested(outer: Callable[[], object], inner: Callable[[], object]) -> CpuTensor:
    """A tensor over memory that lies in other memory, with the releases of both."""
    memory = np.zeros(8, np.uint8)
    where: dict[str, Any] = {"address": memory.__array_interface__["data"][0], "nbytes": 8}
    whole = Storage(outer, keep=memory, **where)
    part = Storage(inner, keep=whole, **where)
    made = [whole, part]
    del whole, part
    return owned(made.pop(0), made.pop())


def test_what_memory_lies_in_is_flushed_though_a_release_fails() -> None:
    """The outer memory is the user's: what was written there counts, whatever the release did."""

    def fail() -> None:
        raise OSError("of the release")

    memory = np.zeros(8, np.uint8)
    where: dict[str, Any] = {"address": memory.__array_interface__["data"][0], "nbytes": 8}
    flushed: list[str] = []
    outer = Storage(keep=memory, flush=lambda: flushed.append("outer"), **where)

    def make() -> CpuTensor:
        return owned(Storage(fail, keep=outer, **where))

    with pytest.raises(OSError, match="of the release"), make():
        pass
    assert flushed == ["outer"]


def test_every_error_of_a_release_is_reported() -> None:
    def failing(text: str) -> None:
        raise OSError(text)

    tensor = nested(partial(failing, "the outer one"), partial(failing, "the inner one"))
    with pytest.raises(OSError, match="the inner one") as caught:
        tensor.close()
    assert caught.value.__notes__ == ["a release raised OSError: the outer one"]


def test_the_error_of_a_release_does_not_hold_itself() -> None:
    class RefusedError(OSError):
        pass

    def fail() -> None:
        raise RefusedError

    tensor = nested(fail, fail)
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(RefusedError) as caught:
            tensor.close()
        raised = weakref.ref(caught.value)
        del caught
        assert raised() is None
    finally:
        gc.enable()


def test_errors_of_other_releases_are_not_those_of_close(
    monkeypatch: pytest.MonkeyPatch, pages: Pages
) -> None:
    """A release that happens to run meanwhile, as by the garbage collector, is somebody else's."""
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)

    def failing() -> None:
        raise OSError("of another tensor")

    others = [Storage(failing)]
    tensor = nested(pages.release, others.clear)
    tensor.close()
    assert pages.released == 1
    assert [str(u.exc_value) for u in unraisable] == ["of another tensor"]


@pytest.mark.parametrize("held", [False, True])
def test_what_lies_between_two_mappings_ends_with_them(held: bool) -> None:
    """Several mappings of a device may share a storage, which lies in that of the hop before."""
    released: list[str] = []
    memory = np.zeros(8, np.uint8)
    where: dict[str, Any] = {"address": memory.__array_interface__["data"][0], "nbytes": 8}
    first = Storage(lambda: released.append("first"), keep=memory, **where)
    shared = Storage(lambda: released.append("shared"), keep=first, **where)
    made = [first, Storage(keep=shared, **where)]
    again: Any = weakref.ref(shared)
    del first, shared
    mapped = owned(made.pop(0), made.pop())
    other = Storage(keep=again(), **where) if held else None
    assert mapped.close() is not held
    if held:
        assert released == []
        del other
    assert released == ["shared", "first"]


def test_close_raises_the_error_of_a_release_that_a_debugger_delays() -> None:
    """The debugger holds what it saw a finalizer work on, and drops it while close() goes on."""
    held: list[object] = []

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code is Storage.__del__.__code__:
            held.append(frame.f_locals["self"])
        elif event == "return" and held:
            sys.settrace(before)
            held.clear()
        return trace

    def fail() -> None:
        raise ValueError("of the release")

    memory = np.zeros(8, np.uint8)
    tensor = owned(Storage(fail, address=memory.__array_interface__["data"][0], nbytes=8))
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(ValueError, match="of the release"):
            tensor.close()
    finally:
        sys.settrace(before)


def test_each_close_hears_of_its_own_though_one_lies_in_the_other() -> None:
    """The release of one tensor closes another, with which the first one's other memory goes."""
    heard: list[str] = []

    def fail(text: str) -> None:
        raise ValueError(text)

    def close_the_inner_one() -> None:
        try:
            inner.pop().close()
        except ValueError as error:
            heard.append(str(error))

    memory = np.zeros(8, np.uint8)
    where: dict[str, Any] = {"address": memory.__array_interface__["data"][0], "nbytes": 8}
    made = [Storage(partial(fail, "outer"), keep=memory, **where)]
    inner = [owned(Storage(partial(fail, "inner"), keep=memory, holds=made[0], **where))]
    made.append(Storage(close_the_inner_one, keep=memory, **where))
    outer = owned(made.pop(0), made.pop())
    with pytest.raises(ValueError, match="outer"):
        outer.close()
    assert heard == ["inner"]
