# SPDX-License-Identifier: Apache-2.0
"""USM pointers of the application: what can be checked of them is checked."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest

from samebytes.errors import LayoutError, NativeError, NotHostVisibleError, UnsupportedObjectError
from samebytes_npu_level_zero import LevelZeroContext, LevelZeroTensor, NotExportableError

PAGE = 4096


@pytest.fixture
def memory(context: LevelZeroContext) -> LevelZeroTensor:
    """Two pages, each byte of which is its place modulo 251."""
    tensor = context.allocate((2 * PAGE,))
    tensor.host_array()[...] = np.arange(2 * PAGE) % 251
    return tensor


def test_the_same_bytes(context: LevelZeroContext, memory: LevelZeroTensor) -> None:
    wrapped = context.wrap_pointer(memory.handle(), (2, 3), "uint8", offset=7, strides=(100, 1))
    assert wrapped.host_array().tolist() == [[7, 8, 9], [107, 108, 109]]
    assert wrapped.handle() == memory.handle() + 7
    assert wrapped.handle("offset") == 7
    wrapped.host_array()[1, 2] = 0
    assert memory.host_array()[109] == 0
    as_pointer = context.wrap_pointer(ctypes.c_void_p(memory.handle()), (3,))
    assert as_pointer.handle() == memory.handle()
    assert context.inspect(ctypes.c_void_p(memory.handle())) == context.inspect(memory.handle())
    backwards = context.wrap_pointer(memory.handle(), (3,), "uint8", offset=5, strides=(-2,))
    assert backwards.host_array().tolist() == [5, 3, 1]


def test_borrowed_memory_is_not_freed(context: LevelZeroContext, memory: LevelZeroTensor) -> None:
    wrapped = context.wrap_pointer(memory.handle(), (16,))
    held = wrapped.host_array()
    wrapped.close()
    assert held[3] == 3
    assert context.inspect(memory.handle())


def test_keep(context: LevelZeroContext, memory: LevelZeroTensor) -> None:
    class Keeper:
        pass

    keeper = Keeper()
    alive = weakref.ref(keeper)
    native = context.wrap_pointer(memory.handle(), (16,), keep=keeper).native
    del keeper
    gc.collect()
    array = native.array()
    del native
    assert alive() is not None
    del array
    assert alive() is None


def test_a_keeper_that_holds_its_tensor_is_collected(
    context: LevelZeroContext, memory: LevelZeroTensor
) -> None:
    class Camera:
        tensor: LevelZeroTensor

    camera = Camera()
    camera.tensor = context.wrap_pointer(memory.handle(), (16,), keep=camera)
    alive = weakref.ref(camera)
    del camera
    gc.collect()
    assert alive() is None


def test_pointers_that_are_not_usm(context: LevelZeroContext) -> None:
    plain = ctypes.create_string_buffer(64)
    for pointer in (ctypes.addressof(plain), 0, -8, 8, (1 << 64) - 1, 1 << 64, 1 << 80):
        with pytest.raises(LayoutError, match="not a USM pointer of this context"):
            context.wrap_pointer(pointer, (16,))
        assert context.inspect(pointer) is None
    wrong: Any = "4096"
    for use in (
        lambda: context.wrap_pointer(wrong, (4,)),
        lambda: context.wrap_pointer(4096, (4,), offset=wrong),
        lambda: context.inspect(wrong),
    ):
        with pytest.raises(UnsupportedObjectError, match="must be an int"):
            use()


def test_a_freed_pointer(context: LevelZeroContext) -> None:
    tensor = context.allocate((64,))
    pointer = tensor.handle()
    tensor.close()
    with pytest.raises(LayoutError, match="was freed"):
        context.wrap_pointer(pointer, (64,))


@pytest.mark.parametrize(
    "arguments",
    [
        {"shape": (2 * PAGE + 1,)},
        {"shape": (2 * PAGE,), "offset": 1},
        {"shape": (PAGE, 1), "dtype": "float32", "strides": (4, 4)},
        {"shape": (4,), "offset": 1 << 40},
        {"shape": (4,), "offset": 1 << 70},
        {"shape": (1 << 62,)},
        {"shape": (4,), "offset": -1},
        {"shape": (4,), "offset": 2, "strides": (-1,)},
        {"shape": (-4,)},
        {"shape": (4, 4), "strides": (4,)},
    ],
)
def test_arrays_that_do_not_fit(
    context: LevelZeroContext, memory: LevelZeroTensor, arguments: dict[str, Any]
) -> None:
    with pytest.raises(LayoutError):
        context.wrap_pointer(memory.handle(), **arguments)


def test_memory_of_another_context(memory: LevelZeroTensor, other: LevelZeroContext) -> None:
    with pytest.raises(LayoutError, match="allocated elsewhere"):
        other.wrap_pointer(memory.handle(), (16,))


def test_exporting_what_was_wrapped(context: LevelZeroContext, memory: LevelZeroTensor) -> None:
    exportable = context.allocate((2 * PAGE,), exportable=True)
    exportable.host_array()[...] = 3
    whole = context.wrap_pointer(exportable.handle(), (8,), offset=PAGE)
    again = context.import_fd(whole.export_fd(), (8,), offset=whole.handle("offset"))
    again.host_array()[...] = 9
    assert exportable.host_array()[PAGE : PAGE + 9].tolist() == [9] * 8 + [3]
    freed = context.allocate((PAGE,), exportable=True)
    left = context.wrap_pointer(freed.handle(), (8,))
    freed.close()
    with pytest.raises(NativeError):
        left.export_fd()
    inside = context.wrap_pointer(exportable.handle() + PAGE, (8,))
    for export in (inside.export_fd, lambda: inside.handle("dma_fd")):
        with pytest.raises(LayoutError, match="points into an allocation"):
            export()
    with pytest.raises(NotExportableError):
        context.wrap_pointer(memory.handle(), (8,)).export_fd()


def test_device_memory(context: LevelZeroContext) -> None:
    tensor = context.allocate((16,), kind="device")
    wrapped = context.wrap_pointer(tensor.handle(), (16,))
    assert wrapped.native.kind == "device"
    with pytest.raises(NotHostVisibleError):
        wrapped.host_array()
