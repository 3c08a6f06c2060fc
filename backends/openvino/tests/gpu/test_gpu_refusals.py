# SPDX-License-Identifier: Apache-2.0
"""Input that ended the process, or was accepted unchecked, is refused by name."""

from __future__ import annotations

import ctypes
import gc
import os
from typing import Any

import numpy as np
import openvino
import pytest

from samebytes.errors import DeviceMismatchError, UnknownNameError, UnsupportedObjectError
from samebytes.testing import missing_device
from samebytes_openvino.intel_gpu import (
    ClContext,
    PropertyError,
    VAContext,
    VirtualAddressMemory,
)


def test_addresses_without_memory(context: Any) -> None:
    for address in (0x7FFF_0000_0000, ctypes.c_void_p(0x7FFF_0000_0000)):
        with pytest.raises(PropertyError, match="no 64 bytes of memory of this process"):
            context.create_tensor("float32", (1, 16), VirtualAddressMemory(address))


@pytest.mark.parametrize("size", [(64, 32), (16, 32), (34, 64), (64, 128), (30, 64), (32, 62)])
def test_sizes_that_a_surface_does_not_have(surface_of: Any, size: tuple[int, int]) -> None:
    surface = surface_of(np.zeros((32, 64), np.uint8), np.zeros((16, 32, 2), np.uint8))
    context = VAContext.from_display(surface.display)
    # A decoder's surface may be larger, up to blocks of 16 pixels.
    if size in ((30, 64), (32, 62)):
        assert context.create_tensor_nv12(*size, surface.id)
        return
    with pytest.raises(PropertyError, match="height comes before width"):
        context.create_tensor_nv12(*size, surface.id)
    with pytest.raises(PropertyError, match="height comes before width"):
        context.create_tensor("uint8", (1, *size, 1), surface.id)


def test_what_is_not_a_display(surface_of: Any) -> None:
    surface = surface_of(np.zeros((32, 64), np.uint8), np.zeros((16, 32, 2), np.uint8))
    memory = ctypes.create_string_buffer(64)
    for number in (0x1234560, 1 << 47, ctypes.addressof(memory)):
        with pytest.raises(PropertyError, match="no VADisplay is at"):
            VAContext.from_display(number)
    for tile in ("a", None, True, -2):
        with pytest.raises(PropertyError, match="TILE_ID"):
            VAContext.from_display(surface.display, tile)  # type: ignore[arg-type]


@pytest.mark.usefixtures("surface_of")  # which skips where there is no VA-API
def test_a_display_that_is_not_initialised() -> None:
    va, drm = ctypes.CDLL("libva.so.2"), ctypes.CDLL("libva-drm.so.2")
    drm.vaGetDisplayDRM.restype = ctypes.c_void_p
    node = os.open(os.environ.get("SAMEBYTES_VAAPI_DEVICE", "/dev/dri/renderD128"), os.O_RDWR)
    pointer = drm.vaGetDisplayDRM(node)
    number = ctypes.byref(ctypes.c_int())
    try:
        with pytest.raises(PropertyError, match="is not initialised"):
            VAContext.from_display(pointer)
        assert va.vaInitialize(ctypes.c_void_p(pointer), number, number) == 0
        assert VAContext.from_display(pointer)
        gc.collect()
    finally:
        va.vaTerminate(ctypes.c_void_p(pointer))
        os.close(node)


def test_memory_that_no_longer_holds_a_display() -> None:
    # As libva's allocator leaves it, most often. A display that was really terminated is not asked
    # here: its memory is free, and what it says by then is for nobody to rely on.
    freed = ctypes.create_string_buffer(b"\0" * 4096)
    with pytest.raises(PropertyError, match=r"no VADisplay is at \w+, or it was terminated"):
        VAContext.from_display(ctypes.addressof(freed))


def test_errors_are_ours(context: Any) -> None:
    for call in (
        lambda: ClContext.wrap(3),
        lambda: ClContext.default("x"),
        lambda: context.wrap_tensor(3),
    ):
        with pytest.raises(UnsupportedObjectError):
            call()
    tensor = context.create_tensor("float32", (1, 16))
    with pytest.raises(UnknownNameError, match="cl_mem"):
        tensor.handle("usm_ptr")


def test_natives_of_an_npu(context: Any, core: Any) -> None:
    if "NPU" not in core.available_devices:
        pytest.skip(missing_device("NPU"))
    npu = core.get_default_context("NPU")
    with pytest.raises(UnsupportedObjectError, match="is of NPU, not of a GPU"):
        ClContext.wrap(npu)
    with pytest.raises(DeviceMismatchError, match="is of NPU, not of a GPU"):
        context.wrap_tensor(npu.create_tensor(openvino.Type.u8, openvino.Shape([8]), {}))
