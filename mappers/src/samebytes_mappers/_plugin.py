# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations: edges that need two other plugins. Importing it imports neither."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import MapperSpec, Plugin, hookimpl

__all__ = ["PLUGIN"]

PLUGIN = Plugin(api=(1, 0), summary="mappings that join two backends")


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """One edge for each pair of backends."""
    return [
        MapperSpec(
            source="ffmpeg",
            target="openvino",
            mapper="samebytes_mappers._ffmpeg_openvino:FFmpegToOpenVINO",
            transfer=Transfer.ALIAS,
            summary="each plane as a tensor [1, rows, columns, channels], padded rows as a region",
            level="frame",
            cost=1.5,
            requires=("ffmpeg>=0.1,<1", "openvino>=0.1,<1"),
        ),
        MapperSpec(
            source="opencl",
            target="opencv_umat",
            mapper="samebytes_mappers._opencl_opencv:OpenCLToUMat",
            transfer=Transfer.COPY,
            access=("r",),
            summary="a copy by the device into a new UMat",
            requires=("opencl>=0.1,<1", "opencv>=0.1,<1"),
        ),
    ]
