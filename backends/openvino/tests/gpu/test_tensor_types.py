# SPDX-License-Identifier: Apache-2.0
"""is_ and as_: the type checks of the C++ classes, from the properties alone."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from samebytes.errors import UnknownNameError, UnsupportedObjectError
from samebytes_openvino.intel_gpu import (
    ClBufferTensor,
    ClImage2DTensor,
    D3DBufferTensor,
    D3DSurface2DTensor,
    GpuTensor,
    USMTensor,
    VASurfaceTensor,
)

BUFFER, IMAGE, USM = ClBufferTensor, ClImage2DTensor, USMTensor
SURFACES = {VASurfaceTensor, D3DSurface2DTensor}
ALL = (BUFFER, IMAGE, USM, VASurfaceTensor, D3DBufferTensor, D3DSurface2DTensor)

# SHARED_MEM_TYPE -> the classes whose type_check passes, of openvino/runtime/intel_gpu/ocl/*.hpp.
CHECKS: dict[str, set[type[GpuTensor]]] = {
    "OCL_BUFFER": {BUFFER},
    "OCL_IMAGE2D": {IMAGE},
    "USM_USER_BUFFER": {USM},
    "USM_HOST_BUFFER": {USM},
    "USM_DEVICE_BUFFER": {USM},
    "VA_SURFACE": {IMAGE, *SURFACES},
    "DX_BUFFER": {BUFFER, D3DBufferTensor},
    "BUFFER_FROM_HANDLE": {BUFFER},
    "CPU_VA": {BUFFER},
}


def params(kind: str) -> dict[str, int | str]:
    found: dict[str, int | str] = {"SHARED_MEM_TYPE": kind, "MEM_HANDLE": 0x1000}
    if kind in ("VA_SURFACE", "DX_BUFFER"):
        found["DEV_OBJECT_HANDLE"] = 7
    if kind == "VA_SURFACE":
        found["VA_PLANE"] = 1
    return found


@pytest.mark.parametrize("kind", CHECKS)
def test_type_checks(kind: str) -> None:
    assert {c for c in ALL if c.matches(params(kind))} == CHECKS[kind]
    assert GpuTensor.matches(params(kind))


@pytest.mark.parametrize("kind", CHECKS)
def test_each_key_is_needed(kind: str) -> None:
    for missing in params(kind):
        rest = {k: v for k, v in params(kind).items() if k != missing}
        matching = {c for c in ALL if c.matches(rest)}
        assert matching == {
            c for c in CHECKS[kind] if missing != "SHARED_MEM_TYPE" and missing not in c.keys
        }


@pytest.mark.parametrize(
    ("kind", "system", "most_specific"),
    [
        ("VA_SURFACE", "linux", VASurfaceTensor),
        ("VA_SURFACE", "win32", D3DSurface2DTensor),
        ("DX_BUFFER", "win32", D3DBufferTensor),
        ("CPU_VA", "linux", ClBufferTensor),
        ("USM_HOST_BUFFER", "linux", USMTensor),
        ("OTHER", "linux", GpuTensor),
    ],
)
def test_the_most_specific_class(
    kind: str, system: str, most_specific: type[GpuTensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    assert GpuTensor.tensor_kind(params(kind)) is most_specific


def test_is_and_as(context: Any) -> None:
    general = context.create_tensor("float32", (1, 4)).map(context, "rw")
    assert general.is_(ClBufferTensor)
    assert general.is_(GpuTensor)
    assert not general.is_(USMTensor, ClImage2DTensor)
    assert general.is_(USMTensor, ClBufferTensor)
    assert type(general.as_()) is ClBufferTensor
    buffer = general.as_(ClBufferTensor)
    assert type(buffer) is ClBufferTensor
    assert buffer.native is general.native
    assert buffer.info == general.info
    assert buffer.storage is general.storage
    with pytest.raises(
        UnsupportedObjectError, match=r"SHARED_MEM_TYPE.*OCL_BUFFER is not a USMTensor"
    ):
        general.as_(USMTensor)


def test_handles(context: Any) -> None:
    buffer = context.create_tensor("float32", (1, 4))
    usm = context.create_usm_device_tensor("float32", (1, 4))
    assert buffer.handle() == buffer.handle("cl_mem") == buffer.get()
    assert usm.handle("usm_ptr") == usm.get()
    for tensor, key in ((buffer, "usm_ptr"), (usm, "cl_mem"), (buffer, "va_surface")):
        with pytest.raises(UnknownNameError):
            tensor.handle(key)


def test_objects_of_direct3d(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = context.create_tensor("float32", (1, 4))
    surface = params("VA_SURFACE")
    monkeypatch.setattr(GpuTensor, "params", property(lambda self: surface))
    texture = plain.as_(D3DSurface2DTensor)
    assert (texture.texture, texture.plane, texture.get()) == (7, 1, 0x1000)
    surface["SHARED_MEM_TYPE"] = "DX_BUFFER"
    buffer = plain.as_(D3DBufferTensor)
    assert (buffer.buffer, buffer.get()) == (7, 0x1000)
