# SPDX-License-Identifier: Apache-2.0
"""USM as DLPack: on the CPU where the CPU reads it, on kDLOneAPI where that is true."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import dpctl
import numpy as np
import pytest

from samebytes.errors import ExportError
from samebytes_sycl import SYCLContext
from samebytes_sycl import context as context_of

ONEAPI = 14  # kDLOneAPI of dlpack.h


class DLTensorHead(ctypes.Structure):
    """The beginning of DLTensor of dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
    )


def head_of(capsule: object) -> DLTensorHead:
    """Return the head of the DLTensor in a legacy capsule."""
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return DLTensorHead.from_address(get(capsule, b"dltensor"))


def test_shared_usm_is_on_the_cpu(context: SYCLContext) -> None:
    tensor = context.allocate((4, 8), "float32")
    assert tensor.__dlpack_device__() == (1, 0)
    array = np.from_dlpack(tensor)
    assert array.ctypes.data == tensor.handle("usm_ptr")


@pytest.mark.parametrize("kind", ["shared", "device"])
def test_a_consumer_of_sycl_gets_the_pointer(context: SYCLContext, kind: Any) -> None:
    tensor = context.allocate((4, 8), "float32", kind)
    device = (ONEAPI, dpctl.get_devices().index(context.queue.sycl_device))
    if kind == "device":
        assert tensor.__dlpack_device__() == device
    capsule = tensor.__dlpack__(dl_device=device)
    head = head_of(capsule)
    assert head.data == tensor.handle("usm_ptr")
    assert (head.device_type, head.device_id, head.ndim) == (*device, 2)


def test_the_capsule_keeps_the_memory(context: SYCLContext) -> None:
    tensor = context.allocate((8,), "uint8", "device")
    capsule = tensor.__dlpack__()
    end = weakref.ref(tensor.storage)
    assert tensor.close() is False
    assert end() is not None
    del capsule
    gc.collect()
    assert end() is None


def test_what_would_not_be_true_is_refused(context: SYCLContext) -> None:
    tensor = context.allocate((8,), "uint8", "device")
    with pytest.raises(ExportError, match="not on"):
        tensor.__dlpack__(dl_device=(ONEAPI, 99))
    with pytest.raises(ExportError, match="stream"):
        tensor.__dlpack__(stream=3)
    with pytest.raises(ExportError, match="copy"):
        tensor.__dlpack__(copy=True)
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(tensor)  # numpy knows the CPU alone
    device = context.queue.sycl_device
    own = context_of(dpctl.SyclQueue(dpctl.SyclContext([device]), device))
    with pytest.raises(ExportError, match="default SYCL context"):
        own.allocate((8,), "uint8", "device").__dlpack_device__()
