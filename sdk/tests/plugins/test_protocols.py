# SPDX-License-Identifier: Apache-2.0
"""Objects that a plugin knows by a protocol: a DLPack device, or an attribute."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes
from samebytes import TensorInfo
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import DeviceArray

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

VPI = 9  # kDLVPI: no plugin of this repository has it
_DEVICES = {None: 8, (1, 0): 40}
"""The offset of the DLDevice in a capsule of each version, by dlpack.h."""
_CLASSES = """
from samebytes import Tensor

class VpiTensor(Tensor):
    __slots__ = ()

    @classmethod
    def wrap(cls, native):
        return ("wrapped", native)
"""
_PLUGIN = """
@hookimpl
def samebytes_protocols():
    return [ProtocolSpec(**fields) for fields in {0}]
"""
_VPI = {"wraps": "vpi_classes:VpiTensor", "dlpack_devices": (VPI,), "attribute": "__vpi_array__"}


class OnDevice:
    """A producer on a device that the CPU cannot read."""

    def __init__(self, device: int = VPI) -> None:
        self.device = device
        self.asked: list[dict[str, Any]] = []
        self.array = np.arange(12, dtype=np.int16).reshape(3, 4)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 5)

    def __dlpack__(self, **more: Any) -> object:
        self.asked.append(more)
        version = more.get("max_version")
        capsule = samebytes.tensor(self.array).__dlpack__(max_version=version)
        name = b"dltensor" if version is None else b"dltensor_versioned"
        place = _pointer(capsule, name) + _DEVICES[version]
        (ctypes.c_int32 * 2).from_address(place)[:] = [self.device, 5]
        return capsule


def _pointer(capsule: object, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, name))


class WithAttribute:
    """An object without DLPack."""

    __vpi_array__ = 1


@pytest.fixture
def declared(site: Site) -> Site:
    """A plugin that claims a device and an attribute."""
    site.module("vpi_classes", _CLASSES)
    site.plugin("vpi", _PLUGIN.format([_VPI]))
    return site


def error_of(site: Site, **fields: Any) -> str:
    """The reason why another plugin that declares a protocol so is set aside, or ""."""
    site.plugin("zulu", _PLUGIN.format([fields]))
    (found,) = [one for one in samebytes.installed_plugins() if one.name == "zulu"]
    return found.error


@pytest.mark.usefixtures("declared")
def test_the_device_or_the_attribute_decides() -> None:
    natives: tuple[Any, ...] = (OnDevice(), WithAttribute())
    for native in natives:
        wrapped: Any = samebytes.tensor(native)
        assert wrapped == ("wrapped", native)
    # DLPack comes first: what it calls the CPU's is the CPU's.
    host = type("Host", (np.ndarray,), {"__vpi_array__": 1})
    assert isinstance(samebytes.tensor(np.zeros(4).view(host)), samebytes.Tensor)
    with pytest.raises(UnsupportedObjectError, match="WebGPU"):
        samebytes.tensor(OnDevice(15))


@pytest.mark.parametrize("fields", [{"dlpack_devices": (15, VPI)}, {"attribute": "__vpi_array__"}])
def test_two_plugins_cannot_claim_one_protocol(declared: Site, fields: dict[str, Any]) -> None:
    assert "it declares the protocol" in error_of(declared, wraps="m:C", **fields)
    with pytest.raises(UnsupportedObjectError, match="WebGPU"):
        samebytes.tensor(OnDevice(15))
    wrapped: Any = samebytes.tensor(OnDevice())
    assert wrapped[0] == "wrapped"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"dlpack_devices": (VPI,)}, None),
        ({"attribute": "__x__"}, None),
        ({}, "neither"),
        ({"dlpack_devices": (1,)}, "above 1"),
        ({"dlpack_devices": 2}, "not a tuple"),
        ({"dlpack_devices": (True,)}, "not a tuple"),
        ({"attribute": "no name"}, "name of an attribute"),
        ({"wraps": "nothing", "attribute": "a"}, "wraps"),
    ],
)
def test_what_can_be_wrong_in_a_declaration(
    site: Site, fields: dict[str, Any], problem: str | None
) -> None:
    found = error_of(site, **{"wraps": "module:Class", **fields})
    assert found == "" if problem is None else problem in found


def test_device_memory_is_taken_by_dlpack() -> None:
    producer = OnDevice()
    found = DeviceArray.by_dlpack(producer, {VPI}, stream=7)
    assert producer.asked == [{"max_version": (1, 0), "copy": False, "stream": 7}]
    assert found.array.__array_interface__["data"][0] == producer.array.ctypes.data
    assert (found.array.shape, found.array.strides) == ((3, 4), (8, 2))
    assert (str(found.dtype), found.readonly, found.device) == ("int16", False, (VPI, 5))
    assert found.info == TensorInfo("int16", (3, 4), (8, 2))
    assert found.address == producer.array.ctypes.data
    producer.array = producer.array[1:, ::2]
    found = DeviceArray.by_dlpack(producer, {VPI})
    assert found.info == TensorInfo("int16", (2, 2), (8, 4))
    assert found.address == producer.array.ctypes.data
    DeviceArray.by_dlpack(producer, {VPI})
    assert "stream" not in producer.asked[-1]
    with pytest.raises(UnsupportedObjectError, match=r"VPI memory .*not in CUDA memory"):
        DeviceArray.by_dlpack(producer, {2})


def test_a_read_only_producer_says_so() -> None:
    producer = OnDevice()
    producer.array.flags.writeable = False
    assert DeviceArray.by_dlpack(producer, {VPI}).readonly
