# SPDX-License-Identifier: Apache-2.0
"""Objects that a plugin knows by a protocol: a DLPack device, or an attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Tensor, TensorInfo, dtype
from samebytes._exchange import dlpack_capsule
from samebytes._plugins import discovery
from samebytes._plugins.spec_checks import problem_of_spec
from samebytes._plugins.tables import Declarations, PluginRecord, Tables
from samebytes.errors import PluginConflictError, UnsupportedObjectError
from samebytes.plugins import DeviceArray, ProtocolSpec

VPI = 9  # kDLVPI: no plugin of this repository has it


class VpiTensor(Tensor):
    """Stands for a plugin's class."""

    __slots__ = ()

    @classmethod
    def wrap(cls, native: Any) -> Any:
        return ("wrapped", native)


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
        return dlpack_capsule(
            self.array, dtype("int16"), max_version=version, device=(self.device, 5)
        )


class WithAttribute:
    """An object without DLPack."""

    __vpi_array__ = 1


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> Tables:
    """The tables, with a plugin that claims a device and an attribute."""
    spec = ProtocolSpec(
        wraps=f"{__name__}:VpiTensor", dlpack_devices=(VPI,), attribute="__vpi_array__"
    )
    tables = Tables()
    tables.add(PluginRecord("vpi", declared=Declarations(protocols=(spec,))))
    monkeypatch.setattr(discovery, "tables", lambda: tables)
    monkeypatch.setattr("samebytes._api.load_class", lambda *_: VpiTensor)
    return tables


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


def test_two_plugins_cannot_claim_one_protocol(declared: Tables) -> None:
    for spec in (
        ProtocolSpec(wraps="m:C", dlpack_devices=(15, VPI)),
        ProtocolSpec(wraps="m:C", attribute="__vpi_array__"),
    ):
        with pytest.raises(PluginConflictError, match="protocol"):
            declared.add(PluginRecord("other", declared=Declarations(protocols=(spec,))))
    assert set(declared.protocols) == {VPI, "__vpi_array__"}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"dlpack_devices": (2,)}, None),
        ({"attribute": "__x__"}, None),
        ({}, "neither"),
        ({"dlpack_devices": (1,)}, "above 1"),
        ({"dlpack_devices": 2}, "not a tuple"),
        ({"dlpack_devices": (True,)}, "not a tuple"),
        ({"attribute": "no name"}, "name of an attribute"),
        ({"wraps": "nothing", "attribute": "a"}, "wraps"),
    ],
)
def test_what_can_be_wrong_in_a_declaration(fields: dict[str, Any], problem: str | None) -> None:
    found = problem_of_spec(ProtocolSpec(**{"wraps": "module:Class", **fields}))
    assert found is None if problem is None else problem in (found or "")


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
