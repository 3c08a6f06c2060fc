# SPDX-License-Identifier: Apache-2.0
"""Holder: the base of Tensor and Frame, with flush(), wait(), close() and the `with` block."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from .closing import Census, drop, end, is_held
from .storage import Storage, outwards, publish, raising_releases, settle
from .uncopyable import Uncopyable

if TYPE_CHECKING:
    from typing import Self

    from .context import Context

__all__ = ["Holder"]


class Holder(Uncopyable):
    """The base of Tensor and Frame."""

    __slots__ = ()

    context: Context
    # What keeps the bytes alive: a Storage, or the user's object (see `storage`).
    _owner: Any
    # The storages that close() ends: those which the call that made this object made.
    _made: tuple[Storage, ...]
    # Filled where there are any, when the object is handed out.
    _census: Census

    @property
    def memory_type(self) -> str:
        """The name of the memory type, for instance "cpu"."""
        return self.context.memory_type

    @property
    def storage(self) -> Storage:
        """The owner of the bytes. Memory wrapped from the user has one that releases nothing."""
        owner = self._owner
        if not isinstance(owner, Storage):
            owner = self._owner = Storage(keep=owner)
        return owner

    @property
    def closed(self) -> bool:
        """Whether close() ended this object."""
        return False  # the class of a closed one says True

    def flush(self) -> None:
        """Publish what was written through this mapping, without ending it."""
        publish(self._owners())

    def wait(self) -> None:
        """Return when whatever still writes to this memory is done."""
        settle(self._owners())

    def close(self) -> None:
        """End this object, and the memory that was made for it.

        Closing twice does nothing. Memory that belongs to the user is dropped, not released.

        Raises:
            BusyError: something else still uses the memory. Nothing has changed.
        """
        if self._made:
            end(self, self._holders())
        else:
            drop(self._holders())

    def __enter__(self) -> Self:
        _ = self._made  # a closed object cannot be entered
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        """Publish what was written and close; see "The end of a block" in docs/explanation.

        Where something else uses the memory, the last holder releases it. After an exception
        nothing is published.
        """
        if self.closed:
            return
        holders = self._holders()
        if kind is not None:
            drop(holders)
        elif self._is_reading():
            self._drop(holders)
        elif is_held(self, unknown=True):
            try:
                self.flush()
            finally:
                self._drop(holders)
        else:
            # The release of what was made publishes it. What that lies in comes after it.
            made = set(map(id, self._made))
            outer = [s for s in outwards(self._owners()) if id(s) not in made]
            try:
                self._drop(holders)
            finally:
                publish(outer)

    def _drop(self, holders: list[Holder]) -> None:
        if not self._made:
            drop(holders)
            return
        with raising_releases(outwards(self._made)):
            drop(holders)

    @abstractmethod
    def _is_reading(self) -> bool:
        """`readonly` as it was set: backends put a property before it that asks their framework."""

    @abstractmethod
    def _owners(self) -> tuple[Any, ...]:
        """Everything that keeps bytes of this object alive."""

    @abstractmethod
    def _holders(self) -> list[Holder]:
        """This object and its open planes, which close with it."""

    @abstractmethod
    def _watched(self) -> list[tuple[object, tuple[object, ...] | None]]:
        """The owners and natives that lead to the memory, each with `_native_parts()` of it."""

    def _holds(self) -> list[tuple[object, ...]]:
        """What each plane refers to."""
        return []

    def _is_closed_plane(self, index: int) -> bool:
        """Whether that plane was closed by itself."""
        return False

    def _native_parts(self) -> tuple[object, ...] | None:
        """The Python objects through which `native` holds the memory, and which it hands out.

        For close(): somebody may hold one of them and not `native`. None has the core look for
        them among the attributes of `native`, which finds those that lead to a Storage. A backend
        overrides this where the way goes through objects of C, or to save the time.
        """
        return None

    def _native_uses(self) -> int:
        """How many users of the memory the framework counts, where Python does not see them.

        For close(): a higher number than when the memory was made means that it is in use.
        """
        return 0

    def _drop_caches(self) -> None:
        """Drop what the backend remembers of `native`, if that holds the memory.

        For close(), before it says that somebody holds it.
        """

    def _on_closed(self) -> None:
        """Called when the object was closed and holds nothing any more; it may be called twice."""
