# SPDX-License-Identifier: Apache-2.0
"""References to frames of devices, of whichever libavutil they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from av import VideoFrame

from .._libavutil import Libavutil
from .._reference import OwnReference, cloning, own_reference
from .described import Described
from .frame import HardwareFrame, place_of

__all__ = ["reference_to"]


def reference_to(native: VideoFrame | HardwareFrame, found: Described) -> OwnReference:
    """A reference to the buffers that the frame has now; dropping it gives them back."""
    library, address = place_of(native)
    return own_reference(native, address, found.data, _clone_of(library))


@cache
def _clone_of(library: Libavutil) -> Callable[[int], OwnReference]:
    return cloning(library)
