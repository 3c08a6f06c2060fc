# SPDX-License-Identifier: Apache-2.0
"""copied(): the permission to copy a tensor or frame into a pickle, which travels with it."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from ._core.frame import Frame
from ._core.frame_meta import FrameMeta, Region
from ._core.info import TensorInfo
from ._core.storage import joint_owner
from ._core.tensor import Tensor
from ._cpu.context import CPU
from ._cpu.tensor import CpuTensor
from ._stats import count_copy
from .errors import MetadataError, UnsupportedObjectError

__all__ = ["Copied", "copied"]


class Copied:
    """A tensor or frame that any pickler may copy. See `copied`.

    Attributes:
        item: the tensor or frame.
    """

    __slots__ = ("item",)

    def __init__(self, item: Tensor | Frame) -> None:
        self.item = item

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        parts = _Parts(int(protocol))
        if isinstance(self.item, Tensor):
            return _tensor, tuple(parts.of(self.item))
        planes = [tuple(parts.of(plane)) for plane in self.item.planes]
        meta = self.item.meta
        return _frame, (
            planes, meta.info, meta.pts, meta.time_base, _packed(meta.metadata),
            [(replace(r, metadata={}), _packed(r.metadata)) for r in meta.regions],
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"copied({self.item!r})"


def copied(item: Tensor | Frame) -> Copied:
    """Allow a tensor or frame to be copied into a pickle.

        queue.put(samebytes.copied(frame))    # queue.get() is a frame in memory of the CPU

    It is pickled by whichever thread the queue or executor has for that, so the permission is part
    of the object. Pickle's protocol 5 takes the bytes as buffers, which out-of-band picklers pass
    on by themselves; multiprocessing uses an older protocol, whose pickler copies them once more.
    The copy is counted in `stats()` where it is made, one for each plane. A plane with padded rows,
    or one whose elements do not lie one after another, is copied twice, since a pickle takes whole
    bytes only: the first is counted as "NODE -> whole rows", the second as "NODE -> pickle".

    What is loaded is a tensor or frame of "cpu" with the same elements, format, times, metadata and
    regions. It is writable if this one lies in memory of the CPU and is.

    Args:
        item: what is put into a queue or handed to an executor.

    Returns:
        An object to be pickled in place of `item`, which it holds.

    Raises:
        UnsupportedObjectError: it is neither.
    """
    if not isinstance(item, Tensor | Frame):
        raise UnsupportedObjectError(
            f"a {type(item).__name__} is neither a tensor nor a frame: wrap it first, "
            "samebytes.wrap(x), or pickle it as it is"
        )
    return Copied(item)


class _Tensor(NamedTuple):
    """One tensor in a pickle.

    Attributes:
        data: its bytes.
        frozen: they are bytes that cannot be written, and the tensor is to be writable.
    """

    dtype: str
    shape: tuple[int, ...]
    data: Any
    frozen: bool


class _Parts:
    """Makes what is pickled of tensors, and counts it."""

    def __init__(self, protocol: int) -> None:
        self._protocol = protocol

    def of(self, item: Tensor) -> _Tensor:
        """A tensor whose elements lie one after another."""
        here = item if isinstance(item, CpuTensor) else item.map("cpu", copy=True)
        flat = np.ascontiguousarray(here.native).reshape(-1).view(np.uint8)
        if not here.native.flags.c_contiguous:  # picklers take whole rows only: a copy more
            count_copy(f"{item.context.node} -> whole rows", flat.nbytes)
        if item.readonly:
            flat.flags.writeable = False  # of this view: it is loaded as it is here
        count_copy(f"{item.context.node} -> pickle", flat.nbytes)
        if self._protocol >= 5:
            return _Tensor(str(item.dtype), item.shape, pickle.PickleBuffer(flat.data), False)
        return _Tensor(str(item.dtype), item.shape, flat.tobytes(), not item.readonly)


def _tensor(dtype: str, shape: tuple[int, ...], data: Any, frozen: bool) -> CpuTensor:
    """What is loaded of a tensor: over the very bytes that the pickle brought, if these will do."""
    info = TensorInfo(dtype, shape)
    flat = np.frombuffer(bytearray(data) if frozen else data, np.uint8)
    array = flat if info.dtype.packed else flat.view(info.dtype.carrier).reshape(shape)
    lazy = info if info.dtype.numpy is None else None
    return CpuTensor.borrowed(array, CPU, readonly=not array.flags.writeable, info=lazy)


def _frame(
    parts: list[tuple[str, tuple[int, ...], Any, bool]],
    info: Any,
    pts: int | None,
    time_base: Any,
    metadata: Any,
    regions: list[tuple[Region, Any]],
) -> Frame:
    planes = [_tensor(*part) for part in parts]
    meta = FrameMeta(info, pts, time_base, _unpacked(metadata))
    meta.regions = [replace(region, metadata=_unpacked(own)) for region, own in regions]
    natives = tuple(plane.native for plane in planes)
    readonly = any(plane.readonly for plane in planes)
    owner = joint_owner(natives)
    return Frame.borrowed(natives, CPU, meta, keep=owner, readonly=readonly, planes=planes)


def _packed(found: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Metadata without its typed entries, and those: tensors in them are copied along."""
    from .metadata import KEY, to_plain  # it needs the core

    def plain(entry: Any) -> Any:
        try:
            return to_plain(entry, Copied)
        except MetadataError:  # a class of the program's own, which pickles by itself
            return entry

    own = {key: value for key, value in found.items() if key != KEY}
    return own, [plain(entry) for entry in found.get(KEY, ())]


def _unpacked(packed: tuple[dict[str, Any], list[Any]]) -> dict[str, Any]:
    from .metadata import KEY, from_plain

    own, entries = packed
    if not entries:
        return own
    typed = [from_plain(e, lambda t, _: t) if isinstance(e, dict) else e for e in entries]
    return {**own, KEY: typed}
