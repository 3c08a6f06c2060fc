# SPDX-License-Identifier: Apache-2.0
"""The lifetimes of remote tensors and their memory: what a native keeps alive, and who has it.

OpenVINO keeps neither USM, memory of the CPU, surfaces nor displays alive: its object has only
the address. openvino.RemoteTensor cannot hold their owner, and a subclass could only be made as a
region, which the GPU plugin copies. So the owner is kept here, while the Python object lives.

Regions that are cut out of a tensor, and requests that it was set on, hold OpenVINO's object and
not Python's. OpenVINO counts them, but when the Python object has ended, the count may be gone. So
an anchor is made beside it, which is one more user of OpenVINO's object:

    Python's object ──▶ OpenVINO's object ──▶ address of the memory
    pin ──▶ anchor  ──▶         ↑                      ↑
    pin ──▶ storage ──▶ ··············· keeps ·········┘

When the Python object ends, the anchor is either the only user that is left, and the memory is
given back at once, or both wait for the last one.

A remote tensor over memory that comes round again, as in a pool, is made once, and lent: making one
takes the driver up to half a millisecond. It is remembered by the storage that owns the memory. The
memory must outlive it, but what is remembered for a storage must not hold that storage, or neither
would ever end. So a native is pinned to its memory while it is lent, and remembered without a pin
when nobody has it any more:

    storage ──▶ remembered native          while it is lent:  native ──▶ storage

Tensors have a `Lease` in their slot for the native. If OpenVINO still uses the native when the last
lease ends, in a region or a request of its own, one more lease is made and kept until it does not.
So a native that a request holds beyond its mapping is lent again as it is.

A caller who asks a tensor for its native may hold it for as long as they like; only the end of its
Python object shows that it was dropped. So a native that was asked for is not unpinned when its
last lease ends, but dropped: it stays pinned to its memory until it ends, and while somebody holds
it, the next mapping finds it by a weak reference. If nobody does, another one is made. This package
itself looks at natives without asking for them: `native_of`.

(A weak reference of a user's is not a holder: a strong one that is made from it after the last
tensor is gone keeps no memory alive.)
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from ctypes import py_object, pythonapi
from functools import cache, partial
from typing import Any

import openvino

from samebytes import Storage, TensorInfo
from samebytes.plugins import ImportCache, Lock, sweep_loans

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

__all__ = ["Lease", "Leases", "Leftovers", "counted", "native_of", "pin", "pin_memory", "pinned"]

UNUSED = 2
"""The use count of a native that `pin_memory` was called for and that OpenVINO does not use: that
of its Python object, and of the anchor."""

_ALONE = 1  # that of the anchor, when the Python object is gone


class _Pin(weakref.ref[Any]):
    """A watch for the end of a native's Python object.

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
    """Return `native`, whose Python object keeps `storage` alive from now on.

    Args:
        native: an openvino.RemoteTensor, or an openvino.RemoteContext.
        storage: must not keep `native`: neither would ever end.
    """
    known = _pin_of(native)
    if known is None:
        left = _pins.get(id(native))
        if left is not None:  # its end was interrupted before the first line
            _end(left)
        known = _Pin(native, _ended)
        known.anchor, known.at, known.number = None, NO_USES, id(native)
        known.storage = storage
        _pins[id(native)] = known
    else:
        known.storage = storage
    return native


def pin_memory(native: Any, storage: Storage, info: TensorInfo) -> Any:
    """Return `native`, which keeps `storage` while its Python object lives or OpenVINO uses it.

    If the uses cannot be counted, it does so only while its Python object lives.

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


# The defaults are for the end of the interpreter, when the globals of the module are gone.
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
    except AttributeError:  # one came while the pin was made
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
        # The plugin would divide by the bytes of an element, here 0, and end the process.
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


# Guards leases and what is remembered. Reentrant: the collector may end a lease at any time.
_lock = Lock()


class _Remembered:
    """A native, and its leases.

    Attributes:
        leases: the id() of each.
        native: None while only others hold it.
        known: a weak reference to it.
        asked: True once somebody besides the leases may hold it.
        home: what it keeps alive in any case.
        pin: the storage that it keeps alive. None without a native: the storage holds the source,
            and the source remembers this, so that none of them would ever end.
        at: where in WORDS its uses are counted: see `counted`.
        left: one reference for each request of ours that it was replaced on: see `Leftovers`.
    """

    __slots__ = ("asked", "at", "home", "known", "leases", "left", "native", "pin")

    native: Any
    pin: Storage | None
    left: tuple[weakref.ref[Leftovers], ...]

    def __init__(self, native: Any) -> None:
        self.leases: set[int] = set()
        self.left = ()
        self.set(native)

    def set(self, native: Any) -> None:
        """Remember a new native, which must be pinned to a storage of its own."""
        self.asked = False
        pin = pinned(native)
        assert pin is not None, "whoever makes it pins it"
        self.home, self.pin = pin.keep, pin
        self.at = counted(native)
        self.known = weakref.ref(native)
        self.native = native

    def find(self) -> None:
        """Remember the native again that only others held, if it is still there."""
        native = self.known()
        if native is not None:
            self.pin = pinned(native)
            self.native = native

    @property
    def is_used(self) -> bool:
        """True if OpenVINO itself uses the native, beyond requests that it was replaced on."""
        uses = WORDS[self.at] & USES
        return uses > UNUSED and uses > UNUSED + sum(left() is not None for left in self.left)


class Leftovers:
    """The tensors of a request's last inference that have been replaced on it since.

    The plugin keeps the tensors of an inference until the next one has started, but does not read
    those that were replaced. It is dropped when that one starts, and with the request.
    """

    __slots__ = ("__weakref__",)


class Lease:
    """One use of a remembered native, by the tensors of one mapping."""

    __slots__ = ("_remembered",)

    def __init__(self, remembered: _Remembered) -> None:
        self._remembered = remembered

    @property
    def native(self) -> Any:
        """The openvino.RemoteTensor, for a caller that may keep it."""
        self._remembered.asked = True  # first: nobody may have it before that
        return self._remembered.native

    def replaced(self, leftovers: Leftovers) -> None:
        """Note that the native was replaced on a request, and is one of its leftovers.

        Args:
            leftovers: of that request.
        """
        remembered = self._remembered
        living = [left for left in remembered.left if left() is not None]
        remembered.left = (*living, weakref.ref(leftovers))

    def __del__(self) -> None:
        # An exception of a signal handler before the first line leaves the native pinned: memory
        # may stay, but nothing dangles.
        try:
            self._end()
        except AttributeError:  # one came before the first line of the constructor
            if hasattr(self, "_remembered"):
                raise
        except BaseException:  # one came in between: each step can be taken again
            self._end()
            raise

    def _end(self) -> None:
        remembered = self._remembered
        kept = native = None
        with _lock:
            remembered.leases.discard(id(self))
            if remembered.leases or remembered.pin is None:
                return
            if remembered.is_used:
                # This lease ends in any case. If an exception comes, so does the other.
                kept = Lease(remembered)
                remembered.leases.add(id(kept))
            elif remembered.asked:
                # No lock is held when it is dropped: its memory may end with it.
                native, remembered.native, remembered.pin = remembered.native, None, None
            else:
                remembered.pin.keep = remembered.home
        if kept is not None:
            keep_used(kept, _is_lent)
            return
        del native
        if waiting:
            sweep_loans()


class Leases:
    """The remembered natives of one context."""

    __slots__ = ("_cache",)

    def __init__(self) -> None:
        self._cache: ImportCache[_Remembered] = ImportCache()

    def lend(
        self, source: Storage, key: Hashable, make: Callable[[], Any], keep: object = None
    ) -> Lease:
        """A lease of the native over memory of `source`.

        Args:
            source: owns the memory.
            key: distinguishes natives over memory of one source.
            make: makes the native, which must not hold `source`, and is pinned by
                `pin_memory`.
            keep: what else must live while the native is lent.
        """
        found = self._cache.of_source(source, key, lambda: _Remembered(make()))
        lease = Lease(found)  # before it counts: an interruption must not leave a count alone
        while True:
            with _lock:
                if found.native is None:
                    found.find()  # dropped, but somebody may hold it
                elif not found.leases:
                    # Pinned first: an interruption must not leave a native lent and unpinned. Only
                    # if it is neither lent nor dropped: else it has what keeps its memory, and what
                    # it is lent for now might itself be held by it, so that neither would ever end.
                    assert found.pin is not None, "it goes with the native"
                    found.pin.keep = (found.home, source, keep)
                if found.native is not None:
                    found.leases.add(id(lease))
                    return lease
            native = make()  # no lock is held while the plugin runs
            with _lock:
                if found.native is None:
                    found.set(native)

    def forget(self) -> None:
        """Forget the remembered natives. Those that are lent live on."""
        self._cache.clear()


def _is_lent(lease: Lease) -> bool:
    return lease._remembered.is_used


def native_of(held: Any) -> Any:
    """The native that a tensor's slot stands for, to be used while the tensor lives."""
    return held._remembered.native if type(held) is Lease else held
