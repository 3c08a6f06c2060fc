# SPDX-License-Identifier: Apache-2.0
"""Displays end once: after the last holder, with the program, in the parent of a fork alone."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from samebytes.errors import ClosedError
from samebytes.testing import run_program
from samebytes_vaapi import VAAPIContext

from .conftest import terminations

Steady = Callable[[], AbstractContextManager[None]]


@pytest.mark.parametrize(
    "order", list(itertools.permutations(("context", "frame", "plane", "view")))
)
def test_terminated_once_after_the_last_holder(wrapped: Any, order: tuple[str, ...]) -> None:
    frame = wrapped.context.allocate_frame("NV12", 64, 32)
    held: dict[str, Any] = {
        "context": wrapped.context,
        "frame": frame,
        "plane": frame.planes[1].native,
        "view": frame.map("cpu", "rw").native[0],
    }
    del frame, wrapped.context, wrapped.display
    for name in order:
        assert terminations(wrapped) == 0
        del held[name]
    assert terminations(wrapped) == 1
    names = [name for name, _ in wrapped.functions.calls if name.startswith("vaDestroy")]
    assert names == ["vaDestroyImage", "vaDestroySurfaces"]
    assert wrapped.functions.calls[-1][0] == "vaTerminate"


def test_closing_ends_it_too(wrapped: Any, no_descriptor_left: Steady, node: str) -> None:
    with no_descriptor_left():
        display = wrapped.open(node)
        context = VAAPIContext(display)
        del display
        frame = context.allocate_frame("NV12", 64, 32)
        context.close()
        with pytest.raises(ClosedError):
            context.allocate_frame("NV12", 64, 32)
        with pytest.raises(ClosedError):
            context.surface(frame.native.id, "NV12", 64, 32)
        frame.wait()
        frame.close()
        del context, frame
    assert terminations(wrapped) == 1


def test_a_display_of_the_user_is_never_terminated(wrapped: Any) -> None:
    class Owner:
        """A stand-in for the object that terminates the display."""

    pointer, owner = wrapped.display.pointer, Owner()
    borrowed = wrapped.borrow(owner)
    context = VAAPIContext(borrowed)
    assert context.handle("va_display") == pointer
    frame = context.allocate_frame("NV12", 64, 32)
    del borrowed, context
    assert len(gc.get_referrers(owner)) >= 1, "the surface keeps what it lies in"
    frame.close()
    del frame
    assert terminations(wrapped) == 0
    assert len(wrapped.functions.named("vaDestroySurfaces")) == 1


@pytest.mark.usefixtures("device", "dma_plugin")
def test_at_exit() -> None:
    """Objects alive at the end are destroyed before their display, which is terminated."""
    said = run_program(
        """
        import ctypes, samebytes, samebytes_vaapi._library as library
        calls = []
        real = library.Library.call
        def call(self, name, *arguments):
            print(name) if name.startswith(("vaDestroy", "vaTerm", "vaUnmap")) else None
            real(self, name, *arguments)
        library.Library.call = call
        context = samebytes.context("vaapi")
        frames = [context.allocate_frame("NV12", 64, 32) for _ in range(2)]
        maps = [frames[0].map("cpu", "rw"), frames[1].map("dma", "rw"), frames[1].map("vaapi")]
        copy = frames[1].map("cpu", "rw", copy=True)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(frames))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(maps))
        print("end")
        """
    )
    _, _, after = said.partition("end\n")
    calls = after.split()
    assert calls[-1] == "vaTerminate"
    assert calls.count("vaTerminate") == 1
    assert calls.count("vaDestroySurfaces") == 2
    assert calls.index("vaDestroySurfaces") > max(
        index for index, name in enumerate(calls) if name == "vaDestroyImage"
    )


@pytest.mark.usefixtures("device", "dma_plugin")
def test_after_fork() -> None:
    """The child touches nothing of the parent's display, and has one of its own."""
    said = run_program(
        """
        import os, samebytes
        from samebytes.errors import ClosedError
        from samebytes_vaapi import VAAPIContext
        context = samebytes.context("vaapi")
        frame = context.allocate_frame("NV12", 64, 32)
        source = samebytes.context("dma:memfd").allocate_frame("NV12", 64, 32)
        surface = source.map("vaapi")
        view = frame.map("cpu", "w")
        view.native[0][...] = 7
        child = os.fork()
        if child == 0:
            for use in (frame.wait, lambda: context.allocate_frame("NV12", 64, 32)):
                try:
                    use()
                except ClosedError:
                    print("closed", flush=True)
            own = samebytes.context("vaapi")
            assert own is not context
            assert own.handle("va_display") != frame.native.display
            with own.allocate_frame("NV12", 64, 32).map("cpu", "w") as seen:
                seen.native[0][...] = 8
            del seen
            assert source.map("vaapi").context is own  # the route is compiled again
            del view, frame, surface, context, own
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        frame.wait()
        assert (frame.map("cpu").native[0] == 7).all()
        print("parent")
        """
    )
    assert said == "closed\nclosed\nparent\n"


@pytest.mark.usefixtures("dma_plugin")
@pytest.mark.parametrize("dropped", [True, False])
def test_nothing_is_left_in_the_driver(tmp_path: Path, software: Any, dropped: bool) -> None:
    """The driver itself reports what lives when its display ends."""
    software()
    report = tmp_path / "report"
    run_program(
        f"""
        import samebytes
        context = samebytes.context("vaapi")
        for name in ("NV12", "I420", "BGRA"):
            frame = context.allocate_frame(name, 64, 32)
            memory = frame.map("dma", "rw")
            held = [memory.map("vaapi", "rw"), frame.map("cpu", "rw")]
            copied = samebytes.context("cpu").allocate_frame(name, 64, 32).map("vaapi", copy=True)
        if {dropped}:
            del context, frame, memory, held, copied
            samebytes.refresh()
        """,
        SOFTVA_REPORT=str(report),
    )
    said = report.read_text().splitlines()
    # A DMA-BUF may outlive the surface that it was exported from.
    expected = ["softva end"] if dropped else ["softva descriptor", "softva end"]
    assert [" ".join(line.split()[:2]) for line in said] == expected
