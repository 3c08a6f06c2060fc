# SPDX-License-Identifier: Apache-2.0
"""The errors of this package, besides those of samebytes."""

from __future__ import annotations

from samebytes.errors import SamebytesError

__all__ = ["CameraGoneError", "CameraTimeoutError"]


class CameraGoneError(SamebytesError, ConnectionError):
    """The camera was unplugged, or its driver has given it up. Frames that are held stay valid."""


class CameraTimeoutError(SamebytesError, TimeoutError):
    """The camera has buffers to fill, and gave no frame in time."""
