# SPDX-License-Identifier: Apache-2.0
"""Exchange of host memory with array libraries: DLPack, array interface, buffer protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes._lazy import lazy_exports

if TYPE_CHECKING:
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

# Most programs hand no memory to array libraries.
_HOME = {
    "DEVICE_CPU": "._dlpack_abi",
    "DeviceArray": "._from_dlpack",
    "Imported": "._import",
    "as_array": "._tensor",
    "as_capsule": "._tensor",
    "check_dlpack_request": "._to_dlpack",
    "dlpack": "._to_dlpack",
    "dlpack_capsule": "._to_dlpack",
    "from_dlpack": "._from_dlpack",
    "from_foreign": "._import",
    "lasting_export": "._to_dlpack",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
