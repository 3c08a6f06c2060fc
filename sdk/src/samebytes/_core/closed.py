# SPDX-License-Identifier: Apache-2.0
"""What a closed tensor or frame becomes.

close() empties the slots and gives the object another class, whose `__getattr__` raises. A check
in the open class would cost on every attribute of every open object, and so would a `__getattr__`
there: the interpreter's fast path for slots is for classes that have none.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ..errors import ClosedError

__all__ = ["become_closed", "become_open", "drop_extras"]


def become_closed(item: Any) -> None:
    """Make every further use of `item`, whose slots are empty now, raise ClosedError."""
    cls = type(item)
    if cls not in _closed:
        _closed[cls] = _closed_class(cls)
    item.__class__ = _closed[cls]


def become_open(item: Any) -> None:
    """Undo `become_closed`; the slots are to be filled next."""
    item.__class__ = type(item).__mro__[1]


def drop_extras(item: Any) -> None:
    """Empty what a backend's class added to the slots of the base: it may hold memory."""
    for cls in type(item).__mro__[1:]:
        if cls.__module__.startswith("samebytes._core."):
            break
        slots = vars(cls).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if not slot.startswith("__"):
                with suppress(AttributeError):
                    object.__delattr__(item, slot)
    with suppress(AttributeError):
        object.__getattribute__(item, "__dict__").clear()


_closed: dict[type, type] = {}


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
