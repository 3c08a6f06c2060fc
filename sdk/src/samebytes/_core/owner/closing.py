# SPDX-License-Identifier: Apache-2.0
"""Holder, the base of Tensor and Frame: flush(), wait(), close() and the `with` block.

All users of memory hold its storage, in one way or another. So weak references to the storages are
enough: one that is alive after the object has dropped its own has another holder, an array for
instance, which releases it.

close() gives the object another class, whose `__getattr__` raises, and empties the slots. A check
in the open class would cost time at every attribute of every open object, and so would a
`__getattr__`: the interpreter's fast path for slots is for classes without one.
"""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Sequence
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

from ...errors import ClosedError
from .loans import sweep_loans
from .storage import NativeStorage, Storage, Uncopyable, publish, releasing, storage_chain, wait_all

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Holder", "are_gone", "memory_of", "read_slot"]


class Holder(Uncopyable):
    """The base of Tensor and Frame."""

    __slots__ = ("__weakref__", "_made", "_owner", "context", "native", "parent", "readonly")

    context: Any
    native: Any
    readonly: bool
    # What keeps the bytes alive: a Storage, or the user's object (see `storage`).
    _owner: Any
    # What close() looks for: the storages which the call that made this object made.
    _made: tuple[Storage, ...]

    @property
    def memory_type(self) -> str:
        """The name of the memory type, for instance "cpu"."""
        return str(self.context.memory_type)

    @property
    def storage(self) -> Storage:
        """The owner of the bytes. Memory wrapped from the user has one that releases nothing."""
        owner = self._owner
        if not isinstance(owner, Storage):
            owner = self._owner = Storage(keep=owner)
        return owner

    @property
    def closed(self) -> bool:
        """True if close() ended this object."""
        return False  # True in the class of a closed one

    def handle(self, key: str | None = None) -> int:
        """A native handle as an int; without a key, the one that the memory type is known by.

        It stays with its owner and is valid while this object, or anything over its memory, lives.

        Args:
            key: a name of the table of handle keys, such as "cl_mem", "dma_fd" or "av_frame".

        Raises:
            UnknownNameError: there is no such handle here.
        """
        context = self.context
        if key is None:
            key = context.primary_handle
        found: int | None = self.find_handle(key)
        return context._no_handle(key, self) if found is None else found

    def find_handle(self, key: str) -> int | None:
        """As `handle(key)`, or None if there is no such handle here."""
        found = self._handle(key)
        if found is None:
            _ = self.context  # a closed object has no answer
            from .handle_keys import check_handle_key  # many programs ask for none

            check_handle_key(key)
        return found

    def flush(self) -> None:
        """Publish what was written through this mapping, without ending it."""
        publish(self._owners())

    def wait(self) -> None:
        """Return when whatever still writes to this memory is done."""
        wait_all(self._owners())

    def close(self) -> bool | None:
        """End this object. It never fails because others hold the memory, which goes with them.

        Closing twice does nothing. Memory that belongs to the user is dropped, not released.

        Returns:
            True if the owners of all that this object's own map(), by all its edges, or allocate()
            made are gone. False if somebody holds one of them, or another thread is releasing it.
            None if it made nothing or was closed before.

        Raises:
            Exception: what a driver's release raised; the object is closed, and all releases ran.
        """
        made, items = self._made, self._to_close()
        if not made:
            _close(items)
            sweep_loans()  # what was lent to the native is the lender's again
            return None
        living, ids = memory_of(made), frozenset(map(id, storage_chain(made)))
        del made
        releasing(ids, _close, items)
        return are_gone(living)

    def __enter__(self) -> Self:
        _ = self._made  # a closed object cannot be entered
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        """Publish what was written and close; see "The end of a block" in docs/explanation.

        Memory that something else uses is released with its last holder. After an exception
        nothing is published.
        """
        if self.closed:
            return
        if kind is not None:
            _close(self._to_close())
            return
        if read_slot(_readonly, self):
            self.close()
            return
        found = storage_chain(self._owners())
        living = [weakref.ref(storage) for storage in found if storage.flush is not None]
        del found  # what it holds could not end
        try:
            self.close()
        finally:
            # What has ended was published by its release; what lives on comes after it.
            if living:
                publish(filter(None, [storage() for storage in living]))

    def _handle(self, key: str) -> int | None:
        """The handle of that key; None, as here, if there is none."""
        return None

    @abstractmethod
    def _owners(self) -> tuple[Any, ...]:
        """Everything that keeps bytes of this object alive."""

    @abstractmethod
    def _to_close(self) -> list[Holder]:
        """This object and its open planes, which close with it."""


# The flag as it was set. Backends shadow it by a property that asks their framework.
_readonly: Any = vars(Holder)["readonly"]


def memory_of(made: Sequence[Storage]) -> list[weakref.ref[Any]]:
    """Weak references to all objects that live as long as the memory of these storages."""
    living: list[weakref.ref[Any]] = []
    for storage in made:
        living.append(weakref.ref(storage))
        if isinstance(storage, NativeStorage):
            natives = storage.keep if isinstance(storage.keep, tuple) else (storage.keep,)
            living += map(weakref.ref, natives)
    return living


def are_gone(living: Sequence[weakref.ref[Any]]) -> bool:
    """True if none of these storages is held, after dropping what libraries have given back."""
    for storage in living:
        if storage() is not None:
            # The main thread drops what a library gave back, and may not have run since.
            sweep_loans()
            return all(storage() is None for storage in living)
    return True


def read_slot(slot: Any, item: Any) -> Any:
    """The value of a slot of a tensor or frame, for a property that shadows the slot.

    Args:
        slot: the member descriptor, such as `Tensor.readonly`.
        item: may be closed by another thread at any time.

    Raises:
        ClosedError: the slot is empty, since the item was closed.
    """
    try:
        return slot.__get__(item)
    except AttributeError:
        raise ClosedError(f"this {type(item).__name__} was closed") from None


def _close(items: Sequence[Any]) -> None:
    """Drop every reference that these hold, and make every further use raise ClosedError.

    After an interruption, as by Ctrl-C, a closed item may hold some of them until its own end.
    """
    for item in items:
        cls = type(item)
        closed, slots = _known.get(cls) or _prepare(cls)
        item.__class__ = closed
        for slot in slots:
            # Never set to None or the like first: another thread might take it for a native.
            try:  # noqa: SIM105 - no context manager for each slot of each close()
                slot.__delete__(item)
            except AttributeError:  # empty, or another thread that closes it was faster
                pass
        if cls.__dictoffset__:
            vars(item).clear()


_Known = tuple[type, tuple[MemberDescriptorType, ...]]
# For each class, also a closed one: the class that it becomes, and the slots to empty, those of a
# backend's subclass first.
_known: dict[type, _Known] = {}


def _prepare(cls: type) -> _Known:
    members = (member for base in cls.__mro__ for member in vars(base).values())
    slots = tuple(member for member in members if isinstance(member, MemberDescriptorType))
    closed = _closed_class(cls)
    known = _known[closed] = closed, slots
    return _known.setdefault(cls, known)


def _closed_class(cls: type) -> type:
    name = cls.__name__

    def getattr_(_: object, attribute: str) -> Any:
        # Python's own protocols look for names that are not there, and expect AttributeError.
        if hasattr(cls, attribute) and not attribute.startswith("__"):
            raise ClosedError(f"this {name} was closed")
        raise AttributeError(f"{name} has no attribute {attribute!r}")

    members = {
        "__slots__": (),
        "__getattr__": getattr_,
        "__repr__": lambda _: f"<{name} closed>",
        "__doc__": f"A {name} after its close().",
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "closed": True,
        "close": lambda _: None,
    }
    return type(name, (cls,), members)
