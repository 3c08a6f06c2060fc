# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations. Importing it does not import pyopencl, and loads no OpenCL."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import ContextSpec, MapperSpec, NativeSpec, Plugin, hookimpl

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 0),
    summary="OpenCL buffers, images and USM as samebytes memory",
    packages={"pyopencl": 'pip install "samebytes[opencl]"'},
    probe="samebytes_gpu_opencl._probe:probe",
)


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """pyopencl's memory objects and arrays, and USM, which pyopencl has not."""
    wraps = "samebytes_gpu_opencl._tensor:OpenCLTensor"
    natives = (
        "pyopencl._cl.Buffer",
        "pyopencl._cl.Image",
        "pyopencl.array.Array",
        "samebytes_gpu_opencl._usm.USMAllocation",
    )
    return [NativeSpec(native=native, wraps=wraps, level="tensor") for native in natives]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """A cl_context with a device: of a device's own, somebody else's, or of a display's GPU."""
    return [
        ContextSpec(
            node="opencl",
            context="samebytes_gpu_opencl._context:OpenCLContext",
            derives_from=("openvino:GPU", "opencv_umat", "vaapi"),
            devices="samebytes_gpu_opencl._devices:device_names",
        )
    ]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """To and from CPU memory and DMA-BUFs, and from whatever has a cl_mem or a USM pointer."""
    return [*_to_cpu(), *_from_cpu(), *_from_handles(), *_dma()]


def _to_cpu() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="opencl",
            target="cpu",
            mapper="samebytes_gpu_opencl._to_cpu:OpenCLToCpu",
            transfer=Transfer.MAP,
            summary="clEnqueueMapBuffer, clEnqueueMapImage or clEnqueueSVMMap; unmapped at release",
            opaque=True,
        ),
        MapperSpec(
            source="opencl",
            target="cpu",
            mapper="samebytes_gpu_opencl._to_cpu:HostUSMToCpu",
            transfer=Transfer.ALIAS,
            summary="an array over host or shared USM",
            # More than a MAP: buffers are the rule, and should be asked for first.
            cost=101.0,
        ),
        MapperSpec(
            source="opencl",
            target="cpu",
            mapper="samebytes_gpu_opencl._to_cpu:DeviceUSMToCpu",
            transfer=Transfer.COPY,
            summary="clEnqueueMemcpyINTEL of device USM into new memory",
            access=("r",),
        ),
    ]


def _from_cpu() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="cpu",
            target="opencl",
            mapper="samebytes_gpu_opencl._from_cpu:CpuToOpenCL",
            transfer=Transfer.ALIAS,
            only="whole pages",
            summary="a CL_MEM_USE_HOST_PTR buffer over whole pages, where host memory is unified",
        ),
        MapperSpec(
            source="cpu",
            target="opencl",
            mapper="samebytes_gpu_opencl._from_cpu:CpuCopyToOpenCL",
            transfer=Transfer.COPY,
            summary="clEnqueueWriteBuffer into a new buffer, dense",
            access=("r",),
        ),
    ]


def _from_handles() -> list[MapperSpec]:
    return [
        MapperSpec(
            source=source,
            target="opencl",
            mapper="samebytes_gpu_opencl._from_handles:HandleToOpenCL",
            transfer=Transfer.ALIAS,
            summary="its cl_mem or USM pointer, in the same cl_context",
            opaque=True,
            # Planes of OpenVINO's frames have their own axes.
            per_plane=source != "openvino:GPU",
            requires=(f"{plugin}>=0.1,<1",),
        )
        for source, plugin in (("openvino:GPU", "openvino"), ("opencv_umat", "opencv"))
    ] + [
        MapperSpec(
            source="openvino:GPU",
            target="opencl",
            mapper="samebytes_gpu_opencl._from_handles:FrameHandleToOpenCL",
            transfer=Transfer.ALIAS,
            summary="each plane's cl_mem or USM pointer, (rows, columns[, channels])",
            level="frame",
            opaque=True,
            requires=("openvino>=0.1,<1",),
        )
    ]


def _dma() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="dma",
            target="opencl",
            mapper="samebytes_gpu_opencl._dma:DmaToOpenCL",
            transfer=Transfer.IMPORT,
            summary="cl_khr_external_memory_dma_buf, acquired while it is mapped",
            requires=("dma>=0.1,<1",),
        ),
        MapperSpec(
            source="opencl",
            target="dma",
            mapper="samebytes_gpu_opencl._dma:OpenCLToDma",
            transfer=Transfer.IMPORT,
            only="buffers of which the driver reports a DMA-BUF",
            summary="the buffer's DMA-BUF, where Intel's GPU driver reports it",
            # As much as a MAP, so that no route to the CPU leads over DMA-BUFs.
            cost=100.0,
            requires=("dma>=0.1,<1",),
        ),
    ]
