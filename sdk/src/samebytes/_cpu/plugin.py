# SPDX-License-Identifier: Apache-2.0
"""The declarations of the built-in backend, which is registered like any other plugin."""

from __future__ import annotations

from .._core.edges.edge import Transfer
from .._plugins.hooks import hookimpl
from .._plugins.specs import API, ContextSpec, ElementSpec, MapperSpec, NativeSpec, Plugin

__all__ = ["PLUGIN"]

PLUGIN = Plugin(api=API, summary="CPU memory: numpy arrays and whatever shares its bytes as one")


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """numpy arrays; everything else that shares bytes is found by its protocol."""
    return [NativeSpec(native="numpy.ndarray", wraps="samebytes._core.memory.tensor:CpuTensor",
                       level="tensor")]  # fmt: skip


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """The one CPU context."""
    return [ContextSpec(node="cpu", context="samebytes._cpu.context:CpuContext")]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """A dense copy, for layouts that no other edge takes."""
    return [
        MapperSpec(
            source="cpu",
            target="cpu",
            mapper="samebytes._cpu.dense:DenseCopy",
            transfer=Transfer.COPY,
            summary="a dense, page-aligned copy",
            per_plane=False,
            access=("r",),
        ),
        MapperSpec(
            source="cpu",
            target="cpu",
            mapper="samebytes._cpu.dense:DenseFrameCopy",
            transfer=Transfer.COPY,
            summary="a dense, page-aligned copy of all planes",
            level="frame",
            access=("r",),
        ),
    ]


@hookimpl
def samebytes_elements() -> list[ElementSpec]:
    """Elements that need no framework."""
    return [
        ElementSpec(
            name="convert",
            element="samebytes.elements._convert:Convert",
            summary="gives frames of another format and size",
        ),
        ElementSpec(
            name="json.sink",
            element="samebytes.elements._json:JsonSink",
            summary="a line of JSON for each frame",
        ),
    ]
