# SPDX-License-Identifier: Apache-2.0
"""The declarations of the plugin "v4l2": its frames are memory of "dma", so it has no edges."""

from __future__ import annotations

from samebytes.plugins import ElementSpec, Plugin, hookimpl

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 2),
    summary="cameras of V4L2: their buffers, where they lie",
    probe="samebytes_v4l2._probe:probe",
)


@hookimpl
def samebytes_elements() -> list[ElementSpec]:
    """A camera at the beginning of a pipeline."""
    return [
        ElementSpec(
            name="v4l2.source",
            element="samebytes_v4l2._elements:SourceElement",
            summary="the frames of a camera, where they lie",
        )
    ]
