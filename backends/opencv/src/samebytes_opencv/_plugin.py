# SPDX-License-Identifier: Apache-2.0
"""What this plugin declares."""

from __future__ import annotations

from samebytes.plugins import ContextSpec, MapperSpec, NativeSpec, Plugin, Transfer, hookimpl

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 0),
    summary="OpenCV: Mat, which in Python is a numpy array",
    packages={"cv2": 'pip install "samebytes[opencv]"'},
    probe="samebytes_opencv._probe:probe",
)


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """cv2.Mat. Plain numpy arrays are CPU memory until they are mapped."""
    return [
        NativeSpec(native="cv2.Mat", wraps="samebytes_opencv._tensor:OpenCVTensor", level="tensor")
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """The one context of Mats in CPU memory."""
    return [ContextSpec(node="opencv", context="samebytes_opencv._context:OpenCVContext")]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """To and from CPU memory."""
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
    ]
