# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations. Importing it does not load libva."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import (
    ContextSpec,
    ConverterSpec,
    MapperSpec,
    NativeSpec,
    Plugin,
    hookimpl,
)

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 2),
    summary="VA-API surfaces: pictures in a GPU's video memory",
    probe="samebytes_vaapi._probe:probe",
)


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """Surfaces and their planes, this package's own: VA-API's are plain numbers."""
    return [
        NativeSpec(
            native="samebytes_vaapi._surface.VASurface",
            wraps="samebytes_vaapi._frame:VAFrame",
            level="frame",
        ),
        NativeSpec(
            native="samebytes_vaapi._surface.VAPlane",
            wraps="samebytes_vaapi._tensor:VATensor",
            level="tensor",
        ),
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """One context for each display; decoders' displays are shared."""
    return [
        ContextSpec(
            node="vaapi",
            context="samebytes_vaapi._context:VAAPIContext",
            derives_from=("ffmpeg:VAAPI", "gstreamer:VA"),
            level="frame",
        )
    ]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """To and from DMA-BUFs and CPU memory. Tensors have their own edges: one surface, mapped
    or exported once, serves all planes of a frame."""
    return [*_dma_mappers(), *_cpu_mappers()]


def _dma_mappers() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="vaapi",
            target="dma",
            mapper="samebytes_vaapi._to_dma:VaapiFrameToDma",
            transfer=Transfer.IMPORT,
            summary="the surface's own memory, exported after what renders into it",
            level="frame",
            opaque=True,
            requires=("dma>=0.1,<1",),
        ),
        MapperSpec(
            source="vaapi",
            target="dma",
            mapper="samebytes_vaapi._to_dma:VaapiToDma",
            transfer=Transfer.IMPORT,
            summary="a plane of the surface's own memory",
            per_plane=False,
            opaque=True,
            requires=("dma>=0.1,<1",),
        ),
        MapperSpec(
            source="dma",
            target="vaapi",
            mapper="samebytes_vaapi._from_dma:DmaToVaapi",
            transfer=Transfer.IMPORT,
            summary="a surface over the buffers, imported once for each",
            level="frame",
            opaque=True,
            requires=("dma>=0.1,<1",),
        ),
    ]


def _cpu_mappers() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="vaapi",
            target="cpu",
            mapper="samebytes_vaapi._to_cpu:VaapiFrameToCpu",
            transfer=Transfer.MAP,
            summary="the surface as a derived image, mapped by the driver",
            level="frame",
            opaque=True,
        ),
        MapperSpec(
            source="vaapi",
            target="cpu",
            mapper="samebytes_vaapi._to_cpu:VaapiToCpu",
            transfer=Transfer.MAP,
            summary="a plane of the surface as a derived image",
            per_plane=False,
            opaque=True,
        ),
        MapperSpec(
            source="vaapi",
            target="cpu",
            mapper="samebytes_vaapi._copies:VaapiFrameToCpuCopy",
            transfer=Transfer.COPY,
            summary="vaGetImage, and vaPutImage for what was written",
            level="frame",
            opaque=True,
        ),
        MapperSpec(
            source="vaapi",
            target="cpu",
            mapper="samebytes_vaapi._copies:VaapiToCpuCopy",
            transfer=Transfer.COPY,
            summary="vaGetImage, and vaPutImage for what was written",
            per_plane=False,
            opaque=True,
        ),
        MapperSpec(
            source="cpu",
            target="vaapi",
            mapper="samebytes_vaapi._copies:CpuToVaapi",
            transfer=Transfer.COPY,
            summary="vaPutImage into a new surface",
            level="frame",
            access=("r",),
        ),
    ]


@hookimpl
def samebytes_converters() -> list[ConverterSpec]:
    """The GPU's video processing, from surface to surface."""
    return [
        ConverterSpec(
            node="vaapi",
            converter="samebytes_vaapi._processing:SurfaceConversion",
            gives="vaapi",
            summary="VA-API's video processing",
        )
    ]
