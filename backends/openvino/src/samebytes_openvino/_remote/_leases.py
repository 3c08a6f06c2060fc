# SPDX-License-Identifier: Apache-2.0
"""Remote tensors over memory that comes round again, as in a pool: made once, and lent.

To make one takes the driver up to half a millisecond. So it is remembered by the storage that owns
the memory. Its memory must outlive it, but what is remembered of a storage must not hold that
storage, or neither would ever end. So a native is pinned to its memory while it is lent, and
remembered without a pin when nobody has it any more:

    storage ──▶ remembered native          while it is lent:  native ──▶ storage

What tensors have in their slot for the native is a `Lease`. If OpenVINO still uses the native when
the last lease ends, in a region or a request of its own, it gets a lease too: one that is kept
until it does not. So what a request holds beyond its mapping is lent again as it is.

Whoever asks a tensor for its native may hold that for as long as they like, and nothing says when
they drop it but the end of its Python object. So a native that was asked for is not unpinned when
its last lease ends, but dropped: it is pinned to its memory until it ends, and while somebody holds
it the next mapping finds it by a weak reference. If nobody does, another one is made. This package
itself looks at natives without asking for them: `native_of`.

(A weak reference of a user's is not a holder: whoever makes a strong one of it after the last
tensor is gone holds no memory by it.)
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any

from samebytes import Storage
from samebytes.plugins import ImportCache, Lock, sweep_loans

from .._host._pinned import USES, WORDS, keep_used, waiting
from ._pins import UNUSED, counted, pinned

__all__ = ["Lease", "Leases", "Leftovers", "native_of"]

# Whatever is counted and lent. Reentrant: a lease may end by the garbage collector at any time.
_lock = Lock()


class _Remembered:
    """A native, and which leases of it there are.

    Attributes:
        leases: the id() of each.
        native: None while others alone hold it.
        known: a weak reference to it.
        asked: True once somebody may hold it besides the leases.
        home: what it keeps alive in any case.
        pin: the storage that it keeps alive. None without a native: the storage holds the source,
            and the source remembers this, so that none of them would ever end.
        at: where in WORDS its uses are counted: see `_pins.counted`.
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
        """Remember the native again that others alone held, if it is still there."""
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
        """The openvino.RemoteTensor, for whoever asks for it."""
        self._remembered.asked = True  # first: nobody may have it before
        return self._remembered.native

    def replaced(self, leftovers: Leftovers) -> None:
        """The native was replaced on a request, and is one of its leftovers.

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
                # This one ends in any case. The other one ends by an exception too.
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
            key: what tells natives over memory of one source apart.
            make: makes the native, which must not hold `source`, and is pinned by
                `_pins.pin_memory`.
            keep: what else must live while the native is lent.
        """
        found = self._cache.of_source(source, key, lambda: _Remembered(make()))
        lease = Lease(found)  # before it counts: an interruption must not leave a count alone
        while True:
            with _lock:
                if found.native is None:
                    found.find()  # dropped, but somebody may hold it
                elif not found.leases:
                    # Pinned first: an interruption must not leave one that is lent unpinned. One
                    # that is lent or dropped has what keeps its memory. What it is lent for this
                    # time may itself be held by it, and neither would ever end.
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
        """Remember none any more. Those that are lent live on."""
        self._cache.clear()


def _is_lent(lease: Lease) -> bool:
    return lease._remembered.is_used


def native_of(held: Any) -> Any:
    """The native that a tensor's slot stands for, to be used while the tensor lives."""
    return held._remembered.native if type(held) is Lease else held
