# SPDX-License-Identifier: Apache-2.0
"""Find the memory in which the items of a batch are bound to one port.

Surfaces are used in place; the GPU plugin merges buffers; memory of the CPU is merged here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from samebytes import Tensor
from samebytes.errors import CopyRequiredError, LayoutError, UnsupportedObjectError
from samebytes.plugins import count_copy

from .._errors import RegionError
from ._binding import Bound
from ._checks import check_surface
from ._placing import Placer, in_host_memory, needs_copy
from ._ports import Port

__all__ = ["place_batch"]

_ONE_TENSOR = "allocate the batch as one tensor, and write each item to its part"


def place_batch(placer: Placer, port: Port, parts: Sequence[Tensor], copy: bool) -> Bound:
    """The binding of several items: of the items themselves, or of one tensor that they became.

    Args:
        placer: of the request.
        parts: the items, which `check_batch` has seen.
        copy: allow the merging.
    """
    remote = [part for part in map(placer.in_context, parts) if part is not None]
    if len(remote) not in (0, len(parts)):
        raise LayoutError(
            f"{port}: a batch must lie in device memory or in CPU memory, not in both"
        )
    if remote:
        return _place_remote(placer, port, remote, copy)
    return _merge(placer, port, parts, copy)


def _place_remote(placer: Placer, port: Port, parts: Sequence[Tensor], copy: bool) -> Bound:
    if any(placer.rules.may_be_region(part) for part in parts):
        raise RegionError(
            f"{port}: a batch takes whole tensors, and one of these may be a region of another"
        )
    surfaces = [part for part in parts if part.info.strides is None]
    if len(surfaces) not in (0, len(parts)):
        raise LayoutError(f"{port}: a batch must consist of surfaces or of buffers, not of both")
    if not placer.rules.takes_remote_batches:
        assert placer.context is not None, "the items lie on it"
        raise UnsupportedObjectError(
            f"{port}: the {placer.context.device_name} plugin takes no batch of remote tensors: "
            f"{_ONE_TENSOR}"
        )
    if not surfaces and not copy:
        reason = f"the GPU plugin merges {len(parts)} buffers into one: {_ONE_TENSOR}"
        raise needs_copy(port, parts[0], [reason])
    check_surface(port, bool(surfaces), placer.rules)
    if surfaces:
        return Bound(None, None, "in place", batch=tuple(parts))
    merged = sum(part.info.nbytes for part in parts)
    return Bound(None, None, "copied", merged, batch=tuple(parts))


def _merge(placer: Placer, port: Port, parts: Sequence[Tensor], copy: bool) -> Bound:
    if not copy:
        reason = f"{len(parts)} tensors become one piece of memory: {_ONE_TENSOR}"
        edge = f"openvino -> {port}"
        raise CopyRequiredError(parts[0].memory_type, str(port), edge, [reason])
    check_surface(port, False, placer.rules)
    hosts = [in_host_memory(part, True)[0] for part in parts]
    dense = placer.dense(port, (len(parts), *parts[0].shape[1:]), parts[0])
    whole = dense.host_array()
    for index, host in enumerate(hosts):
        np.copyto(whole[index : index + 1], host.host_array())
    count_copy(f"openvino -> {port}", dense.info.nbytes)
    return Bound(dense, dense, "copied", batch=tuple(parts))
