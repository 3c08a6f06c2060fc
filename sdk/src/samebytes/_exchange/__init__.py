# SPDX-License-Identifier: Apache-2.0
"""Exchange of host memory with array libraries: DLPack, array interface, buffer protocol."""

from __future__ import annotations

from ._dlpack_abi import DEVICE_CPU
from ._from_dlpack import DeviceArray, from_dlpack
from ._import import Imported, from_foreign
from ._tensor import as_array, as_capsule
from ._to_dlpack import check_dlpack_request, dlpack, dlpack_capsule, lasting_export

__all__ = [
    "DEVICE_CPU",
    "DeviceArray",
    "Imported",
    "as_array",
    "as_capsule",
    "check_dlpack_request",
    "dlpack",
    "dlpack_capsule",
    "from_dlpack",
    "from_foreign",
    "lasting_export",
]
