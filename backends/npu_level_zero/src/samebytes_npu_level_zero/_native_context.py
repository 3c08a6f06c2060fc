# SPDX-License-Identifier: Apache-2.0
"""A ze_context_handle_t with its device; destroyed after the last memory made in it."""

from __future__ import annotations

from ctypes import byref, c_void_p
from functools import partial

from samebytes import Storage

from ._abi.structures import ze_context_desc_t
from ._devices import DeviceEntry
from ._loader import Library

__all__ = ["NativeContext"]


class NativeContext:
    """A Level Zero context on one device. All memory made in it holds it.

    Attributes:
        library: the library through which it is used.
        entry: the device, and its driver.
        handle: the ze_context_handle_t.
    """

    __slots__ = ("_owner", "entry", "handle", "library")

    def __init__(self, library: Library, entry: DeviceEntry, handle: int, owner: Storage) -> None:
        self.library = library
        self.entry = entry
        self.handle = handle
        self._owner = owner

    @classmethod
    def create(cls, library: Library, entry: DeviceEntry) -> NativeContext:
        """A new context, destroyed with the last holder of this object.

        Raises:
            LevelZeroError: the driver refuses.
        """
        made = c_void_p()
        # At exit it is destroyed after its memory, since that was made later.
        owner = Storage(partial(_destroy, library, made), at_exit=True)
        library.fill(made, "zeContextCreate", entry.driver, byref(ze_context_desc_t()))
        return cls(library, entry, made.value or 0, owner)

    @classmethod
    def borrow(
        cls, library: Library, entry: DeviceEntry, handle: int, keep: object
    ) -> NativeContext:
        """A context of another owner, which destroys it; `keep` is held as long as it is used."""
        return cls(library, entry, handle, Storage(keep=keep))


def _destroy(library: Library, made: c_void_p) -> None:
    if made.value:
        library.give_back(made, "zeContextDestroy", made.value)
