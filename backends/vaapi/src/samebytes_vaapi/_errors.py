# SPDX-License-Identifier: Apache-2.0
"""VAError: a failed call of libva."""

from __future__ import annotations

from samebytes.errors import NativeError

__all__ = ["VAError"]


class VAError(NativeError):
    """A call into libva failed.

    Attributes:
        call: the function, for instance "vaCreateSurfaces".
        code: the VAStatus.
        status: what vaErrorStr says of it, for instance "invalid VASurfaceID".
    """

    def __init__(self, call: str, code: int, status: str, advice: str = "") -> None:
        self.status = status
        super().__init__(call, code, "; ".join(part for part in (status, advice) if part))
