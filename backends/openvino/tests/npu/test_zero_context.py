# SPDX-License-Identifier: Apache-2.0
"""ZeroContext: there is one, it is the plugin's, and it is a context of samebytes."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import openvino
import pytest

import samebytes
from samebytes import Context, Device
from samebytes.errors import (
    DeviceMismatchError,
    LayoutError,
    MissingDependencyError,
    UnknownNameError,
)
from samebytes_openvino.intel_npu import ZeroBufferTensor, ZeroContext


def test_default_context_from_core(core: Any) -> None:
    """default_context_from_core: ZeroContext(core), get()."""
    context = ZeroContext(core)
    params = core.get_default_context("NPU").get_params()
    assert context.get() == int(params["L0_CONTEXT"].astype(str), 16)
    assert context.params == {"L0_CONTEXT": context.get()}
    assert context.device_name == "NPU"
    assert context.handle("ze_context") == context.get()


def test_default_context_from_model(npu: Any, core: Any, doubling: Callable[..., Any]) -> None:
    """default_context_from_model: a model compiled by name takes tensors of the one context."""
    request = core.compile_model(doubling((1, 8)), "NPU", {}).create_infer_request()
    x, y = (npu.create_l0_host_tensor("uint8", (1, 8)) for _ in range(2))
    x.host_array()[...] = 3
    request.set_tensor("x", x.native)
    request.set_tensor("y", y.native)
    request.start_async()
    request.wait()
    assert (y.host_array() == 6).all()


def test_a_model_compiled_on_the_context(npu: Any, core: Any, doubling: Callable[..., Any]) -> None:
    """compile_model(model, context) takes the context's native object."""
    compiled = core.compile_model(doubling((1, 8)), npu.native, {})
    request = compiled.create_infer_request()
    request.set_tensor("x", npu.create_l0_host_tensor("uint8", (1, 8)).native)
    request.infer()


def test_one_object(core: Any, npu: Any) -> None:
    contexts = [ZeroContext(), ZeroContext(core), ZeroContext(openvino.Core())]
    assert all(context is npu for context in contexts)
    assert samebytes.context("openvino:NPU") is npu
    (name,) = core.get_property("NPU", "AVAILABLE_DEVICES")
    assert samebytes.context(f"openvino:NPU.{name}") is npu
    assert npu.derive("openvino:NPU") is npu


def test_the_device(core: Any, npu: Any) -> None:
    device = npu.device
    assert device.kind == "NPU"
    assert device.name == core.get_property("NPU", "FULL_DEVICE_NAME")
    assert device.uuid.hex() == core.get_property("NPU", "DEVICE_UUID")
    domain, bus, rest = device.pci.split(":")
    slot, function = rest.split(".")
    info = core.get_property("NPU", "DEVICE_PCI_INFO")
    found = [int(part, 16) for part in (domain, bus, slot, function)]
    assert found == [info.domain, info.bus, info.device, info.function]
    assert npu.memory_size == core.get_property("NPU", "NPU_DEVICE_TOTAL_MEM_SIZE")


def test_it_ends_with_its_last_holder(core: Any) -> None:
    context = ZeroContext(core)
    dead = weakref.ref(context)
    tensor = context.allocate((1, 8))
    del context
    assert dead() is not None, "a tensor holds its context"
    del tensor
    samebytes.refresh()  # drops the contexts that routing keeps for a while
    gc.collect()
    assert dead() is None
    assert ZeroContext(core).get()


def test_it_stays_open(core: Any) -> None:
    """There is one, and every component of a program has it."""
    ours, theirs = ZeroContext(core), samebytes.context("openvino:NPU")
    assert ours is theirs
    tensor = theirs.allocate((1, 8))
    ours.close()
    assert not theirs.closed
    tensor.map(theirs, "w").close()
    assert ZeroContext(core) is theirs


@pytest.mark.usefixtures("npu")
def test_its_names(core: Any) -> None:
    (platform,) = core.get_property("NPU", "AVAILABLE_DEVICES")
    for name in ("openvino:NPU", "openvino:NPU.0", f"openvino:NPU.{platform}"):
        assert samebytes.context(name) is ZeroContext(core)


@pytest.mark.usefixtures("npu")
def test_other_devices() -> None:
    with pytest.raises(UnknownNameError) as caught:
        samebytes.context("openvino:NPU.7")
    assert "NPU" in str(caught.value)


class Foreign(Context):
    """A Level Zero context of somebody else's."""

    memory_type = "level_zero"
    node = "level_zero"


def test_a_foreign_ze_context_is_refused(npu: Any) -> None:
    """The plugin ignores L0_CONTEXT as an argument."""
    own = npu.get()
    parent = Foreign(Device("NPU"), handles={"ze_context": own})
    assert ZeroContext.create("NPU", parent) is npu
    other = Foreign(Device("NPU"), handles={"ze_context": own + 8})
    with pytest.raises(DeviceMismatchError, match="ignores a ze_context") as caught:
        ZeroContext.create(None, other)
    assert hex(own + 8) in str(caught.value)


def test_without_an_npu() -> None:
    """In a process that sees no driver, the error says what to do."""
    code = (
        "import os, sys\n"
        "import openvino\n"
        "if 'NPU' in openvino.Core().available_devices: sys.exit(3)\n"
        "from samebytes_openvino.intel_npu import ZeroContext\n"
        "from samebytes.errors import MissingDependencyError\n"
        "try:\n"
        "    ZeroContext()\n"
        "except MissingDependencyError as error:\n"
        "    print(error.missing, '|', error.hint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={}, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    if done.returncode == 3:
        pytest.skip("this computer has an NPU")
    assert "Level zero backend is not found" in done.stdout
    assert "/dev/accel" in done.stdout.partition("|")[2]
    assert issubclass(MissingDependencyError, ImportError)


def test_allocating(npu: Any) -> None:
    tensor = npu.allocate((4, 6), "float32")
    assert isinstance(tensor, ZeroBufferTensor)
    assert (tensor.shape, str(tensor.dtype), tensor.context) == ((4, 6), "float32", npu)
    tensor.close()
    for shape, what in (
        ((-1, 4), "negative"),
        ((0, 4), "empty"),
        ((1 << 50,), "NPU memory"),
    ):
        with pytest.raises(LayoutError, match=what):
            npu.allocate(shape)
    with pytest.raises(UnknownNameError):
        npu.allocate((4, 4), "uint9")
    with pytest.raises(UnknownNameError, match="complex64"):
        npu.allocate((4, 4), "complex64")


def test_allocating_frames(npu: Any) -> None:
    """All planes lie in one piece of memory, in the order of the format."""
    frame = npu.allocate_frame("NV12", 8, 4)
    y, uv = frame.planes
    assert (y.shape, uv.shape) == ((1, 4, 8, 1), (1, 2, 4, 2))
    assert uv.handle("usm_ptr") == y.handle("usm_ptr") + 32
    y.host_array()[...], uv.host_array()[...] = 1, 2
    arrays = frame.map("cpu")
    assert [(a.shape, int(a.native.max())) for a in arrays] == [((4, 8), 1), ((2, 4, 2), 2)]
    del arrays, y, uv
    frame.close()
    assert frame.closed
    with pytest.raises(UnknownNameError):
        npu.allocate_frame("NV13", 8, 4)


def test_public_names() -> None:
    from samebytes_openvino import intel_npu

    tables = {"PLATFORMS", "PROPERTIES"}
    for name in intel_npu.__all__:
        assert getattr(intel_npu, name).__doc__ or name in tables
    assert dir(intel_npu) == sorted(intel_npu.__all__)
    with pytest.raises(AttributeError, match="ZeroContex'"):
        _ = intel_npu.ZeroContex  # type: ignore[attr-defined]
