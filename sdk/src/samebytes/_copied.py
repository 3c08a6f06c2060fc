# SPDX-License-Identifier: Apache-2.0
"""copied(): the permission to copy a tensor or frame into a pickle, which travels with it."""

from __future__ import annotations

import os
import pickle
import weakref
from contextlib import suppress
from copy import copy
from dataclasses import replace
from types import MemberDescriptorType
from typing import Any, NamedTuple, SupportsIndex, TypeVar

import numpy as np

from ._core.memory.frame import Frame
from ._core.memory.info import TensorInfo
from ._core.memory.meta import FrameMeta
from ._core.memory.tensor import CpuTensor, Tensor
from ._core.owner.storage import joint_owner
from ._counting import count_copy
from ._cpu.context import CPU
from ._region import Region
from .errors import MetadataError, SamebytesError, UnsupportedObjectError

__all__ = ["Copied", "copied"]


_Item = TypeVar("_Item", bound="Tensor | Frame")


class _Given:
    """The object to copy, and the process that asked.

    Attributes:
        item: the tensor or frame.
        process: the id of the process that called `copied`.
        here: while this process forks, the item in memory that a child can use.
    """

    __slots__ = ("here", "item", "process")

    def __init__(self, item: Tensor | Frame) -> None:
        self.item = item
        self.process = os.getpid()
        self.here: Tensor | Frame | None = None


_given: weakref.WeakKeyDictionary[Copied, _Given] = weakref.WeakKeyDictionary()


class Copied:
    """A tensor or frame that any pickler may copy. See `copied`.

    Until a forked child uses it, it is an empty object of the class that the child gets: fork()
    hands arguments on as they are, without a pickle.
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        given = _given[self]
        item, parts = given.here or given.item, _Parts(int(protocol))
        if isinstance(item, Tensor):
            return _tensor, tuple(parts.of(item))
        planes = [tuple(parts.of(plane)) for plane in item.planes]
        meta = item.meta
        return _frame, (
            planes, meta.info, meta.pts, meta.time_base, _packed(meta.metadata),
            [(replace(r, metadata={}), _packed(r.metadata)) for r in meta.regions],
        )  # fmt: skip

    def __copy__(self) -> Any:
        return pickle.loads(pickle.dumps(self))

    def __deepcopy__(self, memo: Any) -> Any:
        return pickle.loads(pickle.dumps(self))

    def __getattr__(self, name: str) -> Any:
        """Fill the empty object when a forked child asks for an attribute that it lacks."""
        given = _given.get(self)
        if given is None or given.process == os.getpid():
            raise AttributeError(
                f"copied(x) is x for another process, and has no {name!r} here: use x itself"
            )
        arrived = pickle.loads(pickle.dumps(self, pickle.HIGHEST_PROTOCOL))
        for base in type(arrived).__mro__:
            for member in vars(base).values():
                if isinstance(member, MemberDescriptorType):
                    with suppress(AttributeError):  # it is empty there, too
                        member.__set__(self, member.__get__(arrived))
        self.__class__ = type(arrived)
        return getattr(self, name)

    def __repr__(self) -> str:
        given = _given.get(self)
        if given is not None and given.process == os.getpid():
            return f"copied({given.item!r})"
        self.__getattr__("context")
        return repr(self)


class CopiedTensor(Copied, CpuTensor):  # type: ignore[misc]  # others cannot be pickled
    """The result of `copied` for a tensor."""

    __slots__ = ()


class CopiedFrame(Copied, Frame):  # type: ignore[misc]  # as above
    """The result of `copied` for a frame."""

    __slots__ = ()


def _before_fork() -> None:
    """Copy items that lie on a device, since a child cannot use devices of its parent."""
    for given in list(_given.values()):
        if not given.item.closed and given.item.context is not CPU:
            with suppress(SamebytesError):  # the child raises an error when it uses it
                given.here = given.item.map("cpu", copy=True)


def _after_fork() -> None:
    for given in list(_given.values()):
        given.here = None


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork)


def copied(item: _Item) -> _Item:
    """Allow a tensor or frame to be copied into a pickle.

        queue.put(samebytes.copied(frame))    # queue.get() is a frame in memory of the CPU

    A thread of the queue or executor does the pickling, so the permission is part of the object.
    Pickle's protocol 5 takes the bytes as buffers, which out-of-band picklers pass on by
    themselves; multiprocessing uses an older protocol, whose pickler copies them once more. The
    copy is counted in `stats()` where it is made, one for each plane. A plane with padded rows,
    or one whose elements do not lie one after another, is copied twice, since a pickle takes whole
    bytes only: the first is counted as "NODE -> whole rows", the second as "NODE -> pickle".

    The pickle is loaded as a tensor or frame of "cpu" with the same elements, format, times,
    metadata and regions. It is writable if `item` lies in memory of the CPU and is writable. A
    forked child finds such an object in place of `item`, copied when the child first uses it.

    Args:
        item: a tensor or frame to put into a queue, hand to an executor, or pass to a process.

    Returns:
        An object to be pickled, or used by a forked child, in place of `item`, which it holds.

    Raises:
        UnsupportedObjectError: it is neither a tensor nor a frame.
    """
    if isinstance(item, Copied):
        return item
    if not isinstance(item, Tensor | Frame):
        raise UnsupportedObjectError(
            f"a {type(item).__name__} is neither a tensor nor a frame: wrap it first, "
            "samebytes.wrap(x), or pickle it as it is"
        )
    kind: Any = CopiedTensor if isinstance(item, Tensor) else CopiedFrame
    made: Any = kind.__new__(kind)
    _given[made] = _Given(item)
    return made  # type: ignore[no-any-return]


class _Tensor(NamedTuple):
    """One tensor in a pickle.

    Attributes:
        data: its bytes.
        frozen: True if `data` cannot be written to, though the tensor is to be writable.
    """

    dtype: str
    shape: tuple[int, ...]
    data: Any
    frozen: bool


class _Parts:
    """Makes the pickled form of tensors, and counts the copies."""

    def __init__(self, protocol: int) -> None:
        self._protocol = protocol

    def of(self, item: Tensor) -> _Tensor:
        """A tensor whose elements lie one after another."""
        here = item if isinstance(item, CpuTensor) else item.map("cpu", copy=True)
        flat = np.ascontiguousarray(here.native).reshape(-1).view(np.uint8)
        if not here.native.flags.c_contiguous:  # picklers take whole rows only: one more copy
            count_copy(f"{item.context.node} -> whole rows", flat.nbytes)
        if item.readonly:
            flat.flags.writeable = False  # of this view: it is loaded as it is here
        count_copy(f"{item.context.node} -> pickle", flat.nbytes)
        if self._protocol >= 5:
            return _Tensor(str(item.dtype), item.shape, pickle.PickleBuffer(flat.data), False)
        return _Tensor(str(item.dtype), item.shape, flat.tobytes(), not item.readonly)


def _tensor(dtype: str, shape: tuple[int, ...], data: Any, frozen: bool) -> CpuTensor:
    """Load a tensor over the pickle's own bytes, or over a copy of them if they are `frozen`."""
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
    """The metadata without its typed entries, and these; tensors in both are copied along."""
    from .metadata import KEY, to_plain  # it needs the core

    def plain(entry: Any) -> Any:
        try:
            return to_plain(entry, copied)
        except MetadataError:  # a class of the program's own, which pickles by itself
            return entry

    met: dict[int, Any] = {}
    own = {key: _along(value, met) for key, value in found.items() if key != KEY}
    return own, [plain(entry) for entry in found.get(KEY, ())]


def _along(value: Any, met: dict[int, Any]) -> Any:
    """An entry of the program's own, whose tensors and frames may be copied.

    Args:
        value: the entry, or a part of it.
        met: what was made of the dicts and lists so far, by id: one may hold itself.
    """
    if isinstance(value, Tensor | Frame):
        return copied(value)
    if id(value) in met:
        return met[id(value)]
    if not _holds(value, set()):
        return value  # as it is: its class may take no other entries
    try:
        if isinstance(value, tuple):
            return getattr(value, "_make", type(value))(_along(one, met) for one in value)
        made = met[id(value)] = copy(value)
        for key, one in list(made.items() if isinstance(made, dict) else enumerate(made)):
            made[key] = _along(one, met)
    except TypeError:  # its class takes no other entries: pickling the tensor says what to do
        made = met[id(value)] = value
    return made


def _holds(value: Any, met: set[int]) -> bool:
    """True for a tensor or frame, and for a dict, list or tuple with one."""
    if not isinstance(value, dict | list | tuple) or id(value) in met:
        return isinstance(value, Tensor | Frame)
    met.add(id(value))
    return any(_holds(one, met) for one in (value.values() if isinstance(value, dict) else value))


def _unpacked(packed: tuple[dict[str, Any], list[Any]]) -> dict[str, Any]:
    from .metadata import KEY, from_plain

    own, entries = packed
    if not entries:
        return own
    typed = [from_plain(e, lambda t, _: t) if isinstance(e, dict) else e for e in entries]
    return {**own, KEY: typed}
