# SPDX-License-Identifier: Apache-2.0
"""The objects that a native of the GPU or NPU plugin keeps alive for as long as it is used.

OpenVINO keeps neither USM, memory of the CPU, surfaces nor displays alive: its object has only
the address. openvino.RemoteTensor cannot hold their owner, and a subclass could only be made as a
region, which the GPU plugin copies. So the owner is kept here, while the Python object lives.

Regions that are cut out of a tensor, and requests that it was set on, hold OpenVINO's object and
not Python's. OpenVINO counts them, but when the Python object has ended, its count may be gone. So
an anchor is made beside it, which holds OpenVINO's object by a use of its own:

    Python's object ──▶ OpenVINO's object ──▶ address of the memory
    pin ──▶ anchor  ──▶         ↑                      ↑
    pin ──▶ storage ──▶ ··············· keeps ·········┘

When the Python object ends, the anchor is either the only user that is left, and the memory is
given back at once, or both wait for the last one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from ctypes import py_object, pythonapi
from functools import cache, partial
from typing import Any

import openvino

from samebytes import Storage, TensorInfo
from samebytes.plugins import sweep_loans

from .._host._pinned import (
    NO_USES,
    USES,
    WORDS,
    count_follows,
    counted_at,
    is_known,
    keep_used,
    waiting,
)

__all__ = ["UNUSED", "counted", "pin", "pin_memory", "pinned"]

UNUSED = 2
"""The use count of a native that `pin_memory` was called for and that OpenVINO does not use: that
of its Python object, and of the anchor."""

_ALONE = 1  # that of the anchor, when the Python object is gone


class _Pin(weakref.ref[Any]):
    """The end of a native's Python object.

    Attributes:
        anchor: a use of OpenVINO's object; None if its users are not counted. The slots are emptied
            in the order of the alphabet: it ends before the memory.
        at: where in WORDS the uses are counted.
        number: the id of the Python object.
        storage: what is kept.
    """

    __slots__ = ("anchor", "at", "number", "storage")

    anchor: Any
    at: int
    number: int
    storage: Storage


# By the id of the native. At the end of the interpreter, natives may outlive this module.
_pins: dict[int, _Pin] = {}
pythonapi.Py_IncRef(py_object(_pins))


def pin(native: Any, storage: Storage) -> Any:
    """`native`, whose Python object from now on keeps `storage` alive.

    Args:
        native: an openvino.RemoteTensor, or an openvino.RemoteContext.
        storage: must not keep `native`: neither would ever end.
    """
    known = _pin_of(native)
    if known is None:
        left = _pins.get(id(native))
        if left is not None:  # whose end was interrupted before its first line
            _end(left)
        known = _Pin(native, _ended)
        known.anchor, known.at, known.number = None, NO_USES, id(native)
        known.storage = storage
        _pins[id(native)] = known
    else:
        known.storage = storage
    return native


def pin_memory(native: Any, storage: Storage, info: TensorInfo) -> Any:
    """`native`, which keeps `storage` alive while its Python object lives, or OpenVINO uses it.

    Where the uses cannot be counted, it does so while its Python object lives.

    Args:
        native: an openvino.RemoteTensor that was just made.
        storage: as for `pin`.
        info: its dtype and shape.
    """
    pin(native, storage)
    if info.size:
        anchor = _anchored(native, info)
        if anchor is not None:
            known = _pins[id(native)]
            # In this order: without an anchor the count could be gone when it is read.
            known.anchor = anchor
            known.at = counted_at(native)
    return native


def pinned(native: Any) -> Storage | None:
    """The storage that `native` keeps alive, if it has one."""
    known = _pin_of(native)
    return None if known is None else known.storage


def counted(native: Any) -> int:
    """The index in WORDS of a native's use count, valid while the native lives.

    The count is UNUSED while OpenVINO does not use it, and less if uses are not counted.
    """
    known = _pin_of(native)
    return NO_USES if known is None else known.at


def _pin_of(native: Any) -> _Pin | None:
    known = _pins.get(id(native))
    return known if known is not None and known() is native else None


# Their arguments serve at the end of the interpreter, when the globals of the module are gone.
def _end(
    ended: _Pin,
    words: Any = WORDS,
    uses: int = USES,
    alone: int = _ALONE,
    uncounted: int = NO_USES,
    pop: Callable[..., object] = _pins.pop,
) -> None:
    if words[ended.at] & uses > alone:
        _keep(ended)
        return
    ended.at = uncounted  # the count ends with the anchor
    ended.anchor = None  # before the memory
    pop(ended.number, None)
    if waiting:
        sweep_loans()


def _ended(ended: _Pin, end: Callable[[_Pin], None] = _end) -> None:
    """The Python object of a native has ended."""
    # An exception of a signal handler before the first line leaves the pin: memory may stay, but
    # nothing dangles.
    try:
        end(ended)
    except AttributeError:  # one came while it was made
        return
    except BaseException:  # one came in between: each step can be taken again
        _keep(ended)
        raise


def _keep(ended: _Pin) -> None:
    keep_used(ended, _is_used)
    _pins.pop(ended.number, None)


def _is_used(ended: _Pin) -> bool:
    if WORDS[ended.at] & USES > _ALONE:
        return True
    ended.at = NO_USES
    ended.anchor = None
    return False


def _anchored(native: Any, info: TensorInfo) -> Any:
    """Another object that is a user of OpenVINO's object; None if none can be made."""
    if info.dtype.packed:
        # The plugin divides by the bytes of an element, which are none here, and ends the process.
        # Not at the top: it makes a model.
        from .._host._layout import element_type
        from ._conversions import as_tensor

        make = partial(as_tensor, native, element_type(info.dtype), info.ndim)
    else:
        make = partial(openvino.RemoteTensor, native, *_first_element(info.ndim))
    try:
        return make() if _is_counted(native, info.dtype.packed, make) else None
    except RuntimeError:  # OpenVINO has no model of such elements, or no such region
        return None


# By the class of the native and the way its anchor is made.
_counted: dict[tuple[type, bool], bool] = {}


def _is_counted(native: Any, packed: bool, make: Callable[[], Any]) -> bool:
    key = type(native), packed
    found = _counted.get(key)
    if found is None:
        found = is_known() and count_follows(native, make)
        if found is not None:  # else it could not be tried now, for want of a descriptor
            _counted[key] = found
    return bool(found)


@cache
def _first_element(rank: int) -> tuple[Any, Any]:
    return openvino.Coordinate([0] * rank), openvino.Coordinate([1] * rank)
