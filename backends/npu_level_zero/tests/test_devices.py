# SPDX-License-Identifier: Apache-2.0
"""Names of devices, and what is known of each."""

from __future__ import annotations

from typing import Any

import pytest

import samebytes
from samebytes import Device
from samebytes.errors import AmbiguousTargetError, MissingDependencyError, UnknownNameError
from samebytes.testing import run_program
from samebytes_npu_level_zero import LevelZeroContext, devices
from samebytes_npu_level_zero._abi.constants import DeviceType
from samebytes_npu_level_zero._abi.results import Result
from samebytes_npu_level_zero._devices import choose, entries, entry_of
from samebytes_npu_level_zero._loader import Library


def drivers_with(fake: Any, *types: int) -> Library:
    """A library with one driver for each device."""

    def list_drivers(count: Any, out: Any) -> None:
        fake.argument(count).value = len(types)
        if out is not None:
            out[:] = range(1, len(types) + 1)

    def list_devices(driver: int, count: Any, out: Any) -> None:
        fake.argument(count).value = 1
        if out is not None:
            out[0] = 0x100 + driver

    def describe(device: int, properties: Any) -> None:
        found = fake.argument(properties)
        found.type, found.name = types[device - 0x101], b"device %d" % device
        found.uuid[0], found.maxMemAllocSize = device - 0x100, 1 << 30

    def place(device: int, properties: Any) -> int | None:
        if types[device - 0x101] == DeviceType.CPU:
            return Result.ERROR_UNSUPPORTED_FEATURE
        address = fake.argument(properties).address
        address.domain, address.bus, address.device, address.function = 1, 0xAB, 0xC, device & 7
        return None

    fake.handlers["zeDriverGet"] = list_drivers
    fake.handlers["zeDeviceGet"] = list_devices
    fake.handlers["zeDeviceGetProperties"] = describe
    fake.handlers["zeDevicePciGetPropertiesExt"] = place
    return Library(fake)


def test_names(fake: Any) -> None:
    library = drivers_with(fake, 5, 1, 1, 2, 4, 99)
    found = entries(library)
    names = [entry.name for entry in found]
    assert names == ["NPU", "GPU.0", "GPU.1", "CPU", "MCA", "TYPE99"]
    assert [entry.driver for entry in found] == [1, 2, 3, 4, 5, 6]
    npu, second_gpu = found[0], found[2]
    assert npu.device == Device("NPU", "device 257", uuid=b"\1" + bytes(15), pci="0001:ab:0c.1")
    assert found[3].device.pci is None
    assert choose(found, "NPU") is choose(found, "NPU.0") is npu
    assert choose(found, "GPU.1") is second_gpu


def test_names_that_are_not_unique(fake: Any) -> None:
    found = entries(drivers_with(fake, 5, 1, 1))
    with pytest.raises(AmbiguousTargetError) as caught:
        choose(found, "GPU")
    assert caught.value.choices == ("level_zero:GPU.0", "level_zero:GPU.1")
    with pytest.raises(AmbiguousTargetError) as caught:
        choose(found, None)
    assert caught.value.choices == ("level_zero:NPU", "level_zero:GPU.0", "level_zero:GPU.1")


def test_names_that_are_not_there(fake: Any) -> None:
    found = entries(drivers_with(fake, 1))
    for name in ("GPU.1", "GPU.0.0", "gpuu", "", "NPU"):
        with pytest.raises(UnknownNameError) as caught:
            choose(found, name)
        assert caught.value.name == name
    assert "NPU" in str(caught.value)
    assert "(" in str(caught.value), "why there is no NPU"
    with pytest.raises(MissingDependencyError):
        choose([], None)


def test_sub_devices(fake: Any) -> None:
    library = drivers_with(fake, 1, 1)

    def list_parts(device: int, count: Any, out: Any) -> None:
        fake.argument(count).value = 1
        if out is not None:
            out[0] = device  # a part that describes itself as its device does

    assert entry_of(library, 0x102) == entries(library)[1]
    assert entry_of(library, 0x999) is None
    fake.handlers["zeDeviceGetSubDevices"] = list_parts
    assert entry_of(library, 0x999) is None


@pytest.mark.usefixtures("device")
def test_the_device_at_hand() -> None:
    name = devices()[0]
    context = samebytes.context(f"level_zero:{name}")
    assert isinstance(context, LevelZeroContext)
    device = context.device
    assert device.kind == name.partition(".")[0]
    assert device.name
    assert device.uuid is not None
    assert len(device.uuid) == 16
    assert any(device.uuid)
    assert all(memory.nbytes > 0 for memory in context.device_memory())
    assert context.import_types().name
    assert context.export_types().name
    with pytest.raises(UnknownNameError):
        samebytes.context("level_zero:NPUU")


@pytest.mark.usefixtures("device")
def test_two_devices(two_devices: dict[str, str]) -> None:
    output = run_program(
        """
        import samebytes as sb, samebytes_npu_level_zero as z
        from samebytes.errors import AmbiguousTargetError, DeviceMismatchError, LayoutError
        print(z.devices())
        try:
            sb.context("level_zero")
        except AmbiguousTargetError as error:
            print(error.choices)
        npu, gpu = sb.context("level_zero:NPU"), sb.context("level_zero:GPU.0")
        assert npu != gpu and npu.device.kind == "NPU" and gpu.device.kind == "GPU"
        ours, theirs = npu.allocate((16,)), gpu.allocate((16,))
        for refused in (
            lambda: z.copy(ours, theirs),
            lambda: gpu.wrap_pointer(ours.handle(), (16,)),
            lambda: ours.map(gpu),
            lambda: gpu.from_handles(
                ze_context=npu.handle("ze_context"),
                ze_device=gpu.handle("ze_device"),
                ze_driver=npu.handle("ze_driver"),
            ),
        ):
            try:
                refused()
            except sb.errors.SamebytesError as error:
                print(type(error).__name__)
        print(theirs.map("cpu").shape, ours.map("cpu").shape)
        shared = npu.allocate((16,), exportable=True)
        same = gpu.import_fd(shared.export_fd(), (16,))
        z.fill(shared, 7)
        print(same.host_array()[3])
        """,
        **two_devices,
    )
    assert output.splitlines() == [
        "('NPU', 'GPU')",
        "('level_zero:NPU', 'level_zero:GPU')",
        "DeviceMismatchError",
        "LayoutError",
        "NoRouteError",
        "UnknownNameError",
        "(16,) (16,)",
        "7",
    ]
