# SPDX-License-Identifier: Apache-2.0
"""Exchange of host memory with array libraries: DLPack, array interface, buffer protocol."""

from __future__ import annotations

from ._export import dlpack, lasting_export, to_capsule
from ._from_dlpack import DeviceArray, device_array
from ._import import Imported, from_foreign
from ._tensor import as_array, as_capsule

__all__ = [
    "DeviceArray",
    "Imported",
    "as_array",
    "as_capsule",
    "device_array",
    "dlpack",
    "from_foreign",
    "lasting_export",
    "to_capsule",
]
