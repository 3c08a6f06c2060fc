# SPDX-License-Identifier: Apache-2.0
"""Displays: opened by node, by pointer, by tile or by X server, shared and borrowed."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import samebytes
from samebytes import Context, Device
from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError
from samebytes.testing import run_program
from samebytes_vaapi import VAAPIContext, VAError, _displays, _nodes
from samebytes_vaapi._abi.structures import VADisplayAttribValSubDevice
from samebytes_vaapi._tiles import choose_tile, tiles_of


def test_one_context_for_a_node(context: VAAPIContext, node: str) -> None:
    assert VAAPIContext.open() is context
    assert VAAPIContext.open(node) is context
    assert samebytes.context(f"vaapi:{node}") is context
    assert context.handle("va_display")
    assert os.fstat(context.handle("drm_fd")).st_rdev == Path(node).stat().st_rdev
    assert context.device.kind == "GPU"
    assert context.device.drm_node == node
    assert context.device.name == context.native_display().vendor


def test_one_context_for_two_paths_of_a_node(
    context: VAAPIContext, node: str, tmp_path: Path
) -> None:
    link = tmp_path / "by-path"
    link.symlink_to(node)
    assert VAAPIContext.open(str(link)) is context


def test_the_environment_names_the_default(
    context: VAAPIContext, node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_displays.ENVIRONMENT, "/dev/zero")
    with pytest.raises(UnknownNameError, match="/dev/zero"):
        VAAPIContext.open()
    assert VAAPIContext.open(node) is context


@pytest.mark.usefixtures("context")
def test_the_first_node_with_a_driver(node: str, render_nodes: Path) -> None:
    (render_nodes / "renderD129").symlink_to(node)
    (render_nodes / "renderD130").symlink_to("/dev/zero")
    assert VAAPIContext.open() is samebytes.context("vaapi")
    assert _nodes.render_nodes() == [str(render_nodes / f"renderD{n}") for n in (129, 130)]


def test_the_address_on_the_bus(wrapped: Any, node: str, sysfs: Path, tmp_path: Path) -> None:
    number = Path(node).stat().st_rdev
    folder = sysfs / f"{os.major(number)}:{os.minor(number)}"
    folder.mkdir()
    (tmp_path / "0000:03:00.0").mkdir()
    (folder / "device").symlink_to(tmp_path / "0000:03:00.0")
    display = wrapped.open(node)
    assert display.device.pci == "0000:03:00.0"
    assert display.device.same(Device("GPU", pci="0000:03:00.0"))


@pytest.mark.usefixtures("device")
def test_nothing_is_printed() -> None:
    said = run_program(
        """
        import samebytes
        print(samebytes.context("vaapi").device.name != "")
        """,
        LIBVA_MESSAGING_LEVEL="",
    )
    assert said == "True\n"


def test_from_pointers_of_all_kinds(wrapped: Any) -> None:
    pointer = wrapped.display.pointer
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = (
        ctypes.py_object,
        (
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_void_p,
        ),
    )
    given = (pointer, ctypes.c_void_p(pointer), capsule(pointer, b"VADisplay", None))
    first = VAAPIContext.from_display(given[0])
    assert all(VAAPIContext.from_display(g) is first for g in given)
    assert VAAPIContext.from_display(first) is first
    assert first.native_display().owned is False
    assert first.native_display().keep is None
    assert first.device.name == wrapped.display.vendor
    gone = weakref.ref(first)
    del first
    assert gone() is None, "nothing of it holds itself"


def test_our_own_display_is_found_again(context: VAAPIContext) -> None:
    """Not borrowed from ourselves: it must still be terminated once, and in time."""
    assert VAAPIContext.from_display(context.handle("va_display")) is context
    assert context.native_display().owned
    assert context.native_display().keep is None


def test_derived_from_a_context_with_a_display(wrapped: Any) -> None:
    class Decoder(Context):
        """A context of another plugin that has a display, as a decoder's device has."""

        memory_type = node = "decoder"

    handles = {"va_display": wrapped.display.pointer, "drm_fd": wrapped.display.drm.fileno()}
    parent = Decoder(Device("GPU", drm_node="/dev/dri/renderD129"), handles=handles)
    context = VAAPIContext.create(None, parent)
    assert VAAPIContext.create(None, parent) is context
    assert context.parent is parent
    assert context.handle("va_display") == wrapped.display.pointer
    assert context.handle("drm_fd") != parent.handle("drm_fd"), "our own descriptor"
    assert context.device.drm_node == "/dev/dri/renderD129"
    frame = context.allocate_frame("NV12", 64, 32)
    kept = context.native_display().keep
    assert kept is parent
    view = frame.map("cpu", "rw")
    parent.close()  # it holds the display until nothing of it is used any more
    frame.wait()
    view.native[0][...] = 3
    view.close()
    assert (frame.map("cpu").native[0] == 3).all()
    frame.close()
    context.allocate_frame("NV12", 64, 32).close()
    with pytest.raises(UnknownNameError, match="va_display"):
        VAAPIContext.create(None, Decoder())


@pytest.mark.usefixtures("device")
def test_pointers_that_are_not_displays() -> None:
    memory = ctypes.create_string_buffer(64)
    for pointer in (0, 16, -1, 1 << 70, ctypes.addressof(memory)):
        with pytest.raises(LayoutError, match="is not a VADisplay"):
            VAAPIContext.from_display(pointer)
    for wrong in ("renderD128", None, 1.5):
        with pytest.raises(UnsupportedObjectError, match="a VADisplay must be"):
            VAAPIContext.from_display(wrong)


def test_a_display_that_is_not_initialised(context: VAAPIContext) -> None:
    drm = ctypes.CDLL("libva-drm.so.2")
    drm.vaGetDisplayDRM.restype = ctypes.c_void_p
    pointer = drm.vaGetDisplayDRM(context.handle("drm_fd"))
    with pytest.raises(LayoutError, match="call vaInitialize"):
        VAAPIContext.from_display(pointer)
    ctypes.CDLL("libva.so.2").vaTerminate(ctypes.c_void_p(pointer))


def test_memory_that_no_longer_holds_a_display() -> None:
    # As libva's allocator leaves it, most often. A display that was really terminated is not asked
    # here: its memory is free, and what it says by then is for nobody to rely on.
    freed = ctypes.create_string_buffer(b"\0" * 4096)
    with pytest.raises(LayoutError, match="is not a VADisplay, or it was terminated"):
        VAAPIContext.from_display(ctypes.addressof(freed))


def test_drivers_without_tiles(context: VAAPIContext, node: str) -> None:
    assert tiles_of(context.native_display()) == ()
    with pytest.raises(UnknownNameError, match="has no sub-devices: leave tile= out"):
        VAAPIContext.open(node, tile=0)
    with pytest.raises(LayoutError, match="a tile must be an integer"):
        VAAPIContext.open(node, tile="left")  # type: ignore[arg-type]  # that is the point


def test_tiles(wrapped: Any) -> None:
    """Three of which two can be chosen; the driver is set before anything else."""
    bits = VADisplayAttribValSubDevice()
    bits.bits.sub_device_count, bits.bits.sub_device_mask = 3, 0b101
    reported: list[int] = []

    def get(*arguments: Any) -> int:
        arguments[2]._obj.value = bits.value
        return 0

    def set_(*arguments: Any) -> int:
        value = VADisplayAttribValSubDevice(value=arguments[2]._obj.value)
        reported.append(value.bits.current_sub_device)
        return 0

    wrapped.functions.handlers |= {"vaGetDisplayAttributes": get, "vaSetDisplayAttributes": set_}
    assert tiles_of(wrapped.display) == (0, 2)
    choose_tile(wrapped.display, 2)
    with pytest.raises(UnknownNameError, match="known: 0, 2"):
        choose_tile(wrapped.display, 1)
    assert reported == [2]
    wrapped.functions.fail("vaSetDisplayAttributes", 10)
    with pytest.raises(VAError, match="vaSetDisplayAttributes failed with 10"):
        choose_tile(wrapped.display, 0)


@pytest.mark.usefixtures("device", "dma_plugin")
def test_threads_share_one_display(node: str) -> None:
    samebytes.refresh()
    gc.collect()
    found: list[VAAPIContext] = []
    start = threading.Barrier(4, timeout=60)

    def work() -> None:
        start.wait()
        context = VAAPIContext.open(node)
        frame = context.allocate_frame("NV12", 64, 32)
        for _ in range(50):
            with frame.map("cpu", "w") as view:
                view.native[0][...] = 1
            frame.map("dma").map(context)
        found.append(context)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 4
    assert all(context is found[0] for context in found)


@pytest.fixture
def x_server(tmp_path: Path) -> Iterator[str]:
    """The name of an X server without a screen."""
    reading, writing = os.pipe()
    try:
        server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", "64x64x24", "-nolisten", "tcp"],
            pass_fds=(writing,),
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
        )
    except FileNotFoundError:
        os.close(reading)
        os.close(writing)
        pytest.skip("missing package xvfb: apt install xvfb")
    os.close(writing)
    with os.fdopen(reading) as names:
        name = f":{names.readline().strip()}"
    yield name
    server.terminate()
    server.wait()


@pytest.mark.usefixtures("device", "dma_plugin")
def test_on_an_x_server(x_server: str) -> None:
    program = """
        import gc, os, samebytes
        from samebytes.errors import UnknownNameError
        from samebytes_vaapi import VAAPIContext
        sockets = lambda: sum("socket" in os.readlink(e.path) for e in os.scandir("/proc/self/fd")
                              if os.path.lexists(e.path))
        before = sockets()
        context = VAAPIContext.open_x11()
        assert VAAPIContext.open_x11(os.environ["DISPLAY"]) is context
        assert context is not VAAPIContext.open()
        frame = context.allocate_frame("NV12", 64, 32)
        with frame.map("cpu", "w") as view:
            view.native[0][...] = 5
        there = frame.map("dma").map(samebytes.context("vaapi"))
        assert (there.map("cpu").native[0] == 5).all()
        try:
            context.handle("drm_fd")
        except UnknownNameError:
            print(context.device.kind, context.device.drm_node)
        assert sockets() == before + 1
        del context, frame, there, view
        samebytes.refresh()
        gc.collect()
        assert sockets() == before
    """
    assert run_program(program, DISPLAY=x_server) == "GPU None\n"
