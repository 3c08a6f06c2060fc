# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import (
    ContextSpec,
    ConverterSpec,
    ElementSpec,
    MapperSpec,
    NativeSpec,
    Plugin,
    hookimpl,
)

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 2),
    summary="OpenCV: Mat, which in Python is a numpy array, and UMat",
    packages={"cv2": 'pip install "samebytes[opencv]"'},
    probe="samebytes_opencv._probe:probe",
)


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """cv2.Mat and cv2.UMat. Plain numpy arrays are CPU memory until they are mapped."""
    return [
        NativeSpec(native="cv2.Mat", wraps="samebytes_opencv._tensor:OpenCVTensor", level="tensor"),
        NativeSpec(
            native="cv2.UMat", wraps="samebytes_opencv._umat_tensor:UMatTensor", level="tensor"
        ),
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """The one context of Mats in CPU memory, and that of UMats in OpenCL memory."""
    return [
        ContextSpec(node="opencv", context="samebytes_opencv._context:OpenCVContext"),
        ContextSpec(node="opencv_umat", context="samebytes_opencv._umat_context:UMatContext"),
    ]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """To and from CPU memory; UMats back from OpenCL, and over DMA-BUFs."""
    return [
        MapperSpec(
            source="cpu",
            target="opencv",
            mapper="samebytes_opencv._mappers:CpuToOpenCV",
            transfer=Transfer.ALIAS,
            summary="the array itself, where a Mat can have its type and strides",
        ),
        MapperSpec(
            source="opencv",
            target="cpu",
            mapper="samebytes_opencv._mappers:OpenCVToCpu",
            transfer=Transfer.ALIAS,
            summary="the array that the Mat is",
        ),
        MapperSpec(
            source="cpu",
            target="opencv_umat",
            mapper="samebytes_opencv._umat_mappers:CpuToUMat",
            transfer=Transfer.COPY,
            access=("r",),
            summary="an upload to a new UMat",
        ),
        MapperSpec(
            source="opencv_umat",
            target="cpu",
            mapper="samebytes_opencv._umat_mappers:UMatToCpu",
            transfer=Transfer.COPY,
            access=("r",),
            summary="a download; by way of opencl the memory is mapped instead",
        ),
        MapperSpec(
            source="opencl",
            target="opencv_umat",
            mapper="samebytes_opencv._umat_mappers:OpenCLToUMat",
            transfer=Transfer.ALIAS,
            only="memory that is a UMat's",
            summary="the UMat itself, for memory that is one",
            # Less than a copy, but not on the way from elsewhere: no memory from there is one.
            cost=9_999.5,
            requires=("opencl>=0.1,<1",),
        ),
        MapperSpec(
            source="dma",
            target="opencv_umat",
            mapper="samebytes_opencv._umat_dma:DmaToUMat",
            transfer=Transfer.IMPORT,
            only="what an OpenCV with createUMatFromDmaBuf imports",
            summary="createUMatFromDmaBuf, acquired while it is mapped",
            # As above: less than a copy, but routes by name seldom lead over what no cv2 has yet.
            cost=9_999.5,
            requires=("dma>=0.1,<1",),
        ),
    ]


@hookimpl
def samebytes_elements() -> list[ElementSpec]:
    """The elements that draw, cut, scale and warp."""
    return [
        ElementSpec(
            name="opencv.crop",
            element="samebytes_opencv._elements._crop:OpenCVCrop",
            summary="gives a part of each frame, in the same memory",
        ),
        ElementSpec(
            name="opencv.draw",
            element="samebytes_opencv._elements._draw:OpenCVDraw",
            summary="draws a frame's regions into it",
        ),
        ElementSpec(
            name="opencv.scale",
            element="samebytes_opencv._elements._scale:OpenCVScale",
            summary="scales frames",
        ),
        ElementSpec(
            name="opencv.warp",
            element="samebytes_opencv._elements._warp:OpenCVWarp",
            summary="turns, shears, moves and scales frames",
        ),
    ]


@hookimpl
def samebytes_converters() -> list[ConverterSpec]:
    """cvtColor and resize, which know fewer formats and colours than FFmpeg."""
    return [
        ConverterSpec(
            node="opencv",
            converter="samebytes_opencv._conversion:OpenCVConversion",
            cost=1_100.0,
            summary="cvtColor and resize",
            planes="samebytes_opencv:resize",
        )
    ]
