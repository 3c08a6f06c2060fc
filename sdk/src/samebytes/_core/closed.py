# SPDX-License-Identifier: Apache-2.0
"""Turn a tensor or frame into a closed one.

close() gives the object another class, whose `__getattr__` raises, and empties the slots. A check
in the open class would cost on every attribute of every open object, and so would a `__getattr__`
there: the interpreter's fast path for slots is for classes that have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MemberDescriptorType
from typing import Any

from ..errors import ClosedError

__all__ = ["make_closed", "read_slot"]


def make_closed(item: Any) -> None:
    """Drop every reference that `item` holds, and make every further use raise ClosedError.

    It can be called again, and then does what an interrupted call left undone.
    """
    cls = type(item)
    closed, slots = _known.get(cls) or _prepare(cls)
    try:
        item.__class__ = closed
        _empty(item, slots)
        if cls.__dictoffset__:
            vars(item).clear()
    except BaseException:  # of a signal handler: what says that it is closed shows nothing
        make_closed(item)
        raise
    item._on_closed()


def _empty(item: Any, slots: Iterable[MemberDescriptorType]) -> None:
    for slot in slots:
        # Never set to something first, such as None: another thread might take that for a native.
        try:  # noqa: SIM105 - no context manager for each slot of each close()
            slot.__delete__(item)
        except AttributeError:  # empty, or another thread that closes it was faster
            pass


def read_slot(slot: Any, item: Any) -> Any:
    """The value of a slot of a tensor or frame, for a property that shadows the slot.

    Args:
        slot: the member descriptor.
        item: may be closed by another thread at any time.

    Raises:
        ClosedError: the slot is empty, since the item was closed.
    """
    try:
        return slot.__get__(item)
    except AttributeError:
        raise ClosedError(f"this {type(item).__name__} was closed") from None


_Known = tuple[type, tuple[MemberDescriptorType, ...]]
# By class, a closed one too: what it becomes, and the slots to empty, those of a backend's
# subclass first.
_known: dict[type, _Known] = {}


def _prepare(cls: type) -> _Known:
    slots = tuple(
        member
        for base in cls.__mro__
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType)
    )
    closed = _closed_class(cls)
    known = _known[closed] = closed, slots
    return _known.setdefault(cls, known)


def _closed_class(cls: type) -> type:
    name = cls.__name__

    def getattr_(_: object, attribute: str) -> Any:
        # Python's own protocols ask for names that are not there, and must get their answer.
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
