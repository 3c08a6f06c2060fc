# SPDX-License-Identifier: Apache-2.0
"""Remote tensors over memory that comes round again, as in a pool: made once, and lent.

To make one takes the driver up to half a millisecond. So it is remembered by the storage that owns
the memory. Its memory must outlive it, but what is remembered of a storage must not hold that
storage, or neither would ever end. So a native is pinned to its memory while it is lent, and
remembered without a pin when nobody has it any more:

    storage ──▶ remembered native          while it is lent:  native ──▶ storage

What tensors have in their slot for the native is a `Lease`. When the last lease of a native ends
and somebody holds the native itself, as may who asked a tensor for it, the native is theirs from
then on: it stays pinned, and the next mapping makes another one. (A weak reference to the native is
no holder: whoever makes a strong one of it after the last tensor is gone holds no memory by it.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from sys import getrefcount
from typing import Any

from samebytes.plugins import ImportCache, Lock, Storage

from ._tensor import pinned

__all__ = ["Lease", "Leases", "native_of"]

# Whatever is counted and lent. Reentrant: a lease may end by the garbage collector at any time.
_lock = Lock()


class _Remembered:
    """A native, and which leases of it there are.

    Attributes:
        leases: the id() of each.
        native: None after somebody took it over.
        pin: what the native keeps alive: see `_tensor.pin`.
        home: what it keeps alive in any case.
    """

    __slots__ = ("home", "leases", "native", "pin")

    native: Any
    pin: Storage | None

    def __init__(self, native: Any) -> None:
        self.leases: set[int] = set()
        self.set(native)

    def set(self, native: Any) -> None:
        """Remember a new native, which must be pinned to a storage of its own."""
        found = pinned(native)
        assert found is not None, "whoever makes it pins it"
        self.pin, self.home = found, found.keep
        self.native = native

    def forget(self) -> None:
        """Leave the native, and what it is pinned to, to those who hold it; again does no harm."""
        self.native = None
        self.home = self.pin = None


class Lease:
    """One use of a remembered native, by the tensors of one mapping."""

    __slots__ = ("_remembered",)

    def __init__(self, remembered: _Remembered) -> None:
        self._remembered = remembered

    @property
    def native(self) -> Any:
        """The openvino.RemoteTensor."""
        return self._remembered.native

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
        with _lock:
            remembered.leases.discard(id(self))
            if remembered.leases:
                return
            # No local variable: the traceback of an exception would hold it.
            if remembered.pin is None or getrefcount(remembered.native) > _ALONE:
                remembered.forget()
            else:
                remembered.pin.keep = remembered.home


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
            key: what tells natives over memory of one source apart.
            make: makes the native, which must not hold `source`, and is pinned by `_tensor.pin`.
            keep: what else must live while the native is lent.
        """
        found = self._cache.of_source(source, key, lambda: _Remembered(make()))
        lease = Lease(found)  # before it counts: an interruption must not leave a count alone
        while True:
            with _lock:
                if found.native is not None:
                    # Pinned first: an interruption must not leave one that is lent unpinned. One
                    # that is lent already has what keeps its memory. What it is lent for this
                    # time may itself be held by it, and neither would ever end.
                    if not found.leases:
                        assert found.pin is not None, "forgotten with the native"
                        found.pin.keep = (found.home, source, keep)
                    found.leases.add(id(lease))
                    return lease
            native = make()  # no lock is held while the plugin runs
            with _lock:
                if found.native is None:
                    found.set(native)

    def forget(self) -> None:
        """Remember none any more. Those that are lent live on."""
        self._cache.clear()


def native_of(held: Any) -> Any:
    """The native that a tensor's slot stands for."""
    return held.native if type(held) is Lease else held


def _alone() -> int:
    """What getrefcount() says of a native that is remembered, and that nobody else holds."""
    remembered = _Remembered.__new__(_Remembered)
    remembered.native = Storage()
    return getrefcount(remembered.native)


_ALONE = _alone()
