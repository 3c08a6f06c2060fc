# SPDX-License-Identifier: Apache-2.0
"""The edges of openvino:GPU: the same bytes on both sides, nothing copied unasked."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Context, Device, Storage, Tensor, TensorInfo
from samebytes.errors import (
    AccessError,
    CopyRequiredError,
    DeviceMismatchError,
    NoRouteError,
    UnsupportedObjectError,
)
from samebytes_openvino.intel_gpu import (
    ClBufferTensor,
    ClContext,
    GpuTensor,
    OpenVINOError,
    USMTensor,
    VAContext,
)

Array = np.ndarray[Any, Any]
SHAPE = (1, 16)


@pytest.fixture
def opencl(cl_context: Any) -> Any:
    """The samebytes context of the user's cl_context, where that backend is installed."""
    package = pytest.importorskip(
        "samebytes_gpu_opencl", reason="missing package samebytes-gpu-opencl: pip install it"
    )
    return package.context(cl_context)


def cpu_tensor(shape: Any = SHAPE, dtype: str = "float32") -> Tensor:
    tensor = samebytes.context("cpu").allocate(shape, dtype)
    tensor.native[...] = np.arange(tensor.info.size).reshape(shape)
    return tensor


def params(tensor: Tensor) -> dict[str, Any]:
    assert isinstance(tensor, GpuTensor)
    return dict(tensor.params)


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def test_opencl_buffers(opencl: Any, context: Any, shifted: Any) -> None:
    source = opencl.allocate(SHAPE, "float32")
    with source.map("cpu", "w") as view:
        view.native[...] = 5
    samebytes.reset_stats()
    remote = source.map(context, "rw")
    assert remote.as_(ClBufferTensor).get() == source.handle("cl_mem")
    assert remote.info == source.info
    assert (shifted(remote) == 3).all()
    with source.map("cpu", "w") as view:
        view.native[...] = 7
    assert (shifted(remote) == 5).all()
    back = remote.map(opencl)
    assert back.handle("cl_mem") == source.handle("cl_mem")
    assert samebytes.stats().copies == 0


SLOW = """
__kernel void slow(__global float *x) {
    float sum = 0;
    for (int i = 0; i < 20000; i++) sum = sin(sum + i);
    x[get_global_id(0)] = sum;
}
"""


@pytest.mark.filterwarnings("ignore:Non-empty compiler output")  # the software GPU's compiler
@pytest.mark.parametrize("level", ["tensor", "frame"])
def test_a_mapping_waits_for_opencl(opencl: Any, context: Any, cl: Any, level: str) -> None:
    item = (
        opencl.allocate_frame("GRAY8", 256, 256)
        if level == "frame"
        else opencl.allocate((1, 1 << 16), "uint8")
    )
    buffer = item.native[0] if level == "frame" else item.native
    kernel = cl.Kernel(cl.Program(opencl.native, SLOW).build(cache_dir=False), "slow")
    event = kernel(opencl.queue, (1 << 14,), None, buffer)
    opencl.queue.flush()
    item.map(context)
    assert event.command_execution_status == cl.command_execution_status.COMPLETE


def test_a_queue_that_cannot_order_it(opencl: Any, context: Any, cl: Any) -> None:
    source = opencl.allocate((1, 16), "float32")
    foreign = cl.CommandQueue(cl.Context(opencl.native.devices))
    with pytest.raises(DeviceMismatchError, match="own cl_context"):
        source.map(context, queue=foreign)
    with pytest.raises(UnsupportedObjectError, match="cl_command_queue"):
        source.map(context, queue="fast")


def test_with_a_queue_the_caller_orders(opencl: Any, context: Any, cl: Any) -> None:
    source = opencl.allocate(SHAPE, "float32")
    gate = cl.UserEvent(opencl.native)
    event = cl.enqueue_fill_buffer(
        opencl.queue, source.native, np.float32(3), 0, 64, wait_for=[gate]
    )
    remote = source.map(context, queue=opencl.queue)  # it would wait forever otherwise
    assert event.command_execution_status != cl.command_execution_status.COMPLETE
    gate.set_status(cl.command_execution_status.COMPLETE)
    opencl.queue.finish()
    assert remote.handle("cl_mem") == source.handle("cl_mem")


@pytest.mark.usefixtures("usm_alloc")  # it skips where there is no USM
@pytest.mark.parametrize("kind", ["usm_host", "usm_device", "usm_shared"])
def test_opencl_usm(opencl: Any, context: Any, kind: str) -> None:
    source = opencl.allocate(SHAPE, "float32", kind)
    remote = source.map(context)
    assert remote.as_(USMTensor).get() == source.handle("usm_ptr")
    part = source.sub(16, (1, 4))
    assert part.map(context).handle("usm_ptr") == source.handle("usm_ptr") + 16


def test_opencl_images_are_planes(opencl: Any, context: Any, edge: Any) -> None:
    source = opencl.allocate((8, 16), "uint8", "image")
    mapper = edge("OpenCLToGpu", opencl, context)
    remote = source.map(context)
    assert (remote.shape, remote.strides) == ((1, 8, 16, 1), None)
    assert remote.handle("cl_mem") == source.handle("cl_mem")
    with pytest.raises(NoRouteError, match="inputs only"):
        mapper.map(source, "rw")
    with pytest.raises(NoRouteError, match="planes uint8"):
        mapper.map(opencl.allocate((8, 16), "float32", "image"))


@pytest.mark.parametrize("kind", ["buffer", "image"])
def test_opencl_frames(opencl: Any, context: Any, kind: str) -> None:
    frame = opencl.allocate_frame("NV12", 64, 32, kind)
    remote = frame.map(context)
    assert [p.shape for p in remote] == [(1, 32, 64, 1), (1, 16, 32, 2)]
    assert remote.meta is frame.meta
    for ours, theirs in zip(remote, frame, strict=True):
        assert ours.handle("cl_mem") == theirs.handle("cl_mem")
        assert (ours.strides is None) == (kind == "image")


def test_opencl_of_another_context(core: Any, opencl: Any, edge: Any) -> None:
    source, other = opencl.allocate(SHAPE, "float32"), ClContext.default(core)
    with pytest.raises(NoRouteError, match="derive one context from the other"):
        edge("OpenCLToGpu", opencl, other).map(source)
    frame = opencl.allocate_frame("NV12", 64, 32)
    with pytest.raises(NoRouteError, match="derive one context from the other"):
        edge("OpenCLFrameToGpu", opencl, other).map(frame)


def test_opencl_with_gaps(opencl: Any, context: Any, edge: Any) -> None:
    source = opencl.allocate((4, 32), "uint8").sub(0, (4, 16), strides=(32, 1))
    with pytest.raises(NoRouteError, match="would give wrong numbers"):
        edge("OpenCLToGpu", opencl, context).map(source)


def test_the_remote_tensor_keeps_the_opencl_memory(opencl: Any, context: Any) -> None:
    source = opencl.allocate(SHAPE, "float32", "buffer")
    native = source.map(context).native
    storage = weakref.ref(source.storage)
    assert source.close() is False
    gc.collect()
    assert storage() is not None
    del native
    gc.collect()
    assert storage() is None


def test_cpu_memory_is_used_in_place(context: Any, shifted: Any) -> None:
    source = cpu_tensor()
    samebytes.reset_stats()
    remote = source.map(context, "rw")
    assert params(remote)["CPU_VA"] == address(source.native)
    np.testing.assert_array_equal(shifted(remote), np.maximum(source.native - 2, 0))
    source.native[...] = 9
    assert (shifted(remote) == 7).all()
    back = remote.map("cpu", "rw")
    assert address(back.native) == address(source.native)
    assert samebytes.stats().copies == 0


def test_sizes_that_are_not_whole_lines_use_the_bytes_behind(context: Any) -> None:
    source = cpu_tensor((3, 5))
    remote = source.map(context)
    assert params(remote)["CPU_VA"] == address(source.native)
    assert remote.shape == (3, 5)
    np.testing.assert_array_equal(remote.map("cpu").native, source.native)


def test_cpu_memory_that_cannot_be_used_in_place(context: Any, edge: Any) -> None:
    cpu = samebytes.context("cpu")
    into, out_of = edge("CpuToGpuCopy", cpu, context), edge("GpuToCpuCopy", context, cpu)
    whole = cpu_tensor((8, 32), "uint8")
    for array, why in (
        (whole.native[:, :16], r"would give wrong numbers.*set_frame\(frame, names\)"),
        (whole.native.reshape(-1)[4:68], "begin a slice of it at a multiple of 64 bytes"),
        (np.zeros(3, np.uint8)[:2], "not a multiple of 64"),
    ):
        with pytest.raises(CopyRequiredError, match=why):
            samebytes.tensor(array).map(context)
        samebytes.reset_stats()
        remote = into.map(samebytes.tensor(array), copy=True)
        assert samebytes.stats().copies >= 1
        np.testing.assert_array_equal(out_of.map(remote, copy=True).native, array)


def test_copies_are_asked_for_and_counted(context: Any, edge: Any) -> None:
    cpu = samebytes.context("cpu")
    into, out_of = edge("CpuToGpuCopy", cpu, context), edge("GpuToCpuCopy", context, cpu)
    source = cpu_tensor()
    with pytest.raises(CopyRequiredError):
        into.map(source)
    samebytes.reset_stats()
    remote = into.map(source, copy=True)
    array = out_of.map(remote, copy=True).native
    np.testing.assert_array_equal(array, source.native)
    assert not np.shares_memory(array, source.native)
    assert samebytes.stats().copies == 2
    assert samebytes.stats().copied_bytes == 128


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "float32", "float64", "bfloat16", "float8_e4m3fn", "int4", "uint1"]
)
def test_copies_without_axes(context: Any, edge: Any, dtype: str) -> None:
    cpu = samebytes.context("cpu")
    into, out_of = edge("CpuToGpuCopy", cpu, context), edge("GpuToCpuCopy", context, cpu)
    source = cpu.allocate((), dtype)
    source.native.reshape(-1).view(np.uint8)[...] = 1
    there = into.map(source, copy=True)
    back = out_of.map(there, copy=True)
    assert there.shape == back.shape == ()
    assert there.dtype == back.dtype == source.dtype
    assert back.native.tobytes() == source.native.tobytes()


@pytest.mark.parametrize("dtype", ["bfloat16", "uint4", "bool", "int64"])
def test_element_types(context: Any, edge: Any, dtype: str) -> None:
    cpu = samebytes.context("cpu")
    into, out_of = edge("CpuToGpuCopy", cpu, context), edge("GpuToCpuCopy", context, cpu)
    source = samebytes.context("openvino").allocate((4, 64), dtype)
    source.host_array()[...] = 1
    remote = into.map(source.map("cpu"), copy=True)
    assert remote.info == source.info
    assert samebytes.tensor(remote.native).info == source.info
    back = out_of.map(remote, copy=True)
    assert back.info == source.info
    ours, theirs = back.native.view(np.uint8), source.host_array().view(np.uint8)
    np.testing.assert_array_equal(ours.ravel(), theirs.ravel())


def test_usm_of_the_host_is_read_where_it_lies(context: Any, edge: Any) -> None:
    cpu = samebytes.context("cpu")
    source = context.create_usm_host_tensor("float32", SHAPE)
    view = edge("GpuToCpu", context, cpu).map(source, "rw")
    assert address(view.native) == source.get()
    view.native[...] = 4
    assert (source.host_array() == 4).all()
    frozen = edge("GpuToCpu", context, cpu).map(source)
    with pytest.raises(ValueError, match="read-only"):
        frozen.native[...] = 1
    assert source.close() is False
    array = view.native
    del source, view, frozen
    gc.collect()
    assert (array == 4).all()


def test_memory_of_the_device_is_not_read_where_it_lies(context: Any, edge: Any) -> None:
    mapper = edge("GpuToCpu", context, samebytes.context("cpu"))
    for tensor in (
        context.create_tensor("float32", SHAPE),
        context.create_usm_device_tensor("float32", SHAPE),
    ):
        with pytest.raises(NoRouteError, match="the CPU cannot read"):
            mapper.map(tensor)


def test_read_only_memory_stays_read_only(context: Any) -> None:
    source = cpu_tensor()
    remote = source.map(context)
    assert remote.readonly
    with pytest.raises(AccessError):
        remote.map("cpu", "rw")


def test_frames_of_cpu_memory(context: Any) -> None:
    frame = samebytes.context("cpu").allocate_frame("NV12", 64, 32)
    for number, plane in enumerate(frame.native):
        plane[...] = number + 1
    samebytes.reset_stats()
    remote = frame.map(context, "rw")
    assert [p.shape for p in remote] == [(1, 32, 64, 1), (1, 16, 32, 2)]
    assert [params(p)["CPU_VA"] for p in remote] == [address(a) for a in frame.native]
    back = remote.map("cpu", "rw")
    assert [a.shape for a in back.native] == [(32, 64), (16, 32, 2)]
    assert [address(a) for a in back.native] == [address(a) for a in frame.native]
    assert samebytes.stats().copies == 0


def test_frames_are_copied_when_asked(context: Any, edge: Any) -> None:
    generator = np.random.default_rng(2)
    planes = [
        generator.integers(0, 256, (24, 40), np.uint8)[:, :32],
        generator.integers(0, 256, (12, 16, 2), np.uint8),
    ]
    frame = samebytes.frame(planes, format="NV12", width=32, height=24)
    with pytest.raises(CopyRequiredError):
        frame.map(context)
    remote = edge("CpuFrameToGpuCopy", frame.context, context).map(frame, copy=True)
    back = edge("GpuFrameToCpuCopy", context, samebytes.context("cpu")).map(remote, copy=True)
    for ours, theirs in zip(back.native, planes, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_host_tensors_of_openvino_go_through_cpu_memory(context: Any) -> None:
    source = samebytes.context("openvino").allocate(SHAPE, "float32")
    remote = source.map(context, "rw")
    assert params(remote)["CPU_VA"] == source.handle("data")
    back = remote.map("openvino", "rw")
    assert back.memory_type == "openvino"
    assert back.handle("data") == source.handle("data")


class FakeTensor(Tensor):
    """A plane of a surface that a VA-API backend would hold."""

    __slots__ = ()

    def _handle(self, key: str) -> int | None:
        handles: dict[str, int] = dict(zip(("va_surface", "plane_index"), self.native, strict=True))
        return handles.get(key)


class FakeContext(Context):
    """A stand-in for the context that a VA-API backend would make of a display."""

    memory_type = node = "vaapi"
    tensor_class = FakeTensor
    may_be_opaque = True


def va_frame(source: FakeContext, surface: Any, storage: Storage) -> samebytes.Frame:
    info = samebytes.ImageInfo.of("NV12", surface.width, surface.height)
    natives = tuple((surface.id, number) for number in (0, 1))
    planes = [
        FakeTensor.borrowed(
            native, source, keep=storage, info=TensorInfo("uint8", p.shape, opaque=True)
        )
        for native, p in zip(natives, info.plane_layouts(), strict=True)
    ]
    meta = samebytes.FrameMeta(info)
    return samebytes.Frame.borrowed(natives, source, meta, keep=storage, planes=planes)


def test_vaapi_surfaces(surface_of: Any, planes: Any, edge: Any) -> None:
    surface = surface_of(*planes)
    source = FakeContext(Device("GPU"), handles={"va_display": surface.display})
    target = ClContext.create(None, source)
    assert isinstance(target, VAContext)
    assert target.display == surface.display
    storage = Storage()
    frame = va_frame(source, surface, storage)
    remote = edge("VaapiToGpu", source, target).map(frame)
    assert [p.handle("va_surface") for p in remote] == [surface.id, surface.id]
    assert [p.handle("plane_index") for p in remote] == [0, 1]
    assert [p.strides for p in remote] == [None, None]
    out_of = edge("GpuToCpuCopy", target, samebytes.context("cpu"))
    for ours, theirs in zip(remote, planes, strict=True):
        copied = out_of.map(ours, copy=True).native
        np.testing.assert_array_equal(np.squeeze(copied), theirs)
    del ours
    # The native objects keep the surface.
    native, gone = remote.native, weakref.ref(storage)
    del frame, remote, storage
    gc.collect()
    assert gone() is not None
    del native
    gc.collect()
    assert gone() is None


def test_pages_that_the_driver_refuses(monkeypatch: pytest.MonkeyPatch, context: Any) -> None:
    """A copy of them may do."""

    def refuse(*_: Any) -> Any:
        raise OpenVINOError("RemoteContext.create_tensor", "clCreateBuffer, error code: -37")

    monkeypatch.setattr(type(context), "native_over", refuse)
    with pytest.raises(CopyRequiredError, match="error code: -37"):
        cpu_tensor().map(context)


def test_a_surface_that_the_driver_refuses(
    monkeypatch: pytest.MonkeyPatch, surface_of: Any, planes: Any, edge: Any
) -> None:
    """The next route is tried, which may copy."""
    surface = surface_of(*planes)
    source = FakeContext(Device("GPU"), handles={"va_display": surface.display})
    target = ClContext.create(None, source)

    def refuse(*_: Any) -> Any:
        raise OpenVINOError("RemoteContext.create_tensor", "[GPU] buffer allocation failed")

    monkeypatch.setattr(VAContext, "native_plane", refuse)
    with pytest.raises(NoRouteError, match="buffer allocation failed"):
        edge("VaapiToGpu", source, target).map(va_frame(source, surface, Storage()))


def test_vaapi_surfaces_of_another_display(
    surface_of: Any, planes: Any, context: Any, edge: Any
) -> None:
    surface = surface_of(*planes)
    source = FakeContext(Device("GPU"), handles={"va_display": surface.display})
    with pytest.raises(NoRouteError, match="derive the context of openvino:GPU"):
        edge("VaapiToGpu", source, context).map(va_frame(source, surface, Storage()))


def test_natives_that_were_mapped_are_wrapped_again(context: Any) -> None:
    source = cpu_tensor()
    native = source.map(context).native
    again = samebytes.tensor(native)
    assert again.info == source.info
    assert again.readonly
    assert not samebytes.tensor(source.map(context, "rw").native).readonly
    assert again.map("cpu").native.ctypes.data == source.native.ctypes.data
