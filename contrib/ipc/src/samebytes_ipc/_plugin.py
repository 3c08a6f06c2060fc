# SPDX-License-Identifier: Apache-2.0
"""The declarations of the plugin "ring": elements are named after their plugin."""

from __future__ import annotations

from samebytes.plugins import ElementSpec, Plugin, hookimpl

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 2),
    summary="frames for other processes, and from them, where they lie",
    probe="samebytes_ipc._probe:probe",
)


@hookimpl
def samebytes_elements() -> list[ElementSpec]:
    """Both ends of a ring."""
    return [
        ElementSpec(
            name="ring.source",
            element="samebytes_ipc._ring.elements:RingSource",
            summary="frames of another process, where they lie",
        ),
        ElementSpec(
            name="ring.sink",
            element="samebytes_ipc._ring.elements:RingSink",
            summary="frames for other processes",
        ),
    ]
