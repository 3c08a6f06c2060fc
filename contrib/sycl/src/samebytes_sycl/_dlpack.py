# SPDX-License-Identifier: Apache-2.0
"""USM as a DLPack producer on kDLOneAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dpctl

from samebytes import Tensor
from samebytes.errors import ExportError
from samebytes.plugins import check_dlpack_request

if TYPE_CHECKING:
    from ._usm_array import USMArray

__all__ = ["ONEAPI", "device_of", "export"]

ONEAPI = 14
"""kDLOneAPI of DLDeviceType, dlpack/dlpack.h."""


def device_of(queue: dpctl.SyclQueue) -> tuple[int, int]:
    """(kDLOneAPI, id): the id counts root devices in the order in which SYCL lists them.

    Args:
        queue: the queue of the context in which the memory is.

    Raises:
        ExportError: the memory is not in the default context of its platform. A consumer only knows
            the device, and would use the pointer in that context.
    """
    device = queue.sycl_device
    devices = dpctl.get_devices()
    if device not in devices:
        raise ExportError(f"{device.name} is a sub-device, which DLPack cannot name")
    if queue.sycl_context != device.sycl_platform.default_context:
        raise ExportError(
            "the memory is not in its platform's default SYCL context, in which a DLPack consumer "
            "would use it: hand the native object over by __sycl_usm_array_interface__"
        )
    return (ONEAPI, devices.index(device))


def export(
    tensor: Tensor,
    array: USMArray,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> object:
    """A capsule that holds the memory.

    Args:
        stream: a dpctl.SyclQueue on which the consumer works, or None; the memory is complete
            when this returns.

    Raises:
        ExportError: the consumer asked for another device or a copy, or DLPack cannot express
            the layout.
    """
    device = device_of(array.context.queue)
    check_dlpack_request(device, dl_device, copy)
    if stream is not None and not isinstance(stream, dpctl.SyclQueue):
        raise ExportError(f"a SYCL stream must be a dpctl.SyclQueue, not {type(stream).__name__}")
    tensor.wait()
    return array.dlpack_capsule(device, max_version=max_version, readonly=tensor.readonly)
